// The engine behind the event store, and the only user of its driver. It cannot reach the network. Connections are
// handed out by name of their work; a statement that takes too long, or that nobody waits for any more, is stopped.
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

export interface DuckdbOptions {
  readonly path: string;
  readonly threads: number;
  readonly memoryMb: number;
}

/** Divides the fields of a row that goes in or out as one text. */
export const UNIT = '\u001f';

export type Row = Readonly<Record<string, unknown>>;
type Value = string | bigint | null;

export interface Connection {
  run(sql: string, values?: readonly Value[]): Promise<void>;
  rows(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /**
   * Rows that have these columns, every value as text: each comes over as one text, which takes a fraction of what
   * single values do. No text in them may hold the unit separator.
   */
  textRows(sql: string, values: readonly Value[], columns: readonly string[]): Promise<Row[]>;
  /** Makes the statement that runs fail. */
  interrupt(): void;
}

export interface DuckdbEngine {
  connect(): Promise<Connection>;
  /** No statement may be running: that would end the process. */
  close(): void;
}

export async function openEngine({ path, threads, memoryMb }: DuckdbOptions): Promise<DuckdbEngine> {
  const instance = await DuckDBInstance.create(path, {
    threads: String(threads),
    memory_limit: `${memoryMb}MB`,
    // Every 30,000 clicks, as a group of rows that is left alone from then on: merging it with others would now and
    // then hold up the writer for seconds.
    checkpoint_threshold: '24MB',
    max_vacuum_tasks: '0',
    // Memory that a statement let go of is given back, also when no other statement follows.
    allocator_background_threads: 'true',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connections: DuckDBConnection[] = [];
  return {
    async connect() {
      const connection = await instance.connect();
      connections.push(connection);
      return wrap(connection);
    },
    close() {
      for (const connection of connections) connection.closeSync();
      instance.closeSync();
    },
  };
}

function wrap(connection: DuckDBConnection): Connection {
  return {
    async run(sql, values) {
      await connection.run(sql, values && [...values]);
    },
    async rows(sql, values) {
      const found = await connection.runAndReadAll(sql, values && [...values]);
      return found.getRowObjects();
    },
    async textRows(sql, values, columns) {
      const fields = columns.map((name) => `coalesce(cast("${name}" as VARCHAR), '')`);
      const lines = `select concat_ws('${UNIT}', ${fields.join(', ')}) from (${sql}) t`;
      const found = await connection.runAndReadAll(lines, [...values]);
      return found.getRows().map(([line]) => toRow(String(line), columns));
    },
    interrupt: () => connection.interrupt(),
  };
}

function toRow(line: string, columns: readonly string[]): Row {
  const texts = line.split(UNIT);
  const row: Record<string, unknown> = {};
  for (let i = 0; i < columns.length; i++) row[columns[i] as string] = texts[i];
  return row;
}
