// The tags of a workspace and their rules. Every change writes its outbox event in the same transaction.
import { type Database, isUniqueViolation } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { type Ids, pick } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { TagFilter, TagSort, TagStore } from './tag.store.ts';
import { DEFAULT_TAG_COLORS, foldName, type Tag, type TagColor } from './tag.ts';

export interface TagsParts {
  readonly db: Database;
  readonly store: TagStore;
  readonly workspaces: Workspaces;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createTags({ db, store, workspaces, clock, ids }: TagsParts) {
  async function getOwn(workspaceId: string, id: string): Promise<Tag> {
    return owned(await store.find(id), workspaceId, 'tag');
  }

  /** The change and its event, together or not at all. */
  function changing(type: string, change: () => Promise<Tag>): Promise<Tag> {
    return db.write(async (trx) => {
      const tag = await change().catch(nameTaken);
      const payload = { id: tag.id, name: tag.name, color: tag.color };
      await appendOutbox(trx, [{ workspaceId: tag.workspaceId, type, payload }], clock.now());
      return tag;
    });
  }

  return {
    list: (workspaceId: string, filter: TagFilter, page: PageRequest<TagSort>): Promise<Tag[]> =>
      store.list(workspaceId, filter, page),

    count: (workspaceId: string, filter: TagFilter): Promise<number> => store.count(workspaceId, filter),

    /** By id; unknown ids are left out. */
    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Map<string, Tag>> {
      const found = ids.length === 0 ? [] : await store.findByIds(workspaceId, ids);
      return new Map(found.map((tag) => [tag.id, tag]));
    },

    /** By folded name; unknown names are left out. */
    async findByNames(workspaceId: string, names: readonly string[]): Promise<Map<string, Tag>> {
      const found = names.length === 0 ? [] : await store.findByNames(workspaceId, names.map(foldName));
      return new Map(found.map((tag) => [foldName(tag.name), tag]));
    },

    assertRoom: (workspaceId: string): Promise<void> =>
      workspaces.assertBelow('tags', workspaceId, () => store.count(workspaceId)),

    create(workspaceId: string, request: { name: string; color?: TagColor | undefined }): Promise<Tag> {
      return changing('tag.created', async () => {
        await workspaces.reserve('tags', workspaceId, () => store.count(workspaceId));
        const color = request.color ?? pick(DEFAULT_TAG_COLORS);
        const tag = { id: ids('tag_'), workspaceId, name: request.name, color, createdAt: clock.now() };
        await store.insert(tag);
        return tag;
      });
    },

    update(
      workspaceId: string,
      id: string,
      change: { name?: string | undefined; color?: TagColor | undefined },
    ): Promise<Tag> {
      return changing('tag.updated', async () => {
        const before = await getOwn(workspaceId, id);
        const tag = { ...before, name: change.name ?? before.name, color: change.color ?? before.color };
        await store.update(tag, clock.now());
        return tag;
      });
    },

    delete(workspaceId: string, id: string): Promise<Tag> {
      return changing('tag.deleted', async () => {
        const tag = await getOwn(workspaceId, id);
        await store.delete(id);
        return tag;
      });
    },
  };
}

export type Tags = ReturnType<typeof createTags>;

function nameTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'A tag with this name exists already.', { cause: error });
}
