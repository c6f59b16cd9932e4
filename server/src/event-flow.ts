// The part of the composition root behind the journal: the pipeline thread with its sinks, and the relay of the
// outbox. Started with the port; without it the journal only grows, and nothing is lost.
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
import { createOutboxRelay } from './pipeline/outbox-relay.ts';
import { createPipeline, type Pipeline } from './pipeline/pipeline.ts';
import type { PipelineThreadOptions } from './pipeline/pipeline-thread.ts';
import { type RebuildOptions, rebuildEvents } from './pipeline/rebuild.ts';
import type { LinkPage, RebuildResult } from './pipeline/rebuild-thread.ts';
import type { Visits } from './visits.ts';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const MAX_MEMORY_MB = 1_024;
const ARCHIVE_AGE_MS = 600_000;
const FAILURES_TO_TELL = 3;
const LINKS_PER_PAGE = 1_000;

export interface EventFlowParts {
  readonly config: Config;
  readonly db: Database;
  readonly node: JournalNode;
  readonly visits: Pick<Visits, 'journal' | 'journalPath' | 'wake'>;
  readonly links: CounterSinkParts['links'];
  readonly workspaces: CounterSinkParts['workspaces'];
  readonly listLinks: (after: number, limit: number) => Promise<LinkPage>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

export interface EventFlow {
  readonly pipeline: Pipeline;
  readonly health: HealthPart;
  start(): void;
  /** Moves what is in the outbox into the journal, once it was started. */
  relay(): Promise<void>;
  /** Resolves when everything that had happened at the call is in every store. */
  settle(): Promise<void>;
  /** Makes the event store anew, from the archive and the links; visits go on into the journal meanwhile. */
  rebuild(options: Pick<RebuildOptions, 'progress' | 'signal'>): Promise<RebuildResult>;
  /** Relays and takes in what is there already, for a while, and stops. Call it before the journal is closed. */
  close(): Promise<void>;
}

/** Which journal this is: positions in it mean nothing in another, and several nodes may share a database. */
export interface JournalNode {
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
  const offsetName = `${COUNTERS}/${id.trim()}`;
  const position = await createSinkOffsets(parts).find(offsetName);
  return { offsetName, position: position === undefined ? undefined : parsePosition(position) };
}

export function createEventFlow(parts: EventFlowParts): EventFlow {
  const { db, visits, clock, log, metrics, links, workspaces, node } = parts;
  const offsets = createSinkOffsets({ db, clock });
  const counters = createCounterSink({ db, offsets, offsetName: node.offsetName, links, workspaces });
  const thread = threadOptions(parts);
  const pipeline = createPipeline({
    thread,
    sqlSinks: [counters],
    release: (upTo) => visits.journal.release(upTo),
    log,
  });
  const relay = createOutboxRelay({ db, journal: visits.journal, log });
  watchPipeline(metrics, pipeline);
  let started = false;
  let rebuilding: Promise<RebuildResult> | undefined;

  async function rebuild(options: Pick<RebuildOptions, 'progress' | 'signal'>): Promise<RebuildResult> {
    const wasRunning = started;
    await pipeline.stop();
    try {
      const listLinks = (after: number) => parts.listLinks(after, LINKS_PER_PAGE);
      return await rebuildEvents({ ...options, thread, listLinks });
    } finally {
      if (wasRunning && started) pipeline.start();
    }
  }

  return {
    pipeline,
    health: pipelineHealth(pipeline, () => started && !rebuilding),
    start() {
      started = true;
      pipeline.start();
      relay.start();
    },
    async relay() {
      if (started) await relay.run();
    },
    async settle() {
      await relay.run();
      await pipeline.idle();
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

function threadOptions({ config, visits }: EventFlowParts): PipelineThreadOptions {
  return {
    journalPath: visits.journalPath,
    archivePath: join(config.dataDir, 'archive'),
    wake: visits.wake.shared,
    duckdb: {
      path: join(config.dataDir, 'events.duckdb'),
      // One core stays free for visits.
      threads: Math.max(1, availableParallelism() - 1),
      memoryMb: Math.min(MAX_MEMORY_MB, Math.floor(totalmem() / 4 / MIB)),
    },
    geoFiles: config.geoFiles,
    countSinks: [COUNTERS],
    maxBatch: 5_000,
    maxDelayMs: 100,
    archiveAgeMs: ARCHIVE_AGE_MS,
    // The visitor window is rebuilt from the journal at a start, and looks back that far.
    keepMs: HOUR_MS,
  };
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
