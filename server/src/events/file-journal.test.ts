// The journal on files: the contract, and every fault a disk can have, injected at the file port or put into
// the files themselves.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, mock, test } from 'node:test';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { type FileJournalOptions, openFileJournal } from './file-journal.ts';
import { createFileReader } from './file-reader.ts';
import { appendTexts, createChance, journalContract, readAll, textsOf } from './journal.contract.ts';
import { type Damage, parsePosition } from './journal.ts';
import { type JournalDirectory, type JournalFile, openJournalDirectory } from './journal-files.ts';
import { HEADER_BYTES, segmentName } from './segment.ts';
import { createWake } from './wake.ts';

const root = await mkdtemp(join(tmpdir(), 'linktrail-journal-'));
after(() => rm(root, { recursive: true }));

async function newPath(): Promise<string> {
  return mkdtemp(join(root, 'j'));
}

interface Faults {
  /** Called before each write of records; a number makes it short, an error makes it fail. */
  write?: (n: number, length: number) => number | Error | undefined;
  truncate?: () => Error | undefined;
  sync?: () => Error | undefined;
  create?: () => Error | undefined;
  syncDirectory?: () => Error | undefined;
}

function faulty(directory: JournalDirectory, faults: Faults): JournalDirectory {
  let writes = 0;
  const fail = (error: Error | undefined) => {
    if (error) throw error;
  };
  const wrap = (file: JournalFile): JournalFile => ({
    write(buffer, offset, length, position) {
      const fault = position < HEADER_BYTES ? undefined : faults.write?.(writes++, length);
      if (fault instanceof Error) throw fault;
      return file.write(buffer, offset, Math.min(length, fault ?? length), position);
    },
    truncate(length) {
      fail(faults.truncate?.());
      file.truncate(length);
    },
    async sync() {
      fail(faults.sync?.());
      await file.sync();
    },
    close: file.close,
  });
  return {
    ...directory,
    create(name) {
      fail(faults.create?.());
      return wrap(directory.create(name));
    },
    async sync() {
      fail(faults.syncDirectory?.());
      await directory.sync();
    },
  };
}

function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}

const noDamage = (damage: Damage): void =>
  assert.fail(`damage where there is none: ${JSON.stringify(damage)}`);

type Options = Partial<FileJournalOptions> & { faults?: Faults };

async function openAt(path: string, { faults, ...options }: Options = {}) {
  const directory = await openJournalDirectory(path);
  return openFileJournal({
    directory: faults ? faulty(directory, faults) : directory,
    clock: systemClock,
    log: silentLog,
    retryMs: 0,
    ...options,
  });
}

async function readPath(path: string): Promise<{ texts: string[]; damages: Damage[] }> {
  const damages: Damage[] = [];
  const reader = createFileReader({ path, onDamage: (damage) => damages.push(damage), chunkBytes: 64 });
  return { texts: textsOf(await readAll(reader)), damages };
}

/** A closed journal with these records in its one segment. */
async function segmentOf(texts: readonly string[]): Promise<Buffer> {
  const path = await newPath();
  const journal = await openAt(path);
  await appendTexts(journal, texts);
  await journal.close();
  return readFile(join(path, segmentName(1)));
}

journalContract(async () => {
  const path = await newPath();
  const wake = createWake();
  return {
    open: (options) => openAt(path, { ...options, onWrite: wake.notify }),
    reader: () => createFileReader({ path, wake, pollMs: 60_000, onDamage: noDamage }),
  };
});

describe('positions', () => {
  test('a text that is none is refused', () => {
    assert.throws(() => parsePosition('12:34'), /Not a journal position/);
  });
});

