import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachProgram } from './program-walk.ts';

const IDS = Array.from({ length: 250 }, (_, n) => `prog_${String(n).padStart(3, '0')}`);
const findIds = async (after: string, limit: number) => IDS.filter((id) => id > after).slice(0, limit);

test('every program has its turn, also after one that fails; then the failure is told', async () => {
  const done: string[] = [];
  const walk = forEachProgram(
    findIds,
    async (id) => {
      if (id === 'prog_007') throw new Error('poisoned');
      done.push(id);
    },
    new AbortController().signal,
  );
  await assert.rejects(walk, /poisoned/);
  assert.deepEqual(
    done,
    IDS.filter((id) => id !== 'prog_007'),
  );
});

test('nothing is begun after the end was asked for', async () => {
  const controller = new AbortController();
  const done: string[] = [];
  await forEachProgram(
    findIds,
    async (id) => {
      done.push(id);
      if (done.length === 3) controller.abort();
    },
    controller.signal,
  );
  assert.equal(done.length, 3);
});
