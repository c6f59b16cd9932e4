// How people ask to join a program by themselves, and what becomes of it: approved, by somebody or by the group
// itself, or rejected, for now or for good.
import type { Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Admissions } from './admissions.ts';
import type { ApplicationFilter, ApplicationStore } from './application.store.ts';
import {
  type ApplicationForm,
  type FormAnswer,
  type RawAnswers,
  readAnswers,
  readSocials,
  type Socials,
} from './application-form.ts';
import { presentApplication } from './application-wire.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentChanges } from './enrolment-changes.ts';
import type { EffectList } from './enrolment-effects.ts';
import { canHappen, stateAfter } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import { NO_REWARDS, type PartnerGroup } from './group.ts';
import type { Groups } from './groups.ts';
import {
  type APPLICATION_REJECTIONS,
  type EnrolledPartner,
  type Enrolment,
  fold,
  type Partner,
  type Reapplication,
} from './partner.ts';
import type { ApplicationRequirement, Program } from './program.ts';
import type { Programs } from './programs.ts';
import type { Referrers } from './referrers.ts';

export type RejectionReason = (typeof APPLICATION_REJECTIONS)[number];

type Stored = Fields<Selectable<Schema['partner_application']>>;
export interface Application extends Omit<Stored, 'formData' | 'rejectionReason'> {
  readonly formData: readonly FormAnswer[] | null;
  readonly rejectionReason: RejectionReason | null;
}

export interface ShownApplication extends EnrolledPartner {
  readonly application: Application;
}

export interface Submission {
  readonly group?: string | undefined;
  readonly name: string;
  readonly email: string;
  readonly country?: string | null | undefined;
  readonly answers: RawAnswers;
  readonly socials: Socials;
  /** Who has brought them, as they know it. */
  readonly via?: string | undefined;
}

export interface Rejection {
  readonly partnerId: string;
  readonly rejectionReason?: RejectionReason | undefined;
  readonly rejectionNote?: string | undefined;
  readonly reapplicationTimeframe: Reapplication;
  readonly flagForFraud?: boolean | undefined;
  readonly flagForFraudReason?: string | undefined;
}

export interface ApplicationsParts {
  readonly db: Database;
  readonly store: ApplicationStore;
  readonly enrolmentStore: EnrolmentStore;
  readonly programs: Programs;
  readonly groups: Groups;
  readonly enrolments: Enrolments;
  readonly admissions: Admissions;
  readonly changes: EnrolmentChanges;
  readonly referrers: Referrers;
  readonly effects: EffectList;
  readonly clock: Clock;
  readonly ids: Ids;
}

const DAY_MS = 86_400_000;
const REAPPLY_AFTER_MS = 30 * DAY_MS;
/** Nobody shall think that a machine has answered. */
const REJECT_AFTER_MS = 30 * 60_000;
const REJECTIONS_PER_RUN = 100;

