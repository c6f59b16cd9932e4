import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLoopLoad } from './loop-load.ts';
import { createStepBack } from './step-back.ts';

const NEVER = new AbortController().signal;

function open(loads: number[]) {
  let [looks, nowMs] = [0, 0];
  const stepBack = createStepBack({
    load() {
      looks += 1;
      nowMs += 100;
      return loads.length > 1 ? (loads.shift() as number) : (loads[0] as number);
    },
    nowMs: () => nowMs,
    maxBehindMs: 1_000,
    lookEveryMs: 1,
  });
  return { stepBack, looks: () => looks };
}

test('work begins at once while there is time to spare', async () => {
  const { stepBack, looks } = open([0.5]);
  await stepBack(0, NEVER);
  assert.equal(looks(), 1);
});

test('it waits until the rush is over', async () => {
  const { stepBack, looks } = open([0.99, 0.99, 0.99, 0.2]);
  await stepBack(0, NEVER);
  assert.equal(looks(), 4);
});

test('it waits no longer than it may be behind, however the load goes up and down', async () => {
  const { stepBack, looks } = open([0.99]);
  await stepBack(0, NEVER);
  const first = looks();
  assert.ok(first > 5, `${first} looks`);
  await stepBack(0, NEVER);
  assert.equal(looks(), first + 1, 'it has not caught up since');
});

test('what was left behind by an earlier run does not wait', async () => {
  const { stepBack, looks } = open([0.99]);
  await stepBack(undefined, NEVER);
  assert.equal(looks(), 0);
});

test('whoever stops does not wait for the end of a rush', async () => {
  const { stepBack, looks } = open([0.99]);
  await stepBack(0, AbortSignal.abort());
  assert.equal(looks(), 0);
});

test('a loop that does nothing but work shows as busy at the other end', async () => {
  const load = createLoopLoad();
  const other = createLoopLoad(load.shared);
  const stop = load.measure();
  const work = () => {
    const untilMs = performance.now() + 30;
    while (performance.now() < untilMs);
    return new Promise((resolve) => setImmediate(resolve));
  };
  for (let turn = 0; turn < 100 && other.read() < 0.9; turn++) await work();
  assert.ok(other.read() >= 0.9, `${other.read()}`);
  stop();
});
