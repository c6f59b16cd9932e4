// Bounties and submissions over HTTP: for the seller by key, and for partners by their embed token.
import { z } from 'zod';
import { deletedId, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import type { Bounties } from './bounties.ts';
import {
  BOUNTY_TYPES,
  type BountyTerms,
  FREQUENCIES,
  MAX_SUBMISSIONS,
  PERFORMANCE_SCOPES,
  REJECTION_REASONS,
  START_MODES,
} from './bounty.ts';
import {
  bountySchema,
  conditionSchema,
  MAX_COUNT,
  presentBounty,
  presentSubmission,
  requirementsSchema,
  submissionSchema,
} from './bounty-wire.ts';
import { EMBEDDED } from './embed.api.ts';
import { ANYBODY, EDITORS, IMAGE_BODY_BYTES } from './partner-fields.ts';
import { given } from './program.api.ts';
import { MAX_REWARD_CENTS } from './reward.ts';
import { SUBMISSION_SORTS } from './submission.store.ts';
import { SUBMISSION_STATUSES } from './submission-states.ts';
import type { Submissions } from './submissions.ts';

const MAX_TEXT_LENGTH = 5_000;
const MAX_DAYS = 3_650;
const MAX_FILES = 10;

const WRITE = requires('partners.write', 'business');
const PARAMS = z.object({ bountyId: z.string().min(1).describe('The id of the bounty.') });
const SUBMISSION_PARAMS = PARAMS.extend({
  submissionId: z.string().min(1).describe('The id of the submission.'),
});

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const members = (what: string) =>
  z.array(z.string().min(1)).max(100).optional().describe(`Only for partners with one of these ${what}.`);
const rewardAmount = z.int().min(1).max(MAX_REWARD_CENTS).describe('In cents.');

const changeable = {
  description: z.string().trim().max(MAX_TEXT_LENGTH).nullable().optional(),
  endsAt: time.nullable().optional(),
  endsAfterDays: z
    .int()
    .min(1)
    .max(MAX_DAYS)
    .nullable()
    .optional()
    .describe('For the startMode relative: days after the partner’s own start.'),
  submissionsOpenAt: time.nullable().optional(),
  submissionFrequency: z
    .enum(FREQUENCIES)
    .nullable()
    .optional()
    .describe('One submission in each; without it all may come at once.'),
  rewardAmount: rewardAmount
    .nullable()
    .optional()
    .describe('In cents; if absent, decided with the approval.'),
  rewardDescription: z.string().trim().max(100).nullable().optional(),
  performanceCondition: conditionSchema.nullable().optional(),
  performanceScope: z
    .enum(PERFORMANCE_SCOPES)
    .nullable()
    .optional()
    .describe('Whether what a partner has brought before the start counts; new if absent.'),
  submissionRequirements: requirementsSchema.nullable().optional(),
  groupIds: members('groups'),
  partnerTagIds: members('partner tags'),
};
const name = z.string().trim().min(1).max(190);
const maxSubmissions = z.int().min(1).max(MAX_SUBMISSIONS).describe('Of each partner.');

const newBounty = z.object({
  name,
  type: z.enum(BOUNTY_TYPES),
  startMode: z
    .enum(START_MODES)
    .default('absolute')
    .describe('relative: it begins for each partner when the partner joins.'),
  startsAt: time.optional().describe('Now if absent.'),
  maxSubmissions: maxSubmissions.default(1),
  ...changeable,
});

const changedBounty = z.object({
  name: name.optional(),
  startsAt: time.optional(),
  maxSubmissions: maxSubmissions.optional(),
  ...changeable,
});

const file = z.object({
  url: z
    .url({ protocol: /^(https?|data)$/ })
    .max(7_000_000)
    .describe('The address of a file, or an image as a base64 data URL.'),
  fileName: z.string().trim().min(1).max(190),
  size: z.int().min(0).max(1_000_000_000).default(0).describe('In bytes.'),
});

const ownBountySchema = bountySchema.extend({
  endsForYouAt: z.iso.datetime().nullable(),
  submissions: z.array(submissionSchema),
});

export interface BountyApiParts {
  readonly bounties: Bounties;
  readonly submissions: Submissions;
  readonly clock: Clock;
}

export function bountyOperations(parts: BountyApiParts): Operation[] {
  return [...crudOperations(parts), ...reviewOperations(parts), ...embeddedOperations(parts)];
}

function crudOperations({ bounties, clock }: BountyApiParts): Operation[] {
  return [
    operation({
      id: 'listBounties',
      method: 'GET',
      path: '/bounties',
      group: 'Bounties',
      summary: 'List bounties',
      access: ANYBODY,
      query: z.object(listQuery({ sortBy: ['createdAt'], defaultOrder: 'desc' })),
      response: { status: 200, description: 'The bounties.', schema: z.array(bountySchema) },
      run: async ({ query }, actor) => (await bounties.list(actor, query)).map(presentBounty),
    }),
    operation({
      id: 'createBounty',
      method: 'POST',
      path: '/bounties',
      group: 'Bounties',
      summary: 'Create a bounty',
      description:
        'performance: whoever reaches performanceCondition is handed in by itself. submission: partners hand in what they did.',
      access: WRITE,
      body: newBounty,
      response: { status: 201, description: 'The new bounty.', schema: bountySchema },
      run: async ({ body }, actor) => {
        const { groupIds, partnerTagIds: tagIds, ...terms } = body;
        return presentBounty(await bounties.create(actor, termsOf(terms, clock.now()), { groupIds, tagIds }));
      },
    }),
    operation({
      id: 'getBounty',
      method: 'GET',
      path: '/bounties/{bountyId}',
      group: 'Bounties',
      summary: 'Retrieve a bounty',
      access: ANYBODY,
      params: PARAMS,
      response: { status: 200, description: 'The bounty.', schema: bountySchema },
      run: async ({ params }, actor) => presentBounty(await bounties.get(actor, params.bountyId)),
    }),
    operation({
      id: 'updateBounty',
      method: 'PATCH',
      path: '/bounties/{bountyId}',
      group: 'Bounties',
      summary: 'Update a bounty',
      description:
        'Fields that are absent stay as they are. What partners are measured by cannot change once it has begun.',
      access: WRITE,
      params: PARAMS,
      body: changedBounty,
      response: { status: 200, description: 'The bounty as it is now.', schema: bountySchema },
      run: async ({ params, body }, actor) => {
        const { partnerTagIds: tagIds, ...rest } = body;
        const change = given({ ...rest, tagIds });
        return presentBounty(await bounties.update(actor, params.bountyId, change));
      },
    }),
    operation({
      id: 'deleteBounty',
      method: 'DELETE',
      path: '/bounties/{bountyId}',
      group: 'Bounties',
      summary: 'Delete a bounty that nobody has handed in anything for',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The bounty is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await bounties.delete(actor, params.bountyId)).id }),
    }),
  ];
}

