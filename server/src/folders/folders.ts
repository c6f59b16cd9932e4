// The folders of a workspace, who may use them, and what links have to ask before they use one. Every change
// writes its outbox event in the same transaction.
import type { Users } from '../access/users.ts';
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import { type Actor, planIncludes } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { FolderSort, FolderStore, FolderUserSort } from './folder.store.ts';
import {
  type AccessLevel,
  type Folder,
  type FolderNeed,
  type FolderRole,
  type FolderUser,
  mayEverything,
  mayIn,
} from './folder.ts';
import { createFolderRights, noRight } from './folder-rights.ts';

/** What folders need of links. It runs inside the caller's transaction. */
export interface FolderLinks {
  /** Takes at most `limit` links out of the folder; returns how many. */
  leaveFolder(workspaceId: string, folderId: string, limit: number): Promise<number>;
}

export interface FoldersParts {
  readonly db: Database;
  readonly store: FolderStore;
  readonly workspaces: Workspaces;
  readonly users: Users;
  readonly links: FolderLinks;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface FolderChange {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  readonly accessLevel?: AccessLevel | undefined;
}

type FolderEvent = 'folder.created' | 'folder.updated' | 'folder.deleted';

export function createFolders({ db, store, workspaces, users, links, clock, ids }: FoldersParts) {
  const cleanup = createCleanup({ db, kind: 'folder', step: links.leaveFolder });

  async function assertMay(actor: Actor, folderId: string, need: FolderNeed): Promise<void> {
    if (mayEverything(actor)) return;
    const [access] = await store.findAccess([folderId], actor.userId);
    if (!access || !mayIn(actor, access, need)) throw noRight(need);
  }

  async function getFor(actor: Actor, id: string, need: FolderNeed): Promise<Folder> {
    const folder = owned(await store.find(id), actor.workspaceId, 'folder');
    await assertMay(actor, id, need);
    return folder;
  }

  async function tell(type: FolderEvent, { id, workspaceId, name, accessLevel }: Folder): Promise<void> {
    await appendOutbox(db.query, [{ workspaceId, type, payload: { id, name, accessLevel } }], clock.now());
  }

  function visible(actor: Actor, search: string | undefined) {
    return { search, visibleTo: mayEverything(actor) ? undefined : actor.userId };
  }

  return {
    ...createFolderRights(store),

    list: (
      actor: Actor,
      filter: { search?: string | undefined },
      page: PageRequest<FolderSort>,
    ): Promise<Folder[]> => store.list(actor.workspaceId, visible(actor, filter.search), page),

    count: (actor: Actor, filter: { search?: string | undefined }): Promise<number> =>
      store.count(actor.workspaceId, visible(actor, filter.search)),

    get: (actor: Actor, id: string): Promise<Folder> => getFor(actor, id, 'read'),

    /** By id; unknown ids are left out. Who may read them is the caller's concern. */
    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Map<string, Folder>> {
      return new Map((await store.findByIds(workspaceId, ids)).map((folder) => [folder.id, folder]));
    },

    assertRoom: (actor: Actor): Promise<void> =>
      workspaces.assertBelow('folders', actor, () => store.count(actor.workspaceId)),

    create(actor: Actor, request: FolderChange & { readonly name: string }): Promise<Folder> {
      assertPlan(actor, request.accessLevel);
      const { workspaceId, userId } = actor;
      return db.write(async () => {
        await workspaces.reserve('folders', actor, () => store.count(workspaceId));
        const nowMs = clock.now();
        const { name, description = null, accessLevel = 'write' } = request;
        const times = { createdAt: nowMs, updatedAt: nowMs };
        const folder: Folder = {
          id: ids('fold_'),
          workspaceId,
          name,
          description,
          type: 'default',
          accessLevel,
          ...times,
        };
        await store.insert(folder).catch(nameTaken);
        await store.setRole(folder.id, userId, 'owner', nowMs);
        await tell('folder.created', folder);
        return folder;
      });
    },

    update(actor: Actor, id: string, change: FolderChange): Promise<Folder> {
      return db.write(async () => {
        const before = await getFor(actor, id, 'manage');
        assertPlan(actor, change.accessLevel);
        const folder: Folder = {
          ...before,
          name: change.name ?? before.name,
          description: change.description === undefined ? before.description : change.description,
          accessLevel: change.accessLevel === undefined ? before.accessLevel : change.accessLevel,
          updatedAt: clock.now(),
        };
        await store.update(folder).catch(nameTaken);
        await tell('folder.updated', folder);
        return folder;
      });
    },

    /** The folder is gone at once; its links stay, and many of them take a while to leave it. */
    delete(actor: Actor, id: string): Promise<Folder> {
      return db.write(async () => {
        const folder = await getFor(actor, id, 'manage');
        await store.delete(id);
        await cleanup.begin(actor.workspaceId, id, clock.now());
        await tell('folder.deleted', folder);
        return folder;
      });
    },

    /** Goes on taking links out of deleted folders; for a job. */
    cleanUp: (signal: AbortSignal): Promise<void> => cleanup.run(signal),

    async listUsers(actor: Actor, id: string, page: PageRequest<FolderUserSort>): Promise<FolderUser[]> {
      await getFor(actor, id, 'manage');
      return store.listUsers(id, page);
    },

    /** Null takes the personal role away: then what the folder grants to everybody applies. */
    setUserRole(actor: Actor, id: string, userId: string, role: FolderRole | null): Promise<void> {
      return db.write(async () => {
        const folder = await getFor(actor, id, 'manage');
        const member = await users.findMember(actor.workspaceId, userId);
        if (!member) throw new AppError('not_found', 'There is no such user in this workspace.');
        if (role === null) await store.removeRole(id, userId);
        else await store.setRole(id, userId, role, clock.now());
        await tell('folder.updated', folder);
      });
    },
  };
}

export type Folders = ReturnType<typeof createFolders>;

function assertPlan(actor: Actor, accessLevel: AccessLevel | undefined): void {
  if (accessLevel === undefined || accessLevel === 'write' || planIncludes(actor.plan, 'business')) return;
  throw new AppError(
    'forbidden',
    `An accessLevel other than write needs the plan business or higher; the workspace has ${actor.plan}.`,
  );
}

function nameTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'A folder with this name exists already.', { cause: error });
}
