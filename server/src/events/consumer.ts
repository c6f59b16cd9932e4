// Feeds the journal to sinks, each at its own pace from its own committed position: a slow or failing sink
// holds no other. A sink stores a batch and its position in one transaction, so each event reaches it exactly
// once, through failures, crashes and restarts. Journal files that all sinks have passed are released.
import type { Log } from '../kernel/log.ts';
import type { DropReason, Enrich } from './enrich.ts';
import { comparePositions, type JournalReader, type Position } from './journal.ts';
import { createSharedBatches, type SharedBatches } from './shared-batches.ts';
import { pause, type StepBack } from './step-back.ts';

export interface Sink<E> {
  readonly name: string;
  /** Up to where the sink's own store has everything; undefined when it has nothing yet. */
  committed(): Promise<Position | undefined>;
  /**
   * Where a batch ends that was begun after `committed` and whose fate is unknown. The next batch ends there too, so
   * that a store without transactions can tell that it is the same. Asked after `committed`.
   */
  begun?(): Promise<Position | undefined>;
  /** Stores the events and `upTo` in one transaction. The batch can be empty: the position still counts. */
  append(events: readonly E[], upTo: Position): Promise<void>;
}

export interface SinkState {
  readonly name: string;
  readonly position: Position | undefined;
  /** Failures in a row; 0 when all is well. */
  readonly failures: number;
  readonly lastError: string | undefined;
}

export interface Consumer {
  start(): void;
  /** Takes what is in the journal already, for at most `drainMs`; a sink that fails meanwhile is left. */
  stop(drainMs?: number): Promise<void>;
  /** Resolves when every sink has all that was in the journal at the call. */
  idle(): Promise<void>;
  state(): SinkState[];
}

export interface ConsumerOptions<E> {
  reader: JournalReader;
  enrich: Enrich<E>;
  sinks: readonly Sink<E>[];
  log: Log;
  /** Told what a sink passed without storing it, once per sink and record. */
  onSkip: (sink: string, reason: DropReason, count: number) => void;
  release?: (upTo: Position) => Promise<void>;
  maxBatch?: number;
  maxDelayMs?: number;
  /** When what can wait should wait. */
  stepBack?: StepBack;
  /** The first wait after a failure; it doubles up to `maxRetryMs`. */
  retryMs?: number;
  maxRetryMs?: number;
}

interface Lane<E> {
  readonly sink: Sink<E>;
  /** False until the sink has told its position, and again after a failure, whose outcome is unknown. */
  known: boolean;
  position: Position | undefined;
  /** Where the next batch has to end, if that matters. */
  begun: Position | undefined;
  failures: number;
  lastError: string | undefined;
}

/** One that is being stored and one that is being read; a batch holds some megabytes. */
const KEPT_BATCHES = 2;

export function createConsumer<E>(options: ConsumerOptions<E>): Consumer {
  const { reader, enrich, sinks, log, maxBatch = 2_000, maxDelayMs = 100 } = options;
  const lanes = sinks.map((sink) => newLane(sink));
  const stopping = new AbortController();
  const cutOff = new AbortController();
  const releasing = createReleasing(lanes, options.release, log);
  const onEnd = () => {
    idlers.check();
    releasing.run();
  };
  const batches = createSharedBatches({
    reader,
    enrich,
    maxBatch,
    maxDelayMs,
    keptBatches: KEPT_BATCHES,
    stepBack: options.stepBack,
    onEnd,
  });
  const idlers = createIdlers(lanes, batches, reader);
  let running: Promise<unknown> | undefined;

  /** One batch into one sink; false when there is nothing more to do. */
  async function advance(lane: Lane<E>): Promise<boolean> {
    if (!lane.known) {
      lane.position = await lane.sink.committed();
      lane.begun = await lane.sink.begun?.();
    }
    lane.known = true;
    const batch = await (lane.begun
      ? batches.between(lane.position, lane.begun)
      : batches.after(lane.position));
    if (!batch || cutOff.signal.aborted) return false;
    await lane.sink.append(batch.events, batch.upTo);
    lane.position = batch.upTo;
    lane.begun = undefined;
    lane.failures = 0;
    lane.lastError = undefined;
    for (const [reason, count] of batch.drops) options.onSkip(lane.sink.name, reason, count);
    idlers.check();
    releasing.runPerSegment();
    return true;
  }

  async function run(lane: Lane<E>): Promise<void> {
    for (let more = true; more; ) {
      try {
        more = await advance(lane);
      } catch (error) {
        noteFailure(lane, error, log);
        await pause(retryDelayMs(lane.failures, options), stopping.signal);
        more = !stopping.signal.aborted;
      }
    }
  }

  return {
    start() {
      running ??= Promise.all(lanes.map(run)).then(idlers.end);
    },
    async stop(drainMs = 2_000) {
      stopping.abort();
      batches.stopWaiting();
      const timer = setTimeout(() => cutOff.abort(), drainMs);
      await running;
      clearTimeout(timer);
      await releasing.settled();
    },
    idle: idlers.wait,
    state: () =>
      lanes.map(({ sink, position, failures, lastError }) => ({
        name: sink.name,
        position,
        failures,
        lastError,
      })),
  };
}

