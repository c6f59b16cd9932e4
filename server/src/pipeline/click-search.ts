// Finds a click by its id, wherever it is: in the event store, or still only in the journal. A lead may follow
// its click within milliseconds and must find it even while the pipeline is behind.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EventStore } from '../analytics/store.ts';
import type { Enrich } from '../events/enrich.ts';
import type { JournalReader, Position } from '../events/journal.ts';
import type { PipelineEvent } from './pipeline-event.ts';

const LIMITS = { maxRecords: 5_000, maxBytes: 4 * 1024 * 1024 };

export async function findClick(
  id: string,
  parts: {
    store: { get(): Promise<EventStore> };
    reader: JournalReader;
    enrich: Enrich<PipelineEvent>;
  },
): Promise<ClickRecord | undefined> {
  const store = await parts.store.get();
  // Taken first: what the store takes in meanwhile is then in one of the two.
  const from = await store.committed();
  return (await store.findClick(id)) ?? (await findInJournal(id, from, parts));
}

/** Looks for the bytes of the id first: decoding everything would take many times as long. */
async function findInJournal(
  id: string,
  start: Position | undefined,
  { reader, enrich }: { reader: JournalReader; enrich: Enrich<PipelineEvent> },
): Promise<ClickRecord | undefined> {
  const bytes = Buffer.from(id);
  let from = start;
  for (;;) {
    const { records, next } = await reader.read(from, LIMITS);
    if (records.length === 0) return undefined;
    const candidates = records
      .map(({ payload }) => payload)
      .filter((payload) => viewOf(payload).includes(bytes));
    for (const event of enrich(candidates).events) {
      if (event.kind === 'click' && event.record.id === id) return event.record;
    }
    from = next;
  }
}

function viewOf(payload: Uint8Array): Buffer {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}
