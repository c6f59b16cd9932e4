// Leads and sales through the whole application, for tests: a running app, a workspace, links, clicks and what the
// stores then hold.
import assert from 'node:assert/strict';
import type { Insertable, Selectable } from 'kysely';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { CommittedEvent } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { clickRecord } from './click-records.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from './test-app.ts';
import { BROWSER } from './visitors.ts';

export interface WireLink {
  readonly id: string;
  readonly domain: string;
  readonly key: string;
  readonly workspaceId: string;
}

let made = 0;

export async function openConverting(databaseUrl?: string) {
  const t = await openTestApp({ env: { PORT: '0' }, ...(databaseUrl && { databaseUrl }) });
  // The pipeline, which finds clicks, runs with the port.
  const { port } = (await t.app.listen()).address;
  return { t, port, ...(await converting(t)) };
}

/** A workspace of its own in a running app. */
export async function converting(t: TestApp, known?: TestWorkspace) {
  const workspace = known ?? (await t.workspace());
  const { key } = workspace;
  const { db } = t.app;

  async function call(method: string, path: string, body?: unknown) {
    const reply = await t.request(method, path, { key, body });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.json;
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<TestReply> =>
    t.request('POST', path, { key, body, headers });

  return {
    workspace,
    call,
    post,
    lead: (body: object) => call('POST', '/track/lead', { eventName: 'Sign up', ...body }),
    sale: (body: object) => call('POST', '/track/sale', { amount: 1_000, ...body }),
    settings: (body: object) => call('PATCH', `/workspaces/${workspace.id}`, body),
    link: (fields: object = {}): Promise<WireLink> =>
      call('POST', '/links', {
        url: 'https://acme.example/',
        key: `converting-${++made}`,
        trackConversion: true,
        ...fields,
      }),
    readLink: (id: string) => call('GET', `/links/${id}`),

    /** The id of a click that was recorded as a page would report it. */
    async click({ domain, key }: WireLink): Promise<string> {
      const headers = { 'user-agent': BROWSER };
      const { status, json, text } = await t.request('POST', '/track/click', {
        body: { domain, key },
        headers,
      });
      assert.equal(status, 200, text);
      return json.clickId;
    },

    /** The id of a click that was brought along from elsewhere. */
    async importClick(
      link: Pick<WireLink, 'id' | 'workspaceId'>,
      fields: Partial<ClickRecord> = {},
    ): Promise<string> {
      const id = `imported-${++made}`;
      const whose = { workspaceId: link.workspaceId, linkId: link.id };
      const click = clickRecord(made, { id, timeMs: t.clock.now(), ...whose, ...fields });
      const row: Insertable<Schema['click_index']> = {
        id,
        workspace_id: whose.workspaceId,
        link_id: whose.linkId,
        time_ms: click.timeMs,
        click: JSON.stringify(click),
      };
      await db.query.insertInto('click_index').values(row).execute();
      return id;
    },

    /** Leads and sales of the workspace from now on, as they are written, before anybody relays them. */
    async hearEvents(): Promise<CommittedEvent[]> {
      const heard: CommittedEvent[] = [];
      await db.follow({
        name: `conversions of ${workspace.id}`,
        digest(event) {
          const isOurs = event.workspaceId === workspace.id && /^(lead|sale)\./.test(event.type);
          if (isOurs) heard.push(event);
          return undefined;
        },
        receive() {},
        lost() {},
      });
      return heard;
    },

    newCustomer: () => `customer-${++made}`,
    async rows<T extends 'lead' | 'sale' | 'customer' | 'conversion_key'>(
      table: T,
    ): Promise<Selectable<Schema[T]>[]> {
      // The tables share the column that is asked for; which one it is makes no difference to the query.
      const query = db.query.selectFrom(table as 'lead').selectAll();
      const rows = await query.where('workspace_id', '=', workspace.id).execute();
      return rows as unknown as Selectable<Schema[T]>[];
    },
  };
}

export type Converting = Awaited<ReturnType<typeof converting>>;
