// What every engine must do for migrations: once, in order, whole or not at all, however many nodes start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { manualClock } from '../kernel/clock.ts';
import type { TestDatabases } from '../testing/databases.ts';
import type { Database } from './database.ts';
import { type Migration, migrate } from './migrate.ts';
import { migrations } from './migrations.ts';

const clock = manualClock(1_700_000_000_000);

async function listApplied(db: Database): Promise<unknown[]> {
  return (await sql`select id, name, applied_at from schema_migration order by id`.execute(db.query)).rows;
}

const first: Migration = { id: 1, name: 'first', up: ({ text }) => [`create table one (name ${text})`] };
const second: Migration = {
  id: 2,
  name: 'second',
  up: ({ counter, integer }) => [
    `create table two (id ${counter}, n ${integer})`,
    'insert into two (n) values (7)',
  ],
};

export function migrationContract(databases: TestDatabases): void {
  const openEmpty = async () => databases.openAt(await databases.place());

  test('the list is in order, without gaps or repeats', () => {
    assert.deepEqual(
      migrations.map((migration) => migration.id),
      migrations.map((_, index) => index + 1),
    );
  });

  test('a fresh database gets every migration once, and a second run changes nothing', async () => {
    const db = await openEmpty();
    assert.deepEqual(await migrate(db, { clock, migrations: [first] }), { applied: ['0001-first'] });
    assert.deepEqual(await migrate(db, { clock, migrations: [first, second] }), { applied: ['0002-second'] });
    assert.deepEqual(await migrate(db, { clock, migrations: [first, second] }), { applied: [] });
    assert.deepEqual(await listApplied(db), [
      { id: 1, name: 'first', applied_at: clock.now() },
      { id: 2, name: 'second', applied_at: clock.now() },
    ]);
  });

  test('ten nodes that start at once apply each migration once', async () => {
    const url = await databases.place();
    const nodes = await Promise.all(Array.from({ length: 10 }, () => databases.openAt(url)));
    const results = await Promise.all(
      nodes.map((node) => migrate(node, { clock, migrations: [first, second] })),
    );
    const applied = results.flatMap((result) => result.applied);
    assert.deepEqual(applied.sort(), ['0001-first', '0002-second']);
    const db = nodes[0] as Database;
    assert.deepEqual((await sql`select n from two`.execute(db.query)).rows, [{ n: 7 }]);
    await Promise.all(nodes.map((node) => node.close()));
  });

  test('data of a newer release is refused by name and left alone', async () => {
    const db = await openEmpty();
    await migrate(db, { clock, migrations: [first, second] });
    await assert.rejects(migrate(db, { clock, migrations: [first] }), (error: Error) => {
      assert.match(error.message, /at migration 0002-second.* only knows 0001-first.* newer release/);
      return true;
    });
    assert.equal((await listApplied(db)).length, 2);
  });

  test('a migration that fails half way leaves nothing of itself and keeps those before', async () => {
    const db = await openEmpty();
    const broken: Migration = {
      id: 2,
      name: 'broken',
      up: () => ['create table half (n integer)', 'create nonsense'],
    };
    await assert.rejects(migrate(db, { clock, migrations: [first, broken] }), /nonsense/);
    assert.equal((await listApplied(db)).length, 1);
    await assert.rejects(sql`select * from half`.execute(db.query));
    await migrate(db, { clock, migrations: [first, second] });
    assert.equal((await listApplied(db)).length, 2);
  });
}
