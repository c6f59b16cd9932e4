// The partner program of a workspace: its type and the values its fields can have.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { type Actor, type Plan, planIncludes } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';

export const PAYOUT_MODES = ['internal', 'hybrid', 'external'] as const;
export type PayoutMode = (typeof PAYOUT_MODES)[number];

export const MIN_PAYOUT_AMOUNTS = [0, 1_000, 2_000, 5_000, 10_000] as const;

export const REWARD_EVENTS = ['click', 'lead', 'sale', 'referral'] as const;
export type RewardEvent = (typeof REWARD_EVENTS)[number];

/** Who may apply: all of these must hold. */
export interface ApplicationRequirement {
  readonly key: 'country' | 'emailDomain';
  readonly operator: 'is' | 'is_not';
  readonly value: readonly string[];
}

type Stored = Fields<Selectable<Schema['program']>>;

export interface Program
  extends Omit<Stored, 'payoutMode' | 'primaryRewardEvent' | 'applicationRequirements'> {
  readonly payoutMode: PayoutMode;
  readonly primaryRewardEvent: RewardEvent;
  readonly applicationRequirements: readonly ApplicationRequirement[] | null;
}

/** Rights that a program has by itself, whoever asked: it makes links in a folder that not everybody may use. */
export function programActor(
  workspace: { readonly id: string; readonly plan: Plan; readonly limits: Readonly<Record<string, number>> },
  userId = '',
): Actor {
  const { id: workspaceId, plan, limits } = workspace;
  return { tokenId: '', userId, role: 'owner', permissions: new Set(), workspaceId, plan, limits };
}

export function assertPlanFor(field: string, plan: Plan, minimum: Plan): void {
  if (planIncludes(plan, minimum)) return;
  throw new AppError(
    'forbidden',
    `custom: ${field}: needs the plan ${minimum} or higher; the workspace has ${plan}`,
  );
}
