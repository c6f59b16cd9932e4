import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appendOutbox } from '../db/outbox.ts';
import { type Change, decodeEvent } from '../events/event.ts';
import { silentLog } from '../kernel/log.ts';
import { eachDatabase } from '../testing/databases.ts';
import { createOutboxRelay } from './outbox-relay.ts';

/** A journal in memory whose disk can fail. */
function memoryJournal() {
  const changes: Change[] = [];
  const disk = { stores: true, syncs: true };
  return {
    changes,
    disk,
    async append(payload: Uint8Array) {
      if (!disk.stores) return false;
      const decoded = decodeEvent(payload);
      assert.ok('event' in decoded && decoded.event.kind === 'change');
      changes.push(decoded.event.change);
      return true;
    },
    sync: async () => disk.syncs,
  };
}

eachDatabase('the relay of the outbox', ({ open }) => {
  test('moves every row once and in order, more than one batch of them', async () => {
    const db = await open();
    const journal = memoryJournal();
    const relay = createOutboxRelay({ db, journal, log: silentLog, batch: 10 });
    const events = Array.from({ length: 25 }, (_, n) => ({
      workspaceId: 'ws_1',
      type: 'link.created',
      payload: { n },
    }));
    await db.write((trx) => appendOutbox(trx, events, 1_234));
    assert.equal(await relay.run(), 25);
    assert.deepEqual(
      journal.changes.map(({ payload }) => payload),
      events.map(({ payload }) => JSON.stringify(payload)),
    );
    const ids = journal.changes.map(({ outboxId }) => outboxId);
    assert.deepEqual(
      ids,
      [...new Set(ids)].sort((a, b) => a - b),
    );
    assert.deepEqual([journal.changes[0]?.workspaceId, journal.changes[0]?.createdAtMs], ['ws_1', 1_234]);
    assert.equal(await relay.run(), 0);
    assert.equal(journal.changes.length, 25);
    assert.deepEqual(await db.query.selectFrom('outbox').selectAll().execute(), []);
  });

  test('keeps rows that the journal did not take or that may not be on disk', async () => {
    const db = await open();
    const journal = memoryJournal();
    const relay = createOutboxRelay({ db, journal, log: silentLog });
    await db.write((trx) =>
      appendOutbox(trx, [{ workspaceId: 'ws_1', type: 'link.created', payload: {} }], 1),
    );
    journal.disk.stores = false;
    await assert.rejects(relay.run());
    Object.assign(journal.disk, { stores: true, syncs: false });
    await assert.rejects(relay.run());
    journal.disk.syncs = true;
    assert.equal(await relay.run(), 1);
    // Relayed twice, under one id.
    assert.deepEqual(new Set(journal.changes.map(({ outboxId }) => outboxId)).size, 1);
  });
});
