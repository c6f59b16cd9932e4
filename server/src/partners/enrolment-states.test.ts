import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import {
  ENROLMENT_STATUSES,
  type EnrolmentEvent,
  type EnrolmentStatus,
  stateAfter,
} from './enrolment-states.ts';

/** What can happen in each state, and what comes of it, as documented. */
const ALLOWED: Readonly<Record<EnrolmentStatus, Partial<Record<EnrolmentEvent, EnrolmentStatus | null>>>> = {
  pending: { approve: 'approved', reject: 'rejected', dismiss: null },
  approved: { archive: 'archived', deactivate: 'deactivated', ban: 'banned' },
  rejected: { approve: 'approved', reapply: 'pending', invite: 'invited', ban: 'banned' },
  invited: { accept: 'approved', decline: 'declined', invite: 'invited', ban: 'banned' },
  declined: { reapply: 'pending', invite: 'invited', ban: 'banned' },
  deactivated: { reactivate: 'approved', ban: 'banned', delete: null },
  banned: { unban: 'approved', delete: null },
  archived: { unarchive: 'approved', deactivate: 'deactivated', ban: 'banned' },
};

const EVENTS = [
  ...new Set(Object.values(ALLOWED).flatMap((events) => Object.keys(events))),
] as EnrolmentEvent[];

describe('the state of an enrolment', () => {
  for (const status of ENROLMENT_STATUSES) {
    for (const event of EVENTS) {
      const to = ALLOWED[status][event];
      test(`${status} + ${event}: ${to === undefined ? 'refused' : (to ?? 'gone')}`, () => {
        if (to !== undefined) return assert.equal(stateAfter(status, event), to);
        assert.throws(
          () => stateAfter(status, event),
          (error) =>
            error instanceof AppError && error.code === 'bad_request' && error.message.includes(status),
        );
      });
    }
  }
});
