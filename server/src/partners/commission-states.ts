// Which state a commission can be in and who may bring it from one to another: the only place that knows.
import { AppError } from '../kernel/errors.ts';

export const COMMISSION_STATUSES = [
  'pending',
  'processed',
  'paid',
  'refunded',
  'duplicate',
  'fraud',
  'canceled',
  'hold',
] as const;
export type CommissionStatus = (typeof COMMISSION_STATUSES)[number];

/** What a person may set it to. */
export const SETTABLE_STATUSES = ['pending', 'refunded', 'duplicate', 'canceled', 'fraud'] as const;
export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

interface Transition {
  readonly from: readonly CommissionStatus[];
  readonly to: CommissionStatus;
}

/** All but those that were paid: what was sent cannot be taken back, only clawed back by another one. */
const UNPAID: readonly CommissionStatus[] = COMMISSION_STATUSES.filter((status) => status !== 'paid');

/** Everything that can happen to a commission. */
export const COMMISSION_TRANSITIONS = {
  /** It joins a payout. */
  process: { from: ['pending'], to: 'processed' },
  /** Its payout was sent. */
  pay: { from: ['processed'], to: 'paid' },
  /** Its payout was sent and came back. */
  bounce: { from: ['paid'], to: 'processed' },
  hold: { from: ['pending'], to: 'hold' },
  /** A person looked at it and found nothing. */
  clear: { from: ['hold'], to: 'pending' },
  refund: { from: ['pending', 'hold', 'processed'], to: 'refunded' },
  /** The partner was banned. */
  cancel: { from: ['pending', 'hold', 'processed'], to: 'canceled' },
  setPending: { from: UNPAID, to: 'pending' },
  setRefunded: { from: UNPAID, to: 'refunded' },
  setDuplicate: { from: UNPAID, to: 'duplicate' },
  setCanceled: { from: UNPAID, to: 'canceled' },
  setFraud: { from: UNPAID, to: 'fraud' },
} as const satisfies Record<string, Transition>;

export type CommissionEvent = keyof typeof COMMISSION_TRANSITIONS;

/** The event by which a person sets a status. */
export const SET_EVENTS: Readonly<Record<SettableStatus, CommissionEvent>> = {
  pending: 'setPending',
  refunded: 'setRefunded',
  duplicate: 'setDuplicate',
  canceled: 'setCanceled',
  fraud: 'setFraud',
};

export function canCommission(status: CommissionStatus, event: CommissionEvent): boolean {
  const { from, to } = COMMISSION_TRANSITIONS[event];
  return (from as readonly CommissionStatus[]).includes(status) && status !== to;
}

/** The state after it; refuses what cannot happen. */
export function commissionAfter(
  { id, status }: { readonly id: string; readonly status: CommissionStatus },
  event: CommissionEvent,
): CommissionStatus {
  const { to } = COMMISSION_TRANSITIONS[event];
  if (canCommission(status, event)) return to;
  const reason = status === to ? `is ${status} already` : `is ${status} and cannot become ${to}`;
  throw new AppError('bad_request', `custom: status: the commission ${id} ${reason}`);
}

/** Count towards what a partner has earned. */
export const EARNED_STATUSES: readonly CommissionStatus[] = ['pending', 'processed', 'paid'];
/** Count towards what a spend limit allows. */
export const SPENT_STATUSES: readonly CommissionStatus[] = ['pending', 'processed', 'paid', 'hold'];
/** Neither paid nor taken back. */
export const OPEN_STATUSES: readonly CommissionStatus[] = ['pending', 'hold', 'processed'];
/** Not to be paid, whatever the reason. */
export const REVERSED_STATUSES: readonly SettableStatus[] = ['refunded', 'duplicate', 'canceled', 'fraud'];
/** Left out of lists unless they are asked for. */
export const HIDDEN_STATUSES: readonly CommissionStatus[] = ['duplicate', 'fraud', 'canceled'];
