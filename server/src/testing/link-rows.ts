// Links straight into their table, for tests of what hangs on links and needs many of them.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';

const ROWS_PER_INSERT = 500;
let made = 0;

export async function insertLinks(
  db: Database,
  at: { workspaceId: string; domain: string; folderId?: string },
  keys: readonly string[],
): Promise<void> {
  await db.write(async (trx) => {
    for (let start = 0; start < keys.length; start += ROWS_PER_INSERT) {
      const rows = keys.slice(start, start + ROWS_PER_INSERT).map((key) => {
        made += 1;
        return sql`(${`link_test_${made}`}, ${at.workspaceId}, ${at.domain}, ${key}, ${key.toLowerCase()}, 'https://example.com/', 'hash', ${at.folderId ?? null}, 1, 1)`;
      });
      await sql`insert into link (id, workspace_id, domain, key, lookup_key, url, url_hash, folder_id, created_at, updated_at) values ${sql.join(rows)}`.execute(
        trx,
      );
    }
  });
}

export async function countLinks(
  db: Database,
  where: { domain: string } | { folder_id: string },
): Promise<number> {
  const [column, value] = Object.entries(where)[0] as ['domain' | 'folder_id', string];
  const row = await db.query
    .selectFrom('link')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(column, '=', value)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}
