import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AppError } from './errors.ts';
import { createGate } from './gate.ts';

describe('a gate', () => {
  test('runs as many as it may, lets some wait in order and refuses the rest', async () => {
    const gate = createGate({ running: 2, waiting: 2 });
    const started: number[] = [];
    const finish: (() => void)[] = [];
    const enter = (name: number) =>
      gate(async () => {
        started.push(name);
        await new Promise<void>((resolve) => finish.push(resolve));
        return name;
      });
    const inside = [1, 2, 3, 4].map(enter);
    await assert.rejects(enter(5), (error) => error instanceof AppError && error.status === 429);
    assert.deepEqual(started, [1, 2]);
    finish.shift()?.();
    assert.equal(await inside[0], 1);
    assert.deepEqual(started, [1, 2, 3]);
    finish.shift()?.();
    await inside[1];
    for (const end of finish) end();
    await inside[2];
    finish.at(-1)?.();
    assert.deepEqual(await Promise.all(inside), [1, 2, 3, 4]);
    assert.deepEqual(started, [1, 2, 3, 4]);
  });

  test('refuses who has waited too long, and keeps the places of the others', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const gate = createGate({ running: 1, waiting: 2, waitMs: 1_000 });
    const ends = [1, 2].map(() => Promise.withResolvers<string>());
    const first = gate(() => (ends[0] as (typeof ends)[0]).promise);
    const late = gate(async () => 'never');
    mock.timers.tick(600);
    const patient = gate(() => (ends[1] as (typeof ends)[0]).promise);
    mock.timers.tick(600);
    await assert.rejects(late, (error) => error instanceof AppError && error.status === 429);
    ends[0]?.resolve('first');
    assert.equal(await first, 'first');
    mock.timers.tick(5_000);
    ends[1]?.resolve('patient');
    assert.equal(await patient, 'patient');
  });

  test('gives the place of failed work to the next', async () => {
    const gate = createGate({ running: 1, waiting: 0 });
    await assert.rejects(
      gate(() => Promise.reject(new Error('no'))),
      /no/,
    );
    assert.equal(await gate(async () => 'yes'), 'yes');
  });
});
