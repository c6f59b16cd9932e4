// Batches of enriched events, made once for all sinks that are at the same place. A few are kept; a sink that
// fell further behind reads again by itself and joins the others where it meets them. Memory is bounded by
// the number of batches kept and of sinks.
import type { Drops, Enrich } from './enrich.ts';
import {
  comparePositions,
  formatPosition,
  type JournalReader,
  type JournalRecord,
  type Position,
  type ReadLimits,
  type ReadResult,
} from './journal.ts';
import { pause, type StepBack } from './step-back.ts';

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
  /** All that is there between two places, as one batch that nobody shares. */
  between(from: Position | undefined, upTo: Position): Promise<Batch<E>>;
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
  /** How long a batch that is not full waits for more; while very many come, several times as long. */
  maxDelayMs: number;
  keptBatches: number;
  /** Asked before a batch is read. */
  stepBack?: StepBack | undefined;
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
/** With this part of a batch there at the first look, larger and fewer batches spare what each costs by itself. */
const BUSY_SHARE = 0.1;
const BUSY_FACTOR = 4;

export function createSharedBatches<E>(options: SharedBatchesOptions<E>): SharedBatches<E> {
  const { reader } = options;
  const places = createPlaces<E>(options.keptBatches);
  const stopping = new AbortController();
  let turn = 0;
  const load = createLoader(options, { places, stopping: stopping.signal, turn: () => turn });

  function begin(from: Position | undefined): Entry<E> {
    const progress = { endTurn: -1, loaded: false };
    const batch = load(from, progress);
    batch.then(
      () => {
        progress.loaded = true;
      },
      // A failed read is not kept: the next who asks reads again.
      () => places.forget(from),
    );
    return Object.assign(progress, { from, batch });
  }

  return {
    async between(from, upTo) {
      const records = await readBetween(reader, from, upTo);
      return { ...options.enrich(records.map(({ payload }) => payload)), records: records.length, upTo };
    },
    after: (from) => (places.find(from) ?? places.keep(begin(from))).batch,
    atEnd: (from, since) => (places.find(from)?.endTurn ?? -1) >= since,
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

/** The places where batches begin that are kept or being made. */
function createPlaces<E>(keptBatches: number) {
  const entries = new Map<string, Entry<E>>();
  return {
    find: (from: Position | undefined) => entries.get(keyOf(from)),
    forget: (from: Position | undefined) => entries.delete(keyOf(from)),
    keep(added: Entry<E>): Entry<E> {
      entries.set(keyOf(added.from), added);
      // Those still loading stay: there is at most one per sink, and someone waits for it.
      for (const [key, entry] of entries) {
        if (entries.size <= keptBatches) break;
        if (entry.loaded) entries.delete(key);
      }
      return added;
    },
    /** The next place where another sink's batch begins: stopping there lets both share from then on. */
    nextAfter(from: Position | undefined): Position | undefined {
      const ahead = [...entries.values()]
        .map((entry) => entry.from)
        .filter((place) => place !== undefined)
        .filter((place) => !from || comparePositions(place, from) > 0);
      return ahead.sort(comparePositions)[0];
    },
  };
}

interface LoadState<E> {
  places: ReturnType<typeof createPlaces<E>>;
  stopping: AbortSignal;
  turn(): number;
}

function createLoader<E>(options: SharedBatchesOptions<E>, { places, stopping, turn }: LoadState<E>) {
  const { reader, maxBatch } = options;
  const limits = { maxRecords: maxBatch, maxBytes: MAX_BATCH_BYTES };

  /** When a read last came to the journal's end. */
  let caughtUpMs: number | undefined;

  async function read(at: Position | undefined, within: ReadLimits): Promise<ReadResult> {
    const nowMs = performance.now();
    const found = await reader.read(at, within);
    if (found.atEnd) caughtUpMs = nowMs;
    return found;
  }

  async function readUntil(at: Position | undefined, until: Position | undefined): Promise<ReadResult> {
    const found = await read(at, { ...limits, until });
    // Records up to the meeting place can have become unreadable: then there is no meeting.
    return found.records.length > 0 || !until ? found : read(at, limits);
  }

  /** Waits until there is at least one record; undefined when stopping. */
  async function readSome(from: Position | undefined, progress: { endTurn: number }) {
    let at = from;
    for (;;) {
      const [mark, readTurn] = [reader.mark(), turn()];
      const found = await readUntil(at, places.nextAfter(from));
      if (found.records.length > 0) return found;
      at = found.next;
      progress.endTurn = readTurn;
      options.onEnd();
      if (stopping.aborted) return undefined;
      await reader.changed(mark);
    }
  }

  async function readMore(
    { records, next }: ReadResult,
    from: Position | undefined,
  ): Promise<JournalRecord[]> {
    const until = places.nextAfter(from);
    const met = until && next && comparePositions(next, until) >= 0;
    if (met || records.length >= maxBatch) return [...records];
    const busy = records.length >= maxBatch * BUSY_SHARE;
    await pause(options.maxDelayMs * (busy ? BUSY_FACTOR : 1), stopping);
    const more = await read(next, { ...limits, maxRecords: maxBatch - records.length, until });
    return [...records, ...more.records];
  }

  return async (from: Position | undefined, progress: { endTurn: number }): Promise<Batch<E> | undefined> => {
    await options.stepBack?.(caughtUpMs, stopping);
    const first = await readSome(from, progress);
    if (!first) return undefined;
    const records = await readMore(first, from);
    const upTo = (records.at(-1) as JournalRecord).position;
    return { ...options.enrich(records.map(({ payload }) => payload)), records: records.length, upTo };
  };
}

/** Records that were lost since are not in it; what was one batch once fits into memory. */
async function readBetween(
  reader: JournalReader,
  from: Position | undefined,
  until: Position,
): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  let at = from;
  for (;;) {
    const found = await reader.read(at, {
      maxRecords: Number.MAX_SAFE_INTEGER,
      maxBytes: MAX_BATCH_BYTES,
      until,
    });
    if (found.records.length === 0) return records;
    records.push(...found.records);
    at = found.next;
  }
}

function keyOf(from: Position | undefined): string {
  return from ? formatPosition(from) : 'oldest';
}
