// What every engine must do for those who follow the store: they hear of what is committed, of nothing else,
// and before the caller of the write goes on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestDatabases } from '../testing/databases.ts';
import type { Database, Follower } from './database.ts';
import { appendOutbox } from './outbox.ts';

const event = (n: number) => ({ workspaceId: 'ws_1', type: 'link.created', payload: { n } });

/** Writes down what it hears; other types than links do not concern it. */
export function listener() {
  const heard: string[] = [];
  const waiting: { text: string; resolve: () => void }[] = [];
  const note = (text: string) => {
    heard.push(text);
    for (const waiter of waiting.filter((each) => each.text === text)) waiter.resolve();
  };
  const follower: Follower = {
    name: 'test',
    digest: ({ type, payload }) => (type.startsWith('link.') ? JSON.stringify(payload) : undefined),
    receive: (digests) => digests.forEach(note),
    lost: () => note('lost'),
  };
  return {
    follower,
    heard,
    until(text: string): Promise<void> {
      if (heard.includes(text)) return Promise.resolve();
      return new Promise((resolve) => waiting.push({ text, resolve }));
    },
  };
}

export function followContract(databases: TestDatabases): void {
  async function open(): Promise<{ db: Database; heard: string[] }> {
    const db = await databases.open();
    const { follower, heard } = listener();
    await db.follow(follower);
    return { db, heard };
  }

  test('a committed event is heard before the write resolves, joined writes included', async () => {
    const { db, heard } = await open();
    await db.write(async (trx) => {
      await appendOutbox(trx, [event(1)], 1);
      await db.write((inner) => appendOutbox(inner, [event(2), { ...event(3), type: 'tag.created' }], 1));
      assert.deepEqual(heard, []);
    });
    assert.deepEqual(heard.slice(0, 2), ['{"n":1}', '{"n":2}']);
    assert.equal(heard.includes('{"n":3}'), false);
  });

  test('nothing of a transaction that is rolled back is heard, and its callbacks do not run', async () => {
    const { db, heard } = await open();
    let ran = 0;
    const failing = db.write(async (trx) => {
      await appendOutbox(trx, [event(1)], 1);
      db.afterCommit(() => ran++);
      throw new Error('undo');
    });
    await assert.rejects(failing, /undo/);
    await db.write((trx) => appendOutbox(trx, [event(2)], 1));
    assert.deepEqual([...new Set(heard)], ['{"n":2}']);
    assert.equal(ran, 0);
  });

  test('callbacks run once, after the commit and before the write resolves', async () => {
    const { db } = await open();
    const order: string[] = [];
    await db.write(async () => {
      db.afterCommit(() => order.push('outer'));
      await db.write(async () => db.afterCommit(() => order.push('inner')));
      order.push('work');
    });
    order.push('written');
    db.afterCommit(() => order.push('outside'));
    assert.deepEqual(order, ['work', 'outer', 'inner', 'written', 'outside']);
  });

  test('events outside of a transaction are refused', async () => {
    const { db } = await open();
    await assert.rejects(appendOutbox(db.query, [event(1)], 1), /transaction/);
  });

  test('a thousand events of one transaction are all heard', async () => {
    const { db, heard } = await open();
    const events = Array.from({ length: 1_000 }, (_, n) => ({
      ...event(n),
      payload: { n, text: 'x'.repeat(300) },
    }));
    await db.write((trx) => appendOutbox(trx, events, 1));
    assert.equal(new Set(heard).size, 1_000);
  });
}
