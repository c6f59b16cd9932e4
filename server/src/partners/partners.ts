// The partners of a program as a caller uses them: added, found, listed, changed, and sent away and back.
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { SaveImage } from '../files/image.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { invalid } from '../kernel/errors.ts';
import { withStoredImage } from '../links/link-image.ts';
import { slugify } from '../workspaces/workspace.ts';
import type { Admissions, Profile } from './admissions.ts';
import type { LinkProps } from './default-links.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentChanges } from './enrolment-changes.ts';
import type {
  EnrolmentFilter,
  EnrolmentGrouping,
  EnrolmentListStore,
  EnrolmentSort,
} from './enrolment-list.store.ts';
import type { ShownPartner } from './enrolment-wire.ts';
import type { Enrolments, PartnerWish } from './enrolments.ts';
import type { Groups } from './groups.ts';
import type { PartnerStore } from './partner.store.ts';
import { type BanReason, type Enrolment, tenantTaken } from './partner.ts';
import type { PartnerTags } from './partner-tags.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';
import type { Referrers } from './referrers.ts';

export interface PartnersParts {
  readonly db: Database;
  readonly programs: Programs;
  readonly groups: Groups;
  readonly tags: PartnerTags;
  readonly people: PartnerStore;
  readonly store: EnrolmentStore;
  readonly lists: EnrolmentListStore;
  readonly enrolments: Enrolments;
  readonly admissions: Admissions;
  readonly changes: EnrolmentChanges;
  readonly referrers: Referrers;
  readonly saveImage: SaveImage;
  readonly clock: Clock;
}

export interface NewPartner extends Profile {
  readonly username?: string | null | undefined;
  readonly tenantId?: string | undefined;
  readonly groupId?: string | undefined;
  readonly referredByPartnerId?: string | undefined;
  readonly linkProps?: LinkProps | undefined;
}

export interface PartnerChange {
  readonly tenantId?: string | null | undefined;
  readonly groupId?: string | undefined;
  readonly tagIds?: readonly string[] | undefined;
  readonly riskMonitoring?: boolean | undefined;
  readonly groupMoves?: boolean | undefined;
}

