// What every journal must do, as a suite that each implementation calls with a way to open one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  comparePositions,
  formatPosition,
  type Journal,
  type JournalReader,
  type JournalRecord,
  type Position,
  parsePosition,
} from './journal.ts';

/** One place for a journal; what is opened again holds what was there. */
export interface JournalPlace {
  open(options?: { segmentBytes?: number }): Promise<Journal>;
  reader(): JournalReader;
}

const ALL = { maxRecords: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

/** Everything that is there now, in reads of at most `maxRecords`. */
export async function readAll(
  reader: JournalReader,
  from?: Position,
  maxRecords = 1_000,
): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (let at = from; ; ) {
    const found = await reader.read(at, { ...ALL, maxRecords });
    if (found.records.length === 0) return records;
    records.push(...found.records);
    at = found.next;
  }
}

export function textsOf(records: readonly JournalRecord[]): string[] {
  return records.map(({ payload }) => Buffer.from(payload).toString());
}

/** Appends each text in a turn of its own. */
export async function appendTexts(journal: Journal, texts: readonly string[]): Promise<void> {
  for (const text of texts) assert.equal(await journal.append(Buffer.from(text)), true);
}

/** A fixed sequence of numbers in [0, 1), so that a failing case can be repeated. */
export function createChance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function journalContract(makePlace: () => Promise<JournalPlace>): void {
  describe('a journal', () => {
    test('gives back what was appended, in order, once the append has resolved', async () => {
      const place = await makePlace();
      const journal = await place.open();
      const texts = Array.from({ length: 300 }, (_, n) => `record ${n}`);
      const stored = await Promise.all(texts.map((text) => journal.append(Buffer.from(text))));
      assert.ok(stored.every((ok) => ok === true));
      assert.deepEqual(textsOf(await readAll(place.reader(), undefined, 7)), texts);
      await journal.close();
    });

    test('keeps its own copy of a record', async () => {
      const place = await makePlace();
      const journal = await place.open();
      const payload = Buffer.from('before');
      const stored = journal.append(payload);
      payload.write('after!');
      assert.equal(await stored, true);
      assert.deepEqual(textsOf(await readAll(place.reader())), ['before']);
      await journal.close();
    });

    test('can be read on from the position of any record, also after it was opened again', async () => {
      const place = await makePlace();
      const texts = Array.from({ length: 40 }, (_, n) => `r${n}`);
      for (const part of [texts.slice(0, 25), texts.slice(25)]) {
        const journal = await place.open({ segmentBytes: 200 });
        await appendTexts(journal, part);
        await journal.close();
      }
      const records = await readAll(place.reader());
      for (const [n, { position }] of records.entries()) {
        const stored = parsePosition(formatPosition(position));
        assert.deepEqual(textsOf(await readAll(place.reader(), stored)), texts.slice(n + 1));
      }
      const forms = records.map(({ position }) => formatPosition(position));
      assert.deepEqual(forms.toSorted(), forms);
      assert.equal(new Set(forms).size, texts.length);
      assert.ok(
        records.every((r, n) => n === 0 || comparePositions(records[n - 1]!.position, r.position) < 0),
      );
    });

    test('holds records of any size from nothing to a megabyte', async () => {
      const place = await makePlace();
      const journal = await place.open({ segmentBytes: 3_000_000 });
      const chance = createChance(7);
      const sizes = [0, 1, 7, 8, 9, 2 ** 20 - 8, 2 ** 20 - 7, 2 ** 20];
      while (sizes.length < 40) sizes.push(Math.floor(2 ** (chance() * 20)));
      const payloads = sizes.map((size) => Buffer.alloc(size, Math.floor(chance() * 256)));
      for (let n = 0; n < payloads.length; ) {
        const turn = payloads.slice(n, n + 1 + Math.floor(chance() * 6));
        assert.deepEqual(new Set(await Promise.all(turn.map((p) => journal.append(p)))), new Set([true]));
        n += turn.length;
      }
      const records = await readAll(place.reader());
      assert.equal(records.length, payloads.length);
      for (const [n, { payload }] of records.entries())
        assert.ok(payloads[n]!.equals(payload), `record ${n}`);
      await journal.close();
    });

    test('refuses a record above its limit, and goes on', async () => {
      const place = await makePlace();
      const journal = await place.open();
      assert.throws(() => journal.append(Buffer.alloc(2 ** 24)), RangeError);
      await appendTexts(journal, ['next']);
      assert.deepEqual(textsOf(await readAll(place.reader())), ['next']);
      await journal.close();
    });

    test('reads no further than asked', async () => {
      const place = await makePlace();
      const journal = await place.open();
      await appendTexts(journal, ['a', 'b', 'c', 'd']);
      const [, second] = await readAll(place.reader());
      const read = async (limits: object) =>
        textsOf((await place.reader().read(undefined, { ...ALL, ...limits })).records);
      assert.deepEqual(await read({ maxRecords: 3 }), ['a', 'b', 'c']);
      assert.deepEqual(await read({ maxBytes: 1 }), ['a']);
      assert.deepEqual(await read({ until: second!.position }), ['a', 'b']);
      await journal.close();
    });

    test('wakes a reader that waits at the end', async () => {
      const place = await makePlace();
      const journal = await place.open();
      const reader = place.reader();
      const mark = reader.mark();
      const end = await reader.read(undefined, ALL);
      assert.deepEqual(end.records, []);
      const woken = reader.changed(mark);
      await appendTexts(journal, ['news']);
      await woken;
      assert.deepEqual(textsOf(await readAll(reader, end.next)), ['news']);
      await journal.close();
    });

    test('deletes only what was released, and a reader that is behind misses nothing', async () => {
      const place = await makePlace();
      const journal = await place.open({ segmentBytes: 300 });
      const texts = Array.from({ length: 60 }, (_, n) => `record number ${n}`);
      await appendTexts(journal, texts.slice(0, 40));
      const behind = (await readAll(place.reader()))[12]!.position;
      const before = journal.state();
      await journal.release(behind);
      await appendTexts(journal, texts.slice(40));
      assert.deepEqual(textsOf(await readAll(place.reader(), behind)), texts.slice(13));
      const last = (await readAll(place.reader(), behind)).at(-1)!.position;
      await journal.release(last);
      assert.ok(before.segments > 3);
      assert.equal(journal.state().segments, 1);
      assert.ok(journal.state().bytes < before.bytes);
      await appendTexts(journal, ['after']);
      assert.deepEqual(textsOf(await readAll(place.reader(), last)), ['after']);
      await journal.close();
    });

    test('counts a record that comes after close as lost', async () => {
      const place = await makePlace();
      const journal = await place.open();
      const inTime = journal.append(Buffer.from('in time'));
      const closed = journal.close();
      assert.equal(await journal.append(Buffer.from('late')), false);
      await closed;
      assert.equal(await inTime, true);
      assert.equal(journal.state().lostRecords, 1);
      assert.deepEqual(textsOf(await readAll(place.reader())), ['in time']);
    });

    test('has nothing unsynced after sync and after close', async () => {
      const place = await makePlace();
      const journal = await place.open();
      const stored = journal.append(Buffer.from('x'));
      assert.equal(await journal.sync(), true);
      assert.equal(journal.state().unsyncedBytes, 0);
      await stored;
      await appendTexts(journal, ['y']);
      assert.ok(journal.state().unsyncedBytes > 0);
      await journal.close();
      assert.equal(journal.state().unsyncedBytes, 0);
    });
  });
}
