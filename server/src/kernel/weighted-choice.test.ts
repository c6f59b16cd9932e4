import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChoice, createWeights } from './weighted-choice.ts';

test('a value falls to where the sum of weights passes it, and never to what weighs nothing', () => {
  const weights = createWeights([0, 2, 0, 3, 0]);
  assert.equal(weights.total, 5);
  assert.deepEqual(
    [0, 1.9, 2, 4.9].map((value) => weights.indexAt(value)),
    [1, 1, 3, 3],
  );
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((index) => weights.before(index)),
    [0, 0, 2, 2, 5],
  );
});

test('items are chosen in proportion to their weights', () => {
  const choose = createChoice([
    { name: 'a', weight: 1 },
    { name: 'b', weight: 3 },
  ]);
  assert.deepEqual(
    [0, 0.24, 0.25, 0.99].map((share) => choose(share).name),
    ['a', 'a', 'b', 'b'],
  );
});
