// Clicks, leads and sales for tests of what is asked about them: clicks through the journal, leads and sales through
// the outbox, as the running application records them.
import assert from 'node:assert/strict';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EnrolmentChanged, LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import { appendOutbox } from '../db/outbox.ts';
import { type Click, createEventEncoder } from '../events/event.ts';
import { clickRecord, rawClick } from './click-records.ts';
import type { TestApp, TestReply, TestWorkspace } from './test-app.ts';

export interface FedLink {
  readonly id: string;
  readonly domain: string;
  readonly key: string;
}

type Own<R extends LeadRecord> = Partial<Omit<R, 'click'>> & { readonly click?: Partial<ClickRecord> };

let made = 0;

export function createEventFeed(t: TestApp, workspace: TestWorkspace) {
  const { app, clock } = t;
  const { id: workspaceId, key } = workspace;
  const encoder = createEventEncoder();

  async function call(method: string, path: string, body?: unknown): Promise<TestReply['json']> {
    const reply = await t.request(method, path, { key, body });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  function leadRecord(
    { id: linkId, domain, key: linkKey }: FedLink,
    { click, ...fields }: Own<LeadRecord>,
  ): LeadRecord {
    const n = ++made;
    const timeMs = clock.now();
    const whose = { workspaceId, linkId, domain, key: linkKey };
    return {
      id: `lead${String(n).padStart(12, '0')}`,
      timeMs,
      workspaceId,
      linkId,
      customerId: 'cus_none',
      eventName: 'Sign up',
      metadata: '',
      click: clickRecord(n, { timeMs, ...whose, ...click }),
      ...fields,
    };
  }

  const tell = (type: string, payload: object) =>
    app.db.write(() => appendOutbox(app.db.query, [{ workspaceId, type, payload }], clock.now()));

  return {
    call,
    link: (fields: object = {}): Promise<FedLink> =>
      call('POST', '/links', { url: 'https://acme.example/', ...fields }),
    customer: async (fields: object = {}): Promise<string> =>
      (await call('POST', '/customers', { externalId: `customer-${++made}`, country: 'US', ...fields })).id,

    /** Returns the id of the click. */
    async click({ id: linkId, domain, key: linkKey }: FedLink, fields: Partial<Click> = {}): Promise<string> {
      const whose = { workspaceId, linkId, domain, key: linkKey, timeMs: clock.now() };
      const click = rawClick(++made, { ...whose, ...fields });
      assert.ok(await app.visits.journal.append(encoder.click(click)));
      return click.id;
    },

    async lead(link: FedLink, fields: Own<LeadRecord> = {}): Promise<string> {
      const lead = leadRecord(link, fields);
      await tell('lead.created', { leads: [lead] });
      return lead.id;
    },

    async sale(link: FedLink, fields: Own<SaleRecord> = {}): Promise<string> {
      const own = { amount: 1_000, currency: 'usd', paymentProcessor: 'stripe', invoiceId: '' };
      const sale: SaleRecord = { ...own, ...leadRecord(link, fields) };
      await tell('sale.created', { sales: [sale] });
      return sale.id;
    },

    /** Makes the link one of a partner. */
    async enrol({ id }: FedLink, enrolment: Omit<EnrolmentChanged, 'deleted'>): Promise<void> {
      const { programId: program_id, partnerId: partner_id } = enrolment;
      await app.db.query.updateTable('link').set({ program_id, partner_id }).where('id', '=', id).execute();
      await call('PATCH', `/links/${id}`, { comments: `Of ${partner_id}` });
      await tell('enrolment.changed', { ...enrolment, deleted: false });
    },

    /** Everything that was fed can be asked for. */
    settle: () => app.events.settle(),
  };
}

export type EventFeed = ReturnType<typeof createEventFeed>;
