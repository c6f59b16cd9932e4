// The main side of the pipeline: starts its thread, stores what its SQL sinks add up, passes questions on. When
// the thread dies it is started again after a pause; visits and the journal never notice.
import { Worker } from 'node:worker_threads';
import type { Position } from '../events/journal.ts';
import type { Log } from '../kernel/log.ts';
import { NO_STATE, type PipelineState, type ThreadState } from './pipeline-state.ts';
import type { PipelineThreadOptions } from './pipeline-thread.ts';
import type { SqlSink, SqlStep } from './sql-sink.ts';
import { type Calls, createCalls } from './thread-calls.ts';

export interface PipelineOptions {
  readonly thread: PipelineThreadOptions;
  readonly sqlSinks: readonly SqlSink[];
  /** Told up to where the journal may be forgotten. */
  readonly release: (upTo: Position) => Promise<void>;
  readonly log: Log;
  /** The first pause after the thread died; it doubles up to `maxRestartMs`. */
  readonly restartMs?: number;
  readonly maxRestartMs?: number;
}

export interface Pipeline {
  start(): void;
  /** Resolves when every sink has all that was in the journal at the call. */
  idle(): Promise<void>;
  /** A question to the event store; the answer is JSON. */
  query(name: string, params?: object): Promise<string>;
  /** As the thread told it last, a second ago at most. */
  state(): PipelineState;
  /** The same, as it is now. */
  readState(): Promise<PipelineState>;
  /** Ends the thread as a fault in it would. */
  failThread(): Promise<void>;
  /** Takes in what is in the journal already, for at most `drainMs`, and ends the thread. */
  stop(drainMs?: number): Promise<void>;
}

interface Running {
  readonly worker: Worker;
  readonly calls: Calls;
  readonly exited: Promise<void>;
}

const STABLE_MS = 60_000;
/** By itself it would grow to 128 MB under load, for a few per cent of speed. */
const YOUNG_GENERATION_MB = 16;

export function createPipeline(options: PipelineOptions): Pipeline {
  const { log, restartMs = 200, maxRestartMs = 30_000 } = options;
  let running: Running | undefined;
  let restarts = 0;
  let failures = 0;
  let wanted = false;
  let state: ThreadState = NO_STATE;
  let timer: NodeJS.Timeout | undefined;
  let waiting: (() => void)[] = [];

  function begin(): void {
    const startedMs = performance.now();
    const onState = (next: ThreadState) => {
      state = next;
    };
    running = startThread(options, onState, (cause) => {
      running = undefined;
      if (!wanted) return;
      failures = performance.now() - startedMs > STABLE_MS ? 1 : failures + 1;
      restarts += 1;
      const pauseMs = Math.min(maxRestartMs, restartMs * 2 ** Math.min(failures - 1, 20));
      log.error({ error: String(cause), restarts, pauseMs }, 'The pipeline thread stopped; it starts again.');
      timer = setTimeout(begin, pauseMs);
    });
    for (const go of waiting) go();
    waiting = [];
  }

  function describe(): PipelineState {
    return { ...state, running: running !== undefined, restarts };
  }

  /** The thread, also one that is about to be started again. */
  async function current(): Promise<Running> {
    if (!wanted) throw new Error('The pipeline is not running');
    if (!running) await new Promise<void>((resolve) => waiting.push(resolve));
    return running ?? current();
  }

  return {
    start() {
      if (wanted) return;
      wanted = true;
      begin();
    },
    async idle() {
      const { calls } = await current();
      try {
        await calls.call('idle');
      } catch {
        // The thread died meanwhile: the next one goes on where it was.
        return this.idle();
      }
    },
    query: async (name, params) => (await current()).calls.call<string>('query', { name, params }),
    state: describe,
    async readState() {
      state = await (await current()).calls.call<ThreadState>('state');
      return describe();
    },
    async failThread() {
      const { calls, exited } = await current();
      calls.tell('fail', 'Told to fail');
      await exited;
    },
    async stop(drainMs = 2_000) {
      wanted = false;
      clearTimeout(timer);
      for (const go of waiting) go();
      const thread = running;
      if (!thread) return;
      await thread.calls.call('stop', drainMs).catch(() => {});
      await thread.exited;
    },
  };
}

function startThread(
  options: PipelineOptions,
  onState: (state: ThreadState) => void,
  onEnd: (cause: unknown) => void,
): Running {
  const worker = new Worker(new URL('./pipeline-thread.ts', import.meta.url), {
    workerData: options.thread,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const exited = Promise.withResolvers<void>();
  const calls = createCalls((message) => worker.postMessage(message), {
    ...mainCalls(options),
    state: onState,
  });
  worker.on('message', calls.receive);
  let cause: unknown;
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', (code) => {
    const reason = cause ?? new Error(`exit ${code}`);
    calls.end(new Error(`The pipeline thread stopped: ${reason instanceof Error ? reason.message : reason}`));
    onEnd(reason);
    exited.resolve();
  });
  return { worker, calls, exited: exited.promise };
}

/** What the thread may ask of this side. */
function mainCalls({ sqlSinks, release, log }: PipelineOptions) {
  const find = (name: string): SqlSink => {
    const sink = sqlSinks.find((candidate) => candidate.name === name);
    if (!sink) throw new Error(`There is no sink ${name}`);
    return sink;
  };
  return {
    sinkCommitted: (name: string) => find(name).committed(),
    sinkAppend: ({ name, step }: { name: string; step: SqlStep }) => find(name).append(step),
    sinkHeardWorkspaces: (name: string) => find(name).heardWorkspaces?.() ?? [],
    release,
    log({
      level,
      fields,
      message,
    }: {
      level: 'debug' | 'info' | 'warn' | 'error';
      fields: object;
      message: string;
    }) {
      log[level](fields, message);
    },
  };
}
