// The tags of a program: names to sort partners by.
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { Enrolments } from './enrolments.ts';
import type { Enrolment } from './partner.ts';
import type { PartnerTagFilter, PartnerTagSort, PartnerTagStore } from './partner-tag.store.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';

export interface PartnerTag {
  readonly id: string;
  readonly programId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface PartnerTagsParts {
  readonly db: Database;
  readonly store: PartnerTagStore;
  readonly enrolmentStore: EnrolmentStore;
  readonly enrolments: Enrolments;
  readonly programs: Programs;
  readonly workspaces: Pick<Workspaces, 'assertBelow' | 'reserve'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createPartnerTags(parts: PartnerTagsParts) {
  const { db, store, enrolmentStore, enrolments, programs, workspaces, clock, ids } = parts;
  const losing = createCleanup({ db, kind: 'partner-tag', step: loseTag });

  /** Takes a deleted tag off some partners. */
  async function loseTag(_workspaceId: string, tagId: string, limit: number): Promise<number> {
    const carriers = await store.findSomeWith(tagId, limit);
    await store.remove(tagId, carriers);
    await enrolments.tellChanged(await enrolmentStore.findByIds(carriers));
    return carriers.length;
  }

  async function get(actor: Actor, id: string): Promise<PartnerTag> {
    return owned(await store.find(id), actor.workspaceId, 'partner tag');
  }

  async function findNamed(program: Program, partnerIds: readonly string[]): Promise<Enrolment[]> {
    const wanted = [...new Set(partnerIds)];
    const found = await enrolmentStore.findByPartners(program.id, wanted);
    const known = new Set(found.map(({ partnerId }) => partnerId));
    const unknown = wanted.filter((id) => !known.has(id));
    if (unknown.length === 0) return found;
    throw new AppError('not_found', `custom: partnerIds: not in the program: ${unknown.join(', ')}`);
  }

  /** Returns how many partners it made a difference to. */
  async function mark(
    actor: Actor,
    id: string,
    partnerIds: readonly string[],
    work: (enrolmentIds: string[]) => Promise<string[]>,
  ): Promise<number> {
    return db.write(async () => {
      await get(actor, id);
      const found = await findNamed(await programs.getOfWorkspace(actor.workspaceId), partnerIds);
      const changed = new Set(await work(found.map((enrolment) => enrolment.id)));
      await enrolments.tellChanged(found.filter((enrolment) => changed.has(enrolment.id)));
      return changed.size;
    });
  }

  return {
    get,

    async list(
      actor: Actor,
      filter: PartnerTagFilter,
      page: PageRequest<PartnerTagSort>,
    ): Promise<PartnerTag[]> {
      return store.list((await programs.getOfWorkspace(actor.workspaceId)).id, filter, page);
    },

    /** By id; unknown ids and other programs' are left out. */
    async findByIds(programId: string, tagIds: readonly string[]): Promise<Map<string, PartnerTag>> {
      const found = await store.findByIds(programId, [...new Set(tagIds)]);
      return new Map(found.map((tag) => [tag.id, tag]));
    },

    async assertRoom(actor: Actor): Promise<void> {
      const program = await programs.getOfWorkspace(actor.workspaceId);
      await workspaces.assertBelow('partnerTags', actor, () => store.count(program.id));
    },

    create(actor: Actor, name: string): Promise<PartnerTag> {
      return db.write(async () => {
        const { id: programId, workspaceId } = await programs.getOfWorkspace(actor.workspaceId);
        await workspaces.reserve('partnerTags', actor, () => store.count(programId));
        const times = { createdAt: clock.now(), updatedAt: clock.now() };
        const tag = { id: ids('ptag_'), programId, workspaceId, name, ...times };
        await store.insert(tag).catch(nameTaken);
        return tag;
      });
    },

    rename(actor: Actor, id: string, name: string): Promise<PartnerTag> {
      return db.write(async () => {
        await get(actor, id);
        await store.rename(id, name, clock.now()).catch(nameTaken);
        return get(actor, id);
      });
    },

    /** The tag is gone at once; many partners take a while to lose it. */
    delete(actor: Actor, id: string): Promise<PartnerTag> {
      return db.write(async () => {
        const tag = await get(actor, id);
        await store.delete(id);
        await losing.begin(actor.workspaceId, id, clock.now());
        return tag;
      });
    },

    add: (actor: Actor, id: string, partnerIds: readonly string[]): Promise<number> =>
      mark(actor, id, partnerIds, (enrolmentIds) => store.add(id, enrolmentIds, clock.now())),

    remove: (actor: Actor, id: string, partnerIds: readonly string[]): Promise<number> =>
      mark(actor, id, partnerIds, (enrolmentIds) => store.remove(id, enrolmentIds)),

    /** Gives the partner these tags and no others; in the caller's transaction. */
    async replace(program: Program, enrolment: Enrolment, tagIds: readonly string[]): Promise<void> {
      const wanted = new Set(tagIds);
      const found = await store.findByIds(program.id, [...wanted]);
      if (found.length < wanted.size) {
        const known = new Set(found.map((tag) => tag.id));
        const unknown = [...wanted].filter((id) => !known.has(id)).join(', ');
        throw new AppError('unprocessable_entity', `custom: tagIds: there are no partner tags ${unknown}`);
      }
      const present = (await store.findOfEnrolments([enrolment.id])).get(enrolment.id) ?? [];
      for (const { id } of present) if (!wanted.has(id)) await store.remove(id, [enrolment.id]);
      for (const id of wanted) await store.add(id, [enrolment.id], clock.now());
    },

    /** Goes on taking deleted tags off partners; for a job. */
    cleanUp: (signal: AbortSignal): Promise<void> => losing.run(signal),
  };
}

export type PartnerTags = ReturnType<typeof createPartnerTags>;

function nameTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'A partner tag with this name exists already.', { cause: error });
}
