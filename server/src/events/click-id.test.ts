import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../kernel/clock.ts';
import { clickIdFloor, clickTime, createClickIds } from './click-id.ts';

const START_MS = Date.UTC(2026, 2, 29, 0, 59, 59, 999);

function assertOrdered(ids: readonly string[]): void {
  for (let n = 1; n < ids.length; n++) assert.ok(ids[n - 1]! < ids[n]!, `${ids[n - 1]} then ${ids[n]}`);
}

test('ids are 16 letters and digits that carry their time', () => {
  const clock = manualClock(START_MS);
  const next = createClickIds(clock);
  for (const stepMs of [0, 1, 1_000, 86_400_000, 30 * 86_400_000]) {
    clock.advance(stepMs);
    const id = next();
    assert.match(id, /^[0-9A-Za-z]{16}$/);
    assert.equal(clickTime(id), clock.now());
    assert.ok(id >= clickIdFloor(clock.now()) && id < clickIdFloor(clock.now() + 1));
  }
});

test('ids are unique and in text order within a millisecond and while the clock jumps about', () => {
  const clock = manualClock(START_MS);
  const next = createClickIds(clock);
  const ids: string[] = [];
  for (const jumpMs of [0, 1, -1, -3_600_000, 3_600_001, -86_400_000 * 365, 5, 86_400_000 * 366]) {
    clock.advance(jumpMs);
    for (let n = 0; n < 5_000; n++) ids.push(next());
  }
  assertOrdered(ids);
});

test('when the chance of a millisecond is used up, the next millisecond begins', () => {
  const next = createClickIds(manualClock(START_MS), (length) => 'z'.repeat(length));
  const ids = [next(), next(), next()];
  assertOrdered(ids);
  assert.deepEqual(ids.map(clickTime), [START_MS, START_MS + 1, START_MS + 1]);
});

test('two nodes at the same millisecond make different ids', () => {
  const clock = manualClock(START_MS);
  const [one, other] = [createClickIds(clock), createClickIds(clock)];
  const ids = Array.from({ length: 2_000 }, (_, n) => (n % 2 ? one() : other()));
  assert.equal(new Set(ids).size, ids.length);
});

test('an id of another form or of an impossible time has no time', () => {
  for (const id of [
    '',
    'short',
    'zzzzzzzzzzzzzzzz',
    '0000000000000000',
    '0VjK3xLm-1b2C3d4',
    '0VjK3xLmA1b2C3d4e',
  ]) {
    assert.equal(clickTime(id), undefined, id);
  }
});
