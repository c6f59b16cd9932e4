// What only SQLite can suffer: a full disk, a store thread that dies, a process that is killed, two processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { manualClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import {
  createDatabase,
  type Database,
  describeStoreFailure,
  openDatabase,
  type Queries,
  StoreBusyError,
} from './database.ts';
import { migrate } from './migrate.ts';
import { appendOutbox } from './outbox.ts';
import { createSqliteEngine, type SqliteEngine, type SqliteOptions } from './sqlite-engine.ts';
import { lockFile } from './sqlite-file.ts';

const clock = manualClock(1_700_000_000_000);
let folder: string;
let files = 0;
const closers: (() => Promise<void>)[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'linktrail-sqlite-'));
});

after(async () => {
  for (const close of closers) await close();
  await rm(folder, { recursive: true, force: true });
});

function freshPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

async function open(
  options: SqliteOptions = {},
): Promise<{ db: Database; engine: SqliteEngine; path: string }> {
  const path = freshPath();
  const engine = createSqliteEngine(path, options, silentLog);
  const db = createDatabase(engine);
  closers.push(() => db.close());
  await migrate(db, { clock });
  return { db, engine, path };
}

function addJob(query: Queries, name: string) {
  return query.insertInto('job').values({ name, next_run_at: 0 }).execute();
}

async function listJobs(db: Database): Promise<string[]> {
  const rows = await db.query.selectFrom('job').select('name').orderBy('name').execute();
  return rows.map((row) => row.name);
}

const isUnreachable = (error: unknown) => describeStoreFailure(error) === 'The database cannot be reached.';

describe('A full disk', () => {
  const large = Array.from({ length: 400 }, () => ({
    workspaceId: 'ws_1',
    type: 'x',
    payload: 'x'.repeat(2_000),
  }));

  test('fails the write whole, is named, and is over as soon as there is space', async () => {
    const { db, engine } = await open();
    await engine.setMaxPageCount(60);
    const filling = db.write(async (trx) => {
      await addJob(trx, 'half');
      await appendOutbox(trx, large, 1);
    });
    await assert.rejects(filling, (error) => describeStoreFailure(error) === 'The database is full.');
    assert.deepEqual(await listJobs(db), []);
    await db.write((trx) => addJob(trx, 'small'));
    await engine.setMaxPageCount(undefined);
    await db.write((trx) => appendOutbox(trx, large, 1));
    assert.deepEqual(await listJobs(db), ['small']);
  });

  test('does not let the rest of a failed transaction run on its own', async () => {
    const { db, engine } = await open();
    await engine.setMaxPageCount(60);
    const filling = db.write(async (trx) => {
      await appendOutbox(trx, large, 1).catch(() => {});
      await addJob(trx, 'after the failure').catch(() => {});
    });
    await assert.rejects(filling, (error) => describeStoreFailure(error) === 'The database is full.');
    await engine.setMaxPageCount(undefined);
    assert.deepEqual(await listJobs(db), []);
  });
});

describe('The store thread', () => {
  test('when it dies, fails everything under way, and the next call starts it again', async () => {
    const { db, engine } = await open();
    await db.write((trx) => addJob(trx, 'before'));
    const inside = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const broken = db.write(async (trx) => {
      await addJob(trx, 'lost');
      inside.resolve();
      await goOn.promise;
      await addJob(trx, 'also lost');
    });
    await inside.promise;
    const waiting = db.write((trx) => addJob(trx, 'waiting'));
    await engine.killThreads();
    goOn.resolve();
    await assert.rejects(broken, /transaction is over/);
    await waiting;
    await db.ping();
    assert.deepEqual(await listJobs(db), ['before', 'waiting']);
  });

  test('when it dies, rejects the statements it had not answered', async () => {
    const { db, engine } = await open();
    const reads = Array.from({ length: 5 }, () => listJobs(db));
    const [killed, ...results] = await Promise.allSettled([engine.killThreads(), ...reads]);
    assert.equal(killed.status, 'fulfilled');
    for (const result of results) {
      assert.equal(result.status, 'rejected');
      assert.ok(isUnreachable((result as PromiseRejectedResult).reason));
    }
    assert.deepEqual(await listJobs(db), []);
  });

  test('a file that cannot be opened is a clear error', async () => {
    const url = join(folder, 'no', 'such', 'folder', 'x.db');
    await assert.rejects(openDatabase({ url, log: silentLog }), (error: Error) => {
      assert.match(error.message, /unable to open database file/);
      return isUnreachable(error);
    });
  });
});

