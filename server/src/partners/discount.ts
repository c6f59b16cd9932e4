// What customers of a group's partners pay less. `amount` is in cents, or in hundredths of a percent.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { RewardType } from './reward.ts';

export const DISCOUNT_PROVIDERS = ['stripe', 'shopify', 'custom'] as const;
export type DiscountProvider = (typeof DISCOUNT_PROVIDERS)[number];

type Stored = Fields<Selectable<Schema['discount']>>;

export interface Discount extends Omit<Stored, 'type' | 'provider'> {
  readonly type: RewardType;
  readonly provider: DiscountProvider;
}

/** The amount as clients see it: cents, or a percentage. */
export function shownAmount({ type, amount }: Pick<Discount, 'type' | 'amount'>): number {
  return type === 'flat' ? amount : amount / 100;
}
