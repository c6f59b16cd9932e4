// A bounty: what partners are asked to do or to reach once more than by their links, and the pure rules about it.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { invalid } from '../kernel/errors.ts';
import type { Enrolment } from './partner.ts';
import { MAX_REWARD_CENTS } from './reward.ts';
import { monthsBetween } from './reward-engine.ts';
import type { SubmissionStatus } from './submission-states.ts';

export const BOUNTY_TYPES = ['performance', 'submission'] as const;
export const START_MODES = ['absolute', 'relative'] as const;
export const FREQUENCIES = ['day', 'week', 'month'] as const;
export const PERFORMANCE_SCOPES = ['new', 'lifetime'] as const;
export const PERFORMANCE_ATTRIBUTES = [
  'totalLeads',
  'totalConversions',
  'totalSaleAmount',
  'totalCommissions',
] as const;
export const REJECTION_REASONS = [
  'invalidProof',
  'duplicateSubmission',
  'outOfTimeWindow',
  'didNotMeetCriteria',
  'other',
] as const;
export const MAX_SUBMISSIONS = 50;

export interface PerformanceCondition {
  readonly attribute: (typeof PERFORMANCE_ATTRIBUTES)[number];
  readonly operator: 'gte';
  readonly value: number;
}

/** Where the posts of a social bounty are, and the hosts of their addresses. */
export const SOCIAL_PLATFORMS = {
  youtube: ['youtube.com', 'youtu.be'],
  twitter: ['twitter.com', 'x.com'],
  linkedin: ['linkedin.com'],
  instagram: ['instagram.com'],
  tiktok: ['tiktok.com'],
} as const;
export type SocialPlatform = keyof typeof SOCIAL_PLATFORMS;
export const SOCIAL_METRICS = ['views', 'likes', 'comments', 'shares'] as const;

/** What a post is paid by: a sum from `minCount` on, and more for every full `incrementCount` above it. */
export interface SocialMetrics {
  readonly platform: SocialPlatform;
  readonly metric: (typeof SOCIAL_METRICS)[number];
  readonly minCount: number;
  /** In cents, as is `bonusAmount`. */
  readonly amount: number;
  readonly incrementalBonus?:
    | {
        readonly incrementCount: number;
        readonly bonusAmount: number;
        /** What is above it does not count. */
        readonly maxCount: number;
      }
    | undefined;
}

/** What has to come along with a submission. */
export interface SubmissionRequirements {
  readonly image?: { readonly max: number } | undefined;
  /** `domains`: on which hosts; any where it is absent. */
  readonly url?: { readonly max: number; readonly domains?: readonly string[] | undefined } | undefined;
  readonly socialMetrics?: SocialMetrics | undefined;
}

type StoredBounty = Fields<Selectable<Schema['bounty']>>;

export interface Bounty
  extends Omit<
    StoredBounty,
    | 'type'
    | 'startMode'
    | 'submissionFrequency'
    | 'performanceCondition'
    | 'performanceScope'
    | 'submissionRequirements'
  > {
  readonly type: (typeof BOUNTY_TYPES)[number];
  readonly startMode: (typeof START_MODES)[number];
  readonly submissionFrequency: (typeof FREQUENCIES)[number] | null;
  readonly performanceCondition: PerformanceCondition | null;
  readonly performanceScope: (typeof PERFORMANCE_SCOPES)[number] | null;
  readonly submissionRequirements: SubmissionRequirements | null;
  /** Only for partners of these groups; none: of all. */
  readonly groupIds: readonly string[];
  /** Only for partners with one of these tags; none: with any or none. */
  readonly tagIds: readonly string[];
}

export interface SubmittedFile {
  readonly url: string;
  readonly fileName: string;
  readonly size: number;
}

type StoredSubmission = Fields<Selectable<Schema['bounty_submission']>>;

