import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import type { Database } from './database.ts';
import { groupWrites } from './group-writes.ts';

/** Counts transactions; the work in them is that of the real store. */
function counted(db: Database) {
  const transactions = { count: 0 };
  const write: Database['write'] = (work, options) => {
    if (!db.inTransaction) transactions.count += 1;
    return db.write(work, options);
  };
  return {
    transactions,
    db: {
      engine: db.engine,
      write,
      get inTransaction() {
        return db.inTransaction;
      },
    },
  };
}

const insert = (db: Database, name: string) =>
  db.query
    .insertInto('import_progress')
    .values({ source: name, state: '', updated_at: 0 })
    .execute()
    .then(() => name);

const names = async (db: Database) =>
  (await db.query.selectFrom('import_progress').select('source').orderBy('source').execute()).map(
    (row) => row.source,
  );

eachDatabase('writes that come at once', (databases) => {
  test('share transactions on the engine with one writer, and each gets its own result', async () => {
    const real = await databases.open();
    const { db, transactions } = counted(real);
    const write = groupWrites(db);
    const wanted = Array.from({ length: 100 }, (_, i) => `w${String(i).padStart(3, '0')}`);
    const results = await Promise.all(wanted.map((name) => write(() => insert(real, name))));
    assert.deepEqual(results, wanted);
    assert.deepEqual(await names(real), wanted);
    assert.equal(transactions.count, databases.engine === 'sqlite' ? 4 : 100);
  });

  test('that fail fail alone, and leave nothing', async () => {
    const db = await databases.open();
    const write = groupWrites(db);
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'broken', 'c'].map((name) =>
        write(async () => {
          await insert(db, name);
          if (name === 'broken') throw new Error('broken');
          return name;
        }),
      ),
    );
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
      ['a', 'b', 'broken', 'c'],
    );
    assert.deepEqual(await names(db), ['a', 'b', 'c']);
  });

  test('inside a transaction commit with that one', async () => {
    const db = await databases.open();
    const write = groupWrites(db);
    const outer = db.write(async () => {
      await write(() => insert(db, 'inner'));
      throw new Error('rolled back');
    });
    await assert.rejects(outer, /rolled back/);
    assert.deepEqual(await names(db), []);
  });

  test('go on after a group, however it ended', async () => {
    const db = await databases.open();
    const write = groupWrites(db);
    await assert.rejects(
      write(() => Promise.reject(new Error('alone'))),
      /alone/,
    );
    assert.equal(await write(() => insert(db, 'later')), 'later');
  });
});
