// SQL for bounties, with the groups and tags that they are meant for.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Bounty } from './bounty.ts';
import { toEnrolment } from './enrolment.store.ts';
import { groupCondition, tagCondition } from './enrolment-list.store.ts';
import { ACTIVE_STATUSES } from './enrolment-states.ts';
import type { Enrolment } from './partner.ts';

type Row = Schema['bounty'];

const SPEC = { columns: { createdAt: 'created_at' }, createdAt: 'created_at', id: 'id' } as const;

export function createBountyStore(db: Database) {
  const all = () => db.query.selectFrom('bounty').selectAll().where('archived_at', 'is', null);

  /** The values of a joined table by bounty, for a page of bounties. */
  async function membersOf(what: 'group' | 'tag', bountyIds: readonly string[]) {
    const { rows } = await sql<{ bounty_id: string; member: string }>`
      select bounty_id, ${sql.ref(`${what}_id`)} as member from ${sql.table(`bounty_${what}`)}
      where bounty_id in (${sql.join(bountyIds)}) order by created_at, member
    `.execute(db.query);
    return Map.groupBy(rows, (row) => row.bounty_id);
  }

  async function withMembers(rows: readonly Selectable<Row>[]): Promise<Bounty[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const [groups, tags] = [await membersOf('group', ids), await membersOf('tag', ids)];
    const members = (found: typeof groups, id: string) => (found.get(id) ?? []).map(({ member }) => member);
    return rows.map((row) => toBounty(row, members(groups, row.id), members(tags, row.id)));
  }

  async function setMembers(
    what: 'group' | 'tag',
    id: string,
    members: readonly string[] | undefined,
    nowMs: number,
  ): Promise<void> {
    if (!members) return;
    const table = sql.table(`bounty_${what}`);
    await sql`delete from ${table} where bounty_id = ${id}`.execute(db.query);
    if (members.length === 0) return;
    const values = members.map((member) => sql`(${id}, ${member}, ${nowMs})`);
    await sql`insert into ${table} (bounty_id, ${sql.ref(`${what}_id`)}, created_at)
      values ${sql.join(values)}`.execute(db.query);
  }

  return {
    async find(id: string): Promise<Bounty | undefined> {
      return (await withMembers(await all().where('id', '=', id).execute()))[0];
    },

    async findByIds(ids: readonly string[]): Promise<Bounty[]> {
      return ids.length === 0 ? [] : withMembers(await all().where('id', 'in', ids).execute());
    },

    async list(programId: string, page: PageRequest<'createdAt'>): Promise<Bounty[]> {
      return withMembers(await listPage(all().where('program_id', '=', programId), SPEC, page));
    },

    async count(programId: string): Promise<number> {
      const row = await db.query
        .selectFrom('bounty')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('program_id', '=', programId)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** Those of a program that have begun and have not ended for everybody. */
    async findRunning(programId: string, nowMs: number, type?: Bounty['type']): Promise<Bounty[]> {
      let query = all()
        .where('program_id', '=', programId)
        .where('starts_at', '<=', nowMs)
        .where((eb) => eb.or([eb('ends_at', 'is', null), eb('ends_at', '>', nowMs)]))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc');
      if (type) query = query.where('type', '=', type);
      return withMembers(await query.execute());
    },

    /** Those that have begun, and not yet for the partners that are there. */
    async findToOpen(nowMs: number, limit: number): Promise<Bounty[]> {
      const query = all()
        .where('type', '=', sql.lit('performance'))
        .where('opened_at', 'is', null)
        .where('starts_at', '<=', nowMs)
        .orderBy('starts_at')
        .limit(limit);
      return withMembers(await query.execute());
    },

    /** Active partners that it is meant for, in the order of their ids; locked while in a transaction. */
    async findMeantFor(bounty: Bounty, afterPartnerId: string, limit: number): Promise<Enrolment[]> {
      const { programId, groupIds, tagIds } = bounty;
      let query = db.query
        .selectFrom('enrolment')
        .selectAll('enrolment')
        .where('enrolment.program_id', '=', programId)
        .where('enrolment.partner_id', '>', afterPartnerId)
        .where('enrolment.status', 'in', ACTIVE_STATUSES);
      if (groupIds.length > 0) query = query.where(groupCondition({ not: false, values: groupIds }));
      if (tagIds.length > 0) query = query.where(tagCondition({ not: false, values: tagIds }));
      query = query.orderBy('enrolment.partner_id').limit(limit);
      if (db.engine === 'postgres' && db.inTransaction) query = query.forUpdate();
      return (await query.execute()).map(toEnrolment);
    },

    async insert({ groupIds, tagIds, ...bounty }: Bounty): Promise<void> {
      await db.query
        .insertInto('bounty')
        .values(columnsOf(bounty) as unknown as Insertable<Row>)
        .execute();
      await setMembers('group', bounty.id, groupIds, bounty.createdAt);
      await setMembers('tag', bounty.id, tagIds, bounty.createdAt);
    },

    async update(id: string, change: Partial<Bounty> & { readonly updatedAt: number }): Promise<void> {
      const { groupIds, tagIds, ...fields } = change;
      await db.query.updateTable('bounty').set(columnsOf(fields)).where('id', '=', id).execute();
      await setMembers('group', id, groupIds, change.updatedAt);
      await setMembers('tag', id, tagIds, change.updatedAt);
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('bounty').where('id', '=', id).execute();
    },
  };
}

export type BountyStore = ReturnType<typeof createBountyStore>;

const JSON_FIELDS = ['performanceCondition', 'submissionRequirements'] as const;

function columnsOf(fields: Partial<Omit<Bounty, 'groupIds' | 'tagIds'>>) {
  const texts = JSON_FIELDS.flatMap((field) =>
    fields[field] === undefined ? [] : [[field, toJson(fields[field])]],
  );
  return toColumns({ ...fields, ...Object.fromEntries(texts) });
}

function toBounty(row: Selectable<Row>, groupIds: readonly string[], tagIds: readonly string[]): Bounty {
  return {
    ...toFields(row),
    type: row.type as Bounty['type'],
    startMode: row.start_mode as Bounty['startMode'],
    submissionFrequency: row.submission_frequency as Bounty['submissionFrequency'],
    performanceCondition: fromJson(row.performance_condition),
    performanceScope: row.performance_scope as Bounty['performanceScope'],
    submissionRequirements: fromJson(row.submission_requirements),
    groupIds,
    tagIds,
  };
}
