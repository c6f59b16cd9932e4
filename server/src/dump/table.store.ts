// SQL for any table of a dump: pages by key, rows by value, rows in. Rows go in with few large statements,
// whose text is made once and not per value.
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Row, SqlValue } from './record.ts';

/** A column with few values that stands before the time in an index. */
export interface Partition {
  readonly column: string;
  readonly values: readonly number[];
}

export interface TableShape {
  readonly table: string;
  readonly key: readonly string[];
  /** Every column that is read and written. */
  readonly columns: readonly string[];
  /** Limits rows to those of a workspace. */
  readonly ofWorkspace: (workspaceId: string) => RawBuilder<unknown>;
  /** Present where an index serves the rows of a workspace by time. */
  readonly createdAt: string | undefined;
  readonly partition: Partition | undefined;
}

/** Both engines take more, but not by much. */
const MAX_PARAMETERS = 30_000;

export function createTableStore(db: Database, shape: TableShape) {
  const { table, key, columns } = shape;
  const selected = sql.join(columns.map((column) => sql.ref(column)));

  async function select(condition: RawBuilder<unknown>, end: RawBuilder<unknown> = sql``): Promise<Row[]> {
    const { rows } = await sql<Row>`
      select ${selected} from ${sql.table(table)} where ${condition} ${end}`.execute(db.query);
    return rows;
  }

  /** One walk along the index for each part, and all in one statement: a row that changes parts is in one of them. */
  async function selectParts(
    { column, values }: Partition,
    condition: RawBuilder<unknown>,
    end: RawBuilder<unknown>,
  ) {
    const parts = values.map(
      (value) => sql`select * from (select ${selected} from ${sql.table(table)}
        where ${sql.ref(column)} = ${value} and ${condition} ${end}) as part`,
    );
    const { rows } =
      await sql<Row>`select * from (${sql.join(parts, sql` union all `)}) as parts ${end}`.execute(db.query);
    return rows;
  }

  async function executeInsert(rows: readonly Row[], conflict: string): Promise<void> {
    const size = Math.floor(MAX_PARAMETERS / columns.length);
    for (let start = 0; start < rows.length; start += size) {
      const some = rows.slice(start, start + size);
      const parameters = some.flatMap((row) => columns.map((column) => row[column]));
      const text = insertText(shape, some.length, db.engine) + conflict;
      await db.query.executeQuery(CompiledQuery.raw(text, parameters));
    }
  }

  return {
    /** In order of the key; the rows of one workspace in order of time, for which there are indexes. */
    async list(workspaceId: string | undefined, after: Row | undefined, limit: number): Promise<Row[]> {
      const byTime = workspaceId !== undefined && shape.createdAt !== undefined;
      const order = byTime ? [shape.createdAt as string, ...key] : key;
      const refs = sql.join(order.map((column) => sql.ref(column)));
      const scope = workspaceId === undefined ? sql`1 = 1` : shape.ofWorkspace(workspaceId);
      const beyond = after
        ? sql`(${refs}) > (${sql.join(order.map((column) => after[column]))})`
        : sql`1 = 1`;
      const end = sql`order by ${refs} limit ${limit}`;
      const condition = sql`${scope} and ${beyond}`;
      return byTime && shape.partition
        ? selectParts(shape.partition, condition, end)
        : select(condition, end);
    },

    async count(workspaceId: string | undefined): Promise<number> {
      const scope = workspaceId === undefined ? sql`1 = 1` : shape.ofWorkspace(workspaceId);
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from ${sql.table(table)} where ${scope}`.execute(db.query);
      return Number(rows[0]?.count);
    },

    find(column: string, values: readonly SqlValue[]): Promise<Row[]> {
      return values.length === 0
        ? Promise.resolve([])
        : select(sql`${sql.ref(column)} in (${sql.join(values)})`);
    },

    /** The rows that have the values of one of the given ones in these columns. */
    findSame(same: readonly string[], rows: readonly Pick<Row, string>[]): Promise<Row[]> {
      if (rows.length === 0) return Promise.resolve([]);
      const [only] = same;
      if (same.length === 1 && only !== undefined)
        return this.find(
          only,
          rows.map((row) => row[only] as SqlValue),
        );
      const tuples = rows.map((row) => sql`(${sql.join(same.map((column) => row[column]))})`);
      const refs = sql.join(same.map((column) => sql.ref(column)));
      return select(sql`(${refs}) in (values ${sql.join(tuples)})`);
    },

    insert: (rows: readonly Row[]): Promise<void> => executeInsert(rows, ''),

    /** Every row exists: all its columns are set. */
    replace(rows: readonly Row[]): Promise<void> {
      const set = columns.filter((column) => !key.includes(column)).map((c) => `"${c}" = excluded."${c}"`);
      const keys = key.map((column) => `"${column}"`).join(', ');
      return executeInsert(rows, ` on conflict (${keys}) do update set ${set.join(', ')}`);
    },
  };
}

export type TableStore = ReturnType<typeof createTableStore>;

function insertText({ table, columns }: TableShape, rowCount: number, engine: Database['engine']): string {
  const names = columns.map((column) => `"${column}"`).join(', ');
  const width = columns.length;
  const tuples = Array.from({ length: rowCount }, (_, row) => {
    const marks = columns.map((_column, i) => (engine === 'postgres' ? `$${row * width + i + 1}` : '?'));
    return `(${marks.join(',')})`;
  });
  return `insert into "${table}" (${names}) values ${tuples.join(',')}`;
}
