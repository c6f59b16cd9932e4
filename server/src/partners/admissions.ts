// How somebody joins a program, whichever way they came: the enrolment becomes approved, gets what its group
// earns, and its links; receivers are told.
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { DefaultLinks, DefaultLinkWish } from './default-links.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { type EffectList, runEffects } from './enrolment-effects.ts';
import type { EnrolmentStatus } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import { NO_REWARDS, type PartnerGroup, rewardsOf } from './group.ts';
import type { PartnerStore } from './partner.store.ts';
import { type Enrolment, newUsername, type Partner } from './partner.ts';
import { type Program, programActor } from './program.ts';

export interface AdmissionsParts {
  readonly store: EnrolmentStore;
  readonly partners: PartnerStore;
  readonly enrolments: Enrolments;
  readonly defaultLinks: DefaultLinks;
  readonly effects: EffectList;
  readonly workspaces: Pick<Workspaces, 'get' | 'reserve'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Somebody as a caller, or the person, describes them. */
export interface Profile
  extends Partial<
    Pick<
      Partner,
      | 'image'
      | 'country'
      | 'description'
      | 'companyName'
      | 'website'
      | 'youtube'
      | 'twitter'
      | 'linkedin'
      | 'instagram'
      | 'tiktok'
    >
  > {
  readonly email: string;
  readonly name?: string | null | undefined;
}

export interface NewEnrolment {
  readonly program: Program;
  readonly partner: Partner;
  readonly group: PartnerGroup;
  readonly status: EnrolmentStatus;
  readonly tenantId?: string | null;
  /** Who has brought them; it is for the caller to know that this is somebody else, of the same program. */
  readonly referredByPartnerId?: string | null | undefined;
}

const HANDLE_TRIES = 5;

export function createAdmissions(parts: AdmissionsParts) {
  const { store, partners, enrolments, defaultLinks, effects, workspaces, clock, ids } = parts;

  /** A person who is known already stays as they are. */
  async function findOrCreatePartner(profile: Profile): Promise<Partner> {
    for (let tries = 0; ; tries++) {
      const known = await partners.findByEmail(profile.email);
      if (known) return known;
      const partner = newPartner(profile, ids('pn_'), clock.now());
      if (await partners.insert(partner)) return partner;
      if (tries >= HANDLE_TRIES) throw new Error(`No free handle was found for ${partner.id}`);
    }
  }

  async function reserve(program: Program, actor?: Actor): Promise<void> {
    const counted = actor ?? programActor(await workspaces.get(program.workspaceId));
    await workspaces.reserve('partners', counted, () => store.countCounted(program.id));
  }

  return {
    findOrCreatePartner,

    /** Undefined when the partner is in the program already, or the tenant is another partner's. */
    async insert(wanted: NewEnrolment): Promise<Enrolment | undefined> {
      const enrolment = newEnrolment(wanted, ids('pge_'), clock.now());
      return (await store.insert(enrolment)) ? enrolment : undefined;
    },

    /** Refuses when the workspace has as many partners as it may have; concurrent additions wait for each other. */
    reserve,

    /** The same, for those who wait when there is no room and tell nobody why. */
    async hasRoom(program: Program): Promise<boolean> {
      try {
        await reserve(program);
        return true;
      } catch (error) {
        if (error instanceof AppError && error.code === 'forbidden') return false;
        throw error;
      }
    },

    /** Makes an enrolment that is there a member of the group, with links and rewards. */
    async admit(
      program: Program,
      enrolment: Enrolment,
      group: PartnerGroup,
      wish: DefaultLinkWish & { readonly userId?: string } = {},
    ): Promise<Enrolment> {
      const nowMs = clock.now();
      const change = {
        status: 'approved',
        groupId: group.id,
        ...rewardsOf(group),
        createdAt: nowMs,
        updatedAt: nowMs,
      } as const;
      await store.update(enrolment.id, change);
      const admitted: Enrolment = { ...enrolment, ...change };
      const partner = (await partners.find(enrolment.partnerId)) as Partner;
      const actor = programActor(await workspaces.get(program.workspaceId), wish.userId);
      await defaultLinks.create({ actor, program, group, enrolment: admitted, partner }, wish);
      await runEffects(effects, 'onEnrol', admitted);
      await enrolments.tellChanged([admitted]);
      await enrolments.tellEnrolled(admitted);
      return admitted;
    },
  };
}

export type Admissions = ReturnType<typeof createAdmissions>;

function newPartner({ email, name, ...profile }: Profile, id: string, nowMs: number): Partner {
  return {
    id,
    name: name || null,
    email,
    username: newUsername(name ?? null, email),
    image: null,
    description: null,
    country: null,
    companyName: null,
    networkStatus: 'draft',
    defaultPayoutMethod: null,
    paypalEmail: null,
    stripeConnectId: null,
    payoutsEnabledAt: null,
    identityVerifiedAt: null,
    trustedAt: null,
    website: null,
    youtube: null,
    twitter: null,
    linkedin: null,
    instagram: null,
    tiktok: null,
    ...profile,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

function newEnrolment(wanted: NewEnrolment, id: string, nowMs: number): Enrolment {
  const { program, partner, group, status, tenantId = null, referredByPartnerId = null } = wanted;
  return {
    id,
    programId: program.id,
    workspaceId: program.workspaceId,
    partnerId: partner.id,
    groupId: group.id,
    tenantId,
    status,
    ...(status === 'approved' ? rewardsOf(group) : NO_REWARDS),
    applicationId: null,
    referredByPartnerId,
    bannedAt: null,
    bannedReason: null,
    linksStoppedAt: null,
    reapplication: 'standard',
    rejectedAt: null,
    riskMonitoringDisabledAt: null,
    groupMoveDisabledAt: null,
    totalClicks: 0,
    totalLeads: 0,
    totalConversions: 0,
    totalSales: 0,
    totalSaleAmount: 0,
    totalCommissions: 0,
    lastLeadAt: null,
    lastConversionAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}
