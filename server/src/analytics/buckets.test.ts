import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBucket, type Granularity, granularityOf, type Interval, listBuckets } from './buckets.ts';
import { slotOf, sumSlots } from './slots.ts';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const zone = (name: string): TimeZone => {
  const found = findTimeZone(name);
  assert.ok(found, name);
  return found;
};
const between = (from: string, to: string) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) });

test('the interval decides the length of buckets, else the number of days does', () => {
  const utc = zone('UTC');
  const day = between('2027-03-01T00:00:00Z', '2027-03-01T23:59:59.999Z');
  const fixed: [Interval, Granularity][] = [
    ['24h', 'hour'],
    ['7d', 'day'],
    ['30d', 'day'],
    ['90d', 'day'],
    ['mtd', 'day'],
    ['qtd', 'day'],
    ['1y', 'month'],
    ['ytd', 'month'],
  ];
  for (const [interval, granularity] of fixed) assert.equal(granularityOf(day, interval, utc), granularity);
  const byDays = [
    ['2027-03-01T00:00:00Z', '2027-03-03T23:59:59Z', 'hour'],
    ['2027-03-01T23:00:00Z', '2027-03-04T00:00:00Z', 'day'],
    ['2027-03-01T00:00:00Z', '2027-08-28T23:59:59Z', 'day'],
    ['2027-03-01T00:00:00Z', '2027-08-29T00:00:00Z', 'month'],
  ] as const;
  for (const [from, to, granularity] of byDays) {
    assert.equal(granularityOf(between(from, to), undefined, utc), granularity, to);
    assert.equal(granularityOf(between(from, to), 'all', utc), granularity, to);
  }
});

test('there is a bucket for every hour, day or month that the window touches', () => {
  const york = zone('America/New_York');
  const show = (from: string, to: string, granularity: Granularity, name = york) =>
    listBuckets(between(from, to), granularity, name).map((start) => formatBucket(start, granularity, name));
  assert.deepEqual(show('2027-03-13T12:00:00Z', '2027-03-15T12:00:00Z', 'day'), [
    '2027-03-13T00:00:00.000-0500',
    '2027-03-14T00:00:00.000-0500',
    '2027-03-15T00:00:00.000-0400',
  ]);
  assert.equal(show('2027-03-01T12:00:00Z', '2027-03-02T12:00:00Z', 'hour').length, 25);
  assert.equal(show('2026-03-15T12:00:00Z', '2027-03-15T12:00:00Z', 'month').length, 13);
  assert.deepEqual(show('2027-03-14T06:30:00Z', '2027-03-14T07:30:00Z', 'hour'), [
    '2027-03-14T06:00:00.000+0000',
    '2027-03-14T07:00:00.000+0000',
  ]);
  assert.deepEqual(show('2027-01-01T00:00:00Z', '2027-01-01T00:00:00Z', 'day', zone('Asia/Kolkata')), [
    '2027-01-01T00:00:00.000+0530',
  ]);
});

test('buckets ascend, begin where the one before ends, and none is there twice, in every zone', () => {
  const window = between('2027-03-05T00:00:00Z', '2027-04-10T00:00:00Z');
  for (const name of Intl.supportedValuesOf('timeZone')) {
    const starts = listBuckets(window, 'day', zone(name));
    const lengths = starts.slice(1).map((start, i) => (start - (starts[i] ?? 0)) / 3_600_000);
    assert.ok(
      lengths.every((hours) => hours >= 22 && hours <= 26),
      `${name}: ${lengths.filter((hours) => hours < 22 || hours > 26)}`,
    );
  }
});

test('a slot divides every bucket, and what was counted in slots is all in buckets', () => {
  for (const [name, slotMs] of [
    ['UTC', 86_400_000],
    ['Europe/Berlin', 3_600_000],
    ['Asia/Kathmandu', 900_000],
  ] as const) {
    const buckets = listBuckets(between('2027-03-20T00:00:00Z', '2027-04-20T00:00:00Z'), 'day', zone(name));
    assert.equal(slotOf(buckets), slotMs, name);
    const slots = buckets.map((start) => ({
      slot: start / slotMs,
      clicks: 1,
      leads: 2,
      sales: 3,
      saleAmount: 4,
    }));
    const row = { group: {}, clicks: 1, leads: 2, sales: 3, saleAmount: 4 };
    assert.deepEqual(
      sumSlots(buckets, slotMs, slots),
      buckets.map(() => row),
    );
  }
});
