// What links ask about folders: whether somebody may use one.
import type { Expression, SqlBool } from 'kysely';
import type { Actor } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { FolderStore } from './folder.store.ts';
import { type FolderNeed, mayEverything, mayIn } from './folder.ts';

/** Narrows a query over links to those in no folder or in one that the actor may read. */
export type FolderScope = (folderId: Expression<string | null>) => Expression<SqlBool>;

export function createFolderRights(store: FolderStore) {
  return {
    /**
     * A folder named in a body or a filter: not found when it is unknown or another workspace's, forbidden
     * without the right. In a transaction, the folder cannot be deleted before that ends.
     */
    async assertUsable(actor: Actor, folderId: string, need: 'read' | 'write'): Promise<void> {
      const [access] = await store.findAccess([folderId], actor.userId, 'share');
      if (access?.workspaceId !== actor.workspaceId)
        throw new AppError('not_found', 'There is no such folder.');
      if (!mayIn(actor, access, need)) throw noRight(need);
    },

    /**
     * Of the folders that links are in, those the actor may not use so. A folder that is being deleted
     * refuses nothing: its links are about to be in none. For one page or one bulk request of links.
     */
    async findRefused(
      actor: Actor,
      folderIds: Iterable<string>,
      need: 'read' | 'write',
    ): Promise<Set<string>> {
      if (mayEverything(actor)) return new Set();
      const found = await store.findAccess([...new Set(folderIds)], actor.userId);
      return new Set(found.filter((access) => !mayIn(actor, access, need)).map((access) => access.id));
    },

    /** The same for folders that a filter names, which may be many and are only to be read. */
    async assertReadable(actor: Actor, folderIds: readonly string[]): Promise<void> {
      const found = new Map(
        (await store.findAccess(folderIds, actor.userId)).map((access) => [access.id, access]),
      );
      for (const id of folderIds) {
        const access = found.get(id);
        if (access?.workspaceId !== actor.workspaceId)
          throw new AppError('not_found', 'There is no such folder.');
        if (!mayIn(actor, access, 'read')) throw noRight('read');
      }
    },

    /** The folders that the actor may not read: the private ones of others. */
    async findHidden(actor: Actor): Promise<string[]> {
      return mayEverything(actor) ? [] : store.findPrivate(actor.workspaceId, actor.userId);
    },

    /** How a list of links keeps to readable folders; undefined when the actor may read them all. */
    readableScope(actor: Actor): FolderScope | undefined {
      if (mayEverything(actor)) return undefined;
      return (folderId) => store.readableBy(actor.workspaceId, actor.userId, folderId);
    },
  };
}

export function noRight(need: FolderNeed): AppError {
  return new AppError('forbidden', `You do not have the right to ${need} in this folder.`);
}
