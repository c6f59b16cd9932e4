// The pipeline thread: reads the journal's files, enriches, feeds the sinks, keeps the archive and owns DuckDB.
// It never touches SQL: those sinks store through the main side. Whatever fails here is tried again.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { extendArchive } from '../analytics/archive.ts';
import { countClicks } from '../analytics/click-counts.ts';
import { type DuckdbOptions, type DuckdbStore, openDuckdb } from '../analytics/duckdb.ts';
import { type Consumer, createConsumer } from '../events/consumer.ts';
import { createEnrich, type DropReason, type Enrich } from '../events/enrich.ts';
import { createFileReader } from '../events/file-reader.ts';
import { comparePositions, type JournalReader, type Position } from '../events/journal.ts';
import { createWake } from '../events/wake.ts';
import { systemClock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { findClick } from './click-search.ts';
import { clickSteps } from './click-steps.ts';
import { createEventSink, createOpenedStore, type OpenedStore } from './event-sink.ts';
import { createPace } from './pace.ts';
import { clicksOf, decodePipelineEvent, type PipelineEvent } from './pipeline-event.ts';
import { bytesAfter, type ThreadState } from './pipeline-state.ts';
import { findCityFiles, openPlaces } from './places.ts';
import { remoteSink } from './sql-sink.ts';
import { type Calls, createCalls } from './thread-calls.ts';
import { lowerThreadPriority } from './thread-priority.ts';
import { createReadAgent } from './user-agent.ts';

export interface PipelineThreadOptions {
  readonly journalPath: string;
  readonly archivePath: string;
  readonly wake: SharedArrayBuffer;
  readonly duckdb: DuckdbOptions;
  /** In MaxMind's format; the first that knows an address has the say. */
  readonly geoFiles: readonly string[];
  /** Names of the sinks on the main side that take added-up clicks. */
  readonly countSinks: readonly string[];
  readonly maxBatch: number;
  readonly maxDelayMs: number;
  /** What is not archived after this time is archived even if its journal file is not full. */
  readonly archiveAgeMs: number;
  /** Journal files stay at least so long after they were archived. */
  readonly keepMs: number;
}

const STATE_EVERY_MS = 1_000;
/** The writer wakes the reader; this is for the case that it could not. */
const POLL_MS = 2_000;
const FAULT_WAIT_MS = 5_000;

if (parentPort) await serve(parentPort, workerData as PipelineThreadOptions);

async function serve(port: MessagePort, options: PipelineThreadOptions): Promise<void> {
  const priorityLowered = lowerThreadPriority();
  const calls: Calls = createCalls((message) => port.postMessage(message), {
    idle: () => consumer.idle(),
    state: () => currentState(),
    query: ({ name, params }: { name: string; params: unknown }) => query(name, params),
    stop,
    /** Ends the thread as a fault in it would. */
    fail: (message: string) => void setImmediate(() => fault(new Error(message))),
  });
  const log = remoteLog(calls);
  const store = createOpenedStore(() => openDuckdb(options.duckdb));
  const reader = openReader(options, log);
  const drops = new Map<DropReason, number>();
  const newest = { timeMs: 0 };
  const enrich = noteTime(await openEnrich(options, log), newest);
  const archiving = createArchiving(store, options, calls);
  const pace = createPace<PipelineEvent>();
  const consumer = createConsumer<PipelineEvent>({
    reader,
    enrich,
    sinks: [
      pace.lead(createEventSink(store)),
      ...options.countSinks.map((name) => pace.follow(remoteSink(name, calls, sumClicks))),
    ],
    log,
    onSkip(sink, reason, count) {
      // Every sink passes the same records: one of them is enough to count by.
      if (sink === 'events') drops.set(reason, (drops.get(reason) ?? 0) + count);
    },
    release: archiving.release,
    maxBatch: options.maxBatch,
    maxDelayMs: options.maxDelayMs,
  });
  const queries = createQueries({ store, reader, enrich });
  const timer = setInterval(() => void report(), STATE_EVERY_MS);
  const archiveTimer = setInterval(() => archiving.byAge().catch(noteArchive), options.archiveAgeMs / 4);

  function noteArchive(error: unknown): void {
    log.warn({ error: String(error) }, 'The archive could not be extended; it is tried again.');
  }

  function currentState(): Promise<ThreadState> {
    return readState(consumer, options.journalPath, drops, newest.timeMs, priorityLowered);
  }

  async function report(): Promise<void> {
    calls.tell('state', await currentState());
  }

  function query(name: string, params: unknown): Promise<string> {
    const run = queries[name];
    if (!run) throw new Error(`There is no query ${name}`);
    return run(params as never);
  }

  async function stop(drainMs: number): Promise<void> {
    clearInterval(timer);
    clearInterval(archiveTimer);
    pace.end();
    await consumer.stop(drainMs);
    await report();
    await store.reset();
    setImmediate(() => port.close());
  }

  // The driver ends the whole process when a thread goes away while a statement runs: wait for that first.
  function fault(error: unknown): void {
    log.error({ error: String(error) }, 'A fault in the pipeline thread.');
    setTimeout(() => process.exit(1), FAULT_WAIT_MS);
    pace.end();
    void consumer
      .stop(0)
      .then(() => store.reset())
      .finally(() => process.exit(1));
  }

  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);
  port.on('message', calls.receive);
  consumer.start();
}

