import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBoundedMap } from './bounded-map.ts';

test('it never holds more than its bound, and what was used lately is there', () => {
  const map = createBoundedMap<number, string>(10);
  for (let i = 0; i < 100; i++) {
    map.set(i, `v${i}`);
    assert.equal(map.get(0) ?? 'v0', 'v0');
    assert.ok(map.size <= 10);
    for (let back = 0; back < Math.min(i, 3); back++) assert.equal(map.get(i - back), `v${i - back}`);
  }
  assert.equal(map.get(0), 'v0', 'read in every round');
  assert.equal(map.get(50), undefined);
});

test('a value that was replaced or deleted does not come back from the old generation', () => {
  const map = createBoundedMap<string, number>(4);
  map.set('a', 1);
  map.set('b', 1);
  map.set('c', 1);
  map.set('a', 2);
  assert.equal(map.get('a'), 2);
  map.delete('a');
  assert.equal(map.get('a'), undefined);
  map.clear();
  assert.deepEqual([map.get('c'), map.size], [undefined, 0]);
});
