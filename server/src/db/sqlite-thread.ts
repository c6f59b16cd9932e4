// A store thread: has one connection to the SQLite file, for writing or for reading, and answers the batches
// of sqlite-channel.ts in order. A commit is answered once it is on disk; commits that finish while a sync is
// under way share the next one.
import { fdatasync, openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import {
  openSqliteFile,
  type SqliteFile,
  type SqliteResult,
  type SqliteValue,
  sqliteCode,
} from './sqlite-file.ts';

export interface SqliteThreadOptions {
  path: string;
  /** A reader needs the file that a writer made. */
  role: 'writer' | 'reader';
  /** `full`: a commit survives a power cut; `normal`: it survives a killed process. */
  sync: 'full' | 'normal';
  busyTimeoutMs: number;
  maxPageCount: number;
}

interface Statement {
  sql: string;
  parameters: readonly SqliteValue[];
}

export type SqliteCommand =
  | ({ op: 'read' } & Statement)
  /** A statement that is a transaction of its own. */
  | ({ op: 'once' } & Statement)
  | ({ op: 'step'; transaction: number; begin: boolean } & Statement)
  | { op: 'commit'; transaction: number; wrote: boolean }
  | { op: 'rollback'; transaction: number }
  | { op: 'limit'; maxPageCount: number }
  | { op: 'close' };

export type SqliteRequest = SqliteCommand & { id: number };

export type SqliteReply =
  | { id: number; result: SqliteResult }
  | { id: number; failure: { message: string; code: number | undefined } };

const NOTHING: SqliteResult = { rows: [], changes: 0 };
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

if (parentPort) serve(parentPort, workerData as SqliteThreadOptions);

function serve(port: NonNullable<typeof parentPort>, options: SqliteThreadOptions): void {
  const { path, role, busyTimeoutMs, maxPageCount } = options;
  const file = openSqliteFile(path, { busyTimeoutMs, readOnly: role === 'reader' });
  const run = createRunner(file, () => port.close());
  const afterSync = createGroupSync(`${path}-wal`, (replies) => port.postMessage(replies));
  if (role === 'writer') run({ op: 'limit', maxPageCount });

  port.on('message', (batch: SqliteRequest[]) => {
    const replies: SqliteReply[] = [];
    for (const request of batch) {
      try {
        const reply = { id: request.id, result: run(request) };
        if (options.sync === 'full' && isCommit(request)) afterSync(reply);
        else replies.push(reply);
      } catch (error) {
        replies.push(failed(request.id, error, sqliteCode(error)));
      }
    }
    if (replies.length > 0) port.postMessage(replies);
  });
}

function createRunner(file: SqliteFile, onClose: () => void) {
  let open: number | undefined;

  function step(command: Extract<SqliteCommand, { op: 'step' }>): SqliteResult {
    if (command.begin) {
      file.run('BEGIN IMMEDIATE', []);
      open = command.transaction;
    }
    // SQLite ends a transaction by itself on some errors (a full disk): what follows must not run alone.
    if (open !== command.transaction || !file.inTransaction) throw new Error('The transaction is over');
    return file.run(command.sql, command.parameters);
  }

  function end(transaction: number, sql: 'COMMIT' | 'ROLLBACK'): SqliteResult {
    const mine = open === transaction && file.inTransaction;
    if (open === transaction) open = undefined;
    if (!mine && sql === 'COMMIT') throw new Error('The transaction is over');
    if (!mine) return NOTHING;
    try {
      file.run(sql, []);
    } finally {
      if (file.inTransaction) file.run('ROLLBACK', []);
    }
    return NOTHING;
  }

  function close(): SqliteResult {
    file.close();
    onClose();
    return NOTHING;
  }

  return (command: SqliteCommand): SqliteResult => {
    if (command.op === 'read' || command.op === 'once') return file.run(command.sql, command.parameters);
    if (command.op === 'step') return step(command);
    if (command.op === 'commit') return end(command.transaction, 'COMMIT');
    if (command.op === 'rollback') return end(command.transaction, 'ROLLBACK');
    if (command.op === 'close') return close();
    return file.run(`PRAGMA max_page_count = ${command.maxPageCount}`, []);
  };
}

function isCommit(request: SqliteRequest): boolean {
  return request.op === 'once' || (request.op === 'commit' && request.wrote);
}

function failed(id: number, error: unknown, code: number | undefined): SqliteReply {
  return { id, failure: { message: error instanceof Error ? error.message : String(error), code } };
}

/**
 * Group commit. SQLite appends a commit to the write-ahead log without syncing it; syncing that file
 * afterwards makes every commit before it as durable as `synchronous = FULL` would, and one sync serves all
 * commits that were waiting, without stopping the statements that follow.
 */
function createGroupSync(
  walPath: string,
  answer: (replies: SqliteReply[]) => void,
): (reply: SqliteReply) => void {
  let waiting: SqliteReply[] = [];
  let running = false;
  let fd: number | undefined;

  function next(): void {
    if (running || waiting.length === 0) return;
    const covered = waiting;
    waiting = [];
    running = true;
    // The log exists for as long as a connection is open. If it cannot be opened, ending the thread here
    // fails the commits that wait.
    fd ??= openSync(walPath, 'r+');
    fdatasync(fd, (error) => done(covered, error));
  }

  function done(covered: SqliteReply[], error: NodeJS.ErrnoException | null): void {
    running = false;
    const code = error?.code === 'ENOSPC' ? SQLITE_FULL : SQLITE_IOERR;
    answer(error ? covered.map((reply) => failed(reply.id, error, code)) : covered);
    next();
  }

  return (reply) => {
    waiting.push(reply);
    if (waiting.length === 1) setImmediate(next);
  };
}
