import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import {
  type Bounty,
  type BountyTerms,
  checkSubmission,
  checkTerms,
  isMeantFor,
  periodAt,
  windowFor,
} from './bounty.ts';
import { SUBMISSION_STATUSES, type SubmissionEvent, submissionAfter } from './submission-states.ts';

const at = (text: string) => Date.parse(`${text}Z`);
const START = at('2027-01-31T12:00');

const SUBMISSION: BountyTerms = {
  name: 'Write about us',
  description: null,
  type: 'submission',
  startMode: 'absolute',
  startsAt: START,
  endsAt: null,
  endsAfterDays: null,
  submissionsOpenAt: null,
  submissionFrequency: null,
  maxSubmissions: 1,
  rewardAmount: 5_000,
  rewardDescription: null,
  performanceCondition: null,
  performanceScope: null,
  submissionRequirements: null,
};
const PERFORMANCE: BountyTerms = {
  ...SUBMISSION,
  type: 'performance',
  performanceCondition: { attribute: 'totalLeads', operator: 'gte', value: 10 },
  performanceScope: 'new',
};

describe('the terms of a bounty', () => {
  const cases: [string | null, BountyTerms][] = [
    [null, SUBMISSION],
    [null, PERFORMANCE],
    [null, { ...SUBMISSION, rewardAmount: null, rewardDescription: 'A shirt' }],
    [null, { ...SUBMISSION, startMode: 'relative', endsAfterDays: 30 }],
    [null, { ...SUBMISSION, endsAt: START + 2, submissionsOpenAt: START + 1 }],
    ['rewardAmount', { ...SUBMISSION, rewardAmount: null }],
    ['endsAt', { ...SUBMISSION, endsAt: START }],
    ['endsAt', { ...SUBMISSION, startMode: 'relative', endsAt: START + 1 }],
    ['endsAfterDays', { ...SUBMISSION, endsAfterDays: 3 }],
    ['submissionsOpenAt', { ...SUBMISSION, submissionsOpenAt: START - 1 }],
    ['submissionsOpenAt', { ...SUBMISSION, endsAt: START + 1, submissionsOpenAt: START + 1 }],
    ['submissionsOpenAt', { ...SUBMISSION, startMode: 'relative', submissionsOpenAt: START }],
    ['performanceCondition', { ...SUBMISSION, performanceCondition: PERFORMANCE.performanceCondition }],
    ['performanceScope', { ...SUBMISSION, performanceScope: 'new' }],
    ['performanceCondition', { ...PERFORMANCE, performanceCondition: null }],
    ['submissionFrequency', { ...PERFORMANCE, submissionFrequency: 'day' }],
    ['submissionRequirements', { ...PERFORMANCE, submissionRequirements: {} }],
    ['maxSubmissions', { ...PERFORMANCE, maxSubmissions: 2 }],
  ];
  for (const [index, [field, terms]] of cases.entries()) {
    test(`${index}: ${field ? `are refused for ${field}` : 'fit'}`, () => {
      if (!field) return assert.doesNotThrow(() => checkTerms(terms));
      assert.throws(() => checkTerms(terms), new RegExp(`custom: ${field}: `));
    });
  }
});

describe('the time of a bounty', () => {
  const periods: [NonNullable<Bounty['submissionFrequency']>, string, number][] = [
    ['day', '2027-01-31T12:00', 1],
    ['day', '2027-02-01T11:59', 1],
    ['day', '2027-02-01T12:00', 2],
    ['week', '2027-02-07T11:59', 1],
    ['week', '2027-02-07T12:00', 2],
    ['month', '2027-02-28T12:00', 1],
    ['month', '2027-03-31T12:00', 3],
  ];
  for (const [frequency, now, period] of periods) {
    test(`by ${frequency}, ${now} is in period ${period}`, () => {
      assert.equal(periodAt(frequency, START, at(now)), period);
    });
  }

  test('begins for a partner with the bounty or, where it is relative, when the partner joins', () => {
    const joined = { createdAt: START + 5 };
    const bounty = { ...SUBMISSION, endsAt: START + 9 } as Bounty;
    assert.deepEqual(windowFor(bounty, joined), { fromMs: START, toMs: START + 9 });
    const relative = { ...SUBMISSION, startMode: 'relative', endsAfterDays: 1 } as Bounty;
    assert.deepEqual(windowFor(relative, joined), { fromMs: START + 5, toMs: START + 5 + 86_400_000 });
    assert.equal(windowFor(relative, { createdAt: 0 }).fromMs, START);
  });
});

test('a bounty is meant for partners of one of its groups with one of its tags', () => {
  const meant = (groupIds: string[], tagIds: string[], group: string | null, ...tags: string[]) =>
    isMeantFor({ groupIds, tagIds } as unknown as Bounty, group, tags);
  assert.ok(meant([], [], null));
  assert.ok(meant(['a', 'b'], [], 'b'));
  assert.ok(!meant(['a'], [], 'c'));
  assert.ok(!meant(['a'], [], null));
  assert.ok(meant([], ['x', 'y'], 'a', 'y'));
  assert.ok(!meant(['a'], ['x'], 'a'));
});

describe('what is handed in', () => {
  const empty = { description: null, urls: null, files: null };
  const file = { url: 'https://a.example/1.png', fileName: '1.png', size: 1 };
  const cases: [
    string | null,
    Bounty['submissionRequirements'],
    Partial<Parameters<typeof checkSubmission>[1]>,
  ][] = [
    ['description', null, {}],
    [null, null, { description: 'Done' }],
    [null, null, { urls: ['https://any.example/'] }],
    ['files', { image: { max: 1 } }, { description: 'Done' }],
    [null, { image: { max: 1 } }, { files: [file] }],
    ['files', { image: { max: 1 } }, { files: [file, file] }],
    ['urls', { url: { max: 1 } }, { description: 'Done' }],
    ['urls', { url: { max: 1, domains: ['x.example'] } }, { urls: ['https://notx.example/'] }],
    [null, { url: { max: 1, domains: ['x.example'] } }, { urls: ['https://www.x.example/post'] }],
  ];
  for (const [index, [field, submissionRequirements, given]] of cases.entries()) {
    test(`${index}: ${field ? `is refused for ${field}` : 'is enough'}`, () => {
      const check = () => checkSubmission({ submissionRequirements }, { ...empty, ...given });
      if (!field) return assert.doesNotThrow(check);
      assert.throws(check, new RegExp(`custom: ${field}: `));
    });
  }
});

describe('the states of a submission', () => {
  /** By event: the states it is possible in. */
  const allowed: Record<SubmissionEvent, string[]> = {
    submit: ['draft'],
    approve: ['submitted', 'rejected'],
    reject: ['submitted'],
    dismiss: ['draft', 'submitted'],
  };
  for (const event of Object.keys(allowed) as SubmissionEvent[]) {
    for (const status of SUBMISSION_STATUSES) {
      const possible = allowed[event].includes(status);
      test(`${event} of one that is ${status} is ${possible ? 'possible' : 'refused'}`, () => {
        if (possible) assert.notEqual(submissionAfter(status, event), status);
        else
          assert.throws(
            () => submissionAfter(status, event),
            (error) => error instanceof AppError && error.status === 400,
          );
      });
    }
  }
});
