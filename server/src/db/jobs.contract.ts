// What every engine must do for jobs: one node at a time, none forgotten, none run twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ManualClock, manualClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import type { TestDatabases } from '../testing/databases.ts';
import type { Database } from './database.ts';
import { createJobs, type Job, type JobOutcome } from './jobs.ts';

const START = 1_700_000_000_000;

interface Bench {
  db: Database;
  clock: ManualClock;
  outcomes: string[];
  node(owner: string, run: Job['run']): ReturnType<typeof createJobs>;
  row(): Promise<{
    next_run_at: number;
    lease_owner: string | null;
    last_run_at: number | null;
    last_error: string | null;
  }>;
}

async function setUp(databases: TestDatabases): Promise<Bench> {
  const db = await databases.open();
  const clock = manualClock(START);
  const outcomes: string[] = [];
  const onRun = (owner: string) => (_name: string, outcome: JobOutcome) =>
    outcomes.push(`${owner} ${outcome}`);
  return {
    db,
    clock,
    outcomes,
    node: (owner, run) => {
      const job = { name: 'sweep', everyMs: 1_000, leaseMs: 300, run };
      return createJobs({ db, clock, log: silentLog, owner, jobs: [job], onRun: onRun(owner) });
    },
    row: () =>
      db.query
        .selectFrom('job')
        .select(['next_run_at', 'lease_owner', 'last_run_at', 'last_error'])
        .where('name', '=', 'sweep')
        .executeTakeFirstOrThrow(),
  };
}

/** A job that runs until it is told to end or its signal is aborted. */
function pendingRun() {
  const started = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<void>();
  const run = (signal: AbortSignal) => {
    started.resolve(signal);
    signal.addEventListener('abort', () => end.reject(signal.reason));
    return end.promise;
  };
  return { run, started: started.promise, end: end.resolve };
}

export function jobsContract(databases: TestDatabases): void {
  test('a job runs at once, then at every interval, and not in between', async () => {
    const { clock, outcomes, node, row } = await setUp(databases);
    const a = node('a', async () => {});
    await a.tick();
    clock.advance(999);
    await a.tick();
    assert.deepEqual(outcomes, ['a ok']);
    clock.advance(1);
    await a.tick();
    assert.deepEqual(outcomes, ['a ok', 'a ok']);
    assert.deepEqual(await row(), {
      next_run_at: START + 2_000,
      lease_owner: null,
      last_run_at: START + 1_000,
      last_error: null,
    });
  });

  test('missed runs collapse into one, and the rhythm is kept', async () => {
    const { clock, outcomes, node, row } = await setUp(databases);
    const a = node('a', async () => {});
    await a.tick();
    clock.advance(5_400);
    await a.tick();
    await a.tick();
    assert.deepEqual(outcomes, ['a ok', 'a ok']);
    assert.equal((await row()).next_run_at, START + 6_000);
  });

  test('of many nodes that look at the same moment one runs the job', async () => {
    const { clock, outcomes, node } = await setUp(databases);
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((owner) => node(owner, async () => {}));
    await Promise.all(nodes.map((each) => each.tick()));
    assert.equal(outcomes.length, 1);
    clock.advance(1_000);
    await Promise.all(nodes.map((each) => each.tick()));
    assert.equal(outcomes.length, 2);
  });

  test('a renewed lease keeps a long run to its node, however long it takes', async () => {
    const { clock, outcomes, node, row } = await setUp(databases);
    const long = pendingRun();
    const a = node('a', long.run);
    const b = node('b', async () => {});
    const running = a.tick();
    await long.started;
    for (let round = 0; round < 10; round++) {
      clock.advance(200);
      await a.tick();
      await b.tick();
    }
    assert.deepEqual(outcomes, []);
    long.end();
    await running;
    assert.deepEqual(outcomes, ['a ok']);
    assert.equal((await row()).next_run_at, START + 3_000);
  });

  test('the lease of a dead node expires and another takes the job; the first, if it lives, is aborted', async () => {
    const { clock, outcomes, node, row } = await setUp(databases);
    const stuck = pendingRun();
    const a = node('a', stuck.run);
    const b = node('b', async () => {});
    const running = a.tick();
    const signal = await stuck.started;
    clock.advance(299);
    await b.tick();
    assert.deepEqual(outcomes, []);
    clock.advance(1);
    await b.tick();
    assert.deepEqual(outcomes, ['b ok']);
    const afterB = await row();
    assert.equal(signal.aborted, false);
    await a.tick();
    assert.equal(signal.aborted, true);
    await running;
    assert.deepEqual(outcomes, ['b ok', 'a aborted']);
    assert.deepEqual(await row(), afterB);
  });

  test('a failure is recorded, the job runs again at its next interval, and success clears it', async () => {
    const { clock, outcomes, node, row } = await setUp(databases);
    let broken = true;
    const a = node('a', async () => {
      if (broken) throw new Error('no luck');
    });
    await a.tick();
    await a.tick();
    assert.deepEqual(outcomes, ['a failed']);
    assert.equal((await row()).last_error, 'no luck');
    broken = false;
    clock.advance(1_000);
    await a.tick();
    assert.deepEqual(outcomes, ['a failed', 'a ok']);
    assert.equal((await row()).last_error, null);
  });

  test('stop aborts what runs, waits for it, and leaves the job to another node at once', async () => {
    const { outcomes, node } = await setUp(databases);
    const long = pendingRun();
    const a = node('a', long.run);
    a.start();
    const running = a.tick();
    await long.started;
    await a.stop();
    assert.deepEqual(outcomes, ['a aborted']);
    await running;
    await a.tick();
    await node('b', async () => {}).tick();
    assert.deepEqual(outcomes, ['a aborted', 'b ok']);
  });

  test('start runs due jobs by itself', async () => {
    const { node } = await setUp(databases);
    const ran = Promise.withResolvers<void>();
    const a = node('a', async () => ran.resolve());
    a.start();
    await ran.promise;
    await a.stop();
  });
}
