// What partners earn for a click, a lead, a sale or a partner they brought: the type, and the rules about its
// fields. Money in US cents, percentages in hundredths of a percent.
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Plan } from '../http/operation.ts';
import { invalid } from '../kernel/errors.ts';
import { assertPlanFor, type RewardEvent } from './program.ts';

export const REWARD_TYPES = ['flat', 'percentage'] as const;
export type RewardType = (typeof REWARD_TYPES)[number];
export const SPEND_INTERVALS = ['day', 'week', 'month', 'allTime'] as const;
export type SpendInterval = (typeof SPEND_INTERVALS)[number];
export const MAX_REWARD_CENTS = 99_999_999;
export const MAX_DURATION_MONTHS = 600;

export const CONDITION_OPERATORS = [
  'equals_to',
  'not_equals',
  'starts_with',
  'ends_with',
  'contains',
  'not_contains',
  'in',
  'not_in',
  'greater_than',
  'greater_than_or_equal',
  'less_than',
  'less_than_or_equal',
] as const;
export type ConditionOperator = (typeof CONDITION_OPERATORS)[number];

/** What conditions can look at, by the event that is rewarded. */
export const CONDITION_ATTRIBUTES: Readonly<
  Record<RewardEvent, Readonly<Record<string, readonly string[]>>>
> = {
  click: { customer: ['country'] },
  lead: {
    customer: ['country', 'source'],
    partner: [
      'country',
      'totalClicks',
      'totalLeads',
      'totalConversions',
      'totalSaleAmount',
      'totalCommissions',
    ],
    lead: ['metadata'],
  },
  sale: {
    customer: ['country', 'source', 'subscriptionDurationMonths', 'subscriptionStartDate', 'signupDate'],
    partner: [
      'country',
      'totalClicks',
      'totalLeads',
      'totalConversions',
      'totalSaleAmount',
      'totalCommissions',
    ],
    sale: ['productId', 'amount', 'type', 'metadata'],
  },
  referral: {},
};

export interface RewardCondition {
  readonly entity: string;
  readonly attribute: string;
  readonly operator: ConditionOperator;
  readonly value: string | number | readonly (string | number)[];
  /** The name in the metadata, for the attribute `metadata`. */
  readonly metadataField?: string | undefined;
}

/** Replaces the amount of a reward where its conditions hold. */
export interface RewardModifier {
  readonly id: string;
  readonly operator: 'AND' | 'OR';
  readonly conditions: readonly RewardCondition[];
  readonly type: RewardType;
  readonly amountCents: number | null;
  readonly amountBasisPoints: number | null;
  /** Undefined: that of the reward. Null: for ever. */
  readonly maxDuration?: number | null | undefined;
}

export interface ReferralConfig {
  readonly trigger: 'saleRecorded' | 'commissionEarned' | 'partnerApproved' | 'commissionThreshold';
  /** In cents, for commissionThreshold. */
  readonly threshold?: number | undefined;
}

type Stored = Fields<Selectable<Schema['reward']>>;

export interface Reward
  extends Omit<Stored, 'event' | 'type' | 'modifiers' | 'spendLimitInterval' | 'config'> {
  readonly event: RewardEvent;
  readonly type: RewardType;
  readonly modifiers: readonly RewardModifier[] | null;
  readonly spendLimitInterval: SpendInterval | null;
  readonly config: ReferralConfig | null;
}

/** What a caller sets. */
export type RewardTerms = Omit<Reward, 'id' | 'programId' | 'workspaceId' | 'createdAt' | 'updatedAt'>;

/** Two decimals of a percentage, as an integer; undefined when there are more. */
export function toBasisPoints(percentage: number): number | undefined {
  const points = Math.round(percentage * 100);
  return Math.abs(percentage * 100 - points) < 1e-6 ? points : undefined;
}

const value = z.union([
  z.string().max(1_000),
  z.number(),
  z
    .array(z.union([z.string().max(1_000), z.number()]))
    .min(1)
    .max(250),
]);