test('a transaction that hangs is rolled back, so that the others go on', async () => {
  const { db } = await open({ idleTransactionMs: 30 });
  const next = Promise.withResolvers<void>();
  const hanging = db.write(async (trx) => {
    await addJob(trx, 'hanging');
    await next.promise;
  });
  await db.write((trx) => addJob(trx, 'next'));
  next.resolve();
  await assert.rejects(hanging, StoreBusyError);
  assert.deepEqual(await listJobs(db), ['next']);
});

test('both ways to sync keep what was written', async () => {
  for (const sync of ['full', 'normal'] as const) {
    const { db, path } = await open({ sync });
    const names = Array.from({ length: 50 }, (_, index) => `job-${String(index).padStart(2, '0')}`);
    await Promise.all(names.map((name) => db.write((trx) => addJob(trx, name))));
    await db.close();
    const again = await openDatabase({ url: path, log: silentLog });
    closers.push(() => again.close());
    assert.deepEqual(await listJobs(again), names);
  }
});

/** Runs a program in a process of its own; `lines` yields what it prints. */
function run(source: string) {
  const child = spawn(process.execPath, ['--eval', source], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  async function* lines() {
    let rest = '';
    for await (const chunk of child.stdout) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() as string;
      yield* parts;
    }
  }
  const killed = async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return { lines: lines(), killed };
}

const moduleUrl = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);

test('a process killed in the middle of writing loses nothing that it reported as written', async () => {
  const path = freshPath();
  const child = run(`
    const { openDatabase } = await import(${moduleUrl('./database.ts')});
    const { migrate } = await import(${moduleUrl('./migrate.ts')});
    const log = { debug() {}, info() {}, warn() {}, error() {}, flush() {} };
    const db = await openDatabase({ url: ${JSON.stringify(path)}, log });
    await migrate(db, { clock: { now: () => 1 } });
    for (let worker = 0; worker < 8; worker++) (async () => {
      for (let n = 0; ; n++) {
        const name = worker + '-' + n;
        await db.write((trx) => trx.insertInto('job').values({ name, next_run_at: 0 }).execute());
        process.stdout.write(name + '\\n');
      }
    })();`);
  const reported: string[] = [];
  for await (const line of child.lines) {
    reported.push(line);
    if (reported.length === 300) await child.killed();
  }
  const db = await openDatabase({ url: path, log: silentLog });
  closers.push(() => db.close());
  const kept = new Set(await listJobs(db));
  assert.ok(reported.length >= 300);
  assert.deepEqual(
    reported.filter((name) => !kept.has(name)),
    [],
  );
});

test('a lock file has one holder at a time, also between processes, and is free when its holder dies', async () => {
  const path = join(folder, 'lock');
  const mine = lockFile(path);
  assert.ok(mine);
  assert.equal(lockFile(path), undefined);
  mine.release();

  const child = run(`
    const { lockFile } = await import(${moduleUrl('./sqlite-file.ts')});
    console.log(lockFile(${JSON.stringify(path)}) ? 'locked' : 'refused');
    process.stdin.resume();`);
  assert.equal((await child.lines.next()).value, 'locked');
  assert.equal(lockFile(path), undefined);
  await child.killed();
  const again = lockFile(path);
  assert.ok(again);
  again.release();
});
