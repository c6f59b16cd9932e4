// The part of the composition root behind the journal: the pipeline thread with its sinks, and the relay of the
// outbox. Started with the port; without it the journal only grows, and nothing is lost.
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { createSinkOffsets } from './db/sink-offset.ts';
import { DROP_REASONS } from './events/enrich.ts';
import { type Position, parsePosition } from './events/journal.ts';
import type { HealthPart } from './http/health.ts';
import type { Clock } from './kernel/clock.ts';
import { AppError } from './kernel/errors.ts';
import type { Ids } from './kernel/ids.ts';
import type { Log } from './kernel/log.ts';
import type { Metrics } from './kernel/metrics.ts';
import { COUNTERS, type CounterSinkParts, createCounterSink } from './pipeline/counter-sink.ts';
import { createOutboxRelay, type RelayedChange } from './pipeline/outbox-relay.ts';
import { createPipeline, type Pipeline } from './pipeline/pipeline.ts';
import type { PipelineThreadOptions } from './pipeline/pipeline-thread.ts';
import { type ListRows, type RebuildOptions, rebuildEvents } from './pipeline/rebuild.ts';
import type { RebuildResult } from './pipeline/rebuild-thread.ts';
import { createRemoteStore } from './pipeline/store-questions.ts';
import type { Visits } from './visits.ts';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const MAX_MEMORY_MB = 1_024;
const ARCHIVE_AGE_MS = 600_000;
const FAILURES_TO_TELL = 3;

