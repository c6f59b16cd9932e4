import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const zone = (name: string): TimeZone => {
  const found = findTimeZone(name);
  assert.ok(found, name);
  return found;
};
const at = (text: string) => Date.parse(text);
const iso = (timeMs: number) => new Date(timeMs).toISOString();

test('what is no name of a zone is not found', () => {
  for (const name of ['', 'Nowhere/City', '+05:30', 'UTC; drop', '2027'])
    assert.equal(findTimeZone(name), undefined);
  assert.equal(zone('america/new_york').offsetMs(at('2027-01-01T00:00:00Z')), -5 * 3_600_000);
});

test('offsets are those of the moment', () => {
  const cases = [
    ['UTC', '2027-07-01T00:00:00Z', 0],
    ['America/New_York', '2027-07-01T00:00:00Z', -240],
    ['Asia/Kathmandu', '2027-07-01T00:00:00.999Z', 345],
    ['Australia/Lord_Howe', '2027-01-01T00:00:00Z', 660],
    ['Australia/Lord_Howe', '2027-07-01T00:00:00Z', 630],
  ] as const;
  for (const [name, time, minutes] of cases)
    assert.equal(zone(name).offsetMs(at(time)), minutes * 60_000, name);
});

test('days begin at their first instant, also where clocks are set at midnight', () => {
  const cases = [
    ['Europe/Berlin', '2027-03-28T20:00:00Z', '2027-03-27T23:00:00.000Z'],
    ['Europe/Berlin', '2027-10-31T23:30:00Z', '2027-10-31T23:00:00.000Z'],
    // Midnight was skipped in São Paulo on 4 November 2018, and came twice in Havana on 1 November 2026.
    ['America/Sao_Paulo', '2018-11-04T12:00:00Z', '2018-11-04T03:00:00.000Z'],
    ['America/Havana', '2026-11-01T12:00:00Z', '2026-11-01T04:00:00.000Z'],
    // The date 30 December 2011 did not exist in Samoa.
    ['Pacific/Apia', '2011-12-30T12:00:00Z', '2011-12-30T10:00:00.000Z'],
  ] as const;
  for (const [name, time, start] of cases)
    assert.equal(iso(zone(name).startOf('day', at(time))), start, name);
});

test('hours begin on the local hour, each of the two that look the same by itself', () => {
  const kolkata = zone('Asia/Kolkata');
  assert.equal(iso(kolkata.startOf('hour', at('2027-01-01T10:29:00Z'))), '2027-01-01T09:30:00.000Z');
  const berlin = zone('Europe/Berlin');
  assert.equal(iso(berlin.startOf('hour', at('2027-10-31T00:40:00Z'))), '2027-10-31T00:00:00.000Z');
  assert.equal(iso(berlin.startOf('hour', at('2027-10-31T01:40:00Z'))), '2027-10-31T01:00:00.000Z');
});

test('months, quarters and years begin where the calendar there says', () => {
  const tokyo = zone('Asia/Tokyo');
  const time = at('2027-05-31T16:00:00Z');
  assert.equal(iso(tokyo.startOf('month', time)), '2027-05-31T15:00:00.000Z');
  assert.equal(iso(tokyo.startOf('quarter', time)), '2027-03-31T15:00:00.000Z');
  assert.equal(iso(tokyo.startOf('year', time)), '2026-12-31T15:00:00.000Z');
});

test('adding keeps the time of the clock and stays within the month', () => {
  const york = zone('America/New_York');
  assert.equal(iso(york.add('day', 1, at('2027-03-13T17:00:00Z'))), '2027-03-14T16:00:00.000Z');
  // 02:30 does not exist on that day: the instant at which clocks are set.
  assert.equal(iso(york.add('day', 1, at('2027-03-13T07:30:00Z'))), '2027-03-14T07:00:00.000Z');
  assert.equal(iso(york.add('month', -12, at('2028-02-29T12:00:00Z'))), '2027-02-28T12:00:00.000Z');
  assert.equal(iso(york.add('month', 1, at('2027-01-31T12:00:00Z'))), '2027-02-28T12:00:00.000Z');
  assert.equal(iso(york.add('hour', 2, at('2027-03-14T06:00:00Z'))), '2027-03-14T08:00:00.000Z');
});

test('days between dates do not depend on how long the days were', () => {
  const york = zone('America/New_York');
  assert.equal(york.daysBetween(at('2027-03-13T12:00:00Z'), at('2027-03-15T03:59:00Z')), 1);
  assert.equal(york.daysBetween(at('2027-03-13T12:00:00Z'), at('2027-03-15T04:00:00Z')), 2);
});
