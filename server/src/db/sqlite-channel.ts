// The main side of the store thread: starts it, sends the requests of one event-loop turn as one message,
// matches answers to callers. When the thread dies, everything under way fails and the next request starts
// a new one.
import { Worker } from 'node:worker_threads';
import type { Log } from '../kernel/log.ts';
import type { SqliteResult } from './sqlite-file.ts';
import type { SqliteCommand, SqliteReply, SqliteRequest, SqliteThreadOptions } from './sqlite-thread.ts';
import { StoreError, type StoreFailure, storeError } from './store-error.ts';

export interface SqliteChannel {
  /** Commands reach the thread in the order of these calls. */
  send(command: SqliteCommand): Promise<SqliteResult>;
  /** Ends the thread at once, as a fault in it would. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

interface Caller {
  resolve(result: SqliteResult): void;
  reject(error: Error): void;
}

export function createSqliteChannel(options: SqliteThreadOptions, log: Log): SqliteChannel {
  let thread: ReturnType<typeof startThread> | undefined;
  let nextId = 0;
  let closed = false;

  function current(): ReturnType<typeof startThread> {
    thread ??= startThread(options, (cause) => {
      thread = undefined;
      if (!closed) log.error({ err: cause }, 'The store thread stopped; the next request starts it again');
    });
    return thread;
  }

  function send(command: SqliteCommand): Promise<SqliteResult> {
    if (closed) return Promise.reject(new StoreError('closed', 'The database is closed'));
    return new Promise((resolve, reject) => {
      nextId += 1;
      current().post({ ...command, id: nextId }, { resolve, reject });
    });
  }

  return {
    send,
    kill: async () => thread?.terminate(),
    async close() {
      closed = true;
      await thread?.close();
    },
  };
}

function startThread(options: SqliteThreadOptions, onEnd: (cause: unknown) => void) {
  const worker = new Worker(new URL('./sqlite-thread.ts', import.meta.url), { workerData: options });
  const callers = new Map<number, Caller>();
  const ended = Promise.withResolvers<void>();
  let outgoing: SqliteRequest[] = [];
  let over = false;
  let onDrained = () => {};

  function end(cause: unknown): void {
    if (over) return;
    over = true;
    onEnd(cause);
    const text =
      cause instanceof Error ? `The store thread stopped: ${cause.message}` : 'The store thread stopped';
    for (const caller of callers.values()) caller.reject(storeError('unreachable', text, cause));
    callers.clear();
    onDrained();
  }

  function drained(): Promise<void> {
    return new Promise((resolve) => {
      onDrained = resolve;
      if (callers.size === 0) resolve();
    });
  }

  function flush(): void {
    const batch = outgoing;
    outgoing = [];
    worker.postMessage(batch);
  }

  worker.on('error', end);
  worker.on('exit', () => {
    end(undefined);
    ended.resolve();
  });
  worker.on('message', (replies: SqliteReply[]) => {
    for (const reply of replies) {
      const caller = callers.get(reply.id);
      callers.delete(reply.id);
      if ('result' in reply) caller?.resolve(reply.result);
      else caller?.reject(storeError(failureOf(reply.failure.code), reply.failure.message));
    }
    if (callers.size === 0) onDrained();
  });
  function post(request: SqliteRequest, caller: Caller): void {
    callers.set(request.id, caller);
    outgoing.push(request);
    if (outgoing.length === 1) setImmediate(flush);
  }

  return {
    post,
    /** Answers everything sent before, then ends. */
    async close(): Promise<void> {
      await drained();
      post({ op: 'close', id: 0 }, { resolve() {}, reject() {} });
      await ended.promise;
    },
    async terminate(): Promise<void> {
      await worker.terminate();
    },
  };
}

const UNIQUE_CODES = new Set([1555, 2067, 2579]);
const PRIMARY_CODES: Record<number, StoreFailure> = {
  5: 'busy',
  6: 'busy',
  8: 'readonly',
  10: 'unreachable',
  11: 'damaged',
  13: 'full',
  14: 'unreachable',
  26: 'damaged',
};

function failureOf(code: number | undefined): StoreFailure {
  if (code === undefined) return 'other';
  return UNIQUE_CODES.has(code) ? 'unique' : (PRIMARY_CODES[code & 0xff] ?? 'other');
}
