// What every engine must do for Database: transactions, isolation, waiting, failures, values, order of text.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { sql } from 'kysely';
import type { TestDatabases } from '../testing/databases.ts';
import {
  type Database,
  describeStoreFailure,
  isUniqueViolation,
  type Queries,
  StoreBusyError,
} from './database.ts';
import { contains } from './like.ts';

let names = 0;

/** A name that no other test uses: tests share a database and differ by it. */
function fresh(): string {
  names += 1;
  return `job-${names}`;
}

function addJob(query: Queries, name: string, nextRunAt = 0) {
  return query.insertInto('job').values({ name, next_run_at: nextRunAt }).execute();
}

async function listJobs(query: Queries, ...wanted: string[]): Promise<string[]> {
  const rows = await query
    .selectFrom('job')
    .select('name')
    .where('name', 'in', wanted)
    .orderBy('name')
    .execute();
  return rows.map((row) => row.name);
}

/** A transaction that has written a row and stays open until it is told to go on. */
function openWrite(db: Database, name: string) {
  const opened = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const ended = db.write(async (trx) => {
    await trx.updateTable('job').set({ last_run_at: 1 }).where('name', '=', name).execute();
    opened.resolve();
    await goOn.promise;
  });
  return { opened: opened.promise, goOn: goOn.resolve, ended };
}

