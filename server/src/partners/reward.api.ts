// Rewards and discounts over HTTP.
import { z } from 'zod';
import { deletedId, idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import { invalid } from '../kernel/errors.ts';
import { DISCOUNT_PROVIDERS, type Discount, shownAmount } from './discount.ts';
import { given } from './program.api.ts';
import { REWARD_EVENTS } from './program.ts';
import type { Programs } from './programs.ts';
import {
  MAX_DURATION_MONTHS,
  MAX_REWARD_CENTS,
  modifierSchema,
  REWARD_TYPES,
  type Reward,
  type RewardType,
  referralConfigSchema,
  SPEND_INTERVALS,
  termsSchema,
  toBasisPoints,
} from './reward.ts';
import { type Discounts, presentTerms, type Rewards } from './rewards.ts';

const textOrNull = z.string().nullable();
const numberOrNull = z.number().nullable();
const READ = requires('programs.read', 'business');
const WRITE = requires('programs.write', 'business');

const rewardSchema = z
  .object({
    id: z.string(),
    event: z.enum(REWARD_EVENTS),
    type: z.enum(REWARD_TYPES),
    amountInCents: numberOrNull,
    amountInPercentage: numberOrNull,
    maxDuration: numberOrNull.describe('Months; 0: once, null: for ever.'),
    description: textOrNull,
    modifiers: z.array(modifierSchema).nullable(),
    spendLimitAmount: numberOrNull,
    spendLimitInterval: z.enum(SPEND_INTERVALS).nullable(),
    config: referralConfigSchema.nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Reward', description: 'What partners of a group earn for an event.' });

const groupId = z
  .string()
  .min(1)
  .optional()
  .describe('The id or the slug of the group that gets it; the default group if absent.');
const order = listQuery({ sortBy: ['createdAt'], defaultOrder: 'desc' });

export function rewardOperations({ rewards }: { rewards: Rewards }): Operation[] {
  return [
    operation({
      id: 'listRewards',
      method: 'GET',
      path: '/rewards',
      group: 'Rewards',
      summary: 'List rewards',
      access: READ,
      query: z.object({ event: z.enum(REWARD_EVENTS).optional(), ...order }),
      response: { status: 200, description: 'The rewards.', schema: z.array(rewardSchema) },
      run: async ({ query }, actor) => (await rewards.list(actor, query, query)).map(present),
    }),
    operation({
      id: 'createReward',
      method: 'POST',
      path: '/rewards',
      group: 'Rewards',
      summary: 'Create a reward for a group',
      description:
        'A group has at most one per event. All its partners get it. modifiers and the event referral need the plan advanced, spend limits the plan enterprise.',
      access: WRITE,
      body: z.object({ event: z.enum(REWARD_EVENTS), groupId, ...termsSchema }),
      response: { status: 201, description: 'The new reward.', schema: rewardSchema },
      run: async ({ body }, actor) => present(await rewards.create(actor, body.event, body)),
    }),
    operation({
      id: 'getReward',
      method: 'GET',
      path: '/rewards/{id}',
      group: 'Rewards',
      summary: 'Retrieve a reward',
      access: READ,
      params: idParams('reward'),
      response: { status: 200, description: 'The reward.', schema: rewardSchema },
      run: async ({ params }, actor) => present(await rewards.get(actor, params.id)),
    }),
    operation({
      id: 'updateReward',
      method: 'PATCH',
      path: '/rewards/{id}',
      group: 'Rewards',
      summary: 'Update a reward',
      description: 'Fields that are absent stay as they are. What was earned already does not change.',
      access: WRITE,
      params: idParams('reward'),
      body: z.object({ ...termsSchema, type: termsSchema.type.optional() }),
      response: { status: 200, description: 'The reward as it is now.', schema: rewardSchema },
      run: async ({ params, body }, actor) => present(await rewards.update(actor, params.id, given(body))),
    }),
    operation({
      id: 'deleteReward',
      method: 'DELETE',
      path: '/rewards/{id}',
      group: 'Rewards',
      summary: 'Delete a reward',
      description: 'Partners earn nothing more by it; what was earned already stays.',
      access: WRITE,
      params: idParams('reward'),
      response: { status: 200, description: 'The reward is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await rewards.delete(actor, params.id)).id }),
    }),
  ];
}

function present(reward: Reward): z.input<typeof rewardSchema> {
  const { id, event, createdAt, updatedAt } = reward;
  return {
    id,
    event,
    ...presentTerms(reward),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}

const discountSchema = z
  .object({
    id: z.string(),
    amount: z.number().describe('Cents for flat, a percentage otherwise.'),
    type: z.enum(REWARD_TYPES),
    maxDuration: numberOrNull.describe('Months; 0: once, null: for ever.'),
    description: textOrNull,
    couponId: textOrNull,
    provider: z.enum(DISCOUNT_PROVIDERS),
    autoProvisionEnabledAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Discount', description: 'What customers of a group’s partners pay less.' });

const discountFields = {
  maxDuration: z.int().min(0).max(MAX_DURATION_MONTHS).nullable().optional(),
  description: z.string().trim().max(1_000).nullable().optional(),
  couponId: z.string().trim().min(1).max(190).nullable().optional(),
  provider: z.enum(DISCOUNT_PROVIDERS).optional(),
  autoProvision: z
    .boolean()
    .optional()
    .describe('Whether partners get a code by themselves. Codes that are there stay when it is turned off.'),
};
const amount = z.number().min(0).max(MAX_REWARD_CENTS).describe('Cents for flat, a percentage otherwise.');

export interface DiscountApiParts {
  readonly discounts: Discounts;
  readonly programs: Programs;
  readonly clock: Clock;
}

export function discountOperations({ discounts, programs, clock }: DiscountApiParts): Operation[] {
  return [
    operation({
      id: 'listProgramDiscounts',
      method: 'GET',
      path: '/programs/{programId}/discounts',
      group: 'Discounts',
      summary: 'List the discounts of the program',
      access: READ,
      params: z.object({ programId: z.string().min(1).describe('The id or the slug of the program.') }),
      query: z.object(order),
      response: { status: 200, description: 'The discounts.', schema: z.array(discountSchema) },
      run: async ({ params, query }, actor) => {
        await programs.get(actor, params.programId);
        return (await discounts.list(actor, query)).map(presentDiscount);
      },
    }),
    operation({
      id: 'listDiscounts',
      method: 'GET',
      path: '/discounts',
      group: 'Discounts',
      summary: 'List discounts',
      access: READ,
      query: z.object(order),
      response: { status: 200, description: 'The discounts.', schema: z.array(discountSchema) },
      run: async ({ query }, actor) => (await discounts.list(actor, query)).map(presentDiscount),
    }),
    operation({
      id: 'createDiscount',
      method: 'POST',
      path: '/discounts',
      group: 'Discounts',
      summary: 'Create a discount for a group',
      description:
        'A group has at most one. All its partners get it, and their codes are worth it; with autoProvision those who have no code get one, many of them after a while.',
      access: WRITE,
      body: z.object({ groupId, amount, type: z.enum(REWARD_TYPES), ...discountFields }),
      response: { status: 201, description: 'The new discount.', schema: discountSchema },
      run: async ({ body }, actor) => {
        const { autoProvision, groupId, type, amount, ...rest } = body;
        const terms = {
          type,
          amount: storedAmount(type, amount),
          maxDuration: rest.maxDuration ?? null,
          description: rest.description ?? null,
          couponId: rest.couponId ?? null,
          provider: rest.provider ?? 'custom',
          autoProvisionAt: autoProvision ? clock.now() : null,
        } as const;
        return presentDiscount(await discounts.create(actor, { ...terms, groupId }));
      },
    }),
    operation({
      id: 'getDiscount',
      method: 'GET',
      path: '/discounts/{id}',
      group: 'Discounts',
      summary: 'Retrieve a discount',
      access: READ,
      params: idParams('discount'),
      response: { status: 200, description: 'The discount.', schema: discountSchema },
      run: async ({ params }, actor) => presentDiscount(await discounts.get(actor, params.id)),
    }),
    operation({
      id: 'updateDiscount',
      method: 'PATCH',
      path: '/discounts/{id}',
      group: 'Discounts',
      summary: 'Update a discount',
      description: 'Fields that are absent stay as they are. A new type needs a new amount.',
      access: WRITE,
      params: idParams('discount'),
      body: z.object({
        amount: amount.optional(),
        type: z.enum(REWARD_TYPES).optional(),
        ...discountFields,
      }),
      response: { status: 200, description: 'The discount as it is now.', schema: discountSchema },
      run: async ({ params, body }, actor) => {
        const before = await discounts.get(actor, params.id);
        const { autoProvision, amount, type = before.type, ...rest } = given(body);
        if (type !== before.type && amount === undefined)
          throw invalid('amount', 'is required with a new type');
        const change = {
          ...rest,
          ...(amount !== undefined && { type, amount: storedAmount(type, amount) }),
          ...(autoProvision !== undefined && { autoProvisionAt: autoProvision ? clock.now() : null }),
        };
        return presentDiscount(await discounts.update(actor, params.id, change));
      },
    }),
    operation({
      id: 'deleteDiscount',
      method: 'DELETE',
      path: '/discounts/{id}',
      group: 'Discounts',
      summary: 'Delete a discount',
      access: WRITE,
      params: idParams('discount'),
      response: { status: 200, description: 'The discount is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await discounts.delete(actor, params.id)).id }),
    }),
  ];
}

function storedAmount(type: RewardType, amount: number): number {
  if (type === 'flat') {
    if (!Number.isInteger(amount)) throw invalid('amount', 'must be whole cents for the type flat');
    return amount;
  }
  const points = toBasisPoints(amount);
  if (points === undefined || amount > 100) {
    throw invalid('amount', 'must be a percentage of at most 100 with at most two decimals');
  }
  return points;
}

function presentDiscount(discount: Discount): z.input<typeof discountSchema> {
  const { id, type, maxDuration, description, couponId, provider, autoProvisionAt } = discount;
  return {
    id,
    amount: shownAmount(discount),
    type,
    maxDuration,
    description,
    couponId,
    provider,
    autoProvisionEnabledAt: autoProvisionAt === null ? null : isoTime(autoProvisionAt),
    createdAt: isoTime(discount.createdAt),
    updatedAt: isoTime(discount.updatedAt),
  };
}
