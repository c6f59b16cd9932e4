import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EventStore } from '../analytics/store.ts';
import { createEnrich } from '../events/enrich.ts';
import { createEventEncoder } from '../events/event.ts';
import type { JournalReader, Position } from '../events/journal.ts';
import { clickRecord, rawClick } from '../testing/click-records.ts';
import { createClickSearch } from './click-search.ts';
import { decodePipelineEvent, type PipelineEvent } from './pipeline-event.ts';

const PAGE = 3;

/** A journal of these clicks, and a store that has those up to a position. */
function setUp(journal: readonly number[], stored: readonly ClickRecord[] = [], committed?: number) {
  const encoder = createEventEncoder();
  const payloads = journal.map((n) => Uint8Array.from(encoder.click(rawClick(n))));
  const reads: number[] = [];
  const at = (offset: number): Position => ({ segment: 1, offset });
  const read: JournalReader['read'] = async (from) => {
    const start = from?.offset ?? 0;
    reads.push(start);
    const page = payloads.slice(start, start + PAGE);
    const records = page.map((payload, i) => ({ payload, position: at(start + i), next: at(start + i + 1) }));
    return { records, next: at(start + page.length) };
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
  });
  await assert.rejects(broken('a'), /unreadable/);
  await assert.rejects(broken('b'), /unreadable/);
  assert.equal(reads.length, 2);
  assert.equal((await find(idOf(1)))?.id, idOf(1));
});
