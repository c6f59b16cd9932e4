// What every engine must do for the outbox: events live and die with the change they tell of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestDatabases } from '../testing/databases.ts';
import { appendOutbox, pruneOutbox } from './outbox.ts';

const event = (n: number) => ({ workspaceId: 'ws_1', type: 'tag.created', payload: { n } });

export function outboxContract(databases: TestDatabases): void {
  test('events commit with their transaction, in the order they were given', async () => {
    const db = await databases.open();
    const events = Array.from({ length: 1_203 }, (_, n) => event(n));
    await db.write((trx) => appendOutbox(trx, events, 5));
    const rows = await db.query.selectFrom('outbox').selectAll().orderBy('id').execute();
    assert.deepEqual(
      rows.map((row) => row.payload),
      events.map(({ payload }) => JSON.stringify(payload)),
    );
    assert.deepEqual([rows[0]?.workspace_id, rows[0]?.type, rows[0]?.created_at], ['ws_1', 'tag.created', 5]);
  });

  test('events of a transaction that is rolled back are gone, and no events are no error', async () => {
    const db = await databases.open();
    const failing = db.write(async (trx) => {
      await appendOutbox(trx, [], 1);
      await appendOutbox(trx, [event(1)], 1);
      throw new Error('undo');
    });
    await assert.rejects(failing, /undo/);
    assert.deepEqual(await db.query.selectFrom('outbox').selectAll().execute(), []);
  });

  test('pruning deletes what is older, however many batches it takes, and nothing else', async () => {
    const db = await databases.open();
    for (const createdAt of [1, 2, 3, 4]) {
      await db.write((trx) => appendOutbox(trx, [event(1), event(2), event(3)], createdAt));
    }
    assert.equal(await pruneOutbox(db, 3, 4), 6);
    assert.equal(await pruneOutbox(db, 3, 4), 0);
    const rows = await db.query.selectFrom('outbox').select('created_at').orderBy('id').execute();
    assert.deepEqual(
      rows.map((row) => row.created_at),
      [3, 3, 3, 4, 4, 4],
    );
  });
}
