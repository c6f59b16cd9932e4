// SQL for tags.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import { foldName, type Tag, type TagColor } from './tag.ts';

export type TagSort = 'name' | 'createdAt';

export interface TagFilter {
  readonly search?: string | undefined;
  readonly ids?: readonly string[] | undefined;
}

export function createTagStore(db: Database) {
  const matching = (workspaceId: string, { search, ids }: TagFilter) => {
    let query = db.query.selectFrom('tag').where('workspace_id', '=', workspaceId);
    if (search) query = query.where(contains(sql.ref('name_folded'), foldName(search)));
    if (ids?.length) query = query.where('id', 'in', ids);
    return query;
  };

  return {
    async find(id: string): Promise<Tag | undefined> {
      const row = await db.query.selectFrom('tag').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toTag(row);
    },

    async list(workspaceId: string, filter: TagFilter, page: PageRequest<TagSort>): Promise<Tag[]> {
      const spec = {
        columns: { name: 'name_folded', createdAt: 'created_at' },
        createdAt: 'created_at',
        id: 'id',
      } as const;
      const rows = await listPage(matching(workspaceId, filter).selectAll(), spec, page);
      return rows.map(toTag);
    },

    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Tag[]> {
      const query = db.query.selectFrom('tag').selectAll().where('workspace_id', '=', workspaceId);
      return (await query.where('id', 'in', ids).execute()).map(toTag);
    },

    async findByNames(workspaceId: string, folded: readonly string[]): Promise<Tag[]> {
      const query = db.query.selectFrom('tag').selectAll().where('workspace_id', '=', workspaceId);
      return (await query.where('name_folded', 'in', folded).execute()).map(toTag);
    },

    async count(workspaceId: string, filter: TagFilter = {}): Promise<number> {
      const row = await matching(workspaceId, filter)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    async insert(tag: Tag): Promise<void> {
      await db.query
        .insertInto('tag')
        .values({
          id: tag.id,
          workspace_id: tag.workspaceId,
          name: tag.name,
          name_folded: foldName(tag.name),
          color: tag.color,
          created_at: tag.createdAt,
          updated_at: tag.createdAt,
        })
        .execute();
    },

    async update(tag: Tag, nowMs: number): Promise<void> {
      await db.query
        .updateTable('tag')
        .set({ name: tag.name, name_folded: foldName(tag.name), color: tag.color, updated_at: nowMs })
        .where('id', '=', tag.id)
        .execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('tag').where('id', '=', id).execute();
    },
  };
}

export type TagStore = ReturnType<typeof createTagStore>;

function toTag(row: Schema['tag']): Tag {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    color: row.color as TagColor,
    createdAt: row.created_at,
  };
}
