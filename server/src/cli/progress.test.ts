// How far a command has come, as people read it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress, describeProgress } from './progress.ts';

test('tells share, rate and the time that is left', () => {
  const cases: [Parameters<typeof describeProgress>, string][] = [
    [
      [{ done: 250, total: 1_000, unit: 'records' }, 0.25, 10_000],
      '25 %, 250 of 1,000 records, 25/s, 30 s left',
    ],
    [
      [{ done: 700, before: 600, total: 1_000, unit: 'records' }, 0.7, 10_000],
      '70 %, 700 of 1,000 records, 10/s, 30 s left',
    ],
    [[{ done: 5_000, unit: 'lines' }, undefined, 2_000], '5,000 lines, 2,500/s'],
    [[{ done: 10, unit: 'lines' }, 0.001, 10_000], '0 %, 10 lines, 1/s, 2 h 46 min left'],
    [[{ done: 0, unit: 'records', note: 'waiting 7 s' }, undefined, 0], '0 records, waiting 7 s'],
    [[{ done: 9, total: 9, unit: 'x' }, 1, 1_000], '100 %, 9 of 9 x, 9/s, 0 s left'],
  ];
  for (const [args, expected] of cases) assert.equal(describeProgress(...args), expected);
});

test('draws one line again and again on a terminal, and clears it at the end', () => {
  let now = 0;
  const written: string[] = [];
  const progress = createProgress({
    write: (text) => written.push(text),
    isTerminal: true,
    nowMs: () => now,
  });
  progress.show({ done: 1, total: 2, unit: 'rows' });
  now = 50;
  progress.show({ done: 2, total: 2, unit: 'rows' });
  now = 1_000;
  progress.show({ done: 2, total: 2, unit: 'rows' });
  progress.end();
  progress.end();
  assert.deepEqual(written, [
    '\r\x1b[K[##########..........] 50 %, 1 of 2 rows, 0 s left',
    '\r\x1b[K[####################] 100 %, 2 of 2 rows, 2/s, 0 s left',
    '\r\x1b[K',
  ]);
});

test('writes a line every few seconds elsewhere, and nothing for what is quick', () => {
  let now = 0;
  const written: string[] = [];
  const progress = createProgress({
    write: (text) => written.push(text),
    isTerminal: false,
    nowMs: () => now,
    fraction: () => 0.5,
  });
  for (; now < 11_000; now += 1_000) progress.show({ done: now, unit: 'lines' });
  progress.end();
  assert.deepEqual(written, [
    '50 %, 5,000 lines, 1,000/s, 5 s left\n',
    '50 %, 10,000 lines, 1,000/s, 10 s left\n',
  ]);
});
