// SQL for commissions one by one, and for all of a partner or of a payout at once. Lists are in
// commission-list.store.
import { type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { type Commission, type CommissionType, JOINED_NAME } from './commission.ts';
import {
  COMMISSION_TRANSITIONS,
  type CommissionStatus,
  EARNED_STATUSES,
  OPEN_STATUSES,
  SPENT_STATUSES,
} from './commission-states.ts';
import type { SpendWindow } from './reward-engine.ts';

type Row = Schema['commission'];

/** Whose commissions. */
export interface Earner {
  readonly programId: string;
  readonly partnerId: string;
}

/** Paid out as soon as they are there, whatever the holding period. */
const NOT_HELD: readonly CommissionType[] = ['custom', 'referral'];

export function createCommissionStore(db: Database) {
  const all = () => db.query.selectFrom('commission').selectAll();

  /** In a transaction: nobody else changes them before it ends. SQLite has one writer and needs no lock. */
  const locked = <Q extends ReturnType<typeof all>>(query: Q): Q =>
    db.engine === 'postgres' && db.inTransaction ? (query.forUpdate() as Q) : query;

  const due = ({ programId, partnerId }: Earner, madeBefore: number) =>
    db.query
      .selectFrom('commission')
      .where('program_id', '=', programId)
      .where('partner_id', '=', partnerId)
      .where('status', '=', 'pending')
      .where((eb) => eb.or([eb('created_at', '<=', madeBefore), eb('type', 'in', NOT_HELD)]));

  const ofEarner = ({ programId, partnerId }: Earner) =>
    db.query
      .updateTable('commission')
      .where('program_id', '=', programId)
      .where('partner_id', '=', partnerId);

  async function sumEarned(where: (query: ReturnType<typeof sums>) => ReturnType<typeof sums>) {
    const { total } = await where(sums()).executeTakeFirstOrThrow();
    return Number(total ?? 0);
  }
  const sums = () =>
    db.query.selectFrom('commission').select((eb) => eb.fn.sum<number | null>('earnings').as('total'));

  return {
    async find(id: string): Promise<Commission | undefined> {
      const row = await all().where('id', '=', id).executeTakeFirst();
      return row && toCommission(row);
    },

    /** In the order of their ids, and locked while in a transaction. */
    async findByIds(ids: readonly string[]): Promise<Commission[]> {
      if (ids.length === 0) return [];
      return (await locked(all().where('id', 'in', ids).orderBy('id')).execute()).map(toCommission);
    },

    async findByEvent(eventId: string): Promise<Commission | undefined> {
      const row = await all().where('event_id', '=', eventId).executeTakeFirst();
      return row && toCommission(row);
    },

    /** Who has earned these, each once. */
    async findPartnersOf(ids: readonly string[]): Promise<string[]> {
      if (ids.length === 0) return [];
      const query = db.query.selectFrom('commission').select('partner_id').distinct();
      return (await query.where('id', 'in', ids).execute()).map((row) => row.partner_id);
    },

    /** In no particular order. */
    async findByInvoices(programId: string, invoiceIds: readonly string[]): Promise<Commission[]> {
      const query = all().where('program_id', '=', programId).where('invoice_id', 'in', invoiceIds);
      return (await query.execute()).map(toCommission);
    },

    async hasInvoice(programId: string, invoiceId: string): Promise<boolean> {
      const query = db.query.selectFrom('commission').select('id').where('program_id', '=', programId);
      return (await query.where('invoice_id', '=', invoiceId).executeTakeFirst()) !== undefined;
    },

    /** The oldest one of this type that the partner has for the customer. */
    async findFirst(
      customerId: string,
      partnerId: string,
      type: CommissionType,
    ): Promise<Commission | undefined> {
      const row = await all()
        .where('customer_id', '=', customerId)
        .where('partner_id', '=', partnerId)
        .where('type', '=', type)
        .orderBy('created_at')
        .orderBy('id')
        .limit(1)
        .executeTakeFirst();
      return row && toCommission(row);
    },

    /** Others that the partner has for the customer and that can still change, at most so many. */
    async findUnpaidOf(customerId: string, partnerId: string, limit: number): Promise<Commission[]> {
      const query = all()
        .where('customer_id', '=', customerId)
        .where('partner_id', '=', partnerId)
        .where('status', 'in', OPEN_STATUSES)
        .orderBy('id')
        .limit(limit);
      return (await locked(query).execute()).map(toCommission);
    },

    /** What counts towards a spend limit; with a customer, what was earned by that one. */
    async sumSpent(
      { programId, partnerId }: Earner,
      type: CommissionType,
      { fromMs, beforeMs }: SpendWindow,
      customerId: string | null,
    ): Promise<number> {
      return sumEarned((query) => {
        const spent = query
          .where('program_id', '=', programId)
          .where('partner_id', '=', partnerId)
          .where('type', '=', type)
          .where('created_at', '>=', fromMs)
          .where('created_at', '<', beforeMs)
          .where('status', 'in', SPENT_STATUSES);
        return customerId === null ? spent : spent.where('customer_id', '=', customerId);
      });
    },

    /** False when its event or its invoice has one already. */
    async insert(commission: Commission): Promise<boolean> {
      const row = await db.query
        .insertInto('commission')
        .values(columnsOf(commission) as unknown as Insertable<Row>)
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      return row !== undefined;
    },

    async update(id: string, change: Partial<Commission>): Promise<void> {
      await db.query.updateTable('commission').set(columnsOf(change)).where('id', '=', id).execute();
    },

    /** The next partner of the program who has something pending. */
    async findPendingPartner(programId: string, after: string): Promise<string | undefined> {
      const row = await db.query
        .selectFrom('commission')
        .select('partner_id')
        .where('program_id', '=', programId)
        .where('status', '=', 'pending')
        .where('partner_id', '>', after)
        .orderBy('partner_id')
        .limit(1)
        .executeTakeFirst();
      return row?.partner_id;
    },

    /** Whether anything is due: made before that time, or of a kind that nobody waits for. */
    async hasDue(earner: Earner, madeBefore: number): Promise<boolean> {
      return (await due(earner, madeBefore).select('id').limit(1).executeTakeFirst()) !== undefined;
    },

    async sumDue(earner: Earner, madeBefore: number): Promise<number> {
      const { sum } = await due(earner, madeBefore)
        .select((eb) => eb.fn.sum<number | null>('earnings').as('sum'))
        .executeTakeFirstOrThrow();
      return Number(sum ?? 0);
    },

    /** Puts at most so many that are due into a payout; returns how many, and what they are worth. */
    async processDue(
      earner: Earner,
      madeBefore: number,
      to: { payoutId: string; limit: number; nowMs: number },
    ): Promise<{ count: number; earnings: number }> {
      const some = due(earner, madeBefore).select('id').orderBy('created_at').orderBy('id').limit(to.limit);
      const taken = await db.query
        .updateTable('commission')
        .set({ status: COMMISSION_TRANSITIONS.process.to, payout_id: to.payoutId, updated_at: to.nowMs })
        .where('id', 'in', some)
        .where('status', '=', 'pending')
        .returning('earnings')
        .execute();
      return { count: taken.length, earnings: taken.reduce((sum, { earnings }) => sum + earnings, 0) };
    },

    /** What happens to all of a payout at once; returns what those are worth that it happened to. */
    async changeOfPayout(
      payoutId: string,
      event: 'pay' | 'bounce' | 'cancel',
      nowMs: number,
    ): Promise<number> {
      const { from, to } = COMMISSION_TRANSITIONS[event];
      const worth = await sumEarned((query) =>
        query.where('payout_id', '=', payoutId).where('status', 'in', from),
      );
      await db.query
        .updateTable('commission')
        .set({ status: to, updated_at: nowMs })
        .where('payout_id', '=', payoutId)
        .where('status', 'in', from)
        .execute();
      return worth;
    },

    /** Cancels what is in no payout yet; returns what of it counted as earned. */
    async cancelOpen(earner: Earner, nowMs: number): Promise<number> {
      const { from, to } = COMMISSION_TRANSITIONS.cancel;
      const earned = await sumEarned((query) =>
        query
          .where('program_id', '=', earner.programId)
          .where('partner_id', '=', earner.partnerId)
          .where('payout_id', 'is', null)
          .where('status', 'in', from)
          .where('status', 'in', EARNED_STATUSES),
      );
      await ofEarner(earner)
        .set({ status: to, updated_at: nowMs })
        .where('payout_id', 'is', null)
        .where('status', 'in', from)
        .execute();
      return earned;
    },

    /** Cancels what was earned by sources of this partner that are canceled; what is in payouts leaves them. */
    async cancelShares(
      referrer: Earner,
      sourcePartnerId: string,
      payoutId: string | null,
      nowMs: number,
    ): Promise<{ earned: number; inPayout: number }> {
      const { from, to } = COMMISSION_TRANSITIONS.cancel;
      const joined = `${JOINED_NAME}${sourcePartnerId}`;
      // The sum for somebody who joined goes only if it was doubted: it is no share.
      const lost = sql<SqlBool>`(exists (select 1 from commission source
        where source.id = commission.source_commission_id and source.partner_id = ${sourcePartnerId}
          and source.status = ${to}) or (commission.invoice_id = ${joined} and commission.status = 'hold'))`;
      const open = sql<SqlBool>`(payout_id is null or payout_id = ${payoutId ?? ''})`;
      const sum = (statuses: readonly CommissionStatus[], inPayout: boolean) =>
        sumEarned((query) => {
          const shares = query
            .where('program_id', '=', referrer.programId)
            .where('partner_id', '=', referrer.partnerId)
            .where('type', '=', 'referral')
            .where('status', 'in', statuses)
            .where(lost)
            .where(open);
          return inPayout ? shares.where('payout_id', 'is not', null) : shares;
        });
      const sums = { earned: await sum(['pending', 'processed'], false), inPayout: await sum(from, true) };
      await ofEarner(referrer)
        .set({ status: to, payout_id: null, updated_at: nowMs })
        .where('type', '=', 'referral')
        .where('status', 'in', from)
        .where(lost)
        .where(open)
        .execute();
      return sums;
    },

    /** Those on hold that no open finding concerns any more are pending again; returns what they are worth. */
    async releaseHeld(earner: Earner, partnerLevel: readonly string[], nowMs: number): Promise<number> {
      const types = sql.join(partnerLevel.map((type) => sql`${type}`));
      const found = sql<SqlBool>`exists (
        select 1 from fraud_group where fraud_group.program_id = commission.program_id
          and fraud_group.partner_id = commission.partner_id and fraud_group.status = 'pending'
          and (fraud_group.type in (${types})
            or exists (select 1 from fraud_event where fraud_event.commission_id = commission.id
              and fraud_event.fraud_group_id = fraud_group.id)))`;
      // A share of what is held itself waits with it.
      const sourceHeld = sql<SqlBool>`exists (select 1 from commission source
        where source.id = commission.source_commission_id and source.status = 'hold')`;
      // So does the sum for somebody who joined, while something about them is open.
      const doubted = sql<SqlBool>`exists (select 1 from fraud_group
        where fraud_group.program_id = commission.program_id and fraud_group.status = 'pending'
          and fraud_group.partner_id = substr(commission.invoice_id, ${sql.lit(JOINED_NAME.length + 1)})
          and fraud_group.type in (${types}))`;
      const { from, to } = COMMISSION_TRANSITIONS.clear;
      const free = sql<SqlBool>`not ${found} and not ${sourceHeld} and not ${doubted}`;
      const worth = await sumEarned((query) =>
        query
          .where('program_id', '=', earner.programId)
          .where('partner_id', '=', earner.partnerId)
          .where('status', 'in', from)
          .where(free),
      );
      await ofEarner(earner)
        .set({ status: to, updated_at: nowMs })
        .where('status', 'in', from)
        .where(free)
        .execute();
      return worth;
    },

    /** Takes away what was recorded with events of a customer, of at most so many; returns of how many. */
    async forgetCustomer(customerId: string, limit: number): Promise<number> {
      const some = db.query
        .selectFrom('commission')
        .select('id')
        .where('customer_id', '=', customerId)
        .where('metadata', 'is not', null)
        .limit(limit);
      const { numUpdatedRows } = await db.query
        .updateTable('commission')
        .set({ metadata: null })
        .where('id', 'in', some)
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },

    /** When the latest commission for clicks was made, if that was after `sinceMs`. */
    async findLastClickTime(programId: string, sinceMs: number): Promise<number | undefined> {
      const row = await db.query
        .selectFrom('commission')
        .select('created_at')
        .where('program_id', '=', programId)
        .where('created_at', '>=', sinceMs)
        .where('type', '=', 'click')
        .orderBy('created_at', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row?.created_at;
    },
  };
}

export type CommissionStore = ReturnType<typeof createCommissionStore>;

function columnsOf({ metadata, ...fields }: Partial<Commission>) {
  return toColumns({ ...fields, metadata: metadata === undefined ? undefined : toJson(metadata) });
}

export function toCommission(row: Selectable<Row>): Commission {
  return {
    ...toFields(row),
    type: row.type as CommissionType,
    status: row.status as CommissionStatus,
    metadata: fromJson(row.metadata),
  };
}