export function transactionContract(databases: TestDatabases): void {
  let db: Database;
  before(async () => {
    db = await databases.open();
  });

  test('a write commits everything it did and gives back its result', async () => {
    const [a, b] = [fresh(), fresh()];
    const result = await db.write(async (trx) => {
      await addJob(trx, a);
      await addJob(trx, b);
      return 42;
    });
    assert.equal(result, 42);
    assert.deepEqual(await listJobs(db.query, a, b), [a, b]);
  });

  test('a write that throws leaves nothing and throws the same error', async () => {
    const name = fresh();
    const error = new Error('changed my mind');
    await assert.rejects(
      db.write(async (trx) => {
        await addJob(trx, name);
        throw error;
      }),
      (thrown) => thrown === error,
    );
    assert.deepEqual(await listJobs(db.query, name), []);
  });

  test('a write without statements, or with reads only, succeeds', async () => {
    assert.equal(await db.write(async () => 'nothing'), 'nothing');
    assert.deepEqual(await db.write((trx) => listJobs(trx, 'no such job')), []);
  });

  test('query inside a write is the transaction, also in code that knows nothing of it', async () => {
    const name = fresh();
    const elsewhere = () => listJobs(db.query, name);
    await db.write(async () => {
      await addJob(db.query, name);
      assert.deepEqual(await elsewhere(), [name]);
    });
  });

  test('a write inside a write joins it, and is undone with it', async () => {
    const [inner, outer] = [fresh(), fresh()];
    await assert.rejects(
      db.write(async (trx) => {
        await addJob(trx, outer);
        await db.write((joined) => addJob(joined, inner));
        throw new Error('undo');
      }),
      /undo/,
    );
    assert.deepEqual(await listJobs(db.query, inner, outer), []);
  });

  test('a joined write that failed undoes the whole, even when its error was caught', async () => {
    const name = fresh();
    const failing = db.write(async (trx) => {
      await addJob(trx, name);
      await db.write(() => Promise.reject(new Error('inner'))).catch(() => {});
    });
    await assert.rejects(failing, /inner/);
    assert.deepEqual(await listJobs(db.query, name), []);
  });

  test('a statement that failed undoes the whole, even when its error was caught', async () => {
    const name = fresh();
    const failing = db.write(async (trx) => {
      await addJob(trx, name);
      await addJob(trx, name).catch(() => {});
    });
    await assert.rejects(failing, isUniqueViolation);
    assert.deepEqual(await listJobs(db.query, name), []);
  });

  test('work that outlives its write goes on outside of it', async () => {
    const name = fresh();
    const over = Promise.withResolvers<void>();
    let straggler: Promise<unknown> = Promise.resolve();
    let kept: Queries | undefined;
    await db.write(async (trx) => {
      await addJob(trx, fresh());
      kept = trx;
      straggler = over.promise.then(() => addJob(db.query, name));
    });
    over.resolve();
    await straggler;
    assert.deepEqual(await listJobs(db.query, name), [name]);
    await assert.rejects(listJobs(kept as Queries, name), /transaction is over/);
  });

  test('statements that were not awaited never land outside of their transaction', async () => {
    const [a, b] = [fresh(), fresh()];
    await assert.rejects(
      db.write(async (trx) => {
        addJob(trx, a).catch(() => {});
        addJob(trx, b).catch(() => {});
        throw new Error('early');
      }),
      /early/,
    );
    await db.write((trx) => addJob(trx, fresh()));
    assert.deepEqual(await listJobs(db.query, a, b), []);
  });

  test('statements of one write may run side by side', async () => {
    const all = Array.from({ length: 20 }, fresh);
    await db.write((trx) => Promise.all(all.map((name) => addJob(trx, name))));
    assert.equal((await listJobs(db.query, ...all)).length, 20);
  });

  test('many writers at once lose no update', async () => {
    const name = fresh();
    await addJob(db.query, name, 0);
    const increments = Array.from({ length: 60 }, () =>
      db.write((trx) =>
        trx
          .updateTable('job')
          .set((eb) => ({ next_run_at: eb('next_run_at', '+', 1) }))
          .where('name', '=', name)
          .execute(),
      ),
    );
    await Promise.all(increments);
    const row = await db.query
      .selectFrom('job')
      .select('next_run_at')
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    assert.equal(row.next_run_at, 60);
    assert.equal(db.stats().waitingWrites, 0);
  });

  test('a read outside neither sees an open transaction nor waits for it', async () => {
    const name = fresh();
    await addJob(db.query, name);
    const open = openWrite(db, name);
    await open.opened;
    const read = () =>
      db.query.selectFrom('job').select('last_run_at').where('name', '=', name).executeTakeFirstOrThrow();
    assert.equal((await read()).last_run_at, null);
    open.goOn();
    await open.ended;
    assert.equal((await read()).last_run_at, 1);
  });

  test('a write gives up after waitMs with StoreBusyError, and the one it waited for is not hurt', async () => {
    const name = fresh();
    await addJob(db.query, name);
    const open = openWrite(db, name);
    await open.opened;
    const update = (trx: Queries) =>
      trx.updateTable('job').set({ last_run_at: 2 }).where('name', '=', name).execute();
    await assert.rejects(db.write(update, { waitMs: 20 }), (error) => {
      assert.ok(error instanceof StoreBusyError);
      assert.equal(describeStoreFailure(error), 'The database is busy.');
      return true;
    });
    open.goOn();
    await open.ended;
    await db.write(update, { waitMs: 5_000 });
  });

  test('Kysely transactions, which would pass by these rules, are refused', async () => {
    await assert.rejects(
      db.query.transaction().execute(() => Promise.resolve()),
      /Database\.write/,
    );
  });

  test('close waits for the writes under way and refuses later ones', async () => {
    const url = await databases.place();
    const mine = await databases.openAt(url);
    await sql`create table note (text text)`.execute(mine.query);
    const inside = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const writing = mine.write(async (trx) => {
      await sql`insert into note values ('kept')`.execute(trx);
      inside.resolve();
      await goOn.promise;
    });
    await inside.promise;
    const closing = mine.close();
    await assert.rejects(
      mine.write(() => Promise.resolve()),
      (error) => describeStoreFailure(error) === 'The database is closed.',
    );
    goOn.resolve();
    await Promise.all([writing, closing]);
    const again = await databases.openAt(url);
    const { rows } = await sql`select text from note`.execute(again.query);
    assert.deepEqual(rows, [{ text: 'kept' }]);
  });
}

