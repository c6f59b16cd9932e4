// No look-up of conversions goes through a table, however many there are.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { eachDatabase } from '../testing/databases.ts';
import { listening, numbers, planOf } from '../testing/query-plans.ts';
import { createConversionStore } from './conversion.store.ts';

const COUNT = 20_000;

async function fill(db: Database): Promise<void> {
  const series = numbers(db, COUNT);
  const event = sql`cast(n as text), 'ws_1', 'cus_' || (n / 2), 'link_' || (n % 100), 'click_' || n, 'Sign up', '{}', n, n`;
  const columns = sql`id, workspace_id, customer_id, link_id, click_id, event_name, click, time_ms, created_at`;
  await db.write(async (trx) => {
    await sql`insert into workspace (id, name, slug, plan, created_at, updated_at, default_product, allowed_hostnames, limits)
      values ('ws_1', 'W', 'w', 'pro', 0, 0, 'links', '[]', '{}')`.execute(trx);
    await sql`insert into lead (${columns}, url) select ${event}, 'https://a.example/' from ${series}`.execute(
      trx,
    );
    await sql`insert into sale (${columns}, amount, currency, original_amount, original_currency, payment_processor)
      select ${event}, 1, 'usd', 1, 'usd', 'custom' from ${series}`.execute(trx);
    await sql`insert into click_index (id, workspace_id, link_id, time_ms, click)
      select 'click_' || n, 'ws_1', 'link_1', n, '{}' from ${series}`.execute(trx);
    await sql`insert into conversion_key (workspace_id, kind, key, answer, created_at)
      select 'ws_1', 'lead', cast(n as text), '{}', n from ${series}`.execute(trx);
  });
  for (const table of ['lead', 'sale', 'click_index', 'conversion_key'])
    await sql.raw(`analyze ${table}`).execute(db.query);
}

eachDatabase('conversions', (databases) => {
  let db: Database;
  before(async () => {
    db = await databases.open();
    await fill(db);
  });

  test('are found by an index, every one', async () => {
    const { db: heard, asked } = listening(db);
    const store = createConversionStore(heard);
    const slot = { workspaceId: 'ws_1', kind: 'lead', key: '7' } as const;
    assert.equal(await store.findAnswer(slot), '{}');
    await store.findEventId(slot);
    await store.keepAnswer(slot, { customerId: 'cus_1', eventId: '1', answer: 1 });
    assert.deepEqual(await store.findLeadClick('cus_7', null), {});
    await store.findLeadClick('cus_7', 'Sign up');
    assert.deepEqual(await store.findOwnClick('cus_7', 'click_14'), {});
    assert.deepEqual(await store.findIndexedClick('click_7'), {});
    assert.equal(await store.hasSale('link_7', 'cus_3'), true);
    assert.equal(await store.hasSale('link_7', 'cus_0'), false);
    assert.equal(
      (await store.countLeadsByUrl('link_7', 100, ['https://a.example/'])).get('https://a.example/'),
      199,
    );
    await store.lockSale('7');
    await store.addRefund('7', 1, 1);
    assert.equal(asked.length, 12);
    for (const node of asked) {
      const plan = await planOf(db, node);
      assert.match(plan, /SEARCH|Index (Only )?Scan|Bitmap Index Scan/, plan);
      assert.doesNotMatch(plan, /\bSCAN\b|Seq Scan|TEMP B-TREE FOR ORDER/, plan);
    }
  });
});
