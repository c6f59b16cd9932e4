import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHistogram } from './histogram.ts';

test('quantiles are right to within two percent', () => {
  const histogram = createHistogram();
  for (let ms = 1; ms <= 1000; ms++) histogram.add(ms);
  for (const part of [0.01, 0.5, 0.99, 1]) {
    const error = histogram.quantileMs(part) / (part * 1000) - 1;
    assert.ok(Math.abs(error) <= 0.02, `${part}: ${error}`);
  }
});

test('extremes stay within the table', () => {
  const histogram = createHistogram();
  for (const ms of [0, -1, 1e-9, 1e12]) histogram.add(ms);
  assert.ok(histogram.quantileMs(0.5) <= 0.002);
  assert.ok(histogram.quantileMs(1) >= 60_000);
});

test('no samples give zero', () => assert.equal(createHistogram().quantileMs(0.99), 0));