export function valueContract(databases: TestDatabases): void {
  let db: Database;
  before(async () => {
    db = await databases.open();
  });

  test('a unique violation is told apart from other errors, also inside another error', async () => {
    const name = fresh();
    await addJob(db.query, name);
    const twice = await addJob(db.query, name).catch((error: unknown) => error);
    assert.equal(isUniqueViolation(twice), true);
    assert.equal(isUniqueViolation(new Error('wrapped', { cause: twice })), true);
    assert.equal(describeStoreFailure(twice), undefined);
    const other = await sql`select * from no_such_table`.execute(db.query).catch((error: unknown) => error);
    assert.ok(other instanceof Error);
    assert.equal(isUniqueViolation(other), false);
    assert.equal(isUniqueViolation(undefined), false);
  });

  test('a foreign key to a missing row is refused, and deletes cascade', async () => {
    const workspace = {
      id: 'ws_1',
      name: 'One',
      slug: 'one',
      plan: 'free',
      default_product: 'links',
      conversion_enabled: 0,
      webhook_enabled: 0,
      allowed_hostnames: '[]',
      limits: '{}',
      events_usage: 0,
      links_usage: 0,
      usage_month: 0,
      payouts_usage: 0,
      total_links: 0,
      total_clicks: 0,
      created_at: 1,
      updated_at: 1,
    };
    const tag = { id: 'tag_1', name: 'A', name_folded: 'a', color: 'red', created_at: 1, updated_at: 1 };
    await assert.rejects(
      db.query
        .insertInto('tag')
        .values({ ...tag, workspace_id: 'ws_none' })
        .execute(),
      /foreign key/i,
    );
    await db.query.insertInto('workspace').values(workspace).execute();
    await db.query
      .insertInto('tag')
      .values({ ...tag, workspace_id: 'ws_1' })
      .execute();
    await db.query.deleteFrom('workspace').where('id', '=', 'ws_1').execute();
    assert.deepEqual(await db.query.selectFrom('tag').selectAll().execute(), []);
  });

  test('integers up to 2^53 - 1, counts and sums come back as numbers', async () => {
    const name = fresh();
    await addJob(db.query, name, Number.MAX_SAFE_INTEGER);
    const row = await db.query
      .selectFrom('job')
      .select((eb) => [
        eb.fn.max('next_run_at').as('max'),
        eb.fn.sum('next_run_at').as('sum'),
        eb.fn.countAll().as('count'),
      ])
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    assert.deepEqual(row, { max: Number.MAX_SAFE_INTEGER, sum: Number.MAX_SAFE_INTEGER, count: 1 });
  });

  test('updates and deletes tell how many rows they touched', async () => {
    const all = [fresh(), fresh(), fresh()];
    for (const name of all) await addJob(db.query, name);
    const updated = await db.query
      .updateTable('job')
      .set({ last_run_at: 5 })
      .where('name', 'in', all)
      .executeTakeFirst();
    const deleted = await db.query
      .deleteFrom('job')
      .where('name', '=', all[0] as string)
      .executeTakeFirst();
    const returned = await db.query.deleteFrom('job').where('name', 'in', all).returning('name').execute();
    assert.equal(updated.numUpdatedRows, 3n);
    assert.equal(deleted.numDeletedRows, 1n);
    assert.deepEqual(returned.map((row) => row.name).sort(), all.slice(1).sort());
  });

  test('text is ordered byte by byte', async () => {
    const words = ['b', 'B', 'a', 'A', 'ä', 'Ä', 'z', 'Z', '_', '0', '~', 'é', 'ß', '漢', '😀', '\uffee'];
    const all = words.map((word) => `order ${word}`);
    for (const name of all) await addJob(db.query, name);
    const bytes = all.toSorted((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
    const rows = await db.query
      .selectFrom('job')
      .select('name')
      .where('name', 'in', all)
      .orderBy('name')
      .execute();
    assert.deepEqual(
      rows.map((row) => row.name),
      bytes,
    );
  });

  test('a search for text takes % _ and \\ literally', async () => {
    const all = ['100% sure', '100x sure', 'a_b', 'axb', 'c\\d', 'c%d', "o'clock"];
    for (const name of all) await addJob(db.query, `like ${name}`);
    const search = async (text: string) => {
      const rows = await db.query
        .selectFrom('job')
        .select('name')
        .where('name', '>=', 'like ')
        .where('name', '<', 'like~')
        .where((eb) => contains(eb.ref('name'), text))
        .execute();
      return rows.map((row) => row.name.slice('like '.length));
    };
    assert.deepEqual(await search('0% s'), ['100% sure']);
    assert.deepEqual(await search('a_b'), ['a_b']);
    assert.deepEqual(await search('c\\d'), ['c\\d']);
    assert.deepEqual(await search('%'), ['100% sure', 'c%d'].sort());
    assert.deepEqual(await search("o'c"), ["o'clock"]);
    assert.equal((await search('')).length, all.length);
  });
}