export interface EventFlowParts {
  readonly config: Config;
  readonly db: Database;
  readonly node: JournalNode;
  readonly visits: Pick<Visits, 'journal' | 'journalPath' | 'wake' | 'marks' | 'loopLoad'>;
  readonly links: CounterSinkParts['links'];
  readonly partners: NonNullable<CounterSinkParts['partners']>;
  readonly workspaces: CounterSinkParts['workspaces'];
  /** Who hears of clicks, and of changes as they leave the outbox. */
  readonly hearers: NonNullable<CounterSinkParts['hearers']> & {
    takeChanges(changes: readonly RelayedChange[]): Promise<void>;
  };
  /** What a rebuild takes from SQL. */
  readonly listRows: ListRows;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

export interface EventFlow {
  readonly pipeline: Pipeline;
  /** What can be asked of events; only once it was started. */
  readonly source: ReturnType<typeof createRemoteStore>;
  readonly health: HealthPart;
  /** A click by its id, from the moment it was recorded; only once it was started. */
  findClick(id: string): Promise<object | undefined>;
  start(): void;
  /** Moves what is in the outbox into the journal, once it was started. */
  relay(): Promise<void>;
  /** The same, whether or not it was started. */
  flush(): Promise<void>;
  /** Resolves when everything that had happened at the call is in every store. */
  settle(): Promise<void>;
  /** Makes the event store ready to be read whole, even in a process that serves nobody; false: there is nothing in it. */
  open(): Promise<boolean>;
  /** Makes the event store anew, from the archive and SQL; visits go on into the journal meanwhile. */
  rebuild(options: Pick<RebuildOptions, 'progress' | 'signal'>): Promise<RebuildResult>;
  /** Relays and takes in what is there already, for a while, and stops. Call it before the journal is closed. */
  close(): Promise<void>;
}

/** Which journal this is: positions in it mean nothing in another, and several nodes may share a database. */
export interface JournalNode {
  readonly id: string;
  readonly offsetName: string;
  /** Up to where the counters have it. */
  readonly position: Position | undefined;
}

export async function readJournalNode(parts: {
  dataDir: string;
  db: Database;
  clock: Clock;
  ids: Ids;
}): Promise<JournalNode> {
  const file = join(parts.dataDir, 'node-id');
  let id = await readFile(file, 'utf8').catch(() => '');
  if (id === '') {
    id = parts.ids('node_');
    await writeFile(`${file}.new`, id, { mode: 0o600, flush: true });
    await rename(`${file}.new`, file);
  }
  id = id.trim();
  const offsetName = `${COUNTERS}/${id}`;
  const position = await createSinkOffsets(parts).find(offsetName);
  return { id, offsetName, position: position === undefined ? undefined : parsePosition(position) };
}

export function createEventFlow(parts: EventFlowParts): EventFlow {
  const { db, visits, clock, log, metrics, links, partners, workspaces, hearers, node } = parts;
  const offsets = createSinkOffsets({ db, clock });
  const { offsetName } = node;
  const counters = createCounterSink({ db, offsets, offsetName, links, partners, workspaces, hearers });
  const thread = threadOptions(parts);
  const pipeline = createPipeline({
    thread,
    sqlSinks: [counters],
    release: (upTo) => visits.journal.release(upTo),
    log,
  });
  const relay = createOutboxRelay({ db, journal: visits.journal, log, take: hearers.takeChanges });
  watchPipeline(metrics, pipeline);
  let started = false;
  let rebuilding: Promise<RebuildResult> | undefined;

  async function rebuild(options: Pick<RebuildOptions, 'progress' | 'signal'>): Promise<RebuildResult> {
    const wasRunning = started;
    await pipeline.stop();
    try {
      return await rebuildEvents({ ...options, thread, listRows: parts.listRows });
    } finally {
      if (wasRunning && started) pipeline.start();
    }
  }

  async function settle(): Promise<void> {
    await relay.run();
    await pipeline.idle();
  }

  return {
    pipeline,
    source: createRemoteStore((name, params) => pipeline.query(name, params)),
    health: pipelineHealth(pipeline, () => started && !rebuilding),
    async findClick(id) {
      // What this turn of the event loop recorded is still on its way to the files that are searched.
      await visits.journal.written();
      return (JSON.parse(await pipeline.query('click', { id })) as object | null) ?? undefined;
    },
    start() {
      started = true;
      pipeline.start();
      relay.start();
    },
    async relay() {
      if (started) await relay.run();
    },
    async flush() {
      await relay.run();
    },
    settle,
    async open() {
      if (!started && (await isEmpty(parts, thread))) return false;
      pipeline.start();
      await settle();
      return true;
    },
    rebuild(options) {
      if (rebuilding) throw new AppError('conflict', 'The event store is being rebuilt already.');
      rebuilding = rebuild(options).finally(() => {
        rebuilding = undefined;
      });
      return rebuilding;
    },
    async close() {
      started = false;
      await relay.stop();
      await rebuilding?.catch(() => {});
      await pipeline.stop();
    },
  };
}

function threadOptions({ config, visits, node }: EventFlowParts): PipelineThreadOptions {
  const { clickhouseUrl, clickhouseCluster } = config;
  return {
    journalPath: visits.journalPath,
    archivePath: join(config.dataDir, 'archive'),
    wake: visits.wake.shared,
    marks: visits.marks.shared,
    mainLoad: visits.loopLoad.shared,
    duckdb: {
      path: join(config.dataDir, 'events.duckdb'),
      // One core stays free for visits.
      threads: Math.max(1, availableParallelism() - 1),
      memoryMb: Math.min(MAX_MEMORY_MB, Math.floor(totalmem() / 4 / MIB)),
    },
    clickhouse:
      clickhouseUrl === undefined
        ? undefined
        : {
            url: clickhouseUrl,
            cluster: clickhouseCluster,
            journal: node.id,
            batchPath: join(config.dataDir, 'clickhouse-batch'),
          },
    geoFiles: config.geoFiles,
    countSinks: [COUNTERS],
    maxBatch: 5_000,
    // Every insert becomes a file that ClickHouse has to merge with others.
    maxDelayMs: clickhouseUrl ? 500 : 100,
    archiveAgeMs: ARCHIVE_AGE_MS,
    // The visitor window is rebuilt from the journal at a start, and looks back that far.
    keepMs: HOUR_MS,
  };
}

/** Nothing ever came, nor is anything on its way. */
async function isEmpty(
  { config, db, visits }: EventFlowParts,
  { duckdb }: PipelineThreadOptions,
): Promise<boolean> {
  if (config.clickhouseUrl !== undefined || existsSync(duckdb.path)) return false;
  const journal = await visits.journal.state();
  const waiting = db.query.selectFrom('outbox').select('id').where('type', '=', 'clicks.imported').limit(1);
  return journal.bytes === 0 && (await waiting.executeTakeFirst()) === undefined;
}

/** Visits and the API go on without it; what is behind is told. */
function pipelineHealth(pipeline: Pipeline, isStarted: () => boolean): HealthPart {
  return {
    name: 'events',
    needed: false,
    async check() {
      const { running, sinks } = pipeline.state();
      if (isStarted() && !running) throw new Error('the pipeline thread stopped and starts again soon');
      const failing = sinks.find(({ failures }) => failures >= FAILURES_TO_TELL);
      if (failing) throw new Error(`${failing.name} cannot be stored: ${failing.lastError}`);
    },
  };
}

function watchPipeline(metrics: Metrics, pipeline: Pipeline): void {
  const gauge = (name: string, help: string, read: (state: ReturnType<Pipeline['state']>) => number) =>
    metrics.gauge(`linktrail_pipeline_${name}`, help, () => read(pipeline.state()));
  gauge('lag_bytes', 'Journal bytes that the slowest sink has not stored.', (state) => state.lagBytes);
  gauge(
    'lag_seconds',
    'Age of the newest stored event while there are later ones.',
    (state) => state.lagSeconds,
  );
  gauge('restarts', 'How often the thread was started again.', (state) => state.restarts);
  gauge('running', '1 while the thread runs.', (state) => Number(state.running));
  gauge(
    'failing_sinks',
    'Sinks whose last try failed.',
    (state) => state.sinks.filter(({ failures }) => failures > 0).length,
  );
  metrics.gauges({
    name: 'linktrail_pipeline_dropped',
    help: 'Records that were read and not stored, by reason.',
    label: 'reason',
    values: DROP_REASONS,
    read: (reason) => pipeline.state().dropped[reason] ?? 0,
  });
}
