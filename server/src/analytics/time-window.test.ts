import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isoTime } from '../kernel/clock.ts';
import type { Interval } from './buckets.ts';
import { readWindow } from './time-window.ts';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const NOW = Date.UTC(2027, 0, 15, 2, 30);

const shown = (
  question: { interval?: Interval; start?: string; end?: string; timezone?: string },
  now = NOW,
) => {
  const zone = findTimeZone(question.timezone ?? 'UTC') as TimeZone;
  const { fromMs, toMs } = readWindow({ interval: '24h', ...question }, zone, now);
  return [isoTime(fromMs), isoTime(toMs)];
};

test('intervals begin and end as documented, in the time zone', () => {
  const endOfDay = '2027-01-15T23:59:59.999Z';
  for (const [interval, from, to] of [
    ['24h', '2027-01-14T02:30:00.000Z', '2027-01-15T02:30:00.000Z'],
    ['7d', '2027-01-08T02:30:00.000Z', endOfDay],
    ['30d', '2026-12-16T02:30:00.000Z', endOfDay],
    ['90d', '2026-10-17T02:30:00.000Z', endOfDay],
    ['1y', '2026-01-15T02:30:00.000Z', endOfDay],
    ['mtd', '2027-01-01T00:00:00.000Z', endOfDay],
    ['qtd', '2027-01-01T00:00:00.000Z', endOfDay],
    ['ytd', '2027-01-01T00:00:00.000Z', endOfDay],
    ['all', '1970-01-01T00:00:00.000Z', endOfDay],
  ] as const) {
    assert.deepEqual(shown({ interval }), [from, to], interval);
  }
  // Half past nine in the evening of the day before.
  const timezone = 'America/New_York';
  assert.deepEqual(shown({ interval: 'mtd', timezone }), [
    '2027-01-01T05:00:00.000Z',
    '2027-01-15T04:59:59.999Z',
  ]);
  assert.deepEqual(shown({ interval: 'qtd' }, Date.UTC(2027, 4, 2))[0], '2027-04-01T00:00:00.000Z');
  assert.deepEqual(shown({ interval: '1y' }, Date.UTC(2028, 1, 29, 5))[0], '2027-02-28T05:00:00.000Z');
  // Clocks went forward in between: the same time of day, not 168 hours.
  assert.deepEqual(
    shown({ interval: '7d', timezone: 'Europe/Berlin' }, Date.UTC(2027, 2, 30, 10))[0],
    '2027-03-23T11:00:00.000Z',
  );
});

test('moments stay exact, days count whole', () => {
  for (const [start, end, from, to] of [
    [
      '2027-01-10T10:20:30Z',
      '2027-01-11T00:00:00.5Z',
      '2027-01-10T10:20:30.000Z',
      '2027-01-11T00:00:00.500Z',
    ],
    ['2027-01-10T10:20:30+02:00', 'now', '2027-01-10T08:20:30.000Z', '2027-01-15T02:30:00.000Z'],
    ['2027-01-10 10:00', '2027-01-10 11:00', '2027-01-10T10:00:00.000Z', '2027-01-10T11:00:00.000Z'],
    ['2027-01-10T10:00', '2027-01-12', '2027-01-10T10:00:00.000Z', '2027-01-12T23:59:59.999Z'],
    ['2 hours ago', undefined, '2027-01-15T00:30:00.000Z', '2027-01-15T02:30:00.000Z'],
    ['yesterday', 'yesterday', '2027-01-14T00:00:00.000Z', '2027-01-14T23:59:59.999Z'],
    ['3 days ago', undefined, '2027-01-12T00:00:00.000Z', '2027-01-15T02:30:00.000Z'],
    ['Jan 5 2027 3pm', '2027-01-06', '2027-01-05T15:00:00.000Z', '2027-01-06T23:59:59.999Z'],
    ['2027-01-12', '2027-01-10', '2027-01-10T00:00:00.000Z', '2027-01-12T23:59:59.999Z'],
    ['1812-06-24', '2027-01-10', '1970-01-01T00:00:00.000Z', '2027-01-10T23:59:59.999Z'],
    ['2027-01-10', '9999-12-31', '2027-01-10T00:00:00.000Z', '2099-12-31T23:59:59.999Z'],
  ] as const) {
    assert.deepEqual(shown({ start, ...(end && { end }) }), [from, to], `${start} to ${end}`);
  }
});

test('days are those of the time zone, also when clocks change', () => {
  const timezone = 'America/New_York';
  assert.deepEqual(shown({ start: 'today', end: 'today', timezone }), [
    '2027-01-14T05:00:00.000Z',
    '2027-01-15T04:59:59.999Z',
  ]);
  assert.deepEqual(shown({ start: '2027-03-14', end: '2027-03-14', timezone }), [
    '2027-03-14T05:00:00.000Z',
    '2027-03-15T03:59:59.999Z',
  ]);
  // A day that began at one o'clock.
  assert.equal(shown({ start: '2018-11-04', timezone: 'America/Sao_Paulo' })[0], '2018-11-04T03:00:00.000Z');
});

test('an end alone is ignored, and what is no date is refused by name', () => {
  assert.deepEqual(shown({ end: '2027-01-01' }), shown({}));
  for (const text of [
    '',
    '  ',
    '2024',
    '2024-01',
    '1705312345',
    '1705312345000',
    'soon',
    '2024-13-45',
    '2024-02-30',
  ]) {
    assert.throws(() => shown({ start: text }), /^AppError: custom: start: must be a date/, `"${text}"`);
    assert.throws(
      () => shown({ start: 'now', end: text }),
      /^AppError: custom: end: must be a date/,
      `"${text}"`,
    );
  }
});
