// A payout: the commissions of one partner that are paid together. Its type and pure rules.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../kernel/errors.ts';
import type { EnrolledPartner, PAYOUT_METHODS } from './partner.ts';
import type { PayoutStatus } from './payout-states.ts';
import type { PayoutMode, Program } from './program.ts';

type Stored = Fields<Selectable<Schema['payout']>>;

export interface Payout extends Omit<Stored, 'status' | 'mode' | 'method'> {
  readonly status: PayoutStatus;
  /** Null until it is confirmed. */
  readonly mode: Exclude<PayoutMode, 'hybrid'> | null;
  readonly method: (typeof PAYOUT_METHODS)[number] | null;
}

/** What is paid at once must be worth the trouble. */
export const MIN_BATCH_CENTS = 1_000;

/** How the partner would be paid now: a mixed program pays those itself who can be paid so. */
export function effectiveMode(
  { payoutMode }: Program,
  { partner }: EnrolledPartner,
): Exclude<PayoutMode, 'hybrid'> {
  if (payoutMode !== 'hybrid') return payoutMode;
  return partner.payoutsEnabledAt === null ? 'external' : 'internal';
}

/** Refuses what cannot be paid; `manual`: whoever confirms knows where to send the money. */
export function assertPayable(
  program: Program,
  payout: Payout,
  enrolled: EnrolledPartner | undefined,
  manual: boolean,
): void {
  const refuse = (reason: string) =>
    new AppError('bad_request', `custom: payoutIds: the payout ${payout.id} ${reason}`);
  if (payout.invoiceId !== null) throw refuse('was confirmed already');
  if (payout.amount <= 0) throw refuse('has nothing to pay');
  if (payout.amount < program.minPayoutAmount) {
    throw refuse(`is of ${payout.amount} cents, less than the ${program.minPayoutAmount} of the program`);
  }
  if (!enrolled) throw refuse('is of a partner who has left the program');
  if (manual) return;
  if (effectiveMode(program, enrolled) === 'internal') {
    if (enrolled.partner.payoutsEnabledAt === null) throw refuse('is of a partner without payouts enabled');
  } else if (enrolled.enrolment.tenantId === null) {
    throw refuse('is of a partner without a tenantId, by which those who pay outside would know it');
  }
}