function reviewOperations({ submissions }: BountyApiParts): Operation[] {
  const path = '/bounties/{bountyId}/submissions/{submissionId}';
  return [
    operation({
      id: 'listBountySubmissions',
      method: 'GET',
      path: '/bounties/{bountyId}/submissions',
      group: 'Bounties',
      summary: 'List the submissions of a bounty',
      access: ANYBODY,
      params: PARAMS,
      query: z.object({
        status: z.enum(SUBMISSION_STATUSES).optional().describe('All but the rejected if absent.'),
        groupId: z.string().min(1).optional().describe('Only of partners of this group.'),
        partnerId: z.string().min(1).optional().describe('Only of this partner.'),
        ...listQuery({ sortBy: SUBMISSION_SORTS }),
      }),
      response: { status: 200, description: 'The submissions.', schema: z.array(submissionSchema) },
      run: async ({ params, query }, actor) =>
        (await submissions.list(actor, params.bountyId, query, query)).map(presentSubmission),
    }),
    operation({
      id: 'updateBountySubmission',
      method: 'PATCH',
      path,
      group: 'Bounties',
      summary: 'Report the count of a social post',
      description:
        'For bounties with submissionRequirements.socialMetrics: how many views, likes, comments or shares the post has now. What it is paid follows from it when it is approved.',
      access: WRITE,
      params: SUBMISSION_PARAMS,
      body: z.object({ socialMetricCount: z.int().min(0).max(MAX_COUNT) }),
      response: { status: 200, description: 'The submission.', schema: submissionSchema },
      run: async ({ params: { bountyId, submissionId }, body }, actor) =>
        presentSubmission(await submissions.measure(actor, bountyId, submissionId, body.socialMetricCount)),
    }),
    operation({
      id: 'approveBountySubmission',
      method: 'POST',
      path: `${path}/approve`,
      group: 'Bounties',
      summary: 'Approve a submission',
      description:
        'The partner earns a commission of the type custom: what the bounty names, or what the count of a social post comes to.',
      access: EDITORS,
      params: SUBMISSION_PARAMS,
      body: z.object({
        rewardAmount: rewardAmount
          .nullable()
          .optional()
          .describe('In cents; for bounties that name none, and posts below their minCount.'),
      }),
      bodyOptional: true,
      response: { status: 200, description: 'The submission.', schema: submissionSchema },
      run: async ({ params: { bountyId, submissionId }, body }, actor) => {
        const amount = body.rewardAmount ?? undefined;
        return presentSubmission(await submissions.approve(actor, bountyId, submissionId, amount));
      },
    }),
    operation({
      id: 'rejectBountySubmission',
      method: 'POST',
      path: `${path}/reject`,
      group: 'Bounties',
      summary: 'Reject a submission',
      access: EDITORS,
      params: SUBMISSION_PARAMS,
      body: z.object({
        rejectionReason: z.enum(REJECTION_REASONS).default('other'),
        rejectionNote: z.string().trim().max(MAX_TEXT_LENGTH).optional(),
      }),
      bodyOptional: true,
      response: { status: 200, description: 'The submission.', schema: submissionSchema },
      run: async ({ params: { bountyId, submissionId }, body }, actor) =>
        presentSubmission(await submissions.reject(actor, bountyId, submissionId, body)),
    }),
  ];
}

