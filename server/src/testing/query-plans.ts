// What stores ask of the database, and how it goes about it: for tests that look-ups stay cheap in large tables.
import { CompiledQuery, createQueryId, type RootOperationNode, sql } from 'kysely';
import type { Database } from '../db/database.ts';

/** The same database; what is asked of it is noted. */
export function listening(db: Database): { db: Database; asked: RootOperationNode[] } {
  const asked: RootOperationNode[] = [];
  const query = db.query.withPlugin({
    transformQuery({ node }) {
      asked.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  return { db: { ...db, query }, asked };
}

/** The text of the query, and the plan as the engine puts it. */
export async function planOf(db: Database, node: RootOperationNode): Promise<string> {
  const { sql: text, parameters } = db.query.getExecutor().compileQuery(node, createQueryId());
  const explain = db.engine === 'sqlite' ? 'explain query plan' : 'explain';
  const { rows } = await db.query.executeQuery(CompiledQuery.raw(`${explain} ${text}`, [...parameters]));
  return [text, ...rows.map((row) => Object.values(row as object).join(' '))].join('\n');
}

/** Rows of one column `n`, from 0. */
export function numbers({ engine }: Database, count: number) {
  return engine === 'sqlite'
    ? sql`(with recursive series (n) as (select 0 union all select n + 1 from series where n < ${count - 1}) select n from series) as series`
    : sql`(select n from generate_series(0, ${sql.lit(count - 1)}) as n) as series`;
}
