// The main side of a rebuild of the event store: starts its thread, gives it what SQL has, passes progress on.
import { Worker } from 'node:worker_threads';
import type {
  RebuildProgress,
  RebuildResult,
  RebuildThreadOptions,
  RowPage,
  SqlRows,
} from './rebuild-thread.ts';
import { createCalls } from './thread-calls.ts';

/** Everything that SQL has of a kind, page by page in a fixed order; `after` is what the page before named as next. */
export type ListRows = {
  readonly [K in keyof SqlRows]: (after: never) => Promise<RowPage<SqlRows[K]>>;
};

export interface RebuildOptions {
  readonly thread: RebuildThreadOptions;
  readonly listRows: ListRows;
  readonly progress: (state: RebuildProgress) => Promise<void>;
  /** Stops after the file at hand; a later run goes on from there. */
  readonly signal: AbortSignal;
}

/** Nobody else may have the store open. */
export async function rebuildEvents(options: RebuildOptions): Promise<RebuildResult> {
  const worker = new Worker(new URL('./rebuild-thread.ts', import.meta.url), { workerData: options.thread });
  const calls = createCalls((message) => worker.postMessage(message), {
    rows: ({ kind, after }: { kind: keyof SqlRows; after: unknown }) =>
      options.listRows[kind](after as never),
    progress: (state: RebuildProgress) => void options.progress(state).catch(() => {}),
  });
  worker.on('message', calls.receive);
  const ended = Promise.withResolvers<void>();
  worker.on('error', (error) => calls.end(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    calls.end(new Error('The thread of the rebuild stopped'));
    ended.resolve();
  });
  const abort = () => calls.tell('abort', undefined);
  options.signal.addEventListener('abort', abort);
  if (options.signal.aborted) abort();
  try {
    return await calls.call<RebuildResult>('run');
  } finally {
    options.signal.removeEventListener('abort', abort);
    calls.tell('end', undefined);
    await ended.promise;
  }
}
