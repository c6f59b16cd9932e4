// SQL for enrolments: one row per partner and program.
import { type Insertable, type Selectable, type SqlBool, sql, type Updateable } from 'kysely';
import type { Database } from '../db/database.ts';
import { toColumns, toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { ACTIVE_STATUSES, COUNTED_STATUSES } from './enrolment-states.ts';
import type { PartnerGroup, RewardIds } from './group.ts';
import { toPartner } from './partner.store.ts';
import { type EnrolledPartner, type Enrolment, fold, type Partner, type Totals } from './partner.ts';

type Row = Schema['enrolment'];

export interface PartnerClicks {
  readonly linkId: string;
  readonly clicks: number;
}

/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_UPDATE = 500;
const ROWS_PER_STATEMENT = 5_000;

export function createEnrolmentStore(db: Database) {
  const ofProgram = (programId: string) =>
    db.query.selectFrom('enrolment').selectAll().where('program_id', '=', programId);

  /** In a transaction: nobody else changes the enrolment before it ends. SQLite has one writer and needs no lock. */
  const locked = <Q extends ReturnType<typeof ofProgram>>(query: Q): Q =>
    db.engine === 'postgres' && db.inTransaction ? (query.forUpdate() as Q) : query;

  async function first(query: ReturnType<typeof ofProgram>): Promise<Enrolment | undefined> {
    const row = await query.executeTakeFirst();
    return row && toEnrolment(row);
  }

  return {
    /** By id; locked while in a transaction. */
    find: (id: string): Promise<Enrolment | undefined> =>
      first(locked(db.query.selectFrom('enrolment').selectAll().where('id', '=', id))),

    findByPartner: (programId: string, partnerId: string): Promise<Enrolment | undefined> =>
      first(locked(ofProgram(programId).where('partner_id', '=', partnerId))),

    findByTenant: (programId: string, tenantId: string): Promise<Enrolment | undefined> =>
      first(locked(ofProgram(programId).where('tenant_folded', '=', fold(tenantId)))),

    /** In the order of their ids, so that those who lock several do not wait for each other in a circle. */
    async findByPartners(programId: string, partnerIds: readonly string[]): Promise<Enrolment[]> {
      if (partnerIds.length === 0) return [];
      const query = ofProgram(programId).where('partner_id', 'in', partnerIds).orderBy('id');
      return (await locked(query).execute()).map(toEnrolment);
    },

    async findByIds(ids: readonly string[]): Promise<Enrolment[]> {
      if (ids.length === 0) return [];
      const rows = await db.query.selectFrom('enrolment').selectAll().where('id', 'in', ids).execute();
      return rows.map(toEnrolment);
    },

    /** At most so many enrolments of a group after this one, the oldest first; `last` is undefined after the last. */
    async findMembers(
      { programId, id: groupId }: Pick<PartnerGroup, 'id' | 'programId'>,
      after: string,
      limit: number,
    ): Promise<{ enrolments: Enrolment[]; last: string | undefined }> {
      let query = ofProgram(programId).where('group_id', '=', groupId);
      const [createdAt, id] = after.split('/');
      if (id !== undefined)
        query = query.where(sql<SqlBool>`(created_at, id) > (${Number(createdAt)}, ${id})`);
      const found = await locked(query.orderBy('created_at').orderBy('id').limit(limit)).execute();
      const last = found.length < limit ? undefined : found.at(-1);
      return { enrolments: found.map(toEnrolment), last: last && `${last.created_at}/${last.id}` };
    },

    /** Those that are rewarded for clicks and follow this one, in the order of their ids. */
    async findWithClickReward(programId: string, after: string, limit: number): Promise<Enrolment[]> {
      const query = ofProgram(programId)
        .where('click_reward_id', 'is not', null)
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit);
      return (await query.execute()).map(toEnrolment);
    },

    /** With the people behind them, by partner. */
    async findEnrolled(programId: string, partnerIds: readonly string[]): Promise<EnrolledPartner[]> {
      if (partnerIds.length === 0) return [];
      const enrolments = await ofProgram(programId).where('partner_id', 'in', partnerIds).execute();
      const people = await db.query.selectFrom('partner').selectAll().where('id', 'in', partnerIds).execute();
      const byId = new Map(people.map((row) => [row.id, toPartner(row)]));
      return enrolments.map((row) => ({
        partner: byId.get(row.partner_id) as Partner,
        enrolment: toEnrolment(row),
      }));
    },

    /** Partners that count towards what the workspace may have. */
    async countCounted(programId: string): Promise<number> {
      const row = await db.query
        .selectFrom('enrolment')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('program_id', '=', programId)
        .where('status', 'in', COUNTED_STATUSES)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** False when the partner is enrolled already, or the tenant is another partner's. */
    async insert(enrolment: Enrolment): Promise<boolean> {
      const row = await db.query
        .insertInto('enrolment')
        .values(columnsOf(enrolment) as unknown as Insertable<Row>)
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      return row !== undefined;
    },

    async update(id: string, change: Partial<Enrolment>): Promise<void> {
      await db.query.updateTable('enrolment').set(columnsOf(change)).where('id', '=', id).execute();
    },

    /** Gives all active partners of a group its rewards, in statements that each take a moment only. */
    async setRewards(groupId: string, programId: string, rewards: Partial<RewardIds>): Promise<void> {
      const columns = toColumns(rewards);
      const differs = sql.join(
        Object.entries(columns).map(([name, value]) => sql`${sql.ref(name)} is distinct from ${value}`),
        sql` or `,
      );
      for (;;) {
        const some = db.query
          .selectFrom('enrolment')
          .select('id')
          .where('program_id', '=', programId)
          .where('group_id', '=', groupId)
          .where('status', 'in', ACTIVE_STATUSES)
          .where(sql<SqlBool>`(${differs})`)
          .limit(ROWS_PER_STATEMENT);
        const { numUpdatedRows } = await db.query
          .updateTable('enrolment')
          .set(columns)
          .where('id', 'in', some)
          .executeTakeFirst();
        if (numUpdatedRows < ROWS_PER_STATEMENT) return;
      }
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('enrolment').where('id', '=', id).execute();
    },

    /** Adds what happened to what a partner has brought; `atMs` where a lead or a conversion was among it. */
    async addTotals(programId: string, partnerId: string, added: Totals, atMs?: number): Promise<void> {
      const change: Updateable<Row> = {};
      const plus = (column: keyof Row, n: number | undefined) => {
        if (n) Object.assign(change, { [column]: sql`${sql.ref(column)} + ${n}` });
      };
      plus('total_clicks', added.clicks);
      plus('total_leads', added.leads);
      plus('total_conversions', added.conversions);
      plus('total_sales', added.sales);
      plus('total_sale_amount', added.saleAmount);
      plus('total_commissions', added.commissions);
      if (atMs !== undefined && added.leads) change.last_lead_at = atMs;
      if (atMs !== undefined && added.conversions) change.last_conversion_at = atMs;
      if (Object.keys(change).length === 0) return;
      await db.query
        .updateTable('enrolment')
        .set(change)
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .execute();
    },

    /** Clicks by link; links without a partner are passed over. One statement for many links. */
    async addClicks(rows: readonly PartnerClicks[]): Promise<void> {
      for (let start = 0; start < rows.length; start += ROWS_PER_UPDATE) {
        const values = rows
          .slice(start, start + ROWS_PER_UPDATE)
          .map((row) => sql`(${row.linkId}, cast(${row.clicks} as bigint))`);
        await sql`update enrolment set total_clicks = enrolment.total_clicks + added.clicks
          from (
            select link.program_id, link.partner_id, cast(sum(counted.column2) as bigint) as clicks
            from (values ${sql.join(values)}) as counted
            join link on link.id = counted.column1
            where link.partner_id is not null and link.program_id is not null
            group by link.program_id, link.partner_id
          ) as added
          where enrolment.program_id = added.program_id
            and enrolment.partner_id = added.partner_id`.execute(db.query);
      }
    },
  };
}

export type EnrolmentStore = ReturnType<typeof createEnrolmentStore>;

function columnsOf(fields: Partial<Enrolment>) {
  const { tenantId } = fields;
  return toColumns({ ...fields, tenantFolded: tenantId && fold(tenantId) });
}

export function toEnrolment(row: Selectable<Row>): Enrolment {
  const { tenantFolded: _, ...fields } = toFields(row);
  return fields as Enrolment;
}
