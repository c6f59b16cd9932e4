// Which state a submission to a bounty can be in and how it gets from one to another: the only place that knows.
import { AppError } from '../kernel/errors.ts';

export const SUBMISSION_STATUSES = ['draft', 'submitted', 'approved', 'rejected'] as const;
export type SubmissionStatus = (typeof SUBMISSION_STATUSES)[number];

interface Transition {
  readonly from: readonly SubmissionStatus[];
  readonly to: SubmissionStatus;
}

/** Everything that can happen to a submission. What was approved was paid for, and stays. */
export const SUBMISSION_TRANSITIONS = {
  submit: { from: ['draft'], to: 'submitted' },
  approve: { from: ['submitted', 'rejected'], to: 'approved' },
  reject: { from: ['submitted'], to: 'rejected' },
  /** The partner was banned. */
  dismiss: { from: ['draft', 'submitted'], to: 'rejected' },
} as const satisfies Record<string, Transition>;

export type SubmissionEvent = keyof typeof SUBMISSION_TRANSITIONS;

/** The state after it; refuses what cannot happen. */
export function submissionAfter(status: SubmissionStatus, event: SubmissionEvent): SubmissionStatus {
  const { from, to } = SUBMISSION_TRANSITIONS[event];
  if ((from as readonly SubmissionStatus[]).includes(status)) return to;
  throw new AppError(
    'bad_request',
    `custom: submissionId: ${event} needs a submission that is ${from.join(' or ')}; this one is ${status}`,
  );
}
