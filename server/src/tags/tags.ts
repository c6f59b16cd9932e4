// The tags of a workspace and their rules. Every change writes its outbox event in the same transaction.
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import { groupWrites } from '../db/group-writes.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { type Ids, pick } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { TagFilter, TagSort, TagStore } from './tag.store.ts';
import { DEFAULT_TAG_COLORS, foldName, type Tag, type TagColor } from './tag.ts';

/** What tags need of links. It runs inside the caller's transaction. */
export interface TagLinks {
  /** Takes the tag off at most `limit` links; returns how many. */
  loseTag(tagId: string, limit: number): Promise<number>;
}

export interface TagsParts {
  readonly db: Database;
  readonly store: TagStore;
  readonly workspaces: Workspaces;
  readonly links: TagLinks;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createTags({ db, store, workspaces, links, clock, ids }: TagsParts) {
  const step = (_workspaceId: string, tagId: string, limit: number) => links.loseTag(tagId, limit);
  const cleanup = createCleanup({ db, kind: 'tag', step });
  const write = groupWrites(db);

  async function getOwn(workspaceId: string, id: string): Promise<Tag> {
    return owned(await store.find(id), workspaceId, 'tag');
  }

  async function tell(type: 'tag.created' | 'tag.updated' | 'tag.deleted', tag: Tag): Promise<void> {
    const payload = { id: tag.id, name: tag.name, color: tag.color };
    await appendOutbox(db.query, [{ workspaceId: tag.workspaceId, type, payload }], clock.now());
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

    assertRoom: (actor: Actor): Promise<void> =>
      workspaces.assertBelow('tags', actor, () => store.count(actor.workspaceId)),

    create(actor: Actor, request: { name: string; color?: TagColor | undefined }): Promise<Tag> {
      const { workspaceId } = actor;
      return write(async () => {
        await workspaces.reserve('tags', actor, () => store.count(workspaceId));
        const color = request.color ?? pick(DEFAULT_TAG_COLORS);
        const tag = { id: ids('tag_'), workspaceId, name: request.name, color, createdAt: clock.now() };
        await store.insert(tag).catch(nameTaken);
        await tell('tag.created', tag);
        return tag;
      });
    },

    /** A change that changes nothing writes nothing and tells nobody. */
    update(
      workspaceId: string,
      id: string,
      change: { name?: string | undefined; color?: TagColor | undefined },
    ): Promise<Tag> {
      return db.write(async () => {
        const before = await getOwn(workspaceId, id);
        const tag = { ...before, name: change.name ?? before.name, color: change.color ?? before.color };
        if (tag.name === before.name && tag.color === before.color) return before;
        await store.update(tag, clock.now()).catch(nameTaken);
        await tell('tag.updated', tag);
        return tag;
      });
    },

    /** The tag is gone at once; its links stay, and many of them take a while to lose it. */
    delete(workspaceId: string, id: string): Promise<Tag> {
      return db.write(async () => {
        const tag = await getOwn(workspaceId, id);
        await store.delete(id);
        await cleanup.begin(workspaceId, id, clock.now());
        await tell('tag.deleted', tag);
        return tag;
      });
    },

    /** Goes on taking deleted tags off links; for a job. */
    cleanUp: (signal: AbortSignal): Promise<void> => cleanup.run(signal),
  };
}

export type Tags = ReturnType<typeof createTags>;

function nameTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'A tag with this name exists already.', { cause: error });
}
