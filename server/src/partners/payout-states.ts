// Which state a payout can be in and how it gets from one to another: the only place that knows.
import { AppError } from '../kernel/errors.ts';

export const PAYOUT_STATUSES = [
  'pending',
  'processing',
  'processed',
  'sent',
  'completed',
  'failed',
  'canceled',
] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];

interface Transition {
  readonly from: readonly PayoutStatus[];
  readonly to: PayoutStatus;
}

/** Everything that can happen to a payout. */
export const PAYOUT_TRANSITIONS = {
  /** The owner says that it is to be paid: from here on nothing is added to it. */
  confirm: { from: ['pending'], to: 'processing' },
  /** The money is on its way. */
  send: { from: ['processing', 'processed'], to: 'sent' },
  /** The receiver, or whoever pays outside, says that it arrived. */
  complete: { from: ['processing', 'processed', 'sent', 'failed'], to: 'completed' },
  /** Also of what was sent and came back. */
  fail: { from: ['processing', 'processed', 'sent'], to: 'failed' },
  retry: { from: ['failed'], to: 'processing' },
  /** The partner was banned. */
  cancel: { from: ['pending'], to: 'canceled' },
} as const satisfies Record<string, Transition>;

export type PayoutEvent = keyof typeof PAYOUT_TRANSITIONS;

export function canPayout(status: PayoutStatus, event: PayoutEvent): boolean {
  return (PAYOUT_TRANSITIONS[event].from as readonly PayoutStatus[]).includes(status);
}

/** The state after it; refuses what cannot happen. */
export function payoutAfter(status: PayoutStatus, event: PayoutEvent): PayoutStatus {
  const { from, to } = PAYOUT_TRANSITIONS[event];
  if (canPayout(status, event)) return to;
  throw new AppError(
    'bad_request',
    `custom: status: ${event} needs a payout that is ${from.join(' or ')}; this one is ${status}`,
  );
}

/** Commissions can still be added to these and taken out of them. */
export const OPEN_PAYOUTS: readonly PayoutStatus[] = ['pending', 'canceled'];
