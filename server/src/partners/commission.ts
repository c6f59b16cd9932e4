// What a partner has earned by one thing: its type, and what it counts for. Money in US cents.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { type CommissionStatus, EARNED_STATUSES } from './commission-states.ts';

export const COMMISSION_TYPES = ['click', 'lead', 'sale', 'referral', 'custom'] as const;
export type CommissionType = (typeof COMMISSION_TYPES)[number];
export const MAX_DESCRIPTION_LENGTH = 190;
/** What the sum for somebody who joined is named by; the id of that partner follows. */
export const JOINED_NAME = 'referral:partnerApproved:';

type Stored = Fields<Selectable<Schema['commission']>>;

export interface Commission extends Omit<Stored, 'type' | 'status' | 'metadata'> {
  readonly type: CommissionType;
  readonly status: CommissionStatus;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

/** What makes one; the rest is the same for all new ones. */
export type CommissionDraft = Pick<Commission, 'type' | 'earnings' | 'createdAt'> &
  Partial<Omit<Commission, 'id' | 'programId' | 'workspaceId' | 'partnerId' | 'payoutId' | 'updatedAt'>>;

/** What it adds to the sum that its partner has earned. */
export function earnedBy({ status, earnings }: Pick<Commission, 'status' | 'earnings'>): number {
  return EARNED_STATUSES.includes(status) ? earnings : 0;
}