function newLane<E>(sink: Sink<E>): Lane<E> {
  return { sink, known: false, position: undefined, begun: undefined, failures: 0, lastError: undefined };
}

function noteFailure<E>(lane: Lane<E>, error: unknown, log: Log): void {
  lane.known = false;
  lane.failures += 1;
  lane.lastError = error instanceof Error ? error.message : String(error);
  log.warn(
    { sink: lane.sink.name, failures: lane.failures, error: lane.lastError },
    'A sink could not take its events; it tries again.',
  );
}

function retryDelayMs(failures: number, options: { retryMs?: number; maxRetryMs?: number }): number {
  const { retryMs = 100, maxRetryMs = 30_000 } = options;
  return Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures - 1, 20));
}

interface Idler {
  /** Where the journal ended at the call: a sink that is there has caught up, whatever has come since. */
  readonly end: Position | undefined;
  /** Of a read that found nothing more: unreadable bytes can keep a sink from the end itself. */
  readonly turn: number;
  readonly resolve: () => void;
}

/** Those who wait until every sink has caught up. */
function createIdlers<E>(lanes: readonly Lane<E>[], batches: SharedBatches<E>, reader: JournalReader) {
  const waiting = new Set<Idler>();
  let ended = false;

  function hasCaughtUp({ known, position }: Lane<E>, { end, turn }: Idler): boolean {
    if (!known) return false;
    return (end && position && comparePositions(position, end) >= 0) || batches.atEnd(position, turn);
  }

  function check(): void {
    for (const idler of waiting) {
      if (!ended && !lanes.every((lane) => hasCaughtUp(lane, idler))) continue;
      waiting.delete(idler);
      idler.resolve();
    }
  }

  return {
    check,
    async wait(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const end = await reader.end();
      waiting.add({ end, turn: batches.beginTurn(), resolve });
      check();
      return promise;
    },
    end(): void {
      ended = true;
      check();
    },
  };
}

/** Releases what every sink has passed: whenever that reaches another segment, and at the journal's end. */
function createReleasing<E>(
  lanes: readonly Lane<E>[],
  release: ((upTo: Position) => Promise<void>) | undefined,
  log: Log,
) {
  let released: Position | undefined;
  let pending: Promise<void> = Promise.resolve();

  function passedByAll(): Position | undefined {
    if (!lanes.every((lane) => lane.known && lane.position)) return undefined;
    return lanes.flatMap(({ position }) => position ?? []).sort(comparePositions)[0];
  }

  function run(): void {
    const upTo = passedByAll();
    if (!release || !upTo || (released && comparePositions(upTo, released) <= 0)) return;
    released = upTo;
    pending = pending
      .then(() => release(upTo))
      .catch((error: unknown) =>
        log.warn({ error: String(error) }, 'Old journal files could not be released.'),
      );
  }

  return {
    run,
    runPerSegment(): void {
      const upTo = passedByAll();
      if (upTo && upTo.segment !== released?.segment) run();
    },
    settled: () => pending,
  };
}
