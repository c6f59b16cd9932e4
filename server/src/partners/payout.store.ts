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

  function matching(programId: string, filter: PayoutFilter) {
    let query = all().where('program_id', '=', programId);
    if (filter.status) query = query.where('status', '=', filter.status);
    if (filter.partnerId !== undefined) query = query.where('partner_id', '=', filter.partnerId);
    if (filter.invoiceId !== undefined) query = query.where('invoice_id', '=', filter.invoiceId);
    if (!filter.groupId) return query;
    return query.where(
      sql<SqlBool>`exists (select 1 from enrolment
        where enrolment.program_id = payout.program_id and enrolment.partner_id = payout.partner_id
          and ${groupCondition(filter.groupId)})`,
    );
  }

  return {
    find: (id: string): Promise<Payout | undefined> => first(locked(all().where('id', '=', id))),

    /** Never locked: for whoever has to lock the partner first. */
    peek: (id: string): Promise<Payout | undefined> => first(all().where('id', '=', id)),

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
      const query = matching(programId, filter);
      const rows = await listPage(query, { columns, createdAt: 'created_at', id: 'id' }, page);
      return rows.map(toPayout);
    },

    /** The next ones in the order in which they were made, after this one: pages do not shift when payouts change. */
    async listAfter(
      programId: string,
      filter: PayoutFilter,
      after: Pick<Payout, 'createdAt' | 'id'> | undefined,
      limit: number,
    ): Promise<Payout[]> {
      let query = matching(programId, filter).orderBy('created_at').orderBy('id').limit(limit);
      if (after) query = query.where(sql<SqlBool>`(created_at, id) > (${after.createdAt}, ${after.id})`);
      return (await query.execute()).map(toPayout);
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

    /**
     * Commissions worth this much have joined an open payout, or left it when it is negative. One that nothing is
     * left in is gone. Takes no longer for a payout of 100,000 commissions than for one of two.
     */
    async adjust(id: string, cents: number, nowMs: number): Promise<void> {
      const inside = db.query.selectFrom('commission').where('payout_id', '=', id);
      await db.query
        .updateTable('payout')
        .set((eb) => ({
          amount: eb('amount', '+', cents),
          period_start: inside.select((of) => of.fn.min<number | null>('created_at').as('first')),
          period_end: inside.select((of) => of.fn.max<number | null>('created_at').as('last')),
          updated_at: nowMs,
        }))
        .where('id', '=', id)
        .where('status', 'in', OPEN_PAYOUTS)
        .execute();
      await db.query
        .deleteFrom('payout')
        .where('id', '=', id)
        .where('status', 'in', OPEN_PAYOUTS)
        // Which it is now exactly when nothing is left.
        .where('period_end', 'is', null)
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
