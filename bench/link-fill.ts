// Fills a database with workspaces and links straight through SQL: one workspace with as many links as asked
// for, and a thousand small ones beside it. The same on both engines, and the same on every run.
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../server/src/db/database.ts';

export const BIG = 'ws_big';
const NEIGHBOURS = 1000;
const LINKS_OF_NEIGHBOUR = 10;
const ROWS_PER_INSERT = 10_000;

export async function addWorkspaces(db: Database): Promise<void> {
  const names = [BIG, ...Array.from({ length: NEIGHBOURS }, (_, index) => `ws_${index}`)];
  await db.write(async (trx) => {
    for (let start = 0; start < names.length; start += 500) {
      const rows = names
        .slice(start, start + 500)
        .map(
          (id) => sql`(${id}, ${id}, ${id}, 'enterprise', 'links', '[]', '{}', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1)`,
        );
      await sql`insert into workspace (id, name, slug, plan, default_product, allowed_hostnames, limits, conversion_enabled, webhook_enabled,
        events_usage, links_usage, usage_month, payouts_usage, total_links, total_clicks, created_at, updated_at) values ${sql.join(rows)}`.execute(
        trx,
      );
    }
    const tags = Array.from(
      { length: 50 },
      (_, index) => sql`(${`tag_${index}`}, ${BIG}, ${`tag ${index}`}, ${`tag ${index}`}, 'red', 1, 1)`,
    );
    await sql`insert into tag (id, workspace_id, name, name_folded, color, created_at, updated_at) values ${sql.join(tags)}`.execute(
      trx,
    );
  });
  await addLinks(db, 0, NEIGHBOURS * LINKS_OF_NEIGHBOUR, sql`'ws_' || (n % ${sql.lit(NEIGHBOURS)})`, 'n');
}

/** Links number `from` to `to` of the big workspace. */
export async function addBigLinks(db: Database, from: number, to: number): Promise<void> {
  await addLinks(db, from, to, sql`${sql.lit(BIG)}`, 'b');
}

async function addLinks(
  db: Database,
  from: number,
  to: number,
  workspace: RawBuilder<unknown>,
  prefix: string,
): Promise<void> {
  for (let start = from; start < to; start += ROWS_PER_INSERT) {
    const end = Math.min(start + ROWS_PER_INSERT, to);
    await db.write(async (trx) => {
      await sql`insert into link (id, workspace_id, domain, key, lookup_key, url, url_hash, user_id, tenant_id, folder_id, archived,
        clicks, sale_amount, last_clicked_at, created_at, updated_at)
        select ${idOf(db, prefix)}, ${workspace}, ${domainOf(prefix)}, ${keyOf(db)}, ${keyOf(db)},
        'https://shop' || (n % 97) || '.example.com/products/' || (n * 7919 % 1000003) || '?utm_source=mail&utm_campaign=c' || (n % 31), ${keyOf(db)},
        'user_' || (n % 13), case when n % 2 = 0 then 'tenant_' || (n % 5000) end, case when n % 3 = 0 then 'fold_' || (n % 60) end,
        case when n % 20 = 7 then 1 else 0 end, case when n % 4 = 0 then n * 31 % 5003 else 0 end, case when n % 16 = 0 then n * 17 % 90001 else 0 end,
        case when n % 4 = 0 then 1700000000000 + n * 7 % 1000000 else 0 end, 1700000000000 + n * 20, 1700000000000 + n * 20
        from ${series(db, start, end)}`.execute(trx);
      if (prefix === 'n') return;
      // A tag that every fourth link has, and fifty that share the rest.
      await sql`insert into link_tag (link_id, tag_id, position, archived, created_at)
        select link.id, case when n % 4 = 1 then 'tag_0' else 'tag_' || (n / 4 % 49 + 1) end, 0, link.archived, link.created_at
        from ${series(db, start, end)} cross join link where n % 4 in (1, 2) and link.id = ${idOf(db, prefix)}`.execute(
        trx,
      );
    });
  }
}

function series(db: Database, start: number, end: number): RawBuilder<unknown> {
  if (db.engine === 'postgres')
    return sql`(select n from generate_series(${sql.lit(start)}::bigint, ${sql.lit(end - 1)}::bigint) as n) as series`;
  return sql`(with recursive series (n) as (select ${sql.lit(start)} union all select n + 1 from series where n < ${sql.lit(end - 1)}) select n from series) as series`;
}

const domainOf = (prefix: string) =>
  prefix === 'n'
    ? sql`'other' || (n % 1000) || '.example'`
    : sql`case when n % 100 = 5 then 'rare.example' when n % 3 = 0 then 'b.example' else 'a.example' end`;
const idOf = (db: Database, prefix: string) =>
  db.engine === 'postgres'
    ? sql`${sql.lit(`link_${prefix}`)} || lpad(n::text, 24, '0')`
    : sql`printf(${`link_${prefix}%024d`}, n)`;
const keyOf = (db: Database) =>
  db.engine === 'postgres'
    ? sql`to_hex(n * 2654435761 % 4294967296) || '-' || n`
    : sql`printf('%x-%d', n * 2654435761 % 4294967296, n)`;
