// The only place that knows node:sqlite: a connection to a database file with the settings Linktrail relies
// on and a bounded cache of prepared statements, and a lock between processes that ends with its holder.
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

const STATEMENT_CACHE_SIZE = 300;
const SQLITE_BUSY = 5;
/** Pages that change again and again are folded into the file every 32 MB of log, not every 4 MB. */
const LOG_SETTINGS =
  'PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 8000';
/** The largest number of pages SQLite allows: no limit of our own. */
export const UNLIMITED_PAGES = 4_294_967_294;

export type SqliteValue = null | number | bigint | string | Uint8Array;

export interface SqliteResult {
  rows: unknown[];
  changes: number;
}

export interface SqliteFile {
  run(sql: string, parameters: readonly SqliteValue[]): SqliteResult;
  readonly inTransaction: boolean;
  close(): void;
}

export interface SqliteFileOptions {
  readOnly: boolean;
  /** How long a statement waits for a lock that another process holds. */
  busyTimeoutMs: number;
}

export function openSqliteFile(path: string, options: SqliteFileOptions): SqliteFile {
  const db = new DatabaseSync(path, {
    readOnly: options.readOnly,
    timeout: options.busyTimeoutMs,
    enableForeignKeyConstraints: true,
  });
  // NORMAL never loses a commit to a killed process; the store thread adds the sync against a power cut.
  if (!options.readOnly) db.exec(LOG_SETTINGS);
  db.exec('PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY');
  const prepare = cachePerText((sql) => {
    const statement = db.prepare(sql);
    return { statement, returnsRows: statement.columns().length > 0 };
  }, STATEMENT_CACHE_SIZE);
  return {
    run(sql, parameters) {
      const { statement, returnsRows } = prepare(sql);
      return execute(statement, returnsRows, parameters as SQLInputValue[]);
    },
    get inTransaction() {
      return db.isTransaction;
    },
    close: () => db.close(),
  };
}

function execute(statement: StatementSync, returnsRows: boolean, parameters: SQLInputValue[]): SqliteResult {
  if (!returnsRows) return { rows: [], changes: Number(statement.run(...parameters).changes) };
  const rows = statement.all(...parameters);
  return { rows, changes: rows.length };
}

function cachePerText<V>(make: (text: string) => V, size: number): (text: string) => V {
  const cache = new Map<string, V>();
  return (text) => {
    const value = cache.get(text) ?? make(text);
    // Re-inserting moves the entry to the end: the first one is always the least recently used.
    cache.delete(text);
    cache.set(text, value);
    if (cache.size > size) cache.delete(cache.keys().next().value as string);
    return value;
  };
}

/** SQLite's extended result code, if the error came from it. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/**
 * Takes an exclusive lock that the operating system frees when the process ends, however it ends.
 * Undefined when another holder has it. The file must not be opened by anything else in this process.
 */
export function lockFile(path: string): { release(): void } | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 0 });
    db.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if (((sqliteCode(error) ?? 0) & 0xff) === SQLITE_BUSY) return undefined;
    // SQLite does not say which file, and nobody would look for a database behind a lock.
    throw Object.assign(new Error(`${path} cannot be opened`, { cause: error }), { path });
  }
  const held = db;
  return { release: () => held.close() };
}