export function createApplications(parts: ApplicationsParts) {
  const { db, store, enrolmentStore, programs, groups, enrolments, admissions, changes, effects } = parts;
  const { referrers, clock, ids } = parts;

  /** The group that is applied to, and its form; not found unless it is published. */
  async function getForm(
    slug: string,
    groupRef: string | undefined,
  ): Promise<{ program: Program; group: PartnerGroup; form: ApplicationForm }> {
    const program = await programs.getPublic(slug);
    const group = await groups.getFor(program, groupRef).catch(hideGroup);
    if (!group.applicationForm || group.applicationFormPublishedAt === null) throw noForm();
    return { program, group, form: group.applicationForm };
  }

  /**
   * Whoever is in the program already, in whatever way, gets the same answer. Of somebody who applies again the last
   * one who brought them counts.
   */
  async function enrolApplicant(
    program: Program,
    partner: Partner,
    group: PartnerGroup,
    referrerId: string | null,
  ): Promise<Enrolment> {
    const brought = referrerId !== null && referrerId !== partner.id && { referredByPartnerId: referrerId };
    const inserted = await admissions.insert({ program, partner, group, status: 'pending', ...brought });
    if (inserted) return inserted;
    const known = await enrolmentStore.findByPartner(program.id, partner.id);
    if (!known || !canHappen(known.status, 'reapply') || !mayReapply(known, clock.now()))
      throw appliedAlready();
    return changes.change(known, 'reapply', {
      groupId: group.id,
      createdAt: clock.now(),
      rejectedAt: null,
      ...brought,
    });
  }

  async function decide(
    program: Program,
    group: PartnerGroup,
    enrolment: Enrolment,
    application: Application,
  ): Promise<Enrolment> {
    if (application.rejectAt !== null || group.autoApproveAt === null) return enrolment;
    if (!(await admissions.hasRoom(program))) return enrolment;
    await store.update(application.id, { reviewedAt: clock.now(), updatedAt: clock.now() });
    return admissions.admit(program, enrolment, group);
  }

  async function tellSubmitted(shown: ShownApplication): Promise<void> {
    const { application, partner, enrolment } = shown;
    const payload = {
      id: application.id,
      programId: enrolment.programId,
      partnerId: partner.id,
      groupId: enrolment.groupId,
    };
    const type = 'partner.application_submitted';
    const event = {
      workspaceId: enrolment.workspaceId,
      type,
      payload,
      webhook: presentApplication(shown),
    };
    await appendOutbox(db.query, [event], clock.now());
  }

  async function show(applications: readonly Application[]): Promise<ShownApplication[]> {
    const [first] = applications;
    if (!first) return [];
    const people = await enrolments.findEnrolled(
      first.programId,
      applications.map(({ partnerId }) => partnerId),
    );
    return applications.flatMap((application) => {
      const enrolled = people.get(application.partnerId);
      return enrolled ? [{ ...enrolled, application }] : [];
    });
  }

  async function reject(enrolment: Enrolment, rejection: Omit<Rejection, 'partnerId'>): Promise<void> {
    const { rejectionReason = null, rejectionNote = null, reapplicationTimeframe } = rejection;
    stateAfter(enrolment.status, 'reject');
    const nowMs = clock.now();
    if (enrolment.applicationId) {
      await store.update(enrolment.applicationId, {
        reviewedAt: nowMs,
        rejectAt: null,
        rejectionReason,
        rejectionNote,
        updatedAt: nowMs,
      });
    }
    if (reapplicationTimeframe === 'instant') return changes.delete(enrolment, 'dismiss');
    const rejected = await changes.change(enrolment, 'reject', {
      ...NO_REWARDS,
      rejectedAt: nowMs,
      reapplication: reapplicationTimeframe,
    });
    if (!rejection.flagForFraud) return;
    for (const effect of effects) await effect.onFlag?.(rejected, rejection.flagForFraudReason ?? '');
  }

  return {
    getForm,

    /** Public: anybody may apply. */
    async submit(slug: string, given: Submission): Promise<ShownApplication> {
      const { program, group: named, form } = await getForm(slug, given.group);
      const formData = readAnswers(form, given.answers);
      const socials = readSocials(form, given.socials);
      const { name, email, country = null } = given;
      const referrerId = await referrers.findVia(program, given.via);
      return db.write(async () => {
        const group = await groups.getFor(program, named.id).catch(hideGroup);
        const partner = await admissions.findOrCreatePartner({ name, email, country, ...socials });
        const applicant = await enrolApplicant(program, partner, group, referrerId);
        const nowMs = clock.now();
        const application: Application = {
          id: ids('pga_'),
          programId: program.id,
          workspaceId: program.workspaceId,
          partnerId: partner.id,
          groupId: group.id,
          name,
          email,
          country,
          formData,
          reviewedAt: null,
          rejectionReason: null,
          rejectionNote: null,
          rejectAt: meets(program.applicationRequirements, given) ? null : nowMs + REJECT_AFTER_MS,
          createdAt: nowMs,
          updatedAt: nowMs,
        };
        await store.insert(application);
        const enrolment = await changes.update(applicant, { applicationId: application.id });
        await tellSubmitted({ application, partner, enrolment });
        return { application, partner, enrolment: await decide(program, group, enrolment, application) };
      });
    },

    async list(
      actor: Actor,
      filter: ApplicationFilter,
      page: { page: number; pageSize: number },
    ): Promise<ShownApplication[]> {
      const program = await programs.getOfWorkspace(actor.workspaceId);
      return show(await store.listPending(program.id, filter, page));
    },

    async get(actor: Actor, id: string): Promise<ShownApplication> {
      const application = owned(await store.find(id), actor.workspaceId, 'application');
      const [shown] = await show([application]);
      if (!shown) throw new AppError('not_found', 'The applicant is no longer in the program.');
      return shown;
    },

    approve(actor: Actor, request: { readonly partnerId: string; readonly groupId?: string | undefined }) {
      return db.write(async () => {
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const enrolment = await enrolments.get(program, request);
        stateAfter(enrolment.status, 'approve');
        const group = request.groupId
          ? await groups.getFor(program, request.groupId)
          : await groups.getOf(program, enrolment);
        await admissions.reserve(program, actor);
        if (enrolment.applicationId) {
          const values = { reviewedAt: clock.now(), rejectAt: null, updatedAt: clock.now() };
          await store.update(enrolment.applicationId, {
            ...values,
            rejectionReason: null,
            rejectionNote: null,
          });
        }
        await admissions.admit(program, enrolment, group, { userId: actor.userId });
        return { partnerId: enrolment.partnerId };
      });
    },

    reject(actor: Actor, rejection: Rejection): Promise<{ partnerId: string }> {
      return db.write(async () => {
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const enrolment = await enrolments.get(program, rejection);
        await reject(enrolment, rejection);
        return { partnerId: enrolment.partnerId };
      });
    },

    /** Answers applications that do not meet the requirements; for a job. */
    async rejectDue(signal: AbortSignal): Promise<void> {
      for (;;) {
        const due = await store.findDueRejections(clock.now(), REJECTIONS_PER_RUN);
        for (const application of due) {
          if (signal.aborted) return;
          await db.write(() => rejectOne(application));
        }
        if (due.length < REJECTIONS_PER_RUN) return;
      }
    },
  };

  /** Somebody may have answered meanwhile: then only the wait is over. */
  async function rejectOne({ id, programId, partnerId }: Application): Promise<void> {
    await store.update(id, { rejectAt: null });
    const enrolment = await enrolmentStore.findByPartner(programId, partnerId);
    if (enrolment?.applicationId !== id || !canHappen(enrolment.status, 'reject')) return;
    await reject(enrolment, {
      rejectionReason: 'doesNotMeetRequirements',
      reapplicationTimeframe: 'standard',
    });
  }
}

export type Applications = ReturnType<typeof createApplications>;

export function meets(
  requirements: readonly ApplicationRequirement[] | null,
  { email, country }: Pick<Submission, 'email' | 'country'>,
): boolean {
  return (requirements ?? []).every(({ key, operator, value }) => {
    const own = key === 'country' ? (country ?? '') : email.slice(email.lastIndexOf('@') + 1);
    const listed = value.some((item) => fold(item.replace(/^@/, '')) === fold(own));
    return listed === (operator === 'is');
  });
}

function mayReapply({ reapplication, rejectedAt, status }: Enrolment, nowMs: number): boolean {
  if (status === 'declined') return true;
  if (reapplication === 'never') return false;
  return rejectedAt === null || nowMs - rejectedAt >= REAPPLY_AFTER_MS;
}

function appliedAlready(): AppError {
  return new AppError('conflict', 'There is an application with this e-mail address already.');
}

function noForm(): AppError {
  return new AppError('not_found', 'This program takes no applications here.');
}

function hideGroup(error: unknown): never {
  throw error instanceof AppError ? noForm() : error;
}
