// The groups of a program, and the default links that their partners get.
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Domains } from '../domains/domains.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { readDestination } from '../kernel/destination.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentChanges } from './enrolment-changes.ts';
import type { GroupFilter, GroupLock, GroupSort, GroupStore, GroupTotals } from './group.store.ts';
import {
  type DefaultLink,
  MAX_DEFAULT_LINKS,
  NO_REWARDS,
  type PartnerGroup,
  type RewardIds,
} from './group.ts';
import type { GroupDefaultLinks } from './group-default-links.ts';
import type { Enrolment } from './partner.ts';
import type { ProgramStore } from './program.store.ts';
import { assertPlanFor, type Program } from './program.ts';
import type { Programs } from './programs.ts';

export type GroupChange = Partial<
  Omit<PartnerGroup, 'id' | 'programId' | 'workspaceId' | 'createdAt' | 'updatedAt' | keyof RewardIds>
>;

export interface GroupsParts {
  readonly db: Database;
  readonly store: GroupStore;
  readonly programs: Programs;
  readonly programStore: ProgramStore;
  readonly enrolments: EnrolmentStore;
  readonly changes: EnrolmentChanges;
  readonly defaultLinks: Pick<GroupDefaultLinks, 'spread' | 'release'>;
  readonly workspaces: Pick<Workspaces, 'assertBelow' | 'reserve'>;
  readonly domains: Pick<Domains, 'forLink'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Moving a partner also changes links: few at a time. */
const MOVES_PER_STEP = 50;

export function createGroups(parts: GroupsParts) {
  const { db, store, programs, programStore, enrolments, changes, workspaces, domains, clock, ids } = parts;
  const leaving = createCleanup({ db, kind: 'partner-group', step: leaveGroup, rowsPerStep: MOVES_PER_STEP });

  /** Takes partners of a deleted group into the default group. */
  async function leaveGroup(workspaceId: string, groupId: string, limit: number): Promise<number> {
    const program = await programs.find(workspaceId);
    const target = program?.defaultGroupId ? await store.find(program.defaultGroupId) : undefined;
    if (!program || !target) return 0;
    const some = await enrolments.findMembers({ programId: program.id, id: groupId }, '', limit);
    return changes.move(program, target, some.enrolments);
  }

  /** A group named in a path, by id or slug. */
  async function get(actor: Actor, ref: string, lock?: GroupLock): Promise<PartnerGroup> {
    const byId = await store.find(ref, lock);
    if (byId) return owned(byId, actor.workspaceId, 'group');
    const program = await programs.getOfWorkspace(actor.workspaceId);
    return owned(await store.findBySlug(program.id, ref.toLowerCase(), lock), actor.workspaceId, 'group');
  }

  /** A group named in a body, by id or slug; the default group when none is named. */
  async function getFor(
    program: Program,
    ref: string | null | undefined,
    lock?: GroupLock,
  ): Promise<PartnerGroup> {
    const named = ref ?? program.defaultGroupId ?? '';
    const group =
      (await store.find(named, lock)) ?? (await store.findBySlug(program.id, named.toLowerCase(), lock));
    if (!group) throw new AppError('not_found', 'custom: groupId: there is no such group');
    if (group.programId !== program.id) {
      throw new AppError('forbidden', 'custom: groupId: this group belongs to another program');
    }
    return group;
  }

  /** The group that a partner is in; the default group for those whose group is gone and who have yet to move. */
  async function getOf(program: Program, { groupId }: Pick<Enrolment, 'groupId'>): Promise<PartnerGroup> {
    return (groupId !== null && (await store.find(groupId))) || getFor(program, null);
  }

  /** Addresses in their stored form, for each host one. */
  function checkedLinks({ additionalLinks }: GroupChange): Pick<GroupChange, 'additionalLinks'> {
    if (!additionalLinks) return additionalLinks === undefined ? {} : { additionalLinks };
    const seen = new Set<string>();
    for (const [index, { domain }] of additionalLinks.entries()) {
      if (seen.has(domain)) {
        throw new AppError(
          'bad_request',
          `custom: additionalLinks[${index}].domain: ${domain} is there twice`,
        );
      }
      seen.add(domain);
    }
    return { additionalLinks };
  }

  /** As it is while nobody else changes which group is the default, or adds default links. */
  async function lockedProgram(actor: Actor): Promise<Program> {
    await programStore.lock((await programs.getOfWorkspace(actor.workspaceId)).id);
    return programs.getOfWorkspace(actor.workspaceId);
  }

  return {
    get,
    getFor,
    getOf,

    async list(
      actor: Actor,
      filter: GroupFilter,
      page: PageRequest<GroupSort>,
    ): Promise<(PartnerGroup & GroupTotals)[]> {
      return store.list((await programs.getOfWorkspace(actor.workspaceId)).id, filter, page);
    },

    /** By id; unknown ids and other programs' are left out. */
    async findByIds(programId: string, groupIds: readonly string[]): Promise<Map<string, PartnerGroup>> {
      const found = await store.findByIds(programId, [...new Set(groupIds)]);
      return new Map(found.map((group) => [group.id, group]));
    },

    async assertRoom(actor: Actor): Promise<void> {
      const program = await programs.getOfWorkspace(actor.workspaceId);
      await workspaces.assertBelow('groups', actor, () => store.count(program.id));
    },

    /** A new group has the settings and default links of the default group, but not its rewards. */
    create(actor: Actor, request: Pick<PartnerGroup, 'name' | 'slug' | 'color'>): Promise<PartnerGroup> {
      return db.write(async () => {
        const program = await programs.getOfWorkspace(actor.workspaceId);
        await workspaces.reserve('groups', actor, () => store.count(program.id));
        const model = await getFor(program, null);
        const nowMs = clock.now();
        const times = { createdAt: nowMs, updatedAt: nowMs };
        const group = { ...model, ...request, ...NO_REWARDS, moveRules: null, id: ids('grp_'), ...times };
        await store.insert(group).catch(slugTaken);
        for (const link of await store.findDefaultLinks(model.id)) {
          await store.insertDefaultLink({ ...link, id: ids('pgdl_'), groupId: group.id, ...times });
        }
        return group;
      });
    },

    update(actor: Actor, ref: string, change: GroupChange): Promise<PartnerGroup> {
      return db.write(async () => {
        const group = await get(actor, ref, 'update');
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const reslugged = change.slug !== undefined && change.slug !== group.slug;
        if (reslugged && group.id === program.defaultGroupId) {
          throw new AppError('bad_request', 'custom: slug: the default group keeps its slug');
        }
        if (change.moveRules?.length) assertPlanFor('moveRules', actor.plan, 'advanced');
        const { name, slug } = { ...group, ...change };
        const kept = unchangedSince(group, change);
        const values = { ...change, ...kept, ...checkedLinks(change), name, slug, updatedAt: clock.now() };
        await store.update(group.id, values).catch(slugTaken);
        return (await store.find(group.id)) as PartnerGroup;
      });
    },

    /** The group is gone at once; its partners go to the default group, many of them after a while. */
    delete(actor: Actor, ref: string): Promise<PartnerGroup> {
      return db.write(async () => {
        const group = await get(actor, ref, 'update');
        const program = await lockedProgram(actor);
        if (group.id === program.defaultGroupId) {
          throw new AppError('forbidden', 'The default group cannot be deleted.');
        }
        await store.delete(group.id);
        await leaving.begin(actor.workspaceId, group.id, clock.now());
        return group;
      });
    },

    setDefault(actor: Actor, ref: string): Promise<PartnerGroup> {
      return db.write(async () => {
        const group = await get(actor, ref);
        await lockedProgram(actor);
        await programStore.update(group.programId, { defaultGroupId: group.id, updatedAt: clock.now() });
        return group;
      });
    },

    /** Returns how many partners have come; unknown ones refuse the whole call. */
    movePartners(actor: Actor, ref: string, partnerIds: readonly string[]): Promise<number> {
      return db.write(async () => {
        const group = await get(actor, ref);
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const wanted = [...new Set(partnerIds)];
        const found = await enrolments.findByPartners(program.id, wanted);
        const known = new Set(found.map(({ partnerId }) => partnerId));
        const unknown = wanted.filter((id) => !known.has(id));
        if (unknown.length > 0) {
          throw new AppError('not_found', `custom: partnerIds: not in the program: ${unknown.join(', ')}`);
        }
        return changes.move(program, group, found);
      });
    },

    async listDefaultLinks(actor: Actor, ref: string): Promise<DefaultLink[]> {
      return store.findDefaultLinks((await get(actor, ref)).id);
    },

    /** For all partners of the group, many of them after a while. */
    addDefaultLink(
      actor: Actor,
      ref: string,
      request: { readonly url: string; readonly domain?: string | undefined },
    ): Promise<DefaultLink> {
      return db.write(async () => {
        // Whoever joins meanwhile has either been here before, or finds it when they look.
        const group = await get(actor, ref, 'update');
        const program = await lockedProgram(actor);
        const present = await store.findDefaultLinks(group.id);
        if (present.length >= MAX_DEFAULT_LINKS) {
          throw invalid('url', `a group has at most ${MAX_DEFAULT_LINKS} default links`);
        }
        const url = readDestination('url', request.url);
        const domain = (
          await domains.forLink(actor.workspaceId, request.domain ?? program.domain ?? undefined)
        ).slug;
        const { id: groupId, programId, workspaceId } = group;
        const times = { createdAt: clock.now(), updatedAt: clock.now() };
        const link = { id: ids('pgdl_'), programId, workspaceId, groupId, domain, url, ...times };
        if (present.some((other) => other.url === url)) throw urlTaken();
        await store.insertDefaultLink(link);
        await parts.defaultLinks.spread(link);
        return link;
      });
    },

    /** Links that partners have got by it stay, as any other link. */
    deleteDefaultLink(actor: Actor, ref: string, id: string): Promise<void> {
      return db.write(async () => {
        const group = await get(actor, ref, 'update');
        const present = await store.findDefaultLinks(group.id);
        if (!present.some((link) => link.id === id)) {
          throw new AppError('not_found', 'The group has no such default link.');
        }
        await store.deleteDefaultLink(id);
        await parts.defaultLinks.release(group, id);
      });
    },

    /** Goes on moving partners out of deleted groups; for a job. */
    cleanUp: (signal: AbortSignal): Promise<void> => leaving.run(signal),
  };
}

export type Groups = ReturnType<typeof createGroups>;

/** What is on already is on since then. */
function unchangedSince(
  { autoApproveAt, applicationFormPublishedAt }: PartnerGroup,
  change: GroupChange,
): GroupChange {
  return {
    ...(autoApproveAt && change.autoApproveAt && { autoApproveAt }),
    ...(applicationFormPublishedAt && change.applicationFormPublishedAt && { applicationFormPublishedAt }),
  };
}

function slugTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'custom: slug: another group has this slug', { cause: error });
}

function urlTaken(): AppError {
  return new AppError('conflict', 'custom: url: the group has a default link to this address already');
}