describe('one write per turn', () => {
  test('all records of a turn share one write, and records of the next turn another', async () => {
    let writes = 0;
    const faults: Faults = { write: () => void writes++ };
    const journal = await openAt(await newPath(), { faults });
    await Promise.all(Array.from({ length: 64 }, (_, n) => journal.append(Buffer.from(`${n}`))));
    assert.equal(writes, 1);
    await journal.append(Buffer.from('later'));
    assert.equal(writes, 2);
    await journal.close();
  });

  test('with a sync interval of 0 a record is synced before its append resolves', async () => {
    const journal = await openAt(await newPath(), { syncIntervalMs: 0 });
    const turns = [1, 2, 3].map((n) => journal.append(Buffer.from(`${n}`)));
    assert.deepEqual(await Promise.all(turns), [true, true, true]);
    assert.equal(journal.state().unsyncedBytes, 0);
    await journal.close();
  });
});

describe('damaged files', () => {
  const texts = ['first', '', 'the third'];

  test('a segment cut at any byte keeps every whole record, and says what was cut', async () => {
    const good = await segmentOf(texts);
    const ends = recordEnds(texts);
    for (let size = 0; size < good.length; size++) {
      const path = await newPath();
      await writeFile(join(path, segmentName(1)), good.subarray(0, size));
      const journal = await openAt(path);
      const kept = ends.filter((end) => end <= size);
      const boundary = kept.at(-1) ?? Math.min(HEADER_BYTES, size);
      const clean = size === boundary && size !== 0 && size >= 32;
      const { cut } = journal.recovery;
      assert.equal(journal.recovery.records, kept.length, `cut at ${size}`);
      if (clean || size === 0) assert.equal(cut, undefined, `cut at ${size}`);
      else {
        const offset = size < 32 ? 0 : boundary;
        assert.deepEqual(cut, { segment: 1, offset, bytes: size - offset, reason: 'torn' });
      }
      await appendTexts(journal, ['new']);
      await journal.close();
      assert.deepEqual(await readPath(path), { texts: [...texts.slice(0, kept.length), 'new'], damages: [] });
    }
  });

  test('any flipped bit costs at most the record it is in, and is reported to the byte', async () => {
    const good = await segmentOf(texts);
    const bounds = [HEADER_BYTES, ...recordEnds(texts)];
    const path = await newPath();
    const next = await segmentOf(['in the next segment']);
    await writeFile(join(path, segmentName(2)), next);
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good);
      bad[bit >> 3]! ^= 1 << (bit & 7);
      await writeFile(join(path, segmentName(1)), bad);
      const hit = bounds.findIndex((start, n) => start <= bit >> 3 && bit >> 3 < (bounds[n + 1] ?? 0));
      const { texts: read, damages } = await readPath(path);
      assert.deepEqual(read, [...texts.filter((_, n) => n !== hit), 'in the next segment'], `bit ${bit}`);
      const [offset, end] = [bounds[hit] ?? 0, bounds[hit + 1] ?? 0];
      const places = damages.map(({ reason, ...place }) => place);
      assert.deepEqual(places, hit < 0 ? [] : [{ segment: 1, offset, bytes: end - offset }], `bit ${bit}`);
    }
  });

  test('opening finds any flipped bit of the newest segment and loses no other record', async () => {
    const good = await segmentOf(texts);
    const bounds = [HEADER_BYTES, ...recordEnds(texts)];
    for (let byte = HEADER_BYTES; byte < good.length; byte++) {
      const path = await newPath();
      const bad = Buffer.from(good);
      bad[byte]! ^= 1 << (byte % 8);
      await writeFile(join(path, segmentName(1)), bad);
      const journal = await openAt(path);
      await journal.close();
      const hit = bounds.findIndex((start, n) => start <= byte && byte < (bounds[n + 1] ?? 0));
      const { cut, damages } = journal.recovery;
      const [found, ...more] = [...damages, ...(cut ? [cut] : [])];
      assert.deepEqual(more, []);
      assert.equal(found?.offset, bounds[hit]);
      assert.equal(found?.bytes, bounds[hit + 1]! - bounds[hit]!);
      assert.equal(cut !== undefined, hit === texts.length - 1);
      assert.deepEqual(
        (await readPath(path)).texts,
        texts.filter((_, n) => n !== hit),
      );
    }
  });

  test('a segment of zeroes or noise is reported whole, and the next one is read', async () => {
    const chance = createChance(3);
    const good = await segmentOf(texts);
    const noise = Buffer.from(Array.from({ length: 5_000 }, () => Math.floor(chance() * 256)));
    for (const rest of [Buffer.alloc(5_000), noise]) {
      for (const keepsHeader of [true, false]) {
        const path = await newPath();
        const head = keepsHeader ? good.subarray(0, HEADER_BYTES) : rest.subarray(0, HEADER_BYTES);
        await writeFile(join(path, segmentName(1)), Buffer.concat([head, rest]));
        await writeFile(join(path, segmentName(2)), await segmentOf(['next']));
        const { texts: read, damages } = await readPath(path);
        assert.deepEqual(read, ['next']);
        const unread = damages.reduce((sum, { bytes }) => sum + bytes, 0);
        assert.equal(unread, keepsHeader ? 5_000 : 5_000 + HEADER_BYTES);
      }
    }
  });

  test('a segment that is gone is reported', async () => {
    const path = await newPath();
    const journal = await openAt(path, { segmentBytes: 100 });
    await appendTexts(journal, ['a'.repeat(80), 'b'.repeat(80), 'c'.repeat(80)]);
    await journal.close();
    await rm(join(path, segmentName(2)));
    const { texts: read, damages } = await readPath(path);
    assert.deepEqual(read, ['a'.repeat(80), 'c'.repeat(80)]);
    assert.deepEqual(damages, [{ segment: 2, offset: 0, bytes: 0, reason: 'missing' }]);
  });

  test('a journal of a later format is refused, not passed over', async () => {
    const path = await newPath();
    const future = await segmentOf(['x']);
    const { crc32 } = await import('node:zlib');
    for (const start of [0, 32]) {
      future.writeUInt16LE(2, start + 4);
      future.writeUInt32LE(crc32(future.subarray(start, start + 28)), start + 28);
    }
    await writeFile(join(path, segmentName(1)), future);
    await assert.rejects(openAt(path), /format 2/);
    await assert.rejects(readPath(path), /format 2/);
  });

  test('a tail lost after a sink had passed it costs nothing that is written later', async () => {
    const path = await newPath();
    const journal = await openAt(path);
    await appendTexts(journal, texts);
    await journal.close();
    const reader = createFileReader({ path, onDamage: noDamage });
    const committed = (await readAll(reader)).at(-1)!.position;
    const file = join(path, segmentName(1));
    await writeFile(file, (await readFile(file)).subarray(0, recordEnds(texts)[0]));
    const again = await openAt(path);
    await appendTexts(again, ['x', 'y']);
    await again.close();
    assert.deepEqual(textsOf(await readAll(reader, committed)), ['x', 'y']);
  });

  test('numbering goes on after the sinks even when all files are gone', async () => {
    const path = await newPath();
    const committed = { segment: 41, offset: 1_000 };
    const journal = await openAt(path, { after: committed });
    await appendTexts(journal, ['x']);
    await journal.close();
    const reader = createFileReader({ path, onDamage: noDamage });
    assert.deepEqual(textsOf(await readAll(reader, committed)), ['x']);
  });

  function recordEnds(of: readonly string[]): number[] {
    let end = HEADER_BYTES;
    return of.map((text) => {
      end += 8 + text.length;
      return end;
    });
  }
});

