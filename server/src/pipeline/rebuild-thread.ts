// The thread of a rebuild: makes a new event store beside the old one from the archive and what SQL has,
// and puts it in the old one's place when it is complete. What it has taken in stays there when it is
// interrupted, and the next run goes on after it.
import { rename, rm } from 'node:fs/promises';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { listArchive } from '../analytics/archive.ts';
import { type ClickhouseOptions, openClickhouse } from '../analytics/clickhouse.ts';
import type { LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import { type DuckdbOptions, type DuckdbStore, openDuckdb } from '../analytics/duckdb.ts';
import type { LinkRow } from '../analytics/link-row.ts';
import type { PartnerRow } from '../analytics/partner-row.ts';
import { comparePositions } from '../events/journal.ts';
import { type Calls, createCalls } from './thread-calls.ts';
import { lowerThreadPriority } from './thread-priority.ts';

export interface RebuildThreadOptions {
  readonly archivePath: string;
  readonly duckdb: DuckdbOptions;
  readonly clickhouse?: ClickhouseOptions | undefined;
}

export interface RebuildResult {
  readonly finished: boolean;
  readonly files: number;
  readonly clicks: number;
  readonly links: number;
  readonly leads: number;
  readonly sales: number;
}

/** What is taken from SQL, in this order. */
export const SQL_ROWS = ['links', 'partners', 'leads', 'sales'] as const;
export type SqlRows = {
  readonly links: LinkRow;
  readonly partners: PartnerRow;
  readonly leads: LeadRecord;
  readonly sales: SaleRecord;
};

export interface RowPage<T> {
  readonly rows: readonly T[];
  /** What the next page is asked for with; undefined after the last. */
  readonly next: unknown;
}

export interface RebuildProgress {
  readonly done: number;
  readonly total?: number;
  readonly unit: string;
}

if (parentPort) serve(parentPort, workerData as RebuildThreadOptions);

function serve(port: MessagePort, options: RebuildThreadOptions): void {
  const stopping = new AbortController();
  const calls: Calls = createCalls((message) => port.postMessage(message), {
    run: () =>
      options.clickhouse
        ? refresh(options.clickhouse, calls, stopping.signal)
        : rebuild(options, calls, stopping.signal),
    abort: () => stopping.abort(),
    end: () => void setImmediate(() => port.close()),
  });
  lowerThreadPriority();
  port.on('message', calls.receive);
}

async function rebuild(
  { archivePath, duckdb }: RebuildThreadOptions,
  calls: Calls,
  signal: AbortSignal,
): Promise<RebuildResult> {
  const path = `${duckdb.path}.rebuild`;
  const store = await openDuckdb({ ...duckdb, path });
  try {
    const files = await takeFiles(store, archivePath, calls, signal);
    for (const kind of SQL_ROWS) await takeRows(kind, store, calls, signal);
    const finished = !signal.aborted;
    if (finished) await store.forgetUnknownLinks();
    const { clicks, links, leads, sales } = await store.count();
    const result = { finished, files, clicks, links, leads, sales };
    if (!finished) return result;
    await store.close();
    await replace(path, duckdb.path);
    return result;
  } finally {
    await store.close();
  }
}

/** ClickHouse keeps the clicks itself: it only gets what SQL has anew. */
async function refresh(
  clickhouse: ClickhouseOptions,
  calls: Calls,
  signal: AbortSignal,
): Promise<RebuildResult> {
  const store = await openClickhouse(clickhouse);
  try {
    await store.beginRebuild();
    for (const kind of SQL_ROWS) await takeRows(kind, store, calls, signal);
    const finished = !signal.aborted;
    if (finished) await store.forgetUnknownLinks();
    const { clicks, links, leads, sales } = await store.count();
    return { finished, files: 0, clicks, links, leads, sales };
  } finally {
    await store.close();
  }
}

async function takeFiles(
  store: DuckdbStore,
  archivePath: string,
  calls: Calls,
  signal: AbortSignal,
): Promise<number> {
  const files = await listArchive(archivePath);
  let done = 0;
  for (const file of files) {
    if (signal.aborted) break;
    const position = await store.committed();
    if (!position || comparePositions(file.upTo, position) > 0) await store.readArchive(file.path, file.upTo);
    done += 1;
    tellProgress(calls, { done, total: files.length, unit: 'archive files' });
  }
  return done;
}

async function takeRows(
  kind: keyof SqlRows,
  store: Pick<DuckdbStore, 'put'>,
  calls: Calls,
  signal: AbortSignal,
): Promise<void> {
  let after: unknown;
  let done = 0;
  while (!signal.aborted) {
    const { rows, next } = await calls.call<RowPage<never>>('rows', { kind, after });
    await store.put({ links: [], [kind]: rows });
    done += rows.length;
    tellProgress(calls, { done, unit: kind });
    if (next === undefined) return;
    after = next;
  }
}

function tellProgress(calls: Calls, progress: RebuildProgress): void {
  calls.tell('progress', progress);
}

/** The log of the old file goes first: it must not be applied to the new one. */
async function replace(from: string, to: string): Promise<void> {
  await rm(`${to}.wal`, { force: true });
  await rename(from, to);
  await rm(`${from}.wal`, { force: true });
}
