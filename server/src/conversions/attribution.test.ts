import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AttributionRules, creditedClick, type DatedClick } from './attribution.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2027, 0, 15);

/** A click that many days ago, named for it. */
const ago = (days: number): DatedClick => ({ id: `${days} days ago`, timeMs: NOW - days * DAY_MS });

const LAST: AttributionRules = { model: 'last_click', days: null };
const FIRST: AttributionRules = { model: 'first_click', days: null };
const within = (rules: AttributionRules, days: number) => ({ ...rules, days });

describe('the credit for a conversion', () => {
  for (const [what, rules, first, last, credited] of [
    ['goes to the last click', LAST, ago(40), ago(2), ago(2)],
    ['goes to the first click where the workspace says so', FIRST, ago(40), ago(2), ago(40)],
    ['goes to the only click there is: the last', FIRST, undefined, ago(2), ago(2)],
    ['goes to the only click there is: the first', LAST, ago(40), undefined, ago(40)],
    ['goes to the last click however old without a window', LAST, undefined, ago(4_000), ago(4_000)],
    ['passes a first click that is too old', within(FIRST, 30), ago(40), ago(2), ago(2)],
    ['passes a last click that is too old', within(LAST, 30), ago(10), ago(31), ago(10)],
    ['goes to a click on the last day of the window', within(LAST, 30), undefined, ago(30), ago(30)],
    ['goes to nobody when all are too old', within(FIRST, 1), ago(40), ago(2), undefined],
    ['goes to nobody without a click', LAST, undefined, undefined, undefined],
    [
      'goes to a click that a clock set back puts in the future',
      within(LAST, 1),
      undefined,
      ago(-1),
      ago(-1),
    ],
  ] as const) {
    test(what, () => assert.deepEqual(creditedClick(rules, { first, last }, NOW), credited));
  }

  test('ends a millisecond after the window', () => {
    const click = { id: 'old', timeMs: NOW - 30 * DAY_MS - 1 };
    assert.equal(creditedClick(within(LAST, 30), { first: undefined, last: click }, NOW), undefined);
  });
});
