import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from './seeded-random.ts';

const some = (next: () => number) => Array.from({ length: 20 }, next);

test('the same seed gives the same numbers, another one others', () => {
  const numbers = some(createSeededRandom(7).next);
  assert.deepEqual(some(createSeededRandom(7).next), numbers);
  assert.notDeepEqual(some(createSeededRandom(8).next), numbers);
});

test('what belongs to a number and a stream is the same from wherever one comes', () => {
  const random = createSeededRandom(7);
  random.seek(1_000, 2);
  const there = some(random.next);
  random.seek(5);
  random.seek(1_000, 2);
  assert.deepEqual(some(random.next), there);
  random.seek(1_000, 1);
  assert.notDeepEqual(some(random.next), there);
});

test('first numbers of neighbours are spread evenly from 0 to 1', () => {
  const random = createSeededRandom(1);
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let n = 0; n < 10_000; n++) {
    random.seek(n);
    const tenth = random.whole(10);
    tenths[tenth] = (tenths[tenth] as number) + 1;
  }
  for (const count of tenths) assert.ok(count > 850 && count < 1_150, String(tenths));
});
