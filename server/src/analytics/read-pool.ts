// Runs the statements of readers on connections of their own, so that they wait neither for the writer nor, up to
// the number of connections, for each other. What takes too long or is not waited for any more is stopped.
import { AppError } from '../kernel/errors.ts';
import { createGate } from '../kernel/gate.ts';
import type { Statement } from './conditions.ts';
import type { Connection, Row } from './duckdb-engine.ts';
import type { RunStatement } from './engine-reader.ts';

export interface ReadPool {
  readonly run: RunStatement;
  /** Stops what is running and waits until it has stopped. */
  close(): Promise<void>;
}

export interface ReadPoolOptions {
  readonly connections: readonly ReadConnection[];
  /** How many may wait for a connection; more are refused. */
  readonly maxWaiting: number;
  /** How long a statement may wait, and how long it may then take. */
  readonly limitMs: number;
}

/** One statement at a time; engines have more to their connections. */
export interface ReadConnection extends Pick<Connection, 'interrupt'> {
  rows(sql: string, texts: readonly string[]): Promise<Row[]>;
  /** The same for rows that have these columns; values may come as text where that is quicker. */
  textRows(sql: string, texts: readonly string[], columns: readonly string[]): Promise<Row[]>;
}

type Stop = 'late' | 'aborted' | 'closed';

/** An engine may miss being told once, just before the statement begins. */
const STOP_AGAIN_MS = 50;

export function createReadPool({ connections, maxWaiting, limitMs }: ReadPoolOptions): ReadPool {
  const gate = createGate({ running: connections.length, waiting: maxWaiting, waitMs: limitMs });
  const free = [...connections];
  const running = new Map<(why: Stop) => void, Promise<unknown>>();
  let closed = false;

  async function runOn(connection: ReadConnection, { sql, texts, columns }: Statement, signal?: AbortSignal) {
    const stopping = createStopping(connection);
    const timer = setTimeout(() => stopping.stop('late'), limitMs);
    const abort = () => stopping.stop('aborted');
    signal?.addEventListener('abort', abort);
    const work = columns ? connection.textRows(sql, texts, columns) : connection.rows(sql, texts);
    running.set(stopping.stop, work);
    try {
      return await work;
    } catch (error) {
      throw explain(error, stopping.why(), limitMs);
    } finally {
      clearTimeout(timer);
      stopping.end();
      signal?.removeEventListener('abort', abort);
      running.delete(stopping.stop);
    }
  }

  return {
    run: (statement, signal) =>
      gate(async () => {
        if (closed || signal?.aborted) throw explain(undefined, closed ? 'closed' : 'aborted', limitMs);
        const connection = free.pop();
        if (!connection) throw new Error('There is no free connection');
        try {
          return await runOn(connection, statement, signal);
        } finally {
          free.push(connection);
        }
      }),
    async close() {
      closed = true;
      for (const stop of running.keys()) stop('closed');
      await Promise.allSettled(running.values());
    },
  };
}

function createStopping(connection: ReadConnection) {
  let why: Stop | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    why: () => why,
    stop(reason: Stop): void {
      if (why) return;
      why = reason;
      connection.interrupt();
      timer = setInterval(() => connection.interrupt(), STOP_AGAIN_MS);
    },
    end: () => clearInterval(timer),
  };
}

function explain(cause: unknown, why: Stop | undefined, limitMs: number): unknown {
  const narrow = 'Ask for a shorter time (interval, start, end) or add filters.';
  if (why === 'late') {
    const text = `Answering this takes longer than the ${limitMs / 1_000} seconds it may take. ${narrow}`;
    return new AppError('unprocessable_entity', text, { cause });
  }
  if (why === 'aborted') return new DOMException('Nobody waits for the answer', 'AbortError');
  if (why === 'closed') return new Error('The event store was closed', { cause });
  if (cause instanceof Error && /out of memory/i.test(cause.message))
    return new AppError('unprocessable_entity', `Answering this takes too much memory. ${narrow}`, { cause });
  return cause;
}
