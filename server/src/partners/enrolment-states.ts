// Which state an enrolment can be in and how it gets from one to another: the only place that knows.
import { AppError } from '../kernel/errors.ts';

export const ENROLMENT_STATUSES = [
  'pending',
  'approved',
  'rejected',
  'invited',
  'declined',
  'deactivated',
  'banned',
  'archived',
] as const;
export type EnrolmentStatus = (typeof ENROLMENT_STATUSES)[number];

interface Transition {
  readonly from: readonly EnrolmentStatus[];
  /** Null: the enrolment is gone. */
  readonly to: EnrolmentStatus | null;
}

/** Everything that can happen to an enrolment that is there. */
const TRANSITIONS = {
  approve: { from: ['pending', 'rejected'], to: 'approved' },
  reject: { from: ['pending'], to: 'rejected' },
  dismiss: { from: ['pending'], to: null },
  reapply: { from: ['rejected', 'declined'], to: 'pending' },
  invite: { from: ['invited', 'declined', 'rejected'], to: 'invited' },
  accept: { from: ['invited'], to: 'approved' },
  decline: { from: ['invited'], to: 'declined' },
  archive: { from: ['approved'], to: 'archived' },
  unarchive: { from: ['archived'], to: 'approved' },
  deactivate: { from: ['approved', 'archived'], to: 'deactivated' },
  reactivate: { from: ['deactivated'], to: 'approved' },
  ban: {
    from: ['approved', 'rejected', 'invited', 'declined', 'deactivated', 'archived'],
    to: 'banned',
  },
  unban: { from: ['banned'], to: 'approved' },
  delete: { from: ['deactivated', 'banned'], to: null },
} as const satisfies Record<string, Transition>;

export type EnrolmentEvent = keyof typeof TRANSITIONS;

export function canHappen(status: EnrolmentStatus, event: EnrolmentEvent): boolean {
  return (TRANSITIONS[event].from as readonly EnrolmentStatus[]).includes(status);
}

/** The state after it; null when the enrolment is then gone. Refuses what cannot happen. */
export function stateAfter<E extends EnrolmentEvent>(
  status: EnrolmentStatus,
  event: E,
): (typeof TRANSITIONS)[E]['to'] {
  const { from, to } = TRANSITIONS[event];
  if (canHappen(status, event)) return to;
  throw new AppError(
    'bad_request',
    `custom: partnerId: ${event} needs a partner that is ${from.join(' or ')}; this one is ${status}`,
  );
}

/** Partners that take part in the program. */
export const ACTIVE_STATUSES: readonly EnrolmentStatus[] = ['approved', 'archived'];
/** Partners whose conversions are rewarded. */
export const EARNING_STATUSES: readonly EnrolmentStatus[] = ['approved', 'archived', 'invited'];
/** Partners that count towards what the workspace may have. */
export const COUNTED_STATUSES: readonly EnrolmentStatus[] = ['approved', 'archived', 'deactivated', 'banned'];

export const isActive = (status: EnrolmentStatus): boolean => ACTIVE_STATUSES.includes(status);
export const mayEarn = (status: EnrolmentStatus): boolean => EARNING_STATUSES.includes(status);