export const conditionSchema = z.object({
  entity: z.enum(['customer', 'partner', 'lead', 'sale']),
  attribute: z.string().min(1).max(100),
  operator: z.enum(CONDITION_OPERATORS).default('equals_to'),
  value,
  metadataField: z.string().trim().min(1).max(190).optional(),
});

const money = z.int().min(0).max(MAX_REWARD_CENTS);
const percentage = z
  .number()
  .min(0)
  .max(100)
  .refine((given) => toBasisPoints(given) !== undefined, 'must have at most two decimals');
const duration = z.int().min(0).max(MAX_DURATION_MONTHS).nullable();

export const amountSchema = {
  type: z.enum(REWARD_TYPES),
  amountInCents: money.nullable().optional().describe('For the type flat.'),
  amountInPercentage: percentage.nullable().optional().describe('For the type percentage; two decimals.'),
};

export const modifierSchema = z.object({
  id: z.string().min(1).max(100).optional(),
  operator: z.enum(['AND', 'OR']).default('AND'),
  conditions: z.array(conditionSchema).min(1).max(50),
  ...amountSchema,
  type: amountSchema.type.optional().describe('That of the reward if absent.'),
  maxDuration: duration.optional(),
});

export const referralConfigSchema = z.object({
  trigger: z.enum(['saleRecorded', 'commissionEarned', 'partnerApproved', 'commissionThreshold']),
  threshold: z.int().min(100).max(MAX_REWARD_CENTS).optional().describe('In cents, for commissionThreshold.'),
});

export const termsSchema = {
  ...amountSchema,
  maxDuration: duration
    .optional()
    .describe('Months after the first sale; 0: the first sale only, null: for ever.'),
  description: z.string().trim().max(1_000).nullable().optional(),
  modifiers: z.array(modifierSchema).max(50).nullable().optional(),
  spendLimitAmount: money.min(1).nullable().optional().describe('In cents.'),
  spendLimitInterval: z.enum(SPEND_INTERVALS).nullable().optional(),
  config: referralConfigSchema.nullable().optional().describe('For the event referral.'),
};

interface Amount {
  readonly type: RewardType;
  readonly amountInCents?: number | null | undefined;
  readonly amountInPercentage?: number | null | undefined;
}
type GivenModifier = z.output<typeof modifierSchema>;
export type GivenTerms = Readonly<z.output<z.ZodObject<typeof termsSchema>>>;

/** Exactly one amount, and the one that the type is about. */
function readAmount(path: string, { type, amountInCents, amountInPercentage }: Amount) {
  const wanted = type === 'flat' ? 'amountInCents' : 'amountInPercentage';
  const other = type === 'flat' ? amountInPercentage : amountInCents;
  if (other != null) {
    const field = type === 'flat' ? 'amountInPercentage' : 'amountInCents';
    throw invalid(`${path}${field}`, `does not go with the type ${type}`);
  }
  const amount = type === 'flat' ? amountInCents : amountInPercentage;
  if (amount == null) throw invalid(`${path}${wanted}`, `is required for the type ${type}`);
  return {
    type,
    amountCents: type === 'flat' ? amount : null,
    amountBasisPoints: type === 'flat' ? null : (toBasisPoints(amount) as number),
  };
}

/** Checks the terms as a whole, and for the plan of the workspace; `newId` names modifiers that have no id. */
export function readTerms(
  event: RewardEvent,
  given: GivenTerms,
  plan: Plan,
  newId: () => string,
): RewardTerms {
  const amount = readAmount('', given);
  assertEventRules(event, given);
  const modifiers = given.modifiers?.length
    ? given.modifiers.map((modifier, index) => readModifier(event, given, modifier, index, newId))
    : null;
  if (modifiers) assertPlanFor('modifiers', plan, 'advanced');
  if (event === 'referral') assertPlanFor('event', plan, 'advanced');
  return {
    event,
    ...amount,
    maxDuration: event === 'sale' || event === 'referral' ? (given.maxDuration ?? null) : 0,
    description: given.description ?? null,
    modifiers,
    ...readSpendLimit(given, plan),
    config: event === 'referral' ? (given.config ?? null) : null,
  };
}

