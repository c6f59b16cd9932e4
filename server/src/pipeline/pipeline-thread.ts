// The pipeline thread: reads the journal's files, enriches, feeds the sinks, keeps the archive and owns the event store.
// It never touches SQL: those sinks store through the main side. Whatever fails here is tried again.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { CounterBatch } from '../analytics/click-counter.ts';
import { countClicks } from '../analytics/click-counts.ts';
import { type ClickhouseOptions, openClickhouse } from '../analytics/clickhouse.ts';
import { type DuckdbOptions, openDuckdb } from '../analytics/duckdb.ts';
import type { EventStore } from '../analytics/store.ts';
import { createConsumer } from '../events/consumer.ts';
import { createEnrich, type DropReason, type Enrich } from '../events/enrich.ts';
import { createFileReader } from '../events/file-reader.ts';
import type { JournalReader, Position } from '../events/journal.ts';
import { createJournalMarks, type JournalMarks } from '../events/journal-marks.ts';
import { createLoopLoad } from '../events/loop-load.ts';
import { createStepBack } from '../events/step-back.ts';
import { createWake } from '../events/wake.ts';
import type { Log } from '../kernel/log.ts';
import { type Archiving, createArchiving } from './archiving.ts';
import { createClickSearch } from './click-search.ts';
import { clickSteps } from './click-steps.ts';
import { createEventSink, createOpenedStore, type OpenedStore } from './event-sink.ts';
import { createJournalKeeping } from './journal-keeping.ts';
import { createPace } from './pace.ts';
import { clicksOf, decodePipelineEvent, type PipelineEvent } from './pipeline-event.ts';
import { readThreadState, type ThreadState } from './pipeline-state.ts';
import { findCityFiles, openPlaces } from './places.ts';
import { type HeardWorkspaces, remoteSink } from './sql-sink.ts';
import { createStoreAnswers } from './store-questions.ts';
import { type Calls, createCalls } from './thread-calls.ts';
import { lowerPoolPriority, lowerThreadPriority } from './thread-priority.ts';
import { createReadAgent } from './user-agent.ts';

export interface PipelineThreadOptions {
  readonly journalPath: string;
  readonly archivePath: string;
  readonly wake: SharedArrayBuffer;
  /** Which time is where in the journal. */
  readonly marks: SharedArrayBuffer;
  /** How busy the main thread is. */
  readonly mainLoad: SharedArrayBuffer;
  readonly duckdb: DuckdbOptions;
  /** Instead of DuckDB and the archive. */
  readonly clickhouse?: ClickhouseOptions | undefined;
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
const FAULT_WAIT_MS = 30_000;

if (parentPort) await serve(parentPort, workerData as PipelineThreadOptions);

async function serve(port: MessagePort, options: PipelineThreadOptions): Promise<void> {
  const priorityLowered = lowerThreadPriority();
  const calls: Calls = createCalls((message) => port.postMessage(message), {
    idle: () => flow.consumer.idle(),
    query: ({ name, params }: { name: string; params: unknown }) => query(name, params),
    state: () => currentState(),
    stop,
    /** Ends the thread as a fault in it would. */
    fail: (message: string) => void setImmediate(() => fault(new Error(message))),
  });
  const log = remoteLog(calls);
  const flow = await openFlow(options, calls, log);
  lowerPoolPriority();
  const stopArchiving = flow.archiving.start();
  const timer = setInterval(() => void report(), STATE_EVERY_MS);

  function currentState(): Promise<ThreadState> {
    const { consumer, drops, newest } = flow;
    return readThreadState(consumer, options.journalPath, {
      drops,
      newestMs: newest.timeMs,
      priorityLowered,
    });
  }

  async function report(): Promise<void> {
    const state = await currentState().catch(() => undefined);
    if (state) calls.tell('state', state);
  }

  function query(name: string, params: unknown): Promise<string> {
    const run = flow.queries[name];
    if (!run) throw new Error(`There is no query ${name}`);
    return run(params as never);
  }

  async function stop(drainMs: number): Promise<void> {
    clearInterval(timer);
    await flow.close(drainMs);
    await stopArchiving();
    await report();
    await flow.store.reset();
    setImmediate(() => port.close());
  }

  // The driver ends the whole process when a thread goes away while a statement runs: wait for that first.
  function fault(error: unknown): void {
    log.error({ error: String(error) }, 'A fault in the pipeline thread.');
    setTimeout(() => process.exit(1), FAULT_WAIT_MS);
    void stop(0).finally(() => process.exit(1));
  }

  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);
  port.on('message', calls.receive);
  flow.consumer.start();
}

/** Everything between the journal's files and the stores. */
async function openFlow(options: PipelineThreadOptions, calls: Calls, log: Log) {
  const reader = openReader(options, log);
  const drops = new Map<DropReason, number>();
  const newest = { timeMs: 0 };
  const enrich = noteTime(await openEnrich(options, log), newest);
  const release = (upTo: Position) => calls.call<void>('release', upTo);
  const { store, archiving } = openStore(options, release, log);
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
    release: archiving.passed,
    maxBatch: options.maxBatch,
    maxDelayMs: options.maxDelayMs,
    stepBack: createStepBack({ load: createLoopLoad(options.mainLoad).read }),
  });
  const marks = createJournalMarks(options.marks);
  const queries = createQueries({ store, reader, enrich, marks });
  async function close(drainMs: number): Promise<void> {
    pace.end();
    await consumer.stop(drainMs);
  }
  return { store, consumer, archiving, queries, drops, newest, close };
}

/** The store with what decides when the journal may forget: an archive beside DuckDB, ClickHouse by itself. */
function openStore(
  options: PipelineThreadOptions,
  release: (upTo: Position) => Promise<void>,
  log: Log,
): { store: OpenedStore<EventStore>; archiving: Archiving } {
  const { clickhouse, duckdb, keepMs, archiveAgeMs } = options;
  if (clickhouse) {
    const archiving = createJournalKeeping({ keepMs, everyMs: archiveAgeMs, release, log });
    return { store: createOpenedStore(() => openClickhouse(clickhouse)), archiving };
  }
  const store = createOpenedStore(() => openDuckdb(duckdb));
  return { store, archiving: createArchiving({ ...options, store, release, log }) };
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

async function sumClicks(
  events: readonly PipelineEvent[],
  heardWorkspaces: HeardWorkspaces,
): Promise<CounterBatch> {
  const clicks = clicksOf(events);
  const counts = countClicks(clicks);
  if (clicks.length === 0) return { ...counts, heard: [] };
  const workspaces = await heardWorkspaces();
  return { ...counts, heard: clicks.filter(({ workspaceId }) => workspaces.has(workspaceId)) };
}

type Queries = Readonly<Record<string, (params: never) => Promise<string>>>;

/** What the main side can ask for; answers are ready-made JSON. */
function createQueries(parts: {
  store: OpenedStore<EventStore>;
  reader: JournalReader;
  enrich: Enrich<PipelineEvent>;
  marks: JournalMarks;
}): Queries {
  const findClick = createClickSearch(parts);
  return {
    counts: async () => JSON.stringify(await (await parts.store.get()).count()),
    click: async ({ id }: { id: string }) => JSON.stringify((await findClick(id)) ?? null),
    ...createStoreAnswers(parts.store),
  };
}

function remoteLog(calls: Calls): Log {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    calls.tell('log', { level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), flush() {} };
}