function embeddedOperations({ submissions }: BountyApiParts): Operation[] {
  return [
    operation({
      ...EMBEDDED,
      id: 'listEmbedBounties',
      method: 'GET',
      path: '/embed/referrals/bounties',
      summary: 'List the bounties that you can take part in',
      description: 'Each with what you have handed in.',
      cors: 'GET',
      response: { status: 200, description: 'The bounties.', schema: z.array(ownBountySchema) },
      run: async (_, actor) =>
        (await submissions.listOwn(actor)).map(({ bounty, endsAt, submissions: own }) => ({
          ...presentBounty(bounty),
          endsForYouAt: endsAt === null ? null : isoTime(endsAt),
          submissions: own.map(presentSubmission),
        })),
    }),
    operation({
      ...EMBEDDED,
      id: 'createEmbedBountySubmission',
      method: 'POST',
      path: '/embed/referrals/bounties/{bountyId}/submissions',
      summary: 'Hand in what you did for a bounty',
      cors: 'POST',
      params: PARAMS,
      body: z.object({
        description: z.string().trim().max(MAX_TEXT_LENGTH).optional(),
        urls: z
          .array(z.url({ protocol: /^https?$/ }).max(2_000))
          .max(MAX_FILES)
          .optional(),
        files: z.array(file).max(MAX_FILES).optional(),
        isDraft: z.boolean().optional().describe('Kept, and handed in by a later call without it.'),
      }),
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: { status: 201, description: 'The submission.', schema: submissionSchema },
      run: async ({ params, body }, actor) =>
        presentSubmission(await submissions.submit(actor, params.bountyId, body)),
    }),
  ];
}

type NewBounty = Omit<z.output<typeof newBounty>, 'groupIds' | 'partnerTagIds'>;

function termsOf(body: NewBounty, nowMs: number): BountyTerms {
  const { performanceScope = null, performanceCondition = null, type } = body;
  return {
    name: body.name,
    type,
    startMode: body.startMode,
    startsAt: body.startsAt ?? nowMs,
    maxSubmissions: body.maxSubmissions,
    description: body.description || null,
    endsAt: body.endsAt ?? null,
    endsAfterDays: body.endsAfterDays ?? null,
    submissionsOpenAt: body.submissionsOpenAt ?? null,
    submissionFrequency: body.submissionFrequency ?? null,
    rewardAmount: body.rewardAmount ?? null,
    rewardDescription: body.rewardDescription || null,
    performanceCondition,
    performanceScope: performanceScope ?? (type === 'performance' ? 'new' : null),
    submissionRequirements: body.submissionRequirements ?? null,
  };
}