export interface Submission extends Omit<StoredSubmission, 'status' | 'urls' | 'files' | 'rejectionReason'> {
  readonly status: SubmissionStatus;
  readonly urls: readonly string[] | null;
  readonly files: readonly SubmittedFile[] | null;
  readonly rejectionReason: (typeof REJECTION_REASONS)[number] | null;
}

/** What a seller decides about a bounty. */
export type BountyTerms = Pick<
  Bounty,
  | 'name'
  | 'description'
  | 'type'
  | 'startMode'
  | 'startsAt'
  | 'endsAt'
  | 'endsAfterDays'
  | 'submissionsOpenAt'
  | 'submissionFrequency'
  | 'maxSubmissions'
  | 'rewardAmount'
  | 'rewardDescription'
  | 'performanceCondition'
  | 'performanceScope'
  | 'submissionRequirements'
>;

const DAY_MS = 86_400_000;

/** Refuses terms that do not fit together, and names the field. */
export function checkTerms(terms: BountyTerms): void {
  checkTimes(terms);
  const social = terms.submissionRequirements?.socialMetrics;
  if (social) checkSocial(social, terms.rewardAmount);
  else if (terms.rewardAmount === null && !terms.rewardDescription) {
    throw invalid('rewardAmount', 'give rewardAmount or rewardDescription');
  }
  if (terms.type === 'performance') checkPerformance(terms);
  else assertAbsent(terms, 'performance', ['performanceCondition', 'performanceScope']);
}

function checkSocial(social: SocialMetrics, rewardAmount: number | null): void {
  const path = 'submissionRequirements.socialMetrics';
  if (rewardAmount !== null) throw invalid('rewardAmount', `the amount is that of ${path}`);
  const { incrementalBonus: bonus, minCount } = social;
  if (!bonus) return;
  if (bonus.maxCount <= minCount) {
    throw invalid(`${path}.incrementalBonus.maxCount`, 'must be above minCount');
  }
  if ((socialReward(social, bonus.maxCount) as number) > MAX_REWARD_CENTS) {
    throw invalid(`${path}.incrementalBonus`, `would pay more than ${MAX_REWARD_CENTS} cents`);
  }
}

/** What a post with this count is paid, in cents; undefined while it is below what is asked for. */
export function socialReward(
  { minCount, amount, incrementalBonus }: SocialMetrics,
  count: number,
): number | undefined {
  if (count < minCount) return undefined;
  if (!incrementalBonus) return amount;
  const { incrementCount, bonusAmount, maxCount } = incrementalBonus;
  const above = Math.min(count, maxCount) - minCount;
  return amount + Math.floor(above / incrementCount) * bonusAmount;
}

function assertAbsent(
  terms: BountyTerms,
  type: BountyTerms['type'],
  fields: readonly (keyof BountyTerms)[],
): void {
  const given = fields.find((field) => terms[field] !== null);
  if (given !== undefined) throw invalid(given, `is for bounties of the type ${type}`);
}

function checkTimes({ startMode, startsAt, endsAt, endsAfterDays, submissionsOpenAt }: BountyTerms): void {
  if (startMode === 'absolute' && endsAfterDays !== null) {
    throw invalid('endsAfterDays', 'is for the startMode relative; give endsAt');
  }
  if (startMode === 'relative' && endsAt !== null) {
    throw invalid('endsAt', 'is for the startMode absolute; give endsAfterDays');
  }
  if (endsAt !== null && endsAt <= startsAt) throw invalid('endsAt', 'must be after startsAt');
  if (submissionsOpenAt === null) return;
  if (startMode === 'relative') throw invalid('submissionsOpenAt', 'is for the startMode absolute');
  if (submissionsOpenAt < startsAt || (endsAt !== null && submissionsOpenAt >= endsAt)) {
    throw invalid('submissionsOpenAt', 'must be between startsAt and endsAt');
  }
}

function checkPerformance(terms: BountyTerms): void {
  if (terms.performanceCondition === null) {
    throw invalid('performanceCondition', 'is required for the type performance');
  }
  assertAbsent(terms, 'submission', ['submissionsOpenAt', 'submissionFrequency', 'submissionRequirements']);
  if (terms.maxSubmissions !== 1) throw invalid('maxSubmissions', 'is 1 for the type performance');
}

