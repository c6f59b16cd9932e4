// How partners come along with bounties by performance: each has a draft from the beginning, which is handed in by
// itself when the partner's totals reach what is asked. Measured in the transaction that changes the totals.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { BountyStore } from './bounty.store.ts';
import {
  type Bounty,
  baseOf,
  isMeantFor,
  isRunning,
  type PerformanceCondition,
  progressOf,
  type Submission,
} from './bounty.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentEffects } from './enrolment-effects.ts';
import { isActive } from './enrolment-states.ts';
import type { Enrolment } from './partner.ts';
import type { PartnerTagStore } from './partner-tag.store.ts';
import type { SubmissionStore } from './submission.store.ts';
import { submissionAfter } from './submission-states.ts';

export interface BountyProgressParts {
  readonly db: Database;
  readonly bounties: BountyStore;
  readonly submissions: SubmissionStore;
  readonly enrolments: Pick<EnrolmentStore, 'findByPartner'>;
  readonly tags: Pick<PartnerTagStore, 'findOfEnrolments'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Small enough that other writes wait for a step no longer than they notice. */
const PARTNERS_PER_STEP = 500;
const BOUNTIES_PER_LOOK = 100;

export function createBountyProgress(parts: BountyProgressParts) {
  const { db, bounties, submissions, enrolments, tags, clock, ids } = parts;

  function draftOf(bounty: Bounty, enrolment: Enrolment): Submission {
    const nowMs = clock.now();
    const base = baseOf(bounty, enrolment);
    const { count, met } = progressOf(bounty.performanceCondition as PerformanceCondition, enrolment, base);
    return {
      ...newSubmission(bounty, enrolment.partnerId, ids('bnty_sub_'), nowMs),
      performanceBase: base,
      performanceCount: count,
      ...(met && { status: submissionAfter('draft', 'submit'), completedAt: nowMs }),
    };
  }

  /** Drafts for the next partners; returns the last of them, and undefined when there are no more. */
  async function openSome(bounty: Bounty, afterPartnerId: string): Promise<string | undefined> {
    const nowMs = clock.now();
    if (bounty.type !== 'performance' || bounty.startsAt > nowMs) return undefined;
    const found = await bounties.findMeantFor(bounty, afterPartnerId, PARTNERS_PER_STEP);
    await submissions.insert(found.map((enrolment) => draftOf(bounty, enrolment)));
    if (found.length === PARTNERS_PER_STEP) return found.at(-1)?.partnerId;
    await bounties.update(bounty.id, { openedAt: nowMs, updatedAt: bounty.updatedAt });
    return undefined;
  }

  async function open(bounty: Bounty, signal: AbortSignal): Promise<void> {
    let after: string | undefined = '';
    while (after !== undefined && !signal.aborted) {
      const from: string = after;
      after = await db.write(() => openSome(bounty, from));
    }
  }

  /** Partners who have joined, or have another group or other tags, take part in what is now meant for them. */
  async function welcome(arrived: readonly Enrolment[]): Promise<void> {
    const active = arrived.filter(({ status }) => isActive(status));
    const [first] = active;
    if (!first) return;
    const running = await bounties.findRunning(first.programId, clock.now(), 'performance');
    if (running.length === 0) return;
    const tagsOf = await tags.findOfEnrolments(active.map(({ id }) => id));
    const drafts = active.flatMap((enrolment) => {
      const tagIds = (tagsOf.get(enrolment.id) ?? []).map(({ id }) => id);
      const meant = running.filter((bounty) => isMeantFor(bounty, enrolment.groupId, tagIds));
      return meant.map((bounty) => draftOf(bounty, enrolment));
    });
    await submissions.insert(drafts);
  }

  /** Most partners have no drafts: then one look at an index is all there is. */
  async function measure(programId: string, partnerId: string): Promise<void> {
    const drafts = await submissions.findDrafts(programId, partnerId);
    const enrolment = drafts.length > 0 && (await enrolments.findByPartner(programId, partnerId));
    if (!enrolment) return;
    const found = await bounties.findByIds([...new Set(drafts.map(({ bountyId }) => bountyId))]);
    const byId = new Map(found.map((bounty) => [bounty.id, bounty]));
    const nowMs = clock.now();
    for (const draft of drafts) {
      const bounty = byId.get(draft.bountyId);
      if (!bounty?.performanceCondition || !isRunning(bounty, enrolment, nowMs)) continue;
      const { count, met } = progressOf(bounty.performanceCondition, enrolment, draft.performanceBase);
      if (count === draft.performanceCount && !met) continue;
      await submissions.update(draft.id, {
        performanceCount: count,
        updatedAt: nowMs,
        ...(met && { status: submissionAfter(draft.status, 'submit'), completedAt: nowMs }),
      });
    }
  }

  const effects: EnrolmentEffects = {
    onRegroup: welcome,
    onTotals: measure,
    onBan: (enrolment) => submissions.dismiss(enrolment, clock.now()),
  };

  return {
    effects,
    openSome,

    /** Begins what is due for the partners that are there; for a job. Steps can be repeated. */
    async openDue(signal: AbortSignal): Promise<void> {
      const due = await bounties.findToOpen(clock.now(), BOUNTIES_PER_LOOK);
      for (const bounty of due) await open(bounty, signal);
    },
  };
}

export type BountyProgress = ReturnType<typeof createBountyProgress>;

/** An empty draft. */
export function newSubmission(
  { id: bountyId, programId, workspaceId }: Bounty,
  partnerId: string,
  id: string,
  nowMs: number,
): Submission {
  return {
    id,
    programId,
    workspaceId,
    bountyId,
    partnerId,
    description: null,
    urls: null,
    files: null,
    status: 'draft',
    performanceCount: 0,
    performanceBase: 0,
    socialMetricCount: 0,
    socialMetricsSyncedAt: null,
    commissionId: null,
    userId: null,
    rejectionReason: null,
    rejectionNote: null,
    completedAt: null,
    reviewedAt: null,
    periodNumber: 1,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}
