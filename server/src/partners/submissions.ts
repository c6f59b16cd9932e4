// What partners hand in for bounties, and what the seller says to it. What is approved is paid by a commission, which
// is made in the same transaction.
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { SaveImage } from '../files/image.ts';
import type { Actor, PartnerActor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Bounties } from './bounties.ts';
import type { BountyStore } from './bounty.store.ts';
import {
  type Bounty,
  checkSubmission,
  isMeantFor,
  isRunning,
  periodAt,
  type Submission,
  type SubmittedFile,
  windowFor,
} from './bounty.ts';
import { newSubmission } from './bounty-progress.ts';
import { MAX_DESCRIPTION_LENGTH } from './commission.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import { mayEarn } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { Enrolment } from './partner.ts';
import type { PartnerTagStore } from './partner-tag.store.ts';
import type { Programs } from './programs.ts';
import type { Referrals } from './referrals.ts';
import type { SubmissionFilter, SubmissionSort, SubmissionStore } from './submission.store.ts';
import { submissionAfter } from './submission-states.ts';

export interface SubmissionsParts {
  readonly db: Database;
  readonly store: SubmissionStore;
  readonly bounties: Pick<Bounties, 'get'>;
  readonly bountyStore: BountyStore;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly tags: Pick<PartnerTagStore, 'findOfEnrolments'>;
  readonly referrals: Pick<Referrals, 'activePlaceOf'>;
  readonly ledger: Pick<CommissionLedger, 'add'>;
  readonly saveImage: SaveImage;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface NewSubmission {
  readonly description?: string | undefined;
  readonly urls?: readonly string[] | undefined;
  readonly files?: readonly SubmittedFile[] | undefined;
  /** Kept, and not handed in yet. */
  readonly isDraft?: boolean | undefined;
}

/** A bounty as one partner sees it. */
export interface OwnBounty {
  readonly bounty: Bounty;
  readonly endsAt: number | null;
  readonly submissions: readonly Submission[];
}

export function createSubmissions(parts: SubmissionsParts) {
  const { db, store, bounties, bountyStore, programs, enrolments, tags, referrals, ledger, clock, ids } =
    parts;

  async function getOf(actor: Actor, bountyId: string, submissionId: string) {
    const bounty = await bounties.get(actor, bountyId);
    const submission = await store.find(submissionId);
    if (submission?.bountyId !== bountyId) throw new AppError('not_found', 'There is no such submission.');
    return { bounty, submission };
  }

  /** The partner is locked, and the submission is as it is then: two reviews at once do not pay twice. */
  async function review(
    actor: Actor,
    bountyId: string,
    submissionId: string,
    decide: (bounty: Bounty, submission: Submission, enrolment: Enrolment) => Promise<Partial<Submission>>,
  ): Promise<Submission> {
    return db.write(async () => {
      const { submission } = await getOf(actor, bountyId, submissionId);
      const program = await programs.getOfWorkspace(actor.workspaceId);
      const enrolment = await enrolments.get(program, { partnerId: submission.partnerId });
      const locked = await getOf(actor, bountyId, submissionId);
      const nowMs = clock.now();
      const change = await decide(locked.bounty, locked.submission, enrolment);
      const reviewed = { ...change, userId: actor.userId || null, reviewedAt: nowMs, updatedAt: nowMs };
      await store.update(submissionId, reviewed);
      return { ...locked.submission, ...reviewed };
    });
  }

  /** Bounties that run for this partner now. */
  async function runningFor(enrolment: Enrolment): Promise<Bounty[]> {
    const nowMs = clock.now();
    const running = await bountyStore.findRunning(enrolment.programId, nowMs);
    const tagsOf = await tags.findOfEnrolments([enrolment.id]);
    const tagIds = (tagsOf.get(enrolment.id) ?? []).map(({ id }) => id);
    return running.filter(
      (bounty) => isMeantFor(bounty, enrolment.groupId, tagIds) && isRunning(bounty, enrolment, nowMs),
    );
  }

  /** What is already there for now, or an empty draft; refuses when there is room for no more. */
  function placeFor(bounty: Bounty, enrolment: Enrolment, present: readonly Submission[]): Submission {
    const nowMs = clock.now();
    const { submissionFrequency, maxSubmissions } = bounty;
    const draft = present.find(({ status }) => status === 'draft');
    const period = submissionFrequency
      ? periodAt(submissionFrequency, windowFor(bounty, enrolment).fromMs, nowMs)
      : (draft?.periodNumber ?? present.length + 1);
    const same = present.find(({ periodNumber }) => periodNumber === period);
    if (same && same.status !== 'draft') {
      throw refusal(`this ${submissionFrequency} has a submission already`);
    }
    const used = present.filter(({ status }) => status !== 'draft').length;
    if (used >= maxSubmissions) throw refusal(`takes at most ${maxSubmissions} from each partner`);
    if (same) return same;
    const made = newSubmission(bounty, enrolment.partnerId, ids('bnty_sub_'), nowMs);
    return { ...made, periodNumber: period };
  }

  function assertOpen({ type, submissionsOpenAt }: Bounty): void {
    if (type === 'performance') throw refusal('is decided by numbers; nothing has to be handed in');
    if (submissionsOpenAt !== null && clock.now() < submissionsOpenAt) {
      throw refusal('does not take submissions yet');
    }
  }

  /** Pictures become files before the transaction begins. */
  async function storedFiles(given: NewSubmission['files']): Promise<readonly SubmittedFile[] | null> {
    if (!given?.length) return null;
    return Promise.all(
      given.map(async (file, index) =>
        file.url.startsWith('data:')
          ? { ...file, url: await parts.saveImage(file.url, `files[${index}].url`) }
          : file,
      ),
    );
  }

  return {
    async list(
      actor: Actor,
      bountyId: string,
      filter: SubmissionFilter,
      page: PageRequest<SubmissionSort>,
    ): Promise<Submission[]> {
      await bounties.get(actor, bountyId);
      return store.list(bountyId, filter, page);
    },

    /** `rewardAmount`: for bounties that name none. */
    approve(
      actor: Actor,
      bountyId: string,
      submissionId: string,
      rewardAmount?: number,
    ): Promise<Submission> {
      return review(actor, bountyId, submissionId, async (bounty, submission, enrolment) => {
        const status = submissionAfter(submission.status, 'approve');
        const earnings = bounty.rewardAmount ?? rewardAmount;
        if (!earnings)
          throw new AppError('bad_request', 'custom: rewardAmount: the bounty names none; give one');
        if (!mayEarn(enrolment.status)) {
          throw new AppError('bad_request', `custom: submissionId: the partner is ${enrolment.status}`);
        }
        const commission = await ledger.add(enrolment, {
          type: 'custom',
          earnings,
          createdAt: clock.now(),
          description: `Bounty: ${bounty.name}`.slice(0, MAX_DESCRIPTION_LENGTH),
          userId: actor.userId || null,
        });
        return { status, commissionId: commission?.id ?? null, rejectionReason: null, rejectionNote: null };
      });
    },

    reject(
      actor: Actor,
      bountyId: string,
      submissionId: string,
      why: {
        rejectionReason: NonNullable<Submission['rejectionReason']>;
        rejectionNote?: string | undefined;
      },
    ): Promise<Submission> {
      return review(actor, bountyId, submissionId, async (_bounty, submission) => ({
        status: submissionAfter(submission.status, 'reject'),
        rejectionReason: why.rejectionReason,
        rejectionNote: why.rejectionNote || null,
      }));
    },

    /** For the partner itself. */
    async listOwn(actor: PartnerActor): Promise<OwnBounty[]> {
      const { enrolment } = await referrals.activePlaceOf(actor);
      const running = await runningFor(enrolment);
      const found = await store.findOfPartner(
        running.map(({ id }) => id),
        actor.partnerId,
      );
      const byBounty = Map.groupBy(found, ({ bountyId }) => bountyId);
      return running.map((bounty) => ({
        bounty,
        endsAt: windowFor(bounty, enrolment).toMs,
        submissions: byBounty.get(bounty.id) ?? [],
      }));
    },

    /** Hands in, or keeps as a draft, what the partner did. */
    async submit(actor: PartnerActor, bountyId: string, given: NewSubmission): Promise<Submission> {
      const content = {
        description: given.description || null,
        urls: given.urls?.length ? given.urls : null,
        files: await storedFiles(given.files),
      };
      return db.write(async () => {
        const { enrolment } = await referrals.activePlaceOf(actor);
        const bounty = (await runningFor(enrolment)).find(({ id }) => id === bountyId);
        if (!bounty) throw new AppError('not_found', 'There is no such bounty for you now.');
        assertOpen(bounty);
        const present = await store.findOfPartner([bountyId], actor.partnerId);
        const place = placeFor(bounty, enrolment, present);
        if (!given.isDraft) checkSubmission(bounty, content);
        const nowMs = clock.now();
        const submission: Submission = {
          ...place,
          ...content,
          updatedAt: nowMs,
          ...(!given.isDraft && { status: submissionAfter(place.status, 'submit'), completedAt: nowMs }),
        };
        if (present.includes(place)) await store.update(place.id, submission);
        else await store.insert([submission]);
        return submission;
      });
    },
  };
}

export type Submissions = ReturnType<typeof createSubmissions>;

function refusal(text: string): AppError {
  return new AppError('bad_request', `custom: bountyId: ${text}`);
}
