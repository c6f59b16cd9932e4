import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHumanDate, parseMoment } from './dates.ts';

const NOW_MS = Date.UTC(2027, 0, 15, 10);

test('a moment is exact where the text names a time, and a day where it does not', () => {
  for (const [text, iso] of [
    ['2027-01-14T08:30:00Z', '2027-01-14T08:30:00.000Z'],
    ['2027-01-14T08:30:00+02:00', '2027-01-14T06:30:00.000Z'],
    ['2027-01-14 08:30', '2027-01-14T08:30:00.000Z'],
    ['2 hours ago', '2027-01-15T08:00:00.000Z'],
    ['now', '2027-01-15T10:00:00.000Z'],
  ] as const)
    assert.deepEqual(parseMoment(text, NOW_MS, 0), { ms: Date.parse(iso) }, text);
  for (const text of ['2027-01-14', 'yesterday', '1 day ago', 'Jan 14 2027'])
    assert.deepEqual(parseMoment(text, NOW_MS, 0), { day: { year: 2027, month: 1, day: 14 } }, text);
});

test('the offset decides which day today is', () => {
  assert.deepEqual(parseMoment('today', NOW_MS, 14 * 60), { day: { year: 2027, month: 1, day: 16 } });
});

test('what names no date is no date', () => {
  for (const text of ['', '  ', 'soon', '2027', '2027-01', '1800000000', '2027-13-45', '2027-02-31'])
    assert.equal(parseMoment(text, NOW_MS, 0), undefined, text);
});

test('a date is not looked for in long texts', () => {
  const long = `${'1 hour '.repeat(20)}ago`;
  assert.equal(parseMoment(long, NOW_MS, 0), undefined);
  assert.equal(parseHumanDate(`2027-01-14 ${'and so on '.repeat(20)}`, NOW_MS), undefined);
});
