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
  socialReward,
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
  async function change(
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
      const wanted = await decide(locked.bounty, locked.submission, enrolment);
      const changed = { ...wanted, updatedAt: clock.now() };
      await store.update(submissionId, changed);
      return { ...locked.submission, ...changed };
    });
  }

  const reviewed = ({ userId }: Actor) => ({ userId: userId || null, reviewedAt: clock.now() });

  /** A bounty that runs for the partner and takes what it hands in. */
  async function openFor(actor: PartnerActor, bountyId: string) {
    const { enrolment } = await referrals.activePlaceOf(actor);
    const bounty = (await runningFor(enrolment)).find(({ id }) => id === bountyId);
    if (!bounty) throw new AppError('not_found', 'There is no such bounty for you now.');
    assertOpen(bounty);
    return { bounty, enrolment };
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

    /** `rewardAmount`: for bounties that name none, and posts that have not reached what is asked for. */
    approve(
      actor: Actor,
      bountyId: string,
      submissionId: string,
      rewardAmount?: number,
    ): Promise<Submission> {
      return change(actor, bountyId, submissionId, async (bounty, submission, enrolment) => {
        const status = submissionAfter(submission.status, 'approve');
        const earnings = amountFor(bounty, submission) ?? rewardAmount;
        if (!earnings) throw noAmount(bounty, submission);
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
        const commissionId = commission?.id ?? null;
        return { ...reviewed(actor), status, commissionId, rejectionReason: null, rejectionNote: null };
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
      return change(actor, bountyId, submissionId, async (_bounty, submission) => ({
        ...reviewed(actor),
        status: submissionAfter(submission.status, 'reject'),
        rejectionReason: why.rejectionReason,
        rejectionNote: why.rejectionNote || null,
      }));
    },

    /** What the post of a social bounty has come to; what was paid for stays as it was. */
    measure(actor: Actor, bountyId: string, submissionId: string, count: number): Promise<Submission> {
      return change(actor, bountyId, submissionId, async (bounty, submission) => {
        if (!bounty.submissionRequirements?.socialMetrics) {
          throw refusal('is not paid by a count; it has no submissionRequirements.socialMetrics');
        }
        if (submission.status === 'approved') {
          throw new AppError(
            'bad_request',
            'custom: submissionId: was approved and paid by the count it had',
          );
        }
        return { socialMetricCount: count, socialMetricsSyncedAt: clock.now() };
      });
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
      // Nobody fills the disk with pictures for what does not take them.
      if (given.files?.length) await openFor(actor, bountyId);
      const content = {
        description: given.description || null,
        urls: given.urls?.length ? given.urls : null,
        files: await storedFiles(given.files),
      };
      return db.write(async () => {
        const { bounty, enrolment } = await openFor(actor, bountyId);
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

/** In cents; undefined where the bounty names none, or the post has not reached what it asks for. */
function amountFor(
  { rewardAmount, submissionRequirements }: Bounty,
  { socialMetricCount }: Submission,
): number | undefined {
  const social = submissionRequirements?.socialMetrics;
  return social ? socialReward(social, socialMetricCount) : (rewardAmount ?? undefined);
}

function noAmount({ submissionRequirements }: Bounty, { socialMetricCount }: Submission): AppError {
  const social = submissionRequirements?.socialMetrics;
  const why = social
    ? `${socialMetricCount} ${social.metric} are fewer than ${social.minCount}; give an amount to approve it all the same`
    : 'the bounty names none; give one';
  return new AppError('bad_request', `custom: rewardAmount: ${why}`);
}

function refusal(text: string): AppError {
  return new AppError('bad_request', `custom: bountyId: ${text}`);
}