/** From when until when a partner can take part; null: for ever. */
export function windowFor(
  { startMode, startsAt, endsAt, endsAfterDays }: Bounty,
  { createdAt }: Pick<Enrolment, 'createdAt'>,
): { fromMs: number; toMs: number | null } {
  if (startMode === 'absolute') return { fromMs: startsAt, toMs: endsAt };
  const fromMs = Math.max(startsAt, createdAt);
  return { fromMs, toMs: endsAfterDays === null ? null : fromMs + endsAfterDays * DAY_MS };
}

export function isRunning(bounty: Bounty, enrolment: Pick<Enrolment, 'createdAt'>, nowMs: number): boolean {
  const { fromMs, toMs } = windowFor(bounty, enrolment);
  return nowMs >= fromMs && (toMs === null || nowMs < toMs);
}

/** Which day, week or month since the start it is, from 1; for bounties that can be done again and again. */
export function periodAt(
  frequency: NonNullable<Bounty['submissionFrequency']>,
  fromMs: number,
  nowMs: number,
): number {
  if (frequency === 'month') return monthsBetween(fromMs, nowMs) + 1;
  return Math.floor((nowMs - fromMs) / (frequency === 'day' ? DAY_MS : 7 * DAY_MS)) + 1;
}

/** Whether it is meant for a partner of this group with these tags. */
export function isMeantFor(
  { groupIds, tagIds }: Bounty,
  groupId: string | null,
  ownTagIds: readonly string[],
): boolean {
  if (groupIds.length > 0 && (groupId === null || !groupIds.includes(groupId))) return false;
  return tagIds.length === 0 || tagIds.some((id) => ownTagIds.includes(id));
}

/** How far a partner has come since `base`, and whether that is far enough. */
export function progressOf(
  { attribute, value }: PerformanceCondition,
  enrolment: Enrolment,
  base: number,
): { count: number; met: boolean } {
  const count = Math.max(0, enrolment[attribute] - base);
  return { count, met: count >= value };
}

/** What counts from the start has nothing before it. */
export function baseOf({ performanceScope, performanceCondition }: Bounty, enrolment: Enrolment): number {
  return performanceCondition && performanceScope === 'new' ? enrolment[performanceCondition.attribute] : 0;
}

/** Refuses a submission without what the bounty asks for, and names the field. */
export function checkSubmission(
  { submissionRequirements }: Pick<Bounty, 'submissionRequirements'>,
  given: Pick<Submission, 'description' | 'urls' | 'files'>,
): void {
  const { image, url, socialMetrics } = submissionRequirements ?? {};
  const urls = given.urls ?? [];
  const files = given.files ?? [];
  if (!given.description && urls.length + files.length === 0) {
    throw invalid('description', 'give a description, urls or files');
  }
  if (image) checkNumber('files', files.length, image.max);
  if (socialMetrics) {
    const hosts = SOCIAL_PLATFORMS[socialMetrics.platform];
    const isPost = (text: string) => isOn(hosts, text);
    if (!urls.some(isPost)) throw invalid('urls', `give the address of your post on ${hosts.join(' or ')}`);
  }
  if (!url) return;
  checkNumber('urls', urls.length, url.max);
  const { domains } = url;
  const foreign = domains?.length ? urls.find((text) => !isOn(domains, text)) : undefined;
  if (foreign !== undefined) throw invalid('urls', `${foreign} is not on ${domains?.join(', ')}`);
}

function checkNumber(field: string, count: number, max: number): void {
  if (count < 1) throw invalid(field, 'this bounty asks for at least one');
  if (count > max) throw invalid(field, `this bounty takes at most ${max}`);
}

function isOn(domains: readonly string[], url: string): boolean {
  const host = URL.parse(url)?.hostname ?? '';
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}
