// SQL for an ordered list of ids that hangs on the rows of a table: the tags of a link.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Row } from './record.ts';

export interface ListShape {
  readonly table: string;
  /** Refers to the row that the list hangs on. */
  readonly owner: string;
  readonly value: string;
  /** Counts from 0. */
  readonly position: string;
  /** Columns that are as in the row that the list hangs on. */
  readonly copied: readonly string[];
}

const ROWS_PER_INSERT = 5_000;

export function createListStore(db: Database, { table, owner, value, position, copied }: ListShape) {
  const [t, o, v, p] = [sql.table(table), sql.ref(owner), sql.ref(value), sql.ref(position)];

  return {
    async find(owners: readonly string[]): Promise<Map<string, string[]>> {
      const lists = new Map<string, string[]>();
      if (owners.length === 0) return lists;
      const { rows } = await sql<{ owner: string; value: string }>`
        select ${o} as owner, ${v} as value from ${t} where ${o} in (${sql.join(owners)})
        order by ${o}, ${p}, ${v}`.execute(db.query);
      for (const row of rows) {
        const list = lists.get(row.owner);
        if (list) list.push(row.value);
        else lists.set(row.owner, [row.value]);
      }
      return lists;
    },

    async clear(owners: readonly string[]): Promise<void> {
      if (owners.length > 0)
        await sql`delete from ${t} where ${o} in (${sql.join(owners)})`.execute(db.query);
    },

    async insert(lists: readonly { readonly row: Row; readonly values: readonly string[] }[]): Promise<void> {
      const columns = sql.join([owner, value, position, ...copied].map((column) => sql.ref(column)));
      const entries = lists.flatMap(({ row, values }) => {
        const copies = copied.map((column) => row[column]);
        return values.map((entry, i) => sql`(${sql.join([row.id, entry, i, ...copies])})`);
      });
      for (let start = 0; start < entries.length; start += ROWS_PER_INSERT) {
        const some = sql.join(entries.slice(start, start + ROWS_PER_INSERT));
        await sql`insert into ${t} (${columns}) values ${some}`.execute(db.query);
      }
    },
  };
}

export type ListStore = ReturnType<typeof createListStore>;
