// PostgreSQL under Kysely, and the only place that knows `pg`: a bounded pool whose lost connections are
// logged and replaced, 64-bit integers as numbers, and errors in the store's own words.
import {
  type CompiledQuery,
  type DatabaseConnection,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import pg from 'pg';
import type { Log } from '../kernel/log.ts';
import {
  type Engine,
  type EngineTransaction,
  type Notice,
  type NoticeListener,
  refusingDriver,
} from './engine.ts';
import { findStoreError, type StoreError, type StoreFailure, storeError } from './store-error.ts';

export interface PostgresOptions {
  poolSize?: number;
  /** How long to wait for a free or a new connection. */
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** A transaction that does nothing for longer is ended, so that its locks do not stay. */
  idleTransactionMs?: number;
  /** After losing the connection that hears of changes: how often to try for a new one. */
  listenRetryMs?: number;
}

type Client = pg.PoolClient;

export function createPostgresEngine(url: string, options: PostgresOptions, log: Log): Engine {
  const pool = openPool(url, options, log);
  const ear = createEar(url, options.listenRetryMs ?? 1_000, log);
  return {
    name: 'postgres',
    dialect: {
      createDriver: refusingDriver,
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
    connection: connectionOf((query) => runAlone(pool, query)),
    begin: ({ waitMs }) => begin(pool, waitMs),
    get waitingWrites() {
      return pool.waitingCount;
    },
    listen: ear.listen,
    async close() {
      await ear.close();
      await pool.end();
    },
  };
}

/** One per schema: installations that share a database do not hear each other. */
const CHANNEL = `'linktrail_' || md5(current_schema())`;
/** PostgreSQL takes at most 8,000 bytes. */
const MAX_NOTICE_BYTES = 7_900;

/** A connection of its own that hears what other nodes notify; made again when it is lost. */
function createEar(url: string, retryMs: number, log: Log) {
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  async function connect(listener: NoticeListener): Promise<void> {
    const next = new pg.Client({ connectionString: url, application_name: 'linktrail', keepAlive: true });
    next.on('notification', ({ payload }) => listener.receive(JSON.parse(payload ?? '[]') as Notice[]));
    next.on('error', (error) => log.warn({ err: error }, 'Lost the connection that hears of changes'));
    try {
      await next.connect();
      const { rows } = await next.query<{ channel: string }>(`select ${CHANNEL} as channel`);
      await next.query(`listen ${next.escapeIdentifier((rows[0] as { channel: string }).channel)}`);
    } catch (error) {
      await next.end().catch(() => {});
      throw toStoreError(error);
    }
    client = next;
    next.once('end', () => again(listener));
  }

  function again(listener: NoticeListener): void {
    if (closed) return;
    retry = setTimeout(() => {
      connect(listener).then(listener.lost, () => again(listener));
    }, retryMs).unref();
  }

  return {
    listen: connect,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(retry);
      await client?.end().catch(() => {});
    },
  };
}

/** As few payloads as hold the notices. */
function packNotices(notices: readonly Notice[]): string[] {
  const payloads: string[] = [];
  let items: string[] = [];
  let bytes = 2;
  for (const notice of notices) {
    const item = JSON.stringify(notice);
    const size = Buffer.byteLength(item) + 1;
    if (bytes + size > MAX_NOTICE_BYTES && items.length > 0) {
      payloads.push(`[${items.join(',')}]`);
      items = [];
      bytes = 2;
    }
    items.push(item);
    bytes += size;
  }
  payloads.push(`[${items.join(',')}]`);
  return payloads;
}

function openPool(url: string, options: PostgresOptions, log: Log): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'linktrail',
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    idle_in_transaction_session_timeout: options.idleTransactionMs ?? 30_000,
    keepAlive: true,
    types: { getTypeParser: parserOf },
  });
  // Without a listener a lost connection would end the process: for idle ones the pool reports it, for those
  // in use only the connection itself does.
  const lost = (error: Error) => log.warn({ err: error }, 'Lost a connection to PostgreSQL');
  pool.on('error', lost);
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Counts and sums come back as numbers, as SQLite gives them; nothing stored is beyond 2^53. */
function parserOf(oid: number, format?: 'text' | 'binary') {
  if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

async function runAlone(pool: pg.Pool, query: CompiledQuery): Promise<pg.QueryResult> {
  const client = await connect(pool);
  let failure: StoreError | undefined;
  try {
    return await run(client, query);
  } catch (error) {
    failure = findStoreError(error);
    throw error;
  } finally {
    client.release(failure?.failure === 'unreachable');
  }
}

async function begin(pool: pg.Pool, waitMs: number | undefined): Promise<EngineTransaction> {
  const client = await connect(pool);
  const inTurn = createTurns();
  let over = false;

  async function end(sql: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    over = true;
    let broken = true;
    try {
      await inTurn(() => exec(client, sql));
      broken = false;
    } finally {
      client.release(broken);
    }
  }

  const wait = waitMs === undefined ? '' : `; SET LOCAL lock_timeout = ${Math.max(1, Math.ceil(waitMs))}`;
  try {
    await exec(client, `BEGIN${wait}`);
  } catch (error) {
    client.release(true);
    throw error;
  }
  return {
    connection: connectionOf((query) => {
      if (over) throw storeError('closed', 'The transaction is over');
      return inTurn(() => run(client, query));
    }),
    commit: () => end('COMMIT'),
    rollback: () => end('ROLLBACK'),
    async notify(notices) {
      for (const payload of packNotices(notices)) {
        await inTurn(() => exec(client, `select pg_notify(${CHANNEL}, $1)`, [payload]));
      }
    },
  };
}

/** Statements of one transaction that were started side by side run one after the other. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
}

async function connect(pool: pg.Pool): Promise<Client> {
  try {
    return await pool.connect();
  } catch (error) {
    throw toStoreError(error);
  }
}

async function exec(client: Client, sql: string, parameters?: string[]): Promise<void> {
  try {
    await client.query(sql, parameters);
  } catch (error) {
    throw toStoreError(error);
  }
}

async function run(client: Client, query: CompiledQuery): Promise<pg.QueryResult> {
  try {
    return await client.query(query.sql, [...query.parameters]);
  } catch (error) {
    throw toStoreError(error);
  }
}

function connectionOf(execute: (query: CompiledQuery) => Promise<pg.QueryResult>): DatabaseConnection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const result = await execute(query);
      return { rows: result.rows ?? [], numAffectedRows: BigInt(result.rowCount ?? 0) };
    },
    // biome-ignore lint/correctness/useYield: part of Kysely's interface, refused here
    async *streamQuery() {
      throw new Error('Streaming is not offered: read pages');
    },
  };
}

const FAILURES: Record<string, StoreFailure> = {
  '23505': 'unique',
  '25006': 'readonly',
  '28000': 'unreachable',
  '28P01': 'unreachable',
  '3D000': 'unreachable',
  '40001': 'conflict',
  '40P01': 'conflict',
  '53100': 'full',
  '53300': 'busy',
  '55P03': 'busy',
  '57014': 'busy',
  '57P01': 'unreachable',
  '57P02': 'unreachable',
  '57P03': 'unreachable',
  '25P03': 'unreachable',
  XX001: 'damaged',
  XX002: 'damaged',
};

function toStoreError(error: unknown): StoreError {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return storeError(failureOf(error, message), message, error);
}

function failureOf(error: unknown, message: string): StoreFailure {
  if (message.startsWith('timeout exceeded when trying to connect')) return 'busy';
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (/^08...$|^E[A-Z]{3,}/.test(code)) return 'unreachable';
  // The driver gives no code when the socket closes under it.
  if (
    code === '' &&
    /^(Connection terminated|Client has encountered a connection error|Client was closed)/.test(message)
  ) {
    return 'unreachable';
  }
  return FAILURES[code] ?? 'other';
}