describe('a newest segment still being written', () => {
  test('gives a record only when it is whole, however much of it is there', async () => {
    const good = await segmentOf(['whole', 'growing']);
    const path = await newPath();
    const reader = createFileReader({ path, onDamage: noDamage });
    for (let size = 0; size <= good.length; size++) {
      await writeFile(join(path, segmentName(1)), good.subarray(0, size));
      const expected = ['whole', 'growing'].slice(
        0,
        size === good.length ? 2 : size >= HEADER_BYTES + 13 ? 1 : 0,
      );
      assert.deepEqual(textsOf(await readAll(reader)), expected, `size ${size}`);
    }
  });
});

describe('a failing disk', () => {
  const record = (n: number) => Buffer.from(`record ${n} ${'x'.repeat(n % 13)}`);

  test('one failed write, wherever it comes, loses nothing', async () => {
    for (let failing = 0; failing < 6; failing++) {
      for (const code of ['ENOSPC', 'EIO']) {
        const path = await newPath();
        const faults: Faults = { write: (n) => (n === failing ? diskError(code) : undefined) };
        const journal = await openAt(path, { faults });
        for (let n = 0; n < 6; n++) assert.equal(await journal.append(record(n)), true);
        assert.deepEqual([journal.state().failing, journal.state().lostRecords], [false, 0]);
        await journal.close();
        const expected = Array.from({ length: 6 }, (_, n) => String(record(n)));
        assert.deepEqual(await readPath(path), { texts: expected, damages: [] });
      }
    }
  });

  test('short writes of every length are completed', async () => {
    for (let taken = 1; taken < 40; taken++) {
      const path = await newPath();
      const journal = await openAt(path, { faults: { write: () => taken } });
      await Promise.all([0, 1, 2, 3].map((n) => journal.append(record(n))));
      await journal.close();
      assert.deepEqual(
        (await readPath(path)).texts,
        [0, 1, 2, 3].map((n) => String(record(n))),
      );
    }
  });

  test('a disk that fills up at any byte keeps whole records, counts the rest and recovers by itself', async () => {
    const turn = [0, 1, 2].map(record);
    const bytes = turn.reduce((sum, payload) => sum + 8 + payload.length, 0);
    for (let room = 0; room < bytes; room++) {
      const path = await newPath();
      let left = room;
      const faults: Faults = {
        write(_n, length) {
          if (left <= 0) return diskError('ENOSPC');
          const taken = Math.min(left, length);
          left -= taken;
          return taken;
        },
      };
      const journal = await openAt(path, { faults });
      assert.deepEqual(await Promise.all(turn.map((p) => journal.append(p))), [false, false, false]);
      const { failing, lostRecords, lastError } = journal.state();
      assert.ok(failing && lostRecords > 0 && /ENOSPC/.test(lastError ?? ''));
      left = Number.POSITIVE_INFINITY;
      assert.equal(await journal.append(record(9)), true);
      assert.equal(journal.state().failing, false);
      await journal.close();
      const { texts, damages } = await readPath(path);
      const kept = turn.length - lostRecords;
      assert.deepEqual(texts, [...turn.slice(0, kept), record(9)].map(String), `room ${room}`);
      assert.deepEqual(damages, []);
    }
  });

  test('when even the cut fails, the torn end is reported and nothing after it is lost', async () => {
    const path = await newPath();
    const faults: Faults = {
      write: (n) => (n === 1 ? 5 : n === 2 ? diskError('EIO') : undefined),
      truncate: () => diskError('EIO'),
    };
    const journal = await openAt(path, { faults });
    await appendTexts(journal, ['one', 'two', 'three']);
    await journal.close();
    const { texts, damages } = await readPath(path);
    assert.deepEqual(texts, ['one', 'two', 'three']);
    assert.deepEqual(damages, [{ segment: 1, offset: HEADER_BYTES + 11, bytes: 5, reason: 'torn' }]);
  });

  test('a journal that cannot make a file at all opens, counts losses and recovers', async () => {
    const path = await newPath();
    let full = true;
    const journal = await openAt(path, {
      faults: { create: () => (full ? diskError('ENOSPC') : undefined) },
    });
    assert.equal(journal.state().failing, true);
    assert.equal(await journal.append(record(1)), false);
    full = false;
    assert.equal(await journal.append(record(2)), true);
    assert.deepEqual([journal.state().failing, journal.state().lostRecords], [false, 1]);
    await journal.close();
    assert.deepEqual((await readPath(path)).texts, [String(record(2))]);
  });

  test('when no new segment can be made, the full one goes on', async () => {
    const path = await newPath();
    let created = 0;
    const faults: Faults = { create: () => (created++ > 0 ? diskError('EMFILE') : undefined) };
    const journal = await openAt(path, { segmentBytes: 100, faults });
    await appendTexts(journal, ['a'.repeat(80), 'b'.repeat(80), 'c'.repeat(80)]);
    assert.equal(journal.state().segments, 1);
    await journal.close();
    assert.equal((await readPath(path)).texts.length, 3);
  });

  test('a failed sync is told, and what follows goes into a file that can be trusted', async () => {
    const path = await newPath();
    let broken = true;
    const faults: Faults = { sync: () => (broken ? diskError('EIO') : undefined) };
    const journal = await openAt(path, { faults });
    await appendTexts(journal, ['one']);
    assert.equal(await journal.sync(), false);
    const { failing, syncFailures, lostRecords } = journal.state();
    assert.deepEqual(
      { failing, syncFailures, lostRecords },
      { failing: true, syncFailures: 1, lostRecords: 0 },
    );
    broken = false;
    await appendTexts(journal, ['two']);
    assert.equal(await journal.sync(), true);
    assert.deepEqual([journal.state().failing, journal.state().unsyncedBytes], [false, 0]);
    await journal.close();
    assert.deepEqual((await readPath(path)).texts, ['one', 'two']);
    assert.equal((await readdir(path)).length, 2);
  });

  test('with a sync interval of 0 a failed sync shows in the append', async () => {
    let broken = true;
    const faults: Faults = { sync: () => (broken ? diskError('EIO') : undefined) };
    const journal = await openAt(await newPath(), { syncIntervalMs: 0, faults });
    assert.equal(await journal.append(record(1)), false);
    broken = false;
    assert.equal(await journal.append(record(2)), true);
    await journal.close();
  });

  test('a directory that cannot be synced is tried again', async () => {
    let broken = true;
    const faults: Faults = { syncDirectory: () => (broken ? diskError('EIO') : undefined) };
    const journal = await openAt(await newPath(), { faults });
    await appendTexts(journal, ['one']);
    assert.equal(await journal.sync(), false);
    broken = false;
    assert.equal(await journal.sync(), true);
    await journal.close();
  });

  test('at its size limit the journal takes no more until something was released', async () => {
    const path = await newPath();
    const journal = await openAt(path, { segmentBytes: 200, maxBytes: 1_000 });
    let taken = 0;
    while (await journal.append(Buffer.alloc(60, 97))) taken += 1;
    assert.ok(taken > 5 && taken < 15, `${taken}`);
    assert.ok(journal.state().bytes <= 1_000);
    const reader = createFileReader({ path, onDamage: noDamage });
    await journal.release((await readAll(reader)).at(-1)!.position);
    assert.equal(await journal.append(Buffer.from('again')), true);
    await journal.close();
  });

  test('while writing fails it is tried only now and then', async () => {
    let tries = 0;
    const faults: Faults = {
      write() {
        tries += 1;
        return diskError('ENOSPC');
      },
    };
    const journal = await openAt(await newPath(), { faults, retryMs: 3_600_000 });
    for (let n = 0; n < 50; n++) await journal.append(record(n));
    assert.equal(tries, 2);
    assert.equal(journal.state().lostRecords, 50);
    await journal.close();
  });
});

describe('age', () => {
  test('an old segment that all sinks have passed is deleted although nothing more is written', async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    t.after(() => mock.timers.reset());
    const path = await newPath();
    const journal = await openAt(path, { segmentAgeMs: 60_000 });
    await appendTexts(journal, ['raw visit']);
    const reader = createFileReader({ path, onDamage: noDamage });
    const [visit] = await readAll(reader);
    await journal.release(visit!.position);
    assert.deepEqual(await readdir(path), [segmentName(1)]);
    mock.timers.tick(60_000);
    // Deleting is under way; a release of the same place comes after it.
    await journal.release(visit!.position);
    assert.deepEqual(await readdir(path), [segmentName(2)]);
    await appendTexts(journal, ['next']);
    assert.deepEqual(textsOf(await readAll(reader, visit!.position)), ['next']);
    await journal.close();
  });
});
