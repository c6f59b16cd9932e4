import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createWake } from './wake.ts';

const LONG_MS = 600_000;

test('a wait that began before the change ends with it', async () => {
  const wake = createWake();
  const waiting = [wake.changed(wake.mark(), LONG_MS), wake.changed(wake.mark(), LONG_MS)];
  wake.notify();
  await Promise.all(waiting);
});

test('a change between mark and wait is not missed', async () => {
  const wake = createWake();
  const mark = wake.mark();
  wake.notify();
  await wake.changed(mark, LONG_MS);
  assert.notEqual(wake.mark(), mark);
});

test('without a change the wait ends after its time', async () => {
  const wake = createWake();
  const mark = wake.mark();
  await wake.changed(mark, 1);
  assert.equal(wake.mark(), mark);
});

test('a change in one thread wakes another, which stays alive while it waits', async () => {
  const wake = createWake();
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.module).then(async ({ createWake }) => {
      const wake = createWake(workerData.shared);
      const mark = wake.mark();
      parentPort.postMessage('waiting');
      await wake.changed(mark, ${LONG_MS});
      parentPort.postMessage('woken');
    });`;
  const workerData = { shared: wake.shared, module: import.meta.resolve('./wake.ts') };
  const worker = new Worker(code, { eval: true, workerData });
  const ended = once(worker, 'exit');
  assert.deepEqual(await once(worker, 'message'), ['waiting']);
  wake.notify();
  assert.deepEqual(await once(worker, 'message'), ['woken']);
  await ended;
});