export function createPartners(parts: PartnersParts) {
  const { db, programs, groups, tags, people, store, lists, enrolments, admissions, changes, clock } = parts;
  const programOf = (actor: Actor) => programs.getOfWorkspace(actor.workspaceId);

  async function shown(enrolment: Enrolment): Promise<ShownPartner> {
    return (await enrolments.show([enrolment]))[0] as ShownPartner;
  }

  /** Whoever is there already, by the caller's own id or by the address; a new id of the caller's replaces the old. */
  async function findExisting(program: Program, request: NewPartner): Promise<Enrolment | undefined> {
    const { tenantId, email } = request;
    const person = await people.findByEmail(email);
    const byEmail = person && (await store.findByPartner(program.id, person.id));
    const byTenant = tenantId ? await store.findByTenant(program.id, tenantId) : undefined;
    if (byTenant && byEmail && byTenant.id !== byEmail.id) throw tenantTaken();
    if (byTenant || !byEmail || !tenantId) return byTenant ?? byEmail;
    return changes.update(byEmail, { tenantId });
  }

  async function insert(actor: Actor, program: Program, request: NewPartner): Promise<Enrolment> {
    const { username, tenantId = null, groupId, referredByPartnerId, linkProps, ...profile } = request;
    const group = await groups.getFor(program, groupId);
    await parts.referrers.assertKnown(program, referredByPartnerId);
    const partner = await admissions.findOrCreatePartner(profile);
    const wanted = { program, partner, group, status: 'approved', tenantId, referredByPartnerId } as const;
    const made = await admissions.insert(wanted);
    if (made) return admissions.admit(program, made, group, { username, linkProps, userId: actor.userId });
    // Somebody else was quicker.
    const existing = await findExisting(program, request);
    if (existing) return existing;
    throw tenantTaken();
  }

  /** A picture given as data becomes a file before the transaction begins. */
  async function withImages(request: NewPartner): Promise<NewPartner> {
    const { image, linkProps } = request;
    const stored = image?.startsWith('data:') ? await parts.saveImage(image, 'image') : image;
    const props = linkProps && ((await withStoredImage(linkProps, parts.saveImage)) as LinkProps);
    return { ...request, ...(image !== undefined && { image: stored ?? null }), linkProps: props };
  }

  async function change(
    actor: Actor,
    wish: PartnerWish,
    work: (found: Enrolment, program: Program) => Promise<unknown>,
  ) {
    return db.write(async () => {
      const program = await programOf(actor);
      const enrolment = await enrolments.get(program, wish);
      await work(enrolment, program);
      return { partnerId: enrolment.partnerId };
    });
  }

  async function setTenant(
    program: Program,
    enrolment: Enrolment,
    tenantId: string | null,
  ): Promise<Enrolment> {
    const holder = tenantId === null ? undefined : await store.findByTenant(program.id, tenantId);
    if (holder && holder.id !== enrolment.id) throw tenantTaken();
    return changes.update(enrolment, { tenantId });
  }

  async function applyChange(program: Program, before: Enrolment, wanted: PartnerChange): Promise<void> {
    let enrolment = before;
    if (wanted.tenantId !== undefined) enrolment = await setTenant(program, enrolment, wanted.tenantId);
    const nowMs = clock.now();
    const since = (on: boolean, was: number | null) => (on ? null : (was ?? nowMs));
    if (wanted.riskMonitoring !== undefined || wanted.groupMoves !== undefined) {
      const { riskMonitoringDisabledAt: risk, groupMoveDisabledAt: moves } = enrolment;
      enrolment = await changes.update(enrolment, {
        riskMonitoringDisabledAt: since(wanted.riskMonitoring ?? risk === null, risk),
        groupMoveDisabledAt: since(wanted.groupMoves ?? moves === null, moves),
      });
    }
    if (wanted.tagIds) {
      await tags.replace(program, enrolment, wanted.tagIds);
      await enrolments.tellChanged([enrolment]);
    }
    if (wanted.groupId !== undefined) {
      await changes.move(program, await groups.getFor(program, wanted.groupId), [enrolment]);
    }
  }

  return {
    /** Whoever is a partner already is returned as they are. */
    async create(actor: Actor, given: NewPartner): Promise<ShownPartner> {
      if (given.username && slugify(given.username) === '') {
        throw invalid('username', 'must have letters or digits');
      }
      const request = await withImages(given);
      return db.write(async () => {
        const program = await programOf(actor);
        await admissions.reserve(program, actor);
        const existing = await findExisting(program, request);
        const enrolment = existing ?? (await insert(actor, program, request));
        if (enrolment.partnerId === request.referredByPartnerId) {
          throw invalid('referredByPartnerId', 'nobody brings themselves');
        }
        return shown(enrolment);
      });
    },

    async list(
      actor: Actor,
      filter: EnrolmentFilter,
      page: PageRequest<EnrolmentSort>,
    ): Promise<ShownPartner[]> {
      return enrolments.show(await lists.list((await programOf(actor)).id, filter, page));
    },

    count: async (actor: Actor, filter: EnrolmentFilter): Promise<number> =>
      lists.count((await programOf(actor)).id, filter),

    countBy: async (actor: Actor, filter: EnrolmentFilter, grouping: EnrolmentGrouping) =>
      lists.countBy((await programOf(actor)).id, filter, grouping),

    async get(actor: Actor, partnerId: string): Promise<ShownPartner> {
      return shown(await enrolments.getNamed(await programs.find(actor.workspaceId), partnerId));
    },

    update(actor: Actor, partnerId: string, wanted: PartnerChange): Promise<ShownPartner> {
      return db.write(async () => {
        const enrolment = await enrolments.getNamed(await programs.find(actor.workspaceId), partnerId);
        await applyChange(await programOf(actor), enrolment, wanted);
        return shown((await store.find(enrolment.id)) as Enrolment);
      });
    },

    ban: (actor: Actor, wish: PartnerWish, reason: BanReason) =>
      change(actor, wish, (enrolment) => changes.ban(enrolment, reason)),

    deactivate: (actor: Actor, wish: PartnerWish) => change(actor, wish, changes.deactivate),

    restore: (actor: Actor, wish: PartnerWish, event: 'unban' | 'reactivate') =>
      change(actor, wish, (enrolment, program) => changes.restore(program, enrolment, event)),

    archive: (actor: Actor, wish: PartnerWish, event: 'archive' | 'unarchive') =>
      change(actor, wish, (enrolment) => changes.change(enrolment, event)),

    /** Only of partners that are banned or deactivated. */
    delete(actor: Actor, partnerId: string): Promise<{ id: string }> {
      return db.write(async () => {
        await changes.delete(await enrolments.getNamed(await programs.find(actor.workspaceId), partnerId));
        return { id: partnerId };
      });
    },
  };
}

export type Partners = ReturnType<typeof createPartners>;
