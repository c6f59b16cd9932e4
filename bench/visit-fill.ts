// Links to visit, filled in straight through SQL before the server starts. A million take about a minute: what
// hangs on the table (indexes, counters, the feed of the text index) is taken off and put back around it.
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../server/src/db/database.ts';
import { silentLog } from '../server/src/kernel/log.ts';

const ROWS_PER_INSERT = 20_000;
const SPREAD = 2_654_435_761;

/** Keys in no order that an index would profit from. */
export function keyOfLink(n: number): string {
  return `${((n * SPREAD) % 2 ** 32).toString(16)}-${n}`;
}

/** Plain links on the default domain, in the first workspace of this data directory. */
export async function addVisitLinks(dataDir: string, domain: string, count: number): Promise<void> {
  const db = await openDatabase({
    url: join(dataDir, 'linktrail.db'),
    log: silentLog,
    sqlite: { sync: 'normal' },
  });
  try {
    const { id: workspace } = await db.query.selectFrom('workspace').select('id').executeTakeFirstOrThrow();
    const putBack = await takeOff(db);
    for (let start = 0; start < count; start += ROWS_PER_INSERT) {
      const last = Math.min(start + ROWS_PER_INSERT, count) - 1;
      const key = sql`printf('%x-%d', n * ${sql.lit(SPREAD)} % 4294967296, n)`;
      await db.write(async (trx) => {
        await sql`insert into link (id, workspace_id, domain, key, lookup_key, url, url_hash, created_at, updated_at)
          select printf('link_%026d', n), ${workspace}, ${domain}, ${key}, ${key},
          'https://shop' || (n % 97) || '.example.com/products/' || n, printf('%016x', n), 1, 1
          from (with recursive series (n) as (select ${sql.lit(start)} union all select n + 1 from series where n < ${sql.lit(last)})
          select n from series)`.execute(trx);
      });
    }
    await putBack();
  } finally {
    await db.close();
  }
}

/** The indexes and triggers of the table of links; returns what makes them again. */
async function takeOff(db: Database): Promise<() => Promise<void>> {
  const parts = await sql<{ type: string; name: string; sql: string }>`
    select type, name, sql from sqlite_master
    where tbl_name = 'link' and type in ('index', 'trigger') and sql is not null`.execute(db.query);
  await db.write(async (trx) => {
    for (const { type, name } of parts.rows) await sql.raw(`drop ${type} "${name}"`).execute(trx);
  });
  return () =>
    db.write(async (trx) => {
      for (const part of parts.rows) await sql.raw(part.sql).execute(trx);
    });
}
