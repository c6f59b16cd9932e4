import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median } from './compare.ts';
import { formatJson, formatTable } from './report.ts';
import { meetsBar } from './scenario.ts';

const LINE = { name: 'tags', what: 'POST /tags', ours: 2345.6, baseline: 12345, unit: 'req/s', ratio: 0.19 };

test('a bar is met at its limit and missed beyond it, or when there is no ratio', () => {
  assert.equal(meetsBar({ ratio: 0.1, bar: { atLeast: 0.1 } }), true);
  assert.equal(meetsBar({ ratio: 0.09, bar: { atLeast: 0.1 } }), false);
  assert.equal(meetsBar({ ratio: 1.3, bar: { atMost: 1.3 } }), true);
  assert.equal(meetsBar({ ratio: 1.31, bar: { atMost: 1.3 } }), false);
  assert.equal(meetsBar({ bar: { atLeast: 0.1 } }), false);
  assert.equal(meetsBar({ ratio: 0 }), true);
});

test('the table shows figures, bar and outcome, and leaves unknown cells empty', () => {
  const table = formatTable([
    { ...LINE, bar: { atLeast: 0.2 }, p50Ms: 5.25, p99Ms: 41.7 },
    { name: 'start', what: 'start to ready', ours: 0.42, unit: 's' },
  ]);
  assert.deepEqual(table.split('\n'), [
    'name   what                   ours      baseline  ratio     bar      p50    p99',
    'tags   POST /tags      2,346 req/s  12,345 req/s   0.19  >= 0.2  5.25 ms  42 ms  MISSED',
    'start  start to ready      0.420 s',
  ]);
});

test('the JSON carries every line with its outcome and the machine', () => {
  const { machine, lines } = JSON.parse(formatJson([{ ...LINE, bar: { atLeast: 0.1 } }]));
  assert.equal(machine.node, process.version);
  assert.deepEqual(lines, [{ ...LINE, bar: { atLeast: 0.1 }, passed: true }]);
});

test('a median is one of the measured values', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2);
  assert.throws(() => median([]));
});