function assertEventRules(event: RewardEvent, { type, maxDuration, config }: GivenTerms): void {
  if (event === 'click' || event === 'lead') {
    if (type !== 'flat') throw invalid('type', `a reward for a ${event} must be flat`);
    if (maxDuration) throw invalid('maxDuration', `must be 0 for a ${event}`);
  }
  if (event !== 'referral') {
    if (config) throw invalid('config', 'goes with the event referral only');
    return;
  }
  if (!config) throw invalid('config', 'is required for the event referral');
  const needed = config.trigger === 'saleRecorded' || config.trigger === 'commissionEarned';
  if (needed !== (type === 'percentage')) {
    throw invalid('type', `must be ${needed ? 'percentage' : 'flat'} for the trigger ${config.trigger}`);
  }
  if (config.trigger === 'commissionThreshold' && config.threshold === undefined) {
    throw invalid('config.threshold', 'is required for the trigger commissionThreshold');
  }
}

function readModifier(
  event: RewardEvent,
  reward: GivenTerms,
  modifier: GivenModifier,
  index: number,
  newId: () => string,
): RewardModifier {
  const path = `modifiers[${index}].`;
  const type = modifier.type ?? reward.type;
  if (event !== 'sale' && type !== 'flat') throw invalid(`${path}type`, `must be flat for a ${event}`);
  if (event !== 'sale' && modifier.maxDuration) {
    throw invalid(`${path}maxDuration`, `must be 0 for a ${event}`);
  }
  for (const [i, condition] of modifier.conditions.entries()) {
    assertCondition(event, `${path}conditions[${i}].`, condition);
  }
  return {
    id: modifier.id ?? newId(),
    operator: modifier.operator,
    conditions: modifier.conditions,
    ...readAmount(path, { ...modifier, type }),
    ...(modifier.maxDuration !== undefined && { maxDuration: modifier.maxDuration }),
  };
}

const LIST_OPERATORS: readonly string[] = ['in', 'not_in'];
const NUMBER_OPERATORS: readonly string[] = [
  'greater_than',
  'greater_than_or_equal',
  'less_than',
  'less_than_or_equal',
];

function assertCondition(event: RewardEvent, path: string, condition: RewardCondition): void {
  const { entity, attribute, operator, metadataField } = condition;
  const known = CONDITION_ATTRIBUTES[event];
  if (!known[entity]) {
    const allowed = Object.keys(known).join(', ') || 'none';
    throw invalid(`${path}entity`, `a reward for a ${event} can look at: ${allowed}`);
  }
  if (!known[entity].includes(attribute)) {
    throw invalid(`${path}attribute`, `must be one of ${known[entity].join(', ')}`);
  }
  if (attribute === 'metadata' && metadataField === undefined) {
    throw invalid(`${path}metadataField`, 'is required for the attribute metadata');
  }
  if (LIST_OPERATORS.includes(operator) !== Array.isArray(condition.value)) {
    throw invalid(
      `${path}value`,
      Array.isArray(condition.value) ? 'a list goes with in and not_in' : 'must be a list',
    );
  }
  const isDate = attribute.endsWith('Date');
  if (NUMBER_OPERATORS.includes(operator) && !isDate && !Number.isFinite(Number(condition.value))) {
    throw invalid(`${path}value`, `must be a number for ${operator}`);
  }
  if (isDate && !Number.isFinite(Date.parse(String(condition.value)))) {
    throw invalid(`${path}value`, 'must be a date');
  }
}

function readSpendLimit(
  { spendLimitAmount, spendLimitInterval }: GivenTerms,
  plan: Plan,
): Pick<RewardTerms, 'spendLimitAmount' | 'spendLimitInterval'> {
  if (spendLimitAmount == null && spendLimitInterval == null) {
    return { spendLimitAmount: null, spendLimitInterval: null };
  }
  if (spendLimitAmount == null) throw invalid('spendLimitAmount', 'is required with spendLimitInterval');
  if (spendLimitInterval == null) throw invalid('spendLimitInterval', 'is required with spendLimitAmount');
  assertPlanFor('spendLimitAmount', plan, 'enterprise');
  return { spendLimitAmount, spendLimitInterval };
}
