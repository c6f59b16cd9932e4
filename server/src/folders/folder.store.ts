// SQL for folders and the personal roles in them.
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import { foldName } from '../tags/tag.ts';
import type { AccessLevel, Folder, FolderRole, FolderType, FolderUser } from './folder.ts';

export type FolderSort = 'createdAt' | 'name';
export type FolderUserSort = 'createdAt' | 'name';

export interface FolderFilter {
  readonly search?: string | undefined;
  /** Only folders that are not private, or in which this user has a role. */
  readonly visibleTo?: string | undefined;
}

/** What decides on a right in a folder. */
export interface FolderAccess {
  readonly id: string;
  readonly workspaceId: string;
  readonly accessLevel: AccessLevel;
  readonly personal: FolderRole | undefined;
}

export function createFolderStore(db: Database) {
  const matching = (workspaceId: string, { search, visibleTo }: FolderFilter) => {
    let query = db.query.selectFrom('folder').where('workspace_id', '=', workspaceId);
    if (search) query = query.where(contains(sql.ref('name_folded'), foldName(search)));
    if (visibleTo !== undefined) {
      const own = db.query.selectFrom('folder_user').select('folder_id').where('user_id', '=', visibleTo);
      query = query.where((eb) => eb.or([eb('access_level', 'is not', null), eb('id', 'in', own)]));
    }
    return query;
  };

  return {
    async find(id: string): Promise<Folder | undefined> {
      const row = await db.query.selectFrom('folder').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toFolder(row);
    },

    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Folder[]> {
      if (ids.length === 0) return [];
      const query = db.query.selectFrom('folder').selectAll().where('workspace_id', '=', workspaceId);
      return (await query.where('id', 'in', ids).execute()).map(toFolder);
    },

    /** `lock`: the folder cannot be deleted before the transaction ends; SQLite has one writer and needs no lock. */
    async findAccess(ids: readonly string[], userId: string, lock?: 'share'): Promise<FolderAccess[]> {
      if (ids.length === 0) return [];
      let query = db.query
        .selectFrom('folder')
        .leftJoin('folder_user', (join) =>
          join.onRef('folder_user.folder_id', '=', 'folder.id').on('folder_user.user_id', '=', userId),
        )
        .select(['folder.id', 'folder.workspace_id', 'folder.access_level', 'folder_user.role'])
        .where('folder.id', 'in', ids);
      if (db.engine === 'postgres' && lock) query = query.forShare('folder');
      const rows = await query.execute();
      return rows.map((row) => ({
        id: row.id,
        workspaceId: row.workspace_id,
        accessLevel: row.access_level as AccessLevel,
        personal: (row.role ?? undefined) as FolderRole | undefined,
      }));
    },

    async list(workspaceId: string, filter: FolderFilter, page: PageRequest<FolderSort>): Promise<Folder[]> {
      const spec = {
        columns: { createdAt: 'created_at', name: 'name_folded' },
        createdAt: 'created_at',
        id: 'id',
      } as const;
      const rows = await listPage(matching(workspaceId, filter).selectAll(), spec, page);
      return rows.map(toFolder);
    },

    async count(workspaceId: string, filter: FolderFilter = {}): Promise<number> {
      const row = await matching(workspaceId, filter)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** The private folders without a role for this user. */
    async findPrivate(workspaceId: string, userId: string): Promise<string[]> {
      const rows = await db.query
        .selectFrom('folder')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('access_level', 'is', null)
        .where('id', 'not in', (eb) =>
          eb.selectFrom('folder_user').select('folder_id').where('user_id', '=', userId),
        )
        .execute();
      return rows.map(({ id }) => id);
    },

    /** True for a folder id that is null or names a folder this user may read. */
    readableBy(
      workspaceId: string,
      userId: string,
      folderId: Expression<string | null>,
    ): Expression<SqlBool> {
      // One small set for the whole query: the private folders without a role of one's own.
      return sql<SqlBool>`(${folderId} is null or ${folderId} not in (
        select folder.id from folder
        where folder.workspace_id = ${workspaceId} and folder.access_level is null and folder.id not in (
          select folder_user.folder_id from folder_user where folder_user.user_id = ${userId})))`;
    },

    async insert(folder: Folder): Promise<void> {
      await db.query
        .insertInto('folder')
        .values({
          id: folder.id,
          workspace_id: folder.workspaceId,
          name: folder.name,
          name_folded: foldName(folder.name),
          description: folder.description,
          type: folder.type,
          access_level: folder.accessLevel,
          created_at: folder.createdAt,
          updated_at: folder.updatedAt,
        })
        .execute();
    },

    async update(folder: Folder): Promise<void> {
      await db.query
        .updateTable('folder')
        .set({
          name: folder.name,
          name_folded: foldName(folder.name),
          description: folder.description,
          access_level: folder.accessLevel,
          updated_at: folder.updatedAt,
        })
        .where('id', '=', folder.id)
        .execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('folder').where('id', '=', id).execute();
    },

    async listUsers(folderId: string, page: PageRequest<FolderUserSort>): Promise<FolderUser[]> {
      const query = db.query
        .selectFrom('folder_user')
        .innerJoin('user', 'user.id', 'folder_user.user_id')
        .select(['user.id', 'user.name', 'user.email', 'folder_user.role', 'folder_user.created_at'])
        .where('folder_user.folder_id', '=', folderId);
      const rows = await listPage(
        query,
        {
          columns: { createdAt: 'folder_user.created_at', name: sql`coalesce("user".name, '')` },
          createdAt: 'folder_user.created_at',
          id: 'user.id',
        },
        page,
      );
      return rows.map((row) => ({
        userId: row.id,
        name: row.name,
        email: row.email,
        role: row.role as FolderRole,
        createdAt: row.created_at,
      }));
    },

    async setRole(folderId: string, userId: string, role: FolderRole, nowMs: number): Promise<void> {
      await db.query
        .insertInto('folder_user')
        .values({ folder_id: folderId, user_id: userId, role, created_at: nowMs, updated_at: nowMs })
        .onConflict((oc) => oc.columns(['folder_id', 'user_id']).doUpdateSet({ role, updated_at: nowMs }))
        .execute();
    },

    async removeRole(folderId: string, userId: string): Promise<void> {
      await db.query
        .deleteFrom('folder_user')
        .where('folder_id', '=', folderId)
        .where('user_id', '=', userId)
        .execute();
    },
  };
}

export type FolderStore = ReturnType<typeof createFolderStore>;

function toFolder(row: Schema['folder']): Folder {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    description: row.description,
    type: row.type as FolderType,
    accessLevel: row.access_level as AccessLevel,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
