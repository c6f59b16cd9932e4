// Batches of enriched events, made once for all sinks that are at the same place. A few are kept; a sink that
// fell further behind reads again by itself and joins the others where it meets them. Memory is bounded by
// the number of batches kept and of sinks.
import type { Drops, Enrich } from './enrich.ts';
import {
  comparePositions,
  formatPosition,
  type JournalReader,
  type Position,
  type ReadResult,
} from './journal.ts';

export interface Batch<E> {
  readonly events: readonly E[];
  readonly drops: Drops;
  /** Records read, dropped ones included. */
  readonly records: number;
  /** The place after the last record. */
  readonly upTo: Position;
}

export interface SharedBatches<E> {
  /** The batch after this place; waits at the end of the journal. Undefined when stopping and at the end. */
  after(from: Position | undefined): Promise<Batch<E> | undefined>;
  /** True when a read that began after `turn` found nothing more after this place. */
  atEnd(from: Position | undefined, turn: number): boolean;
  /** Begins a new turn of `atEnd` and wakes who waits. */
  beginTurn(): number;
  /** From now on nobody waits: at the end there is no batch, and no time is spent on filling one. */
  stopWaiting(): void;
}

export interface SharedBatchesOptions<E> {
  reader: JournalReader;
  enrich: Enrich<E>;
  maxBatch: number;
  /** How long a batch that is not full waits for more. */
  maxDelayMs: number;
  keptBatches: number;
  /** Called when a read found the end. */
  onEnd(): void;
}

interface Entry<E> {
  readonly from: Position | undefined;
  readonly batch: Promise<Batch<E> | undefined>;
  loaded: boolean;
  /** The last turn in which a read found the end here. */
  endTurn: number;
}

const MAX_BATCH_BYTES = 8 * 1024 * 1024;

export function createSharedBatches<E>(options: SharedBatchesOptions<E>): SharedBatches<E> {
  const { reader, maxBatch, keptBatches } = options;
  const entries = new Map<string, Entry<E>>();
  const stopping = new AbortController();
  let turn = 0;

  /** The next place where another sink's batch begins: stopping there lets both share from then on. */
  function meetingPlace(from: Position | undefined): Position | undefined {
    const ahead = [...entries.values()]
      .map((entry) => entry.from)
      .filter((place) => place !== undefined)
      .filter((place) => !from || comparePositions(place, from) > 0);
    return ahead.sort(comparePositions)[0];
  }

  async function readUntil(at: Position | undefined, until: Position | undefined): Promise<ReadResult> {
    const limits = { maxRecords: maxBatch, maxBytes: MAX_BATCH_BYTES };
    const found = await reader.read(at, { ...limits, until });
    // Records up to the meeting place can have become unreadable: then there is no meeting.
    return found.records.length > 0 || !until ? found : reader.read(at, limits);
  }

  async function readSome(
    from: Position | undefined,
    entry: { endTurn: number },
  ): Promise<ReadResult | undefined> {
    let at = from;
    for (;;) {
      const [mark, readTurn] = [reader.mark(), turn];
      const found = await readUntil(at, meetingPlace(from));
      if (found.records.length > 0) return found;
      at = found.next;
      entry.endTurn = readTurn;
      options.onEnd();
      if (stopping.signal.aborted) return undefined;
      await reader.changed(mark);
    }
  }

  async function load(from: Position | undefined, entry: { endTurn: number }): Promise<Batch<E> | undefined> {
    const first = await readSome(from, entry);
    if (!first) return undefined;
    const records = [...first.records];
    const until = meetingPlace(from);
    const met = until && first.next && comparePositions(first.next, until) >= 0;
    if (records.length < maxBatch && !met) {
      await pause(options.maxDelayMs, stopping.signal);
      const limits = { maxRecords: maxBatch - records.length, maxBytes: MAX_BATCH_BYTES, until };
      records.push(...(await reader.read(first.next, limits)).records);
    }
    const upTo = (records.at(-1) as (typeof records)[number]).position;
    return { ...options.enrich(records.map(({ payload }) => payload)), records: records.length, upTo };
  }

  function begin(from: Position | undefined, key: string): Entry<E> {
    const progress = { endTurn: -1, loaded: false };
    const batch = load(from, progress);
    batch.then(
      () => {
        progress.loaded = true;
      },
      // A failed read is not kept: the next who asks reads again.
      () => entries.delete(key),
    );
    return Object.assign(progress, { from, batch });
  }

  /** Those still loading stay: there is at most one per sink, and someone waits for it. */
  function forgetOldest(): void {
    for (const [key, entry] of entries) {
      if (entries.size <= keptBatches) return;
      if (entry.loaded) entries.delete(key);
    }
  }

  return {
    after(from) {
      const key = keyOf(from);
      let entry = entries.get(key);
      if (!entry) {
        entry = begin(from, key);
        entries.set(key, entry);
        forgetOldest();
      }
      return entry.batch;
    },
    atEnd: (from, since) => (entries.get(keyOf(from))?.endTurn ?? -1) >= since,
    beginTurn() {
      turn += 1;
      reader.wake();
      return turn;
    },
    stopWaiting() {
      stopping.abort();
      reader.wake();
    },
  };
}

function keyOf(from: Position | undefined): string {
  return from ? formatPosition(from) : 'oldest';
}

/** Ends early when the signal comes. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
