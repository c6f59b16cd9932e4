// SQL for the tags of a program and the partners that carry them.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { toColumns, toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { foldName } from '../tags/tag.ts';
import type { PartnerTag } from './partner-tags.ts';

export type PartnerTagSort = 'name' | 'createdAt';
export interface PartnerTagFilter {
  readonly search?: string | undefined;
  readonly ids?: readonly string[] | undefined;
}

export function createPartnerTagStore(db: Database) {
  const matching = (programId: string, { search, ids }: PartnerTagFilter) => {
    let query = db.query.selectFrom('partner_tag').where('program_id', '=', programId);
    if (search) query = query.where(contains(sql.ref('name_folded'), foldName(search)));
    if (ids?.length) query = query.where('id', 'in', ids);
    return query;
  };

  return {
    async find(id: string): Promise<PartnerTag | undefined> {
      const row = await db.query
        .selectFrom('partner_tag')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirst();
      return row && toTag(row);
    },

    async findByIds(programId: string, ids: readonly string[]): Promise<PartnerTag[]> {
      if (ids.length === 0) return [];
      return (await matching(programId, { ids }).selectAll().execute()).map(toTag);
    },

    async list(
      programId: string,
      filter: PartnerTagFilter,
      page: PageRequest<PartnerTagSort>,
    ): Promise<PartnerTag[]> {
      const spec = {
        columns: { name: 'name_folded', createdAt: 'created_at' },
        createdAt: 'created_at',
        id: 'id',
      } as const;
      return (await listPage(matching(programId, filter).selectAll(), spec, page)).map(toTag);
    },

    async count(programId: string): Promise<number> {
      const row = await matching(programId, {})
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    async insert(tag: PartnerTag): Promise<void> {
      await db.query
        .insertInto('partner_tag')
        .values({
          ...(toColumns(tag) as unknown as Insertable<Schema['partner_tag']>),
          name_folded: foldName(tag.name),
        })
        .execute();
    },

    async rename(id: string, name: string, nowMs: number): Promise<void> {
      await db.query
        .updateTable('partner_tag')
        .set({ name, name_folded: foldName(name), updated_at: nowMs })
        .where('id', '=', id)
        .execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('partner_tag').where('id', '=', id).execute();
    },

    /** The tags of each enrolment, by name. */
    async findOfEnrolments(enrolmentIds: readonly string[]): Promise<Map<string, PartnerTag[]>> {
      if (enrolmentIds.length === 0) return new Map();
      const rows = await db.query
        .selectFrom('enrolment_tag')
        .innerJoin('partner_tag', 'partner_tag.id', 'enrolment_tag.tag_id')
        .selectAll('partner_tag')
        .select('enrolment_tag.enrolment_id')
        .where('enrolment_tag.enrolment_id', 'in', enrolmentIds)
        .orderBy('partner_tag.name_folded')
        .execute();
      const byEnrolment = Map.groupBy(rows, (row) => row.enrolment_id);
      return new Map([...byEnrolment].map(([id, tags]) => [id, tags.map(toTag)]));
    },

    /** Those that carry it already stay as they are. */
    async add(tagId: string, enrolmentIds: readonly string[], nowMs: number): Promise<string[]> {
      if (enrolmentIds.length === 0) return [];
      const rows = await db.query
        .insertInto('enrolment_tag')
        .values(enrolmentIds.map((id) => ({ enrolment_id: id, tag_id: tagId, created_at: nowMs })))
        .onConflict((conflict) => conflict.doNothing())
        .returning('enrolment_id')
        .execute();
      return rows.map((row) => row.enrolment_id);
    },

    /** Returns those that carried it. */
    async remove(tagId: string, enrolmentIds: readonly string[]): Promise<string[]> {
      if (enrolmentIds.length === 0) return [];
      const rows = await db.query
        .deleteFrom('enrolment_tag')
        .where('tag_id', '=', tagId)
        .where('enrolment_id', 'in', enrolmentIds)
        .returning('enrolment_id')
        .execute();
      return rows.map((row) => row.enrolment_id);
    },

    async findSomeWith(tagId: string, limit: number): Promise<string[]> {
      const rows = await db.query
        .selectFrom('enrolment_tag')
        .select('enrolment_id')
        .where('tag_id', '=', tagId)
        .orderBy('enrolment_id')
        .limit(limit)
        .execute();
      return rows.map((row) => row.enrolment_id);
    },
  };
}

export type PartnerTagStore = ReturnType<typeof createPartnerTagStore>;

function toTag(row: Selectable<Schema['partner_tag']>): PartnerTag {
  const { id, programId, workspaceId, name, createdAt, updatedAt } = toFields(row);
  return { id, programId, workspaceId, name, createdAt, updatedAt };
}
