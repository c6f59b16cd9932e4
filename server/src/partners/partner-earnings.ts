// What one partner has earned: one by one, and as reports add it up.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';

export type Earning = Fields<
  Pick<
    Selectable<Schema['commission']>,
    | 'id'
    | 'type'
    | 'amount'
    | 'earnings'
    | 'currency'
    | 'quantity'
    | 'status'
    | 'description'
    | 'link_id'
    | 'created_at'
  >
>;

export interface PartnerRef {
  readonly programId: string;
  readonly partnerId: string;
}

/** Both inclusive. */
export interface EarningWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `sales`: only what sales with an amount brought; all: whatever was earned. */
export type EarningKind = 'sales' | 'all';

/** For reports, which know nothing of the store. */
export interface PartnerEarnings {
  sum(partner: PartnerRef, kind: EarningKind, window: EarningWindow): Promise<number>;
  /** In the order of the windows, which follow each other. */
  sumByTime(
    partner: PartnerRef,
    kind: EarningKind,
    windows: readonly EarningWindow[],
  ): Promise<readonly number[]>;
  sumByLink(
    partner: PartnerRef,
    kind: EarningKind,
    window: EarningWindow,
  ): Promise<ReadonlyMap<string, number>>;
}
