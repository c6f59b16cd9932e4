import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appendOutbox } from '../db/outbox.ts';
import { type Change, decodeEvent } from '../events/event.ts';
import { silentLog } from '../kernel/log.ts';
import { eachDatabase } from '../testing/databases.ts';
import { createOutboxRelay, type RelayedChange } from './outbox-relay.ts';

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

  test('what comes of a row comes of it with its deletion, once among several nodes, as the row is then', async () => {
    const db = await open();
    const taken: string[] = [];
    let fails = true;
    const take = async (changes: readonly RelayedChange[]) => {
      if (fails) throw new Error('not now');
      for (const { payload, webhook } of changes) taken.push(`${payload} ${webhook}`);
    };
    const relays = [1, 2, 3].map(() =>
      createOutboxRelay({ db, journal: memoryJournal(), log: silentLog, batch: 10, take }),
    );
    const events = Array.from({ length: 25 }, (_, n) => ({
      workspaceId: 'ws_1',
      type: 'lead.created',
      payload: n,
      webhook: { n },
    }));
    await db.write((trx) => appendOutbox(trx, events, 1));
    await Promise.all(relays.map((relay) => assert.rejects(relay.run(), /not now/)));
    assert.equal((await db.query.selectFrom('outbox').select('id').execute()).length, 25);
    fails = false;
    await db.query.updateTable('outbox').set({ webhook: null }).where('payload', '=', '7').execute();
    await Promise.all(relays.map((relay) => relay.run()));
    assert.deepEqual(
      taken.toSorted(),
      events.map(({ payload }) => (payload === 7 ? '7 null' : `${payload} {"n":${payload}}`)).toSorted(),
    );
  });

  test('a run that is asked for while another is under way sees what was there when it was asked for', async () => {
    const db = await open();
    const journal = memoryJournal();
    const relay = createOutboxRelay({ db, journal, log: silentLog });
    const tell = (n: number) =>
      db.write((trx) => appendOutbox(trx, [{ workspaceId: 'ws_1', type: 'link.created', payload: n }], 1));
    await tell(1);
    const first = relay.run();
    await tell(2);
    await Promise.all([first, relay.run(), relay.run()]);
    assert.deepEqual(
      journal.changes.map(({ payload }) => payload),
      ['1', '2'],
    );
  });
});
