import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HealthPart, readiness } from './health.ts';

const fine = (name: string, needed = true): HealthPart => ({ name, needed, check: async () => {} });
const broken = (name: string, needed = true): HealthPart => ({
  name,
  needed,
  check: () => Promise.reject(new Error('out of order')),
});

test('a part that is needed makes the server unavailable, another one degrades it', async () => {
  const cases: [HealthPart[], string, boolean][] = [
    [[fine('a'), fine('b', false)], 'ok', true],
    [[fine('a'), broken('b', false)], 'degraded', true],
    [[broken('a'), fine('b', false)], 'unavailable', false],
    [[broken('a'), broken('b', false)], 'unavailable', false],
  ];
  for (const [parts, status, ready] of cases) {
    const report = await readiness(parts, 1_000);
    assert.deepEqual([report.status, report.ready], [status, ready]);
  }
  assert.deepEqual((await readiness([fine('a'), broken('b')], 1_000)).parts, { a: 'ok', b: 'out of order' });
});

test('a part that hangs does not hang the report', async () => {
  const hanging: HealthPart = { name: 'a', check: () => new Promise(() => {}) };
  const report = await readiness([hanging], 1);
  assert.deepEqual([report.ready, report.parts.a], [false, 'no answer within 1 ms']);
});
