// What is left of a person who was deleted, and what a person gets to see of what is kept.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { ClickRecord } from '../analytics/click-record.ts';
import { appendOutbox } from '../db/outbox.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import type { Customer } from './customer.ts';

/** Each tells who it was. */
const PERSONAL = [
  'Ada Ray',
  'ada@acme.test',
  'user-of-acme-42',
  '203.0.113.7',
  'favourite colour',
  'acme.test/ada.png',
];

const click = (id: string) =>
  ({
    id,
    timeMs: 900,
    workspaceId: 'ws',
    linkId: 'link_1',
    url: 'https://acme.test/',
    ip: '203.0.113.7',
    country: 'US',
  }) as ClickRecord;

const METADATA = JSON.stringify({ note: 'favourite colour' });

eachDatabase('erasing a customer', (databases) => {
  let t: TestApp;
  let ws: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    ws = await t.workspace();
  });
  after(() => t.close());

  const ada = (): Promise<Customer> =>
    t.app.services.customers.create(ws.id, {
      externalId: 'user-of-acme-42',
      name: 'Ada Ray',
      email: 'ada@acme.test',
      avatar: 'https://acme.test/ada.png',
      clickId: 'click_own',
      linkId: 'link_1',
    });

  async function addEvents(customer: Customer, count: number): Promise<void> {
    const { db } = t.app;
    const event = (kind: string, i: number) => ({
      id: `${kind}_${customer.id}_${i}`,
      workspace_id: ws.id,
      customer_id: customer.id,
      link_id: 'link_1',
      click_id: `click_${i}`,
      event_name: 'Sign up',
      click: JSON.stringify(click(`click_${i}`)),
      metadata: METADATA,
      time_ms: 1_000 + i,
      created_at: 1_000 + i,
    });
    const money = {
      amount: 4900,
      currency: 'usd',
      original_amount: 4900,
      original_currency: 'usd',
      payment_processor: 'stripe',
      invoice_id: 'inv_1',
      refunded_amount: 0,
      refunded_at: null,
    };
    await db.write(async (trx) => {
      for (let i = 0; i < count; i++) {
        await trx
          .insertInto('lead')
          .values({ ...event('lead', i), url: 'https://acme.test/' })
          .execute();
        await trx
          .insertInto('sale')
          .values({ ...event('sale', i), ...money })
          .execute();
      }
    });
  }

  async function addClicks(...clickIds: string[]): Promise<void> {
    const values = { workspace_id: ws.id, link_id: 'link_1', time_ms: 900 };
    await t.app.db.query
      .insertInto('click_index')
      .values(clickIds.map((id) => ({ ...values, id, click: JSON.stringify(click(id)) })))
      .execute();
  }

  async function addCopies(customer: Customer): Promise<void> {
    const { db, clock } = t.app;
    const person = {
      id: customer.id,
      name: customer.name,
      email: customer.email,
      externalId: customer.externalId,
    };
    const key = { workspace_id: ws.id, customer_id: customer.id, event_id: null, created_at: 1 };
    await db.write(async (trx) => {
      const answer = JSON.stringify({
        customer: person,
        sale: { amount: 4900, metadata: { note: 'favourite colour' } },
      });
      await trx
        .insertInto('conversion_key')
        .values([
          { ...key, kind: 'lead', key: 'user-of-acme-42:sign-up', answer },
          { ...key, kind: 'invoice', key: 'inv_1', answer },
        ])
        .execute();
      const idempotency = { scope: ws.id, fingerprint: 'f', status: 200, created_at: 1 };
      await trx
        .insertInto('idempotency')
        .values([
          { ...idempotency, key: 'made', body: JSON.stringify(person) },
          {
            ...idempotency,
            key: 'tracked',
            body: JSON.stringify({ customer: { name: 'Ada Ray', externalId: customer.externalId } }),
          },
          { ...idempotency, key: 'other', body: '{"id":"link_1","externalId":"7"}' },
        ])
        .execute();
      const webhook = { customer: person, metadata: { note: 'favourite colour' } };
      await appendOutbox(
        trx,
        [{ workspaceId: ws.id, type: 'lead.created', payload: { leads: [] }, webhook }],
        clock.now(),
      );
    });
  }

  /** Everything in SQL, as one text. */
  async function allRows(): Promise<string> {
    const { db } = t.app;
    const names = await sql<{ name: string }>`${
      db.engine === 'sqlite'
        ? sql`select name from sqlite_master where type = 'table' and name not like '%\\_search%' escape '\\'`
        : sql`select tablename as name from pg_tables where schemaname = current_schema()`
    }`.execute(db.query);
    const texts = await Promise.all(
      names.rows.map(async ({ name }) =>
        JSON.stringify((await sql`select * from ${sql.table(name)}`.execute(db.query)).rows),
      ),
    );
    assert.ok(texts.length > 20, `${texts.length} tables`);
    return texts.join('\n');
  }

  test('everything that is stored about a person comes as one document', async () => {
    const customer = await ada();
    await addEvents(customer, 2);
    await addClicks('click_own');
    const reply = await t.request('GET', `/customers/${customer.id}/export`, { key: ws.key });
    assert.equal(reply.status, 200);
    const { customer: person, leads, sales, clicks } = reply.json;
    assert.deepEqual([person.id, person.email, person.clickId], [customer.id, 'ada@acme.test', 'click_own']);
    assert.deepEqual(leads[1], {
      id: `lead_${customer.id}_1`,
      linkId: 'link_1',
      clickId: 'click_1',
      eventName: 'Sign up',
      metadata: { note: 'favourite colour' },
      timestamp: '1970-01-01T00:00:01.001Z',
    });
    assert.deepEqual(
      sales.map((sale: { amount: number; clickId: string }) => [sale.amount, sale.clickId]),
      [
        [4900, 'click_0'],
        [4900, 'click_1'],
      ],
    );
    assert.deepEqual(
      clicks.map((each: ClickRecord) => [each.id, each.ip]),
      [
        ['click_0', '203.0.113.7'],
        ['click_1', '203.0.113.7'],
        ['click_own', '203.0.113.7'],
      ],
    );
    await t.request('DELETE', `/customers/${customer.id}`, { key: ws.key });
  });

  test('nothing personal is left in any table, and the events stay', async () => {
    const customer = await ada();
    await addEvents(customer, 3);
    await addClicks('click_0');
    await addCopies(customer);
    for (const text of PERSONAL) assert.ok((await allRows()).includes(text), text);
    const reply = await t.request('DELETE', `/customers/${customer.id}`, { key: ws.key });
    assert.deepEqual([reply.status, reply.json], [200, { id: customer.id }]);

    const rows = await allRows();
    for (const text of PERSONAL) assert.equal(rows.includes(text), false, text);
    const { db } = t.app;
    const sales = await db.query
      .selectFrom('sale')
      .selectAll()
      .where('customer_id', '=', customer.id)
      .execute();
    assert.deepEqual(
      sales.map(({ amount, metadata }) => [amount, metadata]),
      [
        [4900, null],
        [4900, null],
        [4900, null],
      ],
    );
    assert.equal(JSON.parse(sales[0]?.click as string).country, 'US');
    const invoice = await db.query
      .selectFrom('conversion_key')
      .selectAll()
      .where('key', '=', 'inv_1')
      .execute();
    assert.equal(JSON.parse(invoice[0]?.answer as string).sale.amount, 4900);
    assert.ok(rows.includes('"body":"{\\"id\\":\\"link_1\\"'), 'answers about others stay');
    assert.equal((await t.request('GET', `/customers/${customer.id}`, { key: ws.key })).status, 404);
  });

  test('the event store is told the clicks, once each, and more events than one step takes are all blanked', async () => {
    const customer = await ada();
    await addEvents(customer, 700);
    await t.request('DELETE', `/customers/${customer.id}`, { key: ws.key });
    await t.app.services.customers.cleanUp(new AbortController().signal);
    const { db } = t.app;
    for (const table of ['lead', 'sale'] as const) {
      const events = await db.query
        .selectFrom(table)
        .select(['metadata', 'click'])
        .where('customer_id', '=', customer.id)
        .execute();
      assert.equal(events.length, 700);
      assert.ok(events.every((row) => row.metadata === null && JSON.parse(row.click).ip === ''));
    }
    const told = await db.query
      .selectFrom('outbox')
      .select('payload')
      .where('type', '=', 'customer.erased')
      .where('workspace_id', '=', ws.id)
      .execute();
    const clicks = told
      .map(({ payload }) => JSON.parse(payload) as { customerId: string; clickIds: string[] })
      .filter(({ customerId }) => customerId === customer.id)
      .flatMap(({ clickIds }) => clickIds);
    assert.deepEqual(new Set(clicks).size, 701);
    assert.equal((await db.query.selectFrom('cleanup').select('target').execute()).length, 0);
  });

  test('others who keep something of customers are asked to forget, until nothing is left', async () => {
    const { createCustomers } = await import('./customers.ts');
    const { createCustomerStore } = await import('./customer.store.ts');
    const { createCustomerTraceStore } = await import('./customer-traces.store.ts');
    const { db, clock } = t.app;
    const kept = new Map<string, number>();
    const customers = createCustomers({
      db,
      store: createCustomerStore(db),
      traces: createCustomerTraceStore(db),
      images: { savePersonalImage: async () => '', remove: async () => {} },
      forget: [
        async (id, limit) => {
          const count = Math.min(kept.get(id) ?? 0, limit);
          kept.set(id, (kept.get(id) ?? 0) - count);
          return count;
        },
      ],
      forgetClicks: async () => {},
      clock,
      ids: (prefix) => `${prefix}forgotten`,
    });
    const { id } = await customers.create(ws.id, { externalId: 'f' });
    kept.set(id, 1_234);
    await customers.delete(ws.id, id);
    assert.equal(kept.get(id), 734);
    await customers.cleanUp(new AbortController().signal);
    assert.equal(kept.get(id), 0);
  });
});