function openReader({ journalPath, wake }: PipelineThreadOptions, log: Log): JournalReader {
  return createFileReader({
    path: journalPath,
    wake: createWake(wake),
    pollMs: POLL_MS,
    onDamage: (damage) => log.error({ ...damage }, 'Part of the journal cannot be read and was passed over.'),
  });
}

async function openEnrich({ geoFiles }: PipelineThreadOptions, log: Log): Promise<Enrich<PipelineEvent>> {
  const cityFiles = geoFiles.length > 0 ? geoFiles : findCityFiles();
  const findPlace = await openPlaces({
    cityFiles,
    onError: (path, error) => log.error({ path, error: String(error) }, 'A file of places cannot be used.'),
  });
  return createEnrich<PipelineEvent>({
    decode: decodePipelineEvent,
    steps: clickSteps({ readAgent: createReadAgent(), findPlace }),
    onError: (step, error) => log.error({ step, error: String(error) }, 'An event could not be enriched.'),
  });
}

/** Remembers when the newest event that was read happened. */
function noteTime(enrich: Enrich<PipelineEvent>, newest: { timeMs: number }): Enrich<PipelineEvent> {
  return (payloads) => {
    const enriched = enrich(payloads);
    const last = enriched.events.at(-1);
    if (last) newest.timeMs = last.kind === 'click' ? last.record.timeMs : last.change.createdAtMs;
    return enriched;
  };
}

function sumClicks(events: readonly PipelineEvent[]): unknown {
  return countClicks(clicksOf(events));
}

/** Journal files are released when all sinks have passed them and the archive has held them for a while. */
function createArchiving(
  store: OpenedStore<DuckdbStore>,
  { archivePath, archiveAgeMs, keepMs }: PipelineThreadOptions,
  calls: Calls,
) {
  let passed: Position | undefined;
  let extendedMs = performance.now();
  let kept: { upTo: Position; sinceMs: number }[] = [];

  async function extend(): Promise<void> {
    extendedMs = performance.now();
    const archived = await extendArchive(await store.get(), archivePath);
    if (!archived || !passed) return;
    const upTo = comparePositions(archived, passed) < 0 ? archived : passed;
    kept.push({ upTo, sinceMs: performance.now() });
    await releaseOld();
  }

  async function releaseOld(): Promise<void> {
    const oldMs = performance.now() - keepMs;
    const upTo = kept.findLast(({ sinceMs }) => sinceMs <= oldMs)?.upTo;
    if (!upTo) return;
    kept = kept.filter(({ sinceMs }) => sinceMs > oldMs);
    await calls.call('release', upTo);
  }

  return {
    async release(upTo: Position): Promise<void> {
      passed = upTo;
      const { from } = (await store.get()).unarchived();
      if (!from || from.segment < upTo.segment) await extend();
    },
    async byAge(): Promise<void> {
      if (passed && performance.now() - extendedMs >= archiveAgeMs) await extend();
      await releaseOld();
    },
  };
}

async function readState(
  consumer: Consumer,
  journalPath: string,
  drops: ReadonlyMap<DropReason, number>,
  newestMs: number,
  priorityLowered: boolean,
): Promise<ThreadState> {
  const sinks = consumer.state();
  const slowest = sinks.map(({ position }) => position).sort(undefinedFirst)[0];
  const lagBytes = await bytesAfter(journalPath, slowest);
  const behindMs = newestMs === 0 ? 0 : Math.max(0, systemClock.now() - newestMs);
  return {
    sinks,
    dropped: Object.fromEntries(drops),
    lagBytes,
    lagSeconds: lagBytes === 0 ? 0 : behindMs / 1_000,
    priorityLowered,
  };
}

function undefinedFirst(a: Position | undefined, b: Position | undefined): number {
  if (!a || !b) return Number(a !== undefined) - Number(b !== undefined);
  return comparePositions(a, b);
}

type Queries = Readonly<Record<string, (params: never) => Promise<string>>>;

/** What the main side can ask for; answers are ready-made JSON. */
function createQueries(parts: {
  store: OpenedStore<DuckdbStore>;
  reader: JournalReader;
  enrich: Enrich<PipelineEvent>;
}): Queries {
  return {
    counts: async () => JSON.stringify(await (await parts.store.get()).count()),
    click: async ({ id }: { id: string }) => JSON.stringify((await findClick(id, parts)) ?? null),
  };
}

function remoteLog(calls: Calls): Log {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    calls.tell('log', { level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), flush() {} };
}
