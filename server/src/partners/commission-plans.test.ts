// Commissions are found by an index that fits, however many a program has.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { eachDatabase } from '../testing/databases.ts';
import { listening, numbers, planOf } from '../testing/query-plans.ts';
import { createCommissionStore } from './commission.store.ts';
import { type CommissionFilter, createCommissionListStore } from './commission-list.store.ts';
import { createPayoutStore } from './payout.store.ts';

const COUNT = 20_000;
const EARNER = { programId: 'prog_1', partnerId: 'pn_7' };

/** Of a hundred partners; all for sales but for one, of a customer each, in payouts of a thousand. */
async function fill(db: Database): Promise<void> {
  const series = numbers(db, COUNT);
  await db.write(async (trx) => {
    await sql`insert into workspace (id, name, slug, plan, created_at, updated_at, default_product, allowed_hostnames, limits)
      values ('ws_1', 'W', 'w', 'pro', 0, 0, 'links', '[]', '{}')`.execute(trx);
    await sql`insert into program (id, workspace_id, name, slug, created_at, updated_at)
      values ('prog_1', 'ws_1', 'P', 'p', 0, 0)`.execute(trx);
    await sql`insert into partner (id, created_at, updated_at)
      select 'pn_' || n, 0, 0 from ${numbers(db, 100)}`.execute(trx);
    await sql`insert into commission (id, program_id, workspace_id, partner_id, customer_id, payout_id, event_id,
        invoice_id, type, amount, earnings, status, created_at, updated_at)
      select 'cm_' || n, 'prog_1', 'ws_1', 'pn_' || (n % 100), 'cus_' || n, 'po_' || (n / 1000), 'e_' || n,
        'in_' || n, case when n = 7 then 'referral' else 'sale' end, 10, 2, 'processed', n, n
      from ${series}`.execute(trx);
  });
  await sql.raw('analyze commission').execute(db.query);
}

eachDatabase('commissions', (databases) => {
  let db: Database;
  before(async () => {
    db = await databases.open();
    await fill(db);
  });

  async function plansOf(ask: (heard: Database) => Promise<unknown>): Promise<string[]> {
    const { db: heard, asked } = listening(db);
    await ask(heard);
    assert.ok(asked.length > 0);
    return Promise.all(asked.map((node) => planOf(db, node)));
  }

  test('are listed without going through all of the program', async () => {
    const page = { sortBy: 'createdAt', sortOrder: 'desc', page: 1, pageSize: 100 } as const;
    const only = (value: string) => ({ not: false, values: [value] });
    const filters: [CommissionFilter, string][] = [
      [{ customerId: 'cus_7' }, 'commission_(by|of)_customer'],
      [{ type: only('referral') }, 'commission_by_type'],
      [{ partnerId: only('pn_7') }, 'commission_of_partner|commission_spending'],
      [{ payoutId: 'po_7' }, 'commission_of_payout'],
      [{ invoiceId: 'in_7' }, 'commission_of_invoice'],
      [{ status: 'hold' }, 'commission_by_status'],
    ];
    for (const [filter, index] of filters) {
      const [plan = ''] = await plansOf((heard) =>
        createCommissionListStore(heard).list('prog_1', filter, page),
      );
      assert.match(plan, new RegExp(index), plan);
    }
  });

  test('are looked up, summed and gathered by an index, every time', async () => {
    const month = { fromMs: 0, beforeMs: 1_000 };
    const plans = await plansOf(async (heard) => {
      const store = createCommissionStore(heard);
      await store.findFirst('cus_7', 'pn_7', 'sale');
      await store.findByEvent('e_7');
      await store.findByInvoices('prog_1', ['in_7', 'in_8']);
      assert.equal(await store.sumSpent(EARNER, 'sale', month, 'cus_107'), 2);
      await store.sumSpent(EARNER, 'lead', month, null);
      await store.hasDue(EARNER, 5_000);
      await store.findPendingPartner('prog_1', 'pn_7');
      assert.equal(await store.findLastClickTime('prog_1', 0), undefined);
      await createPayoutStore(heard).adjust('po_7', 0, 1);
    });
    for (const plan of plans) {
      assert.match(plan, /SEARCH|Index (Only )?Scan|Bitmap Index Scan/, plan);
      assert.doesNotMatch(plan, /\bSCAN commission\b|Seq Scan on commission|TEMP B-TREE FOR ORDER/, plan);
    }
  });

  test('are counted by state without a look at the rows themselves', async () => {
    const [plan = ''] = await plansOf((heard) => createCommissionListStore(heard).count('prog_1', {}));
    // PostgreSQL reads the table where that is less work, as it is when the index covers all of it.
    if (db.engine === 'sqlite') assert.match(plan, /COVERING INDEX commission_by_status/, plan);
    else assert.doesNotMatch(plan, /Sort/, plan);
  });
});
