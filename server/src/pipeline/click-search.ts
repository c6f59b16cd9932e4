// Finds a click by its id, wherever it is: in the event store, or still only in the journal. A lead may follow
// its click within milliseconds and must find it even while the pipeline is behind. Those who look at once share
// one reading of the journal.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EventStore } from '../analytics/store.ts';
import type { Enrich } from '../events/enrich.ts';
import { comparePositions, type JournalReader, type Position } from '../events/journal.ts';
import type { PipelineEvent } from './pipeline-event.ts';

const LIMITS = { maxRecords: 5_000, maxBytes: 4 * 1024 * 1024 };
/** Each record is compared with every id that is looked for. */
const MAX_TOGETHER = 64;

export interface ClickSearchParts {
  readonly store: { get(): Promise<EventStore> };
  readonly reader: JournalReader;
  readonly enrich: Enrich<PipelineEvent>;
}

interface Wanted {
  readonly id: string;
  /** Up to here the store has been looked through; undefined: from the start. */
  readonly from: Position | undefined;
  resolve(click: ClickRecord | undefined): void;
  reject(error: unknown): void;
}

export type FindClick = (id: string) => Promise<ClickRecord | undefined>;

export function createClickSearch(parts: ClickSearchParts): FindClick {
  const queue: Wanted[] = [];
  let reading = false;

  async function workOff(): Promise<void> {
    reading = true;
    while (queue.length > 0) {
      const wanted = queue.splice(0, MAX_TOGETHER);
      try {
        const found = await findInJournal(wanted, parts);
        for (const { id, resolve } of wanted) resolve(found.get(id));
      } catch (error) {
        for (const { reject } of wanted) reject(error);
      }
    }
    reading = false;
  }

  return async (id) => {
    const store = await parts.store.get();
    // Taken first: what the store takes in meanwhile is then in one of the two.
    const from = await store.committed();
    const stored = await store.findClick(id);
    if (stored) return stored;
    return new Promise((resolve, reject) => {
      queue.push({ id, from, resolve, reject });
      if (!reading) void workOff();
    });
  };
}

/** Looks for the bytes of the ids first: decoding everything would take many times as long. */
async function findInJournal(
  wanted: readonly Wanted[],
  { reader, enrich }: ClickSearchParts,
): Promise<Map<string, ClickRecord>> {
  const ids = new Map(wanted.map(({ id }) => [id, Buffer.from(id)]));
  const found = new Map<string, ClickRecord>();
  let from = earliest(wanted);
  while (ids.size > 0) {
    const { records, next } = await reader.read(from, LIMITS);
    if (records.length === 0) break;
    const texts = [...ids.values()];
    const candidates = records
      .map(({ payload }) => payload)
      .filter((payload) => texts.some((text) => viewOf(payload).includes(text)));
    for (const event of enrich(candidates).events) {
      if (event.kind === 'click' && ids.delete(event.record.id)) found.set(event.record.id, event.record);
    }
    from = next;
  }
  return found;
}

function earliest(wanted: readonly Wanted[]): Position | undefined {
  return wanted
    .map(({ from }) => from)
    .reduce((first, from) => (first && from && comparePositions(from, first) < 0 ? from : first && from));
}

function viewOf(payload: Uint8Array): Buffer {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}
