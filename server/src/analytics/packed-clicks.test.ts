import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clickRecord } from '../testing/click-records.ts';
import { type PackedClicks, packClicks, unpackClicks } from './packed-clicks.ts';

const throughJson = (packed: PackedClicks) => JSON.parse(JSON.stringify(packed)) as PackedClicks;

for (const [name, clicks] of Object.entries({
  none: [],
  one: [clickRecord(1)],
  'two that are the same': [clickRecord(1), clickRecord(1)],
  'many that differ in some fields': Array.from({ length: 50 }, (_, n) =>
    clickRecord(n, { qr: n % 3 === 0, city: ['Köln', '', 'São "Paulo"'][n % 3] as string }),
  ),
})) {
  test(`clicks come out as they went in: ${name}`, () => {
    assert.deepEqual(unpackClicks(throughJson(packClicks(clicks))), clicks);
  });
}

test('what clicks have in common is written once', () => {
  const one = JSON.stringify(packClicks([clickRecord(1)])).length;
  const many = Array.from({ length: 100 }, (_, n) => clickRecord(n));
  assert.ok(JSON.stringify(packClicks(many)).length < 20 * one);
});

test('a field that is not there is empty', () => {
  const { count, columns } = packClicks([clickRecord(1)]);
  const { city: _, ...others } = columns;
  assert.deepEqual(unpackClicks({ count, columns: others }), [clickRecord(1, { city: '' })]);
});
