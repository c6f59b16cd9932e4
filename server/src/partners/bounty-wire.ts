// Bounties and submissions as clients and receivers of webhooks see them.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import {
  BOUNTY_TYPES,
  type Bounty,
  FREQUENCIES,
  MAX_SUBMISSIONS,
  PERFORMANCE_ATTRIBUTES,
  PERFORMANCE_SCOPES,
  REJECTION_REASONS,
  SOCIAL_METRICS,
  SOCIAL_PLATFORMS,
  type SocialPlatform,
  START_MODES,
  type Submission,
} from './bounty.ts';
import { MAX_REWARD_CENTS } from './reward.ts';
import { SUBMISSION_STATUSES } from './submission-states.ts';

/** Of whatever is counted. */
export const MAX_COUNT = 1_000_000_000_000;

const textOrNull = z.string().nullable();
const timeOrNull = z.iso.datetime().nullable();

export const conditionSchema = z.object({
  attribute: z.enum(PERFORMANCE_ATTRIBUTES),
  operator: z.literal('gte').default('gte'),
  value: z.int().min(1).max(MAX_COUNT).describe('A number, or cents.'),
});

const count = z.int().min(1).max(MAX_COUNT);
const cents = z.int().min(1).max(MAX_REWARD_CENTS);
const maximum = z.int().min(1).max(10).default(1).describe('How many at most.');

export const requirementsSchema = z.object({
  image: z.object({ max: maximum }).optional().describe('Files are asked for.'),
  url: z
    .object({
      max: maximum,
      domains: z.array(z.string().trim().toLowerCase().min(1).max(190)).max(20).optional(),
    })
    .optional()
    .describe('Addresses are asked for, on these domains if any are named.'),
  socialMetrics: z
    .object({
      platform: z.enum(Object.keys(SOCIAL_PLATFORMS) as [SocialPlatform, ...SocialPlatform[]]),
      metric: z.enum(SOCIAL_METRICS),
      minCount: count.describe('From which count on a post is paid.'),
      amount: cents.describe('For a post that has reached minCount, in cents.'),
      incrementalBonus: z
        .object({
          incrementCount: count.describe('For each time that it is full above minCount…'),
          bonusAmount: cents.describe('…the post gets so much more, in cents.'),
          maxCount: count.describe('What is above it does not count.'),
        })
        .optional(),
    })
    .optional()
    .describe('A post is asked for and paid by its count, which you report; rewardAmount is then absent.'),
});

export const bountySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    description: textOrNull,
    type: z.enum(BOUNTY_TYPES),
    startMode: z.enum(START_MODES),
    startsAt: z.iso.datetime(),
    endsAt: timeOrNull,
    endsAfterDays: z.number().nullable(),
    submissionsOpenAt: timeOrNull,
    submissionFrequency: z.enum(FREQUENCIES).nullable(),
    maxSubmissions: z.number().max(MAX_SUBMISSIONS),
    rewardAmount: z.number().nullable().describe('In cents.'),
    rewardDescription: textOrNull,
    performanceCondition: conditionSchema.nullable(),
    performanceScope: z.enum(PERFORMANCE_SCOPES).nullable(),
    submissionRequirements: requirementsSchema.nullable(),
    groups: z.array(z.object({ id: z.string() })),
    partnerTags: z.array(z.object({ id: z.string() })),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Bounty', description: 'What partners are rewarded for beside conversions.' });

export function presentBounty(bounty: Bounty): z.input<typeof bountySchema> {
  const { groupIds, tagIds, startsAt, endsAt, submissionsOpenAt, createdAt, updatedAt } = bounty;
  return {
    id: bounty.id,
    name: bounty.name,
    description: bounty.description,
    type: bounty.type,
    startMode: bounty.startMode,
    startsAt: isoTime(startsAt),
    endsAt: orNull(endsAt),
    endsAfterDays: bounty.endsAfterDays,
    submissionsOpenAt: orNull(submissionsOpenAt),
    submissionFrequency: bounty.submissionFrequency,
    maxSubmissions: bounty.maxSubmissions,
    rewardAmount: bounty.rewardAmount,
    rewardDescription: bounty.rewardDescription,
    performanceCondition: bounty.performanceCondition,
    performanceScope: bounty.performanceScope,
    submissionRequirements: bounty.submissionRequirements as z.input<typeof requirementsSchema> | null,
    groups: groupIds.map((id) => ({ id })),
    partnerTags: tagIds.map((id) => ({ id })),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}

export const submissionSchema = z
  .object({
    id: z.string(),
    bountyId: z.string(),
    partnerId: z.string(),
    description: textOrNull,
    urls: z.array(z.string()).nullable(),
    files: z.array(z.object({ url: z.string(), fileName: z.string(), size: z.number() })).nullable(),
    status: z.enum(SUBMISSION_STATUSES),
    performanceCount: z.number().nullable().describe('How far the partner has come; cents for amounts.'),
    socialMetricCount: z.number().nullable().describe('As last reported; null before.'),
    createdAt: z.iso.datetime(),
    completedAt: timeOrNull.describe('When it was handed in.'),
    reviewedAt: timeOrNull,
    rejectionReason: z.enum(REJECTION_REASONS).nullable(),
    rejectionNote: textOrNull,
    periodNumber: z.number().describe('Which day, week or month of the bounty it is for, from 1.'),
    socialMetricsLastSyncedAt: timeOrNull.describe('When socialMetricCount was last reported.'),
  })
  .meta({ id: 'BountySubmission', description: 'What a partner handed in for a bounty.' });

export function presentSubmission(submission: Submission): z.input<typeof submissionSchema> {
  const { id, bountyId, partnerId, description, urls, files, status, performanceCount } = submission;
  return {
    id,
    bountyId,
    partnerId,
    description,
    urls: urls && [...urls],
    files: files && [...files],
    status,
    performanceCount,
    socialMetricCount: submission.socialMetricsSyncedAt === null ? null : submission.socialMetricCount,
    createdAt: isoTime(submission.createdAt),
    completedAt: orNull(submission.completedAt),
    reviewedAt: orNull(submission.reviewedAt),
    rejectionReason: submission.rejectionReason,
    rejectionNote: submission.rejectionNote,
    periodNumber: submission.periodNumber,
    socialMetricsLastSyncedAt: orNull(submission.socialMetricsSyncedAt),
  };
}

function orNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
