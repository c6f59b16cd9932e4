// The thread of a rebuild: makes a new event store beside the old one from the archive and the links in SQL,
// and puts it in the old one's place when it is complete. What it has taken in stays there when it is
// interrupted, and the next run goes on after it.
import { rename, rm } from 'node:fs/promises';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { listArchive } from '../analytics/archive.ts';
import { type DuckdbOptions, type DuckdbStore, openDuckdb } from '../analytics/duckdb.ts';
import type { LinkRow } from '../analytics/link-row.ts';
import { comparePositions } from '../events/journal.ts';
import { type Calls, createCalls } from './thread-calls.ts';
import { lowerThreadPriority } from './thread-priority.ts';

export interface RebuildThreadOptions {
  readonly archivePath: string;
  readonly duckdb: DuckdbOptions;
}

export interface RebuildResult {
  readonly finished: boolean;
  readonly files: number;
  readonly clicks: number;
  readonly links: number;
}

export interface LinkPage {
  readonly links: readonly LinkRow[];
  readonly next: number | undefined;
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
    run: () => rebuild(options, calls, stopping.signal),
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
    if (!signal.aborted) await takeLinks(store, calls, signal);
    const { clicks, links } = await store.count();
    const finished = !signal.aborted;
    if (!finished) return { finished, files, clicks, links };
    await store.close();
    await replace(path, duckdb.path);
    return { finished, files, clicks, links };
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

async function takeLinks(store: DuckdbStore, calls: Calls, signal: AbortSignal): Promise<void> {
  let after: number | undefined = 0;
  let done = 0;
  while (after !== undefined && !signal.aborted) {
    const page: LinkPage = await calls.call<LinkPage>('links', after);
    await store.putLinks(page.links);
    done += page.links.length;
    tellProgress(calls, { done, unit: 'links' });
    after = page.next;
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
