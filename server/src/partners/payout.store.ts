// SQL for payouts. A change of state compares the state it starts from, so that of two at once one is refused.
import { type Expression, type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { toColumns, toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { ListFilter } from '../kernel/list-filter.ts';
import type { Earner } from './commission.store.ts';
import { groupCondition } from './enrolment-list.store.ts';
import type { Payout } from './payout.ts';
import { OPEN_PAYOUTS, type PayoutStatus } from './payout-states.ts';

type Row = Schema['payout'];

const ORDERS = {
  amount: 'amount',
  initiatedAt: 'coalesce(initiated_at, 0)',
  paidAt: 'coalesce(paid_at, 0)',
} as const;
export type PayoutSort = keyof typeof ORDERS;
export const PAYOUT_SORTS = Object.keys(ORDERS) as [PayoutSort, ...PayoutSort[]];

export interface PayoutFilter {
  readonly status?: PayoutStatus | undefined;
  readonly partnerId?: string | undefined;
  readonly invoiceId?: string | undefined;
  readonly groupId?: ListFilter | undefined;
}

export function createPayoutStore(db: Database) {
  const all = () => db.query.selectFrom('payout').selectAll();

  /** In a transaction: nobody else changes them before it ends. SQLite has one writer and needs no lock. */
  const locked = <Q extends ReturnType<typeof all>>(query: Q): Q =>
    db.engine === 'postgres' && db.inTransaction ? (query.forUpdate() as Q) : query;

  async function first(query: ReturnType<typeof all>): Promise<Payout | undefined> {
    const row = await query.executeTakeFirst();
    return row && toPayout(row);
  }

  return {
    find: (id: string): Promise<Payout | undefined> => first(locked(all().where('id', '=', id))),

    /** In the order of their ids, so that those who lock several do not wait for each other in a circle. */
    async findByIds(ids: readonly string[]): Promise<Payout[]> {
      if (ids.length === 0) return [];
      return (await locked(all().where('id', 'in', ids).orderBy('id')).execute()).map(toPayout);
    },

    /** The one that commissions of the partner join. */
    findPending: ({ programId, partnerId }: Earner): Promise<Payout | undefined> =>
      first(
        locked(
          all()
            .where('program_id', '=', programId)
            .where('partner_id', '=', partnerId)
            .where('status', '=', 'pending'),
        ),
      ),

    async list(programId: string, filter: PayoutFilter, page: PageRequest<PayoutSort>): Promise<Payout[]> {
      const columns = Object.fromEntries(
        PAYOUT_SORTS.map((name) => [name, sql.raw(ORDERS[name])]),
      ) as unknown as Record<PayoutSort, Expression<unknown>>;
      let query = all().where('program_id', '=', programId);
      if (filter.status) query = query.where('status', '=', filter.status);
      if (filter.partnerId !== undefined) query = query.where('partner_id', '=', filter.partnerId);
      if (filter.invoiceId !== undefined) query = query.where('invoice_id', '=', filter.invoiceId);
      if (filter.groupId) {
        query = query.where(
          sql<SqlBool>`exists (select 1 from enrolment
            where enrolment.program_id = payout.program_id and enrolment.partner_id = payout.partner_id
              and ${groupCondition(filter.groupId)})`,
        );
      }
      const rows = await listPage(query, { columns, createdAt: 'created_at', id: 'id' }, page);
      return rows.map(toPayout);
    },

    /** False when the partner has one that is pending. */
    async insert(payout: Payout): Promise<boolean> {
      const row = await db.query
        .insertInto('payout')
        .values(toColumns(payout) as unknown as Insertable<Row>)
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      return row !== undefined;
    },

    /** False when it is in another state by now. */
    async change(id: string, from: PayoutStatus, change: Partial<Payout>): Promise<boolean> {
      const { numUpdatedRows } = await db.query
        .updateTable('payout')
        .set(toColumns(change))
        .where('id', '=', id)
        .where('status', '=', from)
        .executeTakeFirst();
      return Number(numUpdatedRows) === 1;
    },

    /** Adds up what is in an open payout now; one that nothing is left in is gone. */
    async resum(id: string, nowMs: number): Promise<void> {
      const sums = await db.query
        .selectFrom('commission')
        .select((eb) => [
          eb.fn.countAll<number>().as('count'),
          eb.fn.sum<number | null>('earnings').as('amount'),
          eb.fn.min<number | null>('created_at').as('period_start'),
          eb.fn.max<number | null>('created_at').as('period_end'),
        ])
        .where('payout_id', '=', id)
        .executeTakeFirstOrThrow();
      if (Number(sums.count) === 0) {
        await db.query
          .deleteFrom('payout')
          .where('id', '=', id)
          .where('status', 'in', OPEN_PAYOUTS)
          .execute();
        return;
      }
      const { period_start, period_end } = sums;
      await db.query
        .updateTable('payout')
        .set({ amount: Number(sums.amount), period_start, period_end, updated_at: nowMs })
        .where('id', '=', id)
        .where('status', 'in', OPEN_PAYOUTS)
        .execute();
    },
  };
}

export type PayoutStore = ReturnType<typeof createPayoutStore>;

function toPayout(row: Selectable<Row>): Payout {
  return {
    ...toFields(row),
    status: row.status as PayoutStatus,
    mode: row.mode as Payout['mode'],
    method: row.method as Payout['method'],
  };
}
