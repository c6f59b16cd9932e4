import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EventStore } from '../analytics/store.ts';
import { clickIdAt } from '../events/click-id.ts';
import { createEnrich } from '../events/enrich.ts';
import { type Click, createEventEncoder } from '../events/event.ts';
import type { JournalReader, Position } from '../events/journal.ts';
import { createJournalMarks } from '../events/journal-marks.ts';
import { clickRecord, rawClick } from '../testing/click-records.ts';
import { createClickSearch } from './click-search.ts';
import { decodePipelineEvent, type PipelineEvent } from './pipeline-event.ts';

const PAGE = 3;

/** A journal of these clicks, and a store that has those up to a position. */
function setUp(
  journal: readonly number[],
  stored: readonly ClickRecord[] = [],
  committed?: number,
  marks = createJournalMarks(),
  fields: (n: number) => Partial<Click> = () => ({}),
) {
  const encoder = createEventEncoder();
  const payloads = journal.map((n) => Uint8Array.from(encoder.click({ ...rawClick(n), ...fields(n) })));
  const reads: number[] = [];
  const at = (offset: number): Position => ({ segment: 1, offset });
  const read: JournalReader['read'] = async (from, { until }) => {
    const start = from?.offset ?? 0;
    reads.push(start);
    const page = payloads.slice(start, Math.min(start + PAGE, until?.offset ?? payloads.length));
    const records = page.map((payload, i) => ({ payload, position: at(start + i), next: at(start + i + 1) }));
    const next = start + page.length;
    return { records, next: at(next), atEnd: next === payloads.length };
  };
  const store = {
    committed: async () => (committed === undefined ? undefined : at(committed)),
    findClick: async (id: string) => stored.find((click) => click.id === id),
  } as unknown as EventStore;
  const enrich = createEnrich<PipelineEvent>({ decode: decodePipelineEvent, steps: [], onError: () => {} });
  const find = createClickSearch({
    store: { get: async () => store },
    reader: { read } as JournalReader,
    enrich,
    marks,
  });
  return { find, reads };
}

const idOf = (n: number) => rawClick(n).id;

test('a click is found in the store, in the journal behind it, and nowhere else', async () => {
  const { find, reads } = setUp([1, 2, 3, 4, 5], [clickRecord(1)], 1);
  assert.equal((await find(idOf(1)))?.city, clickRecord(1).city);
  assert.deepEqual(reads, [], 'the journal is not read for it');
  assert.equal((await find(idOf(5)))?.id, idOf(5));
  assert.deepEqual(reads, [1, 4]);
  assert.equal(await find('unknown'), undefined);
});

test('clicks that are looked for at once share one reading of the journal', async () => {
  const journal = Array.from({ length: 30 }, (_, i) => i);
  const { find, reads } = setUp(journal);
  const wanted = [29, 0, 15, 29, 99];
  const found = await Promise.all(wanted.map((n) => find(idOf(n))));
  assert.deepEqual(
    found.map((click) => click?.id),
    [idOf(29), idOf(0), idOf(15), idOf(29), undefined],
  );
  // The first goes alone, those that came meanwhile together.
  assert.ok(reads.length <= 22, `${reads.length} reads`);
});

test('a journal that cannot be read fails those who look, and is tried again for the next', async () => {
  const { find, reads } = setUp([1]);
  const broken = createClickSearch({
    store: {
      get: async () => ({ committed: async () => undefined, findClick: async () => undefined }) as never,
    },
    reader: {
      read: async () => {
        reads.push(-1);
        throw new Error('unreadable');
      },
    } as unknown as JournalReader,
    enrich: () => ({ events: [], dropped: [] }) as never,
    marks: createJournalMarks(),
  });
  await assert.rejects(broken('a'), /unreadable/);
  await assert.rejects(broken('b'), /unreadable/);
  assert.equal(reads.length, 2);
  assert.equal((await find(idOf(1)))?.id, idOf(1));
});

describe('in a journal that is long', () => {
  const SECOND_MS = 1_000;
  const START_MS = Date.UTC(2026, 5, 1);
  const journal = Array.from({ length: 90 }, (_, i) => i);
  const timeOf = (n: number) => START_MS + n * SECOND_MS;
  const timed = journal.map((n) => clickIdAt(timeOf(n), n));
  const marked = (offsetMs = 0) => {
    const marks = createJournalMarks();
    for (const n of journal) marks.note(timeOf(n) + offsetMs, { segment: 1, offset: n + 1 });
    return marks;
  };
  const open = (marks = marked(), committed?: number) =>
    setUp(journal, [], committed, marks, (n) => ({ id: timed[n] as string }));

  test('a click is looked for where its time is', async () => {
    const { find, reads } = open();
    assert.equal((await find(timed[70] as string))?.id, timed[70]);
    assert.deepEqual(reads, [70]);
  });

  test('those who look at once read what overlaps together, and what does not apart', async () => {
    const { find, reads } = open();
    const wanted = [80, 20, 21, 22, 81];
    const found = await Promise.all(wanted.map((n) => find(timed[n] as string)));
    assert.deepEqual(
      found.map((click) => click?.id),
      wanted.map((n) => timed[n]),
    );
    assert.ok(reads.length <= 6, `${reads.length} reads`);
  });

  test('marks that are wrong cost time and no click', async () => {
    const { find } = open(marked(-40 * SECOND_MS));
    assert.equal((await find(timed[30] as string))?.id, timed[30]);
    assert.equal((await find(timed[89] as string))?.id, timed[89]);
  });

  test('what the store has passed is not read again, and one who never was is not there', async () => {
    const { find, reads } = open(marked(), 60);
    assert.equal(await find(clickIdAt(timeOf(30), 999)), undefined);
    assert.ok(
      reads.every((start) => start >= 60 || start === 30),
      `${reads}`,
    );
    assert.equal((await find(timed[75] as string))?.id, timed[75]);
  });
});

test('marks of another thread say where a time is, and nothing of times that no mark is left of', () => {
  const marks = createJournalMarks();
  const other = createJournalMarks(marks.shared);
  assert.deepEqual(other.around(0, 10), { from: undefined, upTo: undefined });
  const noted = 20_000;
  for (let n = 0; n < noted; n++) marks.note(n * 50, { segment: 1 + (n >> 10), offset: n });
  const place = (n: number) => ({ segment: 1 + (n >> 10), offset: n });
  assert.deepEqual(other.around(19_000 * 50, 19_001 * 50), { from: place(19_000), upTo: place(19_001) });
  assert.deepEqual(other.around(noted * 50, noted * 50), { from: place(noted - 1), upTo: undefined });
  const { from, upTo } = other.around(10, 20);
  assert.equal(from, undefined);
  assert.ok(upTo && upTo.offset > noted - 8_192);
});
