// ClickHouse over HTTP, and the only user of its client. Nothing is tried twice here and nothing is buffered by the
// server: what returns has been stored. Errors never hold the address, which may have a password in it.
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { ReadConnection } from './read-pool.ts';

export interface ClickhouseEngineOptions {
  /** http(s)://user:password@host:port/database */
  readonly url: string;
  readonly requestMs: number;
  readonly maxConnections: number;
  /** The cluster that holds replicas of the tables, where there are any. */
  readonly cluster: string | undefined;
}

type Row = Readonly<Record<string, unknown>>;
/** What goes beside the SQL, in the order of the placeholders. */
export type Values = readonly (string | readonly string[])[];

/** What goes into one table: lines of tab-separated values in the order of the columns. */
export interface Insertion {
  readonly table: string;
  readonly columns: readonly string[];
  readonly lines: string;
}

export interface ClickhouseEngine {
  /** A statement without an answer. */
  run(sql: string, values?: Values): Promise<void>;
  rows(sql: string, values?: Values): Promise<Row[]>;
  /** What comes again under the same name, for the same table, changes nothing. */
  insert(insertion: Insertion, name?: string): Promise<void>;
  /** Rows in the form of a Parquet file, as they come. */
  writeParquet(sql: string, values: Values, path: string, signal?: AbortSignal): Promise<void>;
  /** For questions whose work stops when nobody waits any more or it takes longer than that. */
  createReader(limitMs: number): ReadConnection;
  close(): Promise<void>;
}

const DEFAULT_DATABASE = 'linktrail';
const UNKNOWN_DATABASE = '81';
const MAX_ERROR_CHARACTERS = 300;
/** The engine gives up by itself a little after it was told to. */
const LIMIT_SLACK_S = 5;

export async function openEngine(options: ClickhouseEngineOptions): Promise<ClickhouseEngine> {
  const { database } = readUrl(options.url);
  const client = connect(options, database);
  try {
    await ensureDatabase(client, database, options);
  } catch (error) {
    await client.close();
    throw explain(error);
  }
  return createEngine(client);
}

/** Fails with the reason when the server cannot be reached or does not let us in. */
export async function pingClickhouse(url: string, timeoutMs: number): Promise<void> {
  const options = { url, requestMs: timeoutMs, maxConnections: 1, cluster: undefined };
  const client = connect(options, 'default');
  try {
    await explained(() => client.command({ query: 'select 1' }));
  } finally {
    await client.close();
  }
}

function connect(options: ClickhouseEngineOptions, database: string): ClickHouseClient {
  return createClient({
    url: readUrl(options.url).url,
    database,
    application: 'linktrail',
    request_timeout: options.requestMs,
    max_open_connections: options.maxConnections,
    // Many filters make a longer address than proxies let through.
    use_multipart_params_auto: true,
    // Failures are told by whoever called, once.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: baseSettings(options.cluster !== undefined),
  });
}

function createEngine(client: ClickHouseClient): ClickhouseEngine {
  const rows = async (sql: string, values: Values = []) => {
    const found = await client.query({ query: sql, query_params: named(values), format: 'JSONEachRow' });
    return found.json<Row>();
  };
  return {
    run: (sql, values = []) =>
      explained(async () => {
        await client.command({ query: sql, query_params: named(values) });
      }),
    rows: (sql, values) => explained(() => rows(sql, values)),
    insert: ({ table, columns: [first = '', ...others], lines }, name = '') =>
      explained(async () => {
        await client.insert({
          table,
          columns: [first, ...others].map(quoted) as [string, ...string[]],
          values: Readable.from([Buffer.from(lines)], { objectMode: false }),
          format: 'TabSeparated',
          clickhouse_settings: { insert_deduplication_token: name },
        });
      }),
    writeParquet: (sql, values, path, signal) =>
      explained(async () => {
        const { stream } = await client.exec({
          query: `${sql} format Parquet`,
          query_params: named(values),
          ...(signal && { abort_signal: signal }),
        });
        await pipeline(stream, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
      }),
    createReader: (limitMs) => createReader(client, limitMs),
    close: () => client.close(),
  };
}

function createReader(client: ClickHouseClient, limitMs: number): ReadConnection {
  let stopping = new AbortController();
  const settings = {
    readonly: '2',
    cancel_http_readonly_queries_on_client_close: 1,
    max_execution_time: Math.ceil(limitMs / 1_000) + LIMIT_SLACK_S,
  } as const;
  const rows = (sql: string, texts: readonly string[]) =>
    explained(async () => {
      stopping = new AbortController();
      const found = await client.query({
        query: sql,
        query_params: named(texts),
        format: 'JSONEachRow',
        clickhouse_settings: settings,
        abort_signal: stopping.signal,
      });
      return found.json<Row>();
    });
  // They come as text in any case.
  return { rows, textRows: rows, interrupt: () => stopping.abort() };
}

/** Where the nth value goes, counted from 1. */
export function placeholder(index: number): string {
  return `{p${index}:String}`;
}

export function listPlaceholder(index: number): string {
  return `{p${index}:Array(String)}`;
}

function named(values: Values): Record<string, unknown> {
  return Object.fromEntries(values.map((value, i) => [`p${i + 1}`, value]));
}

/** Settings that a server may have otherwise and that correctness hangs on. */
function baseSettings(replicated: boolean) {
  return {
    async_insert: 0,
    insert_deduplicate: 1,
    // A table has one row per key and month: what is in different months need not be compared.
    do_not_merge_across_partitions_select_final: 1,
    // A change of rows counts when it is done.
    mutations_sync: replicated ? '2' : '1',
    // What most replicas have outlives the loss of one.
    ...(replicated && { insert_quorum: 'auto' as const }),
  } as const;
}

function readUrl(text: string): { url: URL; database: string } {
  const url = new URL(text);
  const database = decodeURIComponent(url.pathname.slice(1)) || DEFAULT_DATABASE;
  url.pathname = '';
  return { url, database };
}

/** Made only where it is missing: most users may not make one and have one. */
async function ensureDatabase(
  client: ClickHouseClient,
  database: string,
  options: ClickhouseEngineOptions,
): Promise<void> {
  try {
    await client.command({ query: 'select 1' });
  } catch (error) {
    if (!(error instanceof ClickHouseError) || error.code !== UNKNOWN_DATABASE) throw error;
    const outside = connect(options, 'default');
    const everywhere = options.cluster === undefined ? '' : ` on cluster ${quoted(options.cluster)}`;
    await outside
      .command({ query: `create database if not exists ${quoted(database)}${everywhere}` })
      .finally(() => outside.close());
  }
}

export function quoted(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error);
  }
}

/** Without the client's own stack and, after the first line, without the statement. */
function explain(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  const [line = ''] = message.split('\n');
  const said = `ClickHouse: ${line.slice(0, MAX_ERROR_CHARACTERS)}`;
  if (error instanceof ClickHouseError && error.type === 'MEMORY_LIMIT_EXCEEDED')
    return new Error('ClickHouse is out of memory for this', { cause: error });
  return new Error(said, { cause: error });
}
