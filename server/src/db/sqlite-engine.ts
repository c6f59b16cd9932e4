// SQLite under Kysely: one thread reads, another writes, so that neither waits for the other. Writes take
// turns: a transaction asks for its turn with its first statement, and gives it on as soon as its end is
// sent; the thread works in order, so nobody waits for an answer that is not theirs.
import {
  type CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Log } from '../kernel/log.ts';
import { type Engine, type EngineTransaction, refusingDriver } from './engine.ts';
import { createSqliteChannel, type SqliteChannel } from './sqlite-channel.ts';
import { type SqliteResult, type SqliteValue, UNLIMITED_PAGES } from './sqlite-file.ts';
import { StoreBusyError, StoreError } from './store-error.ts';
import { createWriterQueue, type WriterQueue } from './writer-queue.ts';

export interface SqliteOptions {
  /** `full` (default): a commit survives a power cut; `normal`: it survives a killed process. */
  sync?: 'full' | 'normal';
  /** How long a write waits for its turn when it does not say. */
  writeWaitMs?: number;
  /** A transaction that does nothing for longer is rolled back, so that one that hangs cannot stop all others. */
  idleTransactionMs?: number;
  /** How long a statement waits for a lock of another process. */
  busyTimeoutMs?: number;
  /** The file never grows beyond this many pages; by default it is not limited. */
  maxPageCount?: number;
}

export interface SqliteEngine extends Engine {
  setMaxPageCount(pages: number | undefined): Promise<void>;
  /** Ends the store threads at once, as a fault in them would. */
  killThreads(): Promise<void>;
}

export function createSqliteEngine(path: string, options: SqliteOptions, log: Log): SqliteEngine {
  const { sync = 'full', writeWaitMs = 10_000, idleTransactionMs = 30_000, busyTimeoutMs = 5_000 } = options;
  const maxPageCount = options.maxPageCount ?? UNLIMITED_PAGES;
  const shared = { path, sync, busyTimeoutMs, maxPageCount };
  const channel = createSqliteChannel({ ...shared, role: 'writer' }, log);
  const reader = createSqliteChannel({ ...shared, role: 'reader' }, log);
  // The writer makes the file that the reader opens.
  let made: Promise<unknown> | undefined;
  const read = async (query: CompiledQuery): Promise<SqliteResult> => {
    made ??= channel.send({ op: 'read', sql: 'select 1', parameters: [] });
    try {
      await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
    return reader.send({ op: 'read', ...statement(query) });
  };
  const writers = createWriterQueue();
  let transaction = 0;
  return {
    name: 'sqlite',
    dialect: {
      createDriver: refusingDriver,
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
    connection: connectionOf((query) =>
      isRead(query) ? read(query) : runAlone(channel, writers, writeWaitMs, query),
    ),
    begin: async ({ waitMs = writeWaitMs }) => {
      transaction += 1;
      return createTransaction({ channel, writers, waitMs, idleTransactionMs, transaction });
    },
    get waitingWrites() {
      return writers.waiting;
    },
    setMaxPageCount: async (pages = UNLIMITED_PAGES) => {
      await channel.send({ op: 'limit', maxPageCount: pages });
    },
    killThreads: async () => {
      await Promise.all([channel.kill(), reader.kill()]);
    },
    // The last connection to close folds the log into the file: that must be the one that may write.
    close: async () => {
      await reader.close();
      await channel.close();
    },
  };
}

async function runAlone(channel: SqliteChannel, writers: WriterQueue, waitMs: number, query: CompiledQuery) {
  const release = await writers.acquire(waitMs);
  const answer = channel.send({ op: 'once', ...statement(query) });
  release();
  return answer;
}

interface TransactionParts {
  transaction: number;
  channel: SqliteChannel;
  writers: WriterQueue;
  waitMs: number;
  idleTransactionMs: number;
}

function createTransaction(parts: TransactionParts): EngineTransaction {
  const { channel, writers, waitMs, idleTransactionMs, transaction } = parts;
  let turn: Promise<() => void> | undefined;
  let state: 'new' | 'begun' | 'ended' | 'overdue' = 'new';
  let wrote = false;
  let underWay = 0;
  let idle: NodeJS.Timeout | undefined;

  async function step(query: CompiledQuery): Promise<SqliteResult> {
    turn ??= writers.acquire(waitMs);
    const release = await turn;
    const begin = state === 'new';
    if (begin) state = 'begun';
    if (state !== 'begun') {
      // The turn may have come only after the end; giving it back twice does no harm.
      release();
      throw isOver();
    }
    wrote ||= !isRead(query);
    underWay += 1;
    clearTimeout(idle);
    try {
      return await channel.send({ op: 'step', transaction, begin, ...statement(query) });
    } finally {
      underWay -= 1;
      if (underWay === 0 && state === 'begun') idle = setTimeout(giveUp, idleTransactionMs);
    }
  }

  async function end(command: { op: 'commit'; wrote: boolean } | { op: 'rollback' }): Promise<void> {
    if (command.op === 'commit' && (state === 'ended' || state === 'overdue')) throw isOver();
    const begun = state === 'begun';
    if (state !== 'overdue') state = 'ended';
    clearTimeout(idle);
    if (!begun) return;
    const answer = channel.send({ ...command, transaction });
    (await turn)?.();
    await answer;
  }

  function giveUp(): void {
    // The thread answers a rollback with an error only when it is gone, and the transaction with it.
    end({ op: 'rollback' }).catch(() => {});
    state = 'overdue';
  }

  function isOver(): StoreError {
    if (state !== 'overdue') return new StoreError('closed', 'The transaction is over');
    return new StoreBusyError(`The transaction did nothing for ${idleTransactionMs} ms`);
  }

  return {
    connection: connectionOf(step),
    commit: () => end({ op: 'commit', wrote }),
    rollback: () => end({ op: 'rollback' }),
  };
}

function isRead(query: CompiledQuery): boolean {
  if (query.query.kind === 'SelectQueryNode') return true;
  return query.query.kind === 'RawNode' && /^\s*(select|explain)\b/i.test(query.sql);
}

function statement(query: CompiledQuery): { sql: string; parameters: readonly SqliteValue[] } {
  return { sql: query.sql, parameters: query.parameters as readonly SqliteValue[] };
}

function connectionOf(run: (query: CompiledQuery) => Promise<SqliteResult>): DatabaseConnection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const { rows, changes } = await run(query);
      return { rows: rows as R[], numAffectedRows: BigInt(changes) };
    },
    // biome-ignore lint/correctness/useYield: part of Kysely's interface, refused here
    async *streamQuery() {
      throw new Error('Streaming is not offered: read pages');
    },
  };
}
