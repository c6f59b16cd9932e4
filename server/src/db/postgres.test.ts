// What only PostgreSQL can suffer: lost connections, a server that is away, deadlocks, a pool without a free place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { silentLog } from '../kernel/log.ts';
import { onPostgres, type TestDatabases } from '../testing/databases.ts';
import { type Database, describeStoreFailure, openDatabase, type Queries } from './database.ts';
import { createFollowedCache } from './followed-cache.ts';

const isUnreachable = (error: unknown) => describeStoreFailure(error) === 'The database cannot be reached.';

/** Ends every connection of one test database, as a restart of the server would. */
async function endConnections(databases: TestDatabases, url: string): Promise<void> {
  const name = new URL(url).searchParams.get('application_name');
  const admin = await databases.openAt(url.replace(`application_name=${name}`, 'application_name=admin'));
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`.execute(
    admin.query,
  );
  await admin.close();
}

/** The end of a connection arrives in its own time: until then a statement may still meet a dead one. */
async function pingUntilBack(db: Database): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const failure = await db.ping().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) return;
    assert.ok(isUnreachable(failure), String(failure));
  }
  assert.fail('The database did not come back');
}

async function openNotes(databases: TestDatabases): Promise<{ url: string; db: Database }> {
  const url = await databases.place();
  const db = await databases.openAt(url, { postgres: { poolSize: 4 } });
  await sql`create table note (id integer primary key, n integer not null)`.execute(db.query);
  await sql`insert into note values (1, 0), (2, 0)`.execute(db.query);
  return { url, db };
}

const increment = (trx: Queries, id: number) => sql`update note set n = n + 1 where id = ${id}`.execute(trx);

async function listNotes(db: Database): Promise<number[]> {
  const { rows } = await sql<{ n: number }>`select n from note order by id`.execute(db.query);
  return rows.map((row) => row.n);
}

onPostgres('Failures', (databases) => {
  test('a connection lost inside a transaction fails it whole, and later writes work', async () => {
    const { url, db } = await openNotes(databases);
    const broken = db.write(async (trx) => {
      await increment(trx, 1);
      await endConnections(databases, url);
      await increment(trx, 2);
    });
    await assert.rejects(broken, isUnreachable);
    await pingUntilBack(db);
    assert.deepEqual(await listNotes(db), [0, 0]);
    await db.write((trx) => increment(trx, 1));
    assert.deepEqual(await listNotes(db), [1, 0]);
  });

  test('idle connections that were ended are replaced', async () => {
    const { url, db } = await openNotes(databases);
    await Promise.all([db.ping(), db.ping(), db.ping()]);
    await endConnections(databases, url);
    await pingUntilBack(db);
    assert.deepEqual(await listNotes(db), [0, 0]);
  });

  test('of two writes in a deadlock one is run again, and both succeed', async () => {
    const { db } = await openNotes(databases);
    const holding = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let runs = 0;
    const crosswise = (first: number, second: number) =>
      db.write(async (trx) => {
        runs += 1;
        await increment(trx, first);
        holding[first - 1]?.resolve();
        await holding[second - 1]?.promise;
        await increment(trx, second);
      });
    await Promise.all([crosswise(1, 2), crosswise(2, 1)]);
    assert.deepEqual(await listNotes(db), [2, 2]);
    assert.ok(runs > 2);
  });

  test('a pool without a free connection is busy after its time, not waited for without end', async () => {
    const url = await databases.place();
    const db = await databases.openAt(url, { postgres: { poolSize: 1, connectTimeoutMs: 50 } });
    await db.write(async () => {
      // ping() never joins a transaction: with the only connection taken it has to wait for another.
      await assert.rejects(db.ping(), (error) => describeStoreFailure(error) === 'The database is busy.');
    });
    await db.ping();
  });

  test('a transaction does not wait for a look-up of others, who may be waiting for its connection', async () => {
    const db = await databases.openAt(await databases.place(), { postgres: { poolSize: 1 } });
    const cache = createFollowedCache({
      db,
      name: 'numbers',
      max: 10,
      keyOf: () => undefined,
      load: async (keys) => {
        const { rows } = await sql<{ n: number }>`select 1 as n`.execute(db.query);
        return new Map(keys.map((key) => [key, rows[0]?.n as number]));
      },
    });
    const [outside, inside] = [cache.find('a'), db.write(() => cache.find('a'))];
    assert.deepEqual(await Promise.all([inside, outside]), [1, 1]);
  });

  test('a server that is not there is a clear error', async () => {
    const url = 'postgres://nobody@127.0.0.1:1/none';
    await assert.rejects(openDatabase({ url, log: silentLog }), isUnreachable);
  });
});
