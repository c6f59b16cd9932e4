// What every engine must do when there are many links: find the few among them, and read a page from an index,
// in its order, without going through the table.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { TestDatabases } from '../testing/databases.ts';
import type { LinkFilter } from './link-filter.ts';
import { type Lists, openLists, prepare, SORTS } from './link-list.contract.ts';
import { places } from './link-walk.ts';

/** What takes more links than a filter by hand can check: the ways beyond the first chunk, and the plans. */
export function linkSizeContract(databases: TestDatabases): void {
  const COUNT = 25_000;
  let world: Lists;
  before(async () => {
    const db = await databases.open();
    await prepare(db);
    world = openLists(db);
    await insertMany(db, COUNT);
    await sql.raw('analyze link').execute(db.query);
    await world.search.index(new AbortController().signal);
  });
  const page = { sortBy: 'createdAt', sortOrder: 'desc', page: 1, pageSize: 3 } as const;
  const all: LinkFilter = { workspaceId: 'ws_1', showArchived: false };

  test('a search finds the few that match among many', async () => {
    const found = await world.lists.list({ ...all, search: 'KEY-7.' }, page);
    assert.deepEqual(
      found.map((link) => link.id),
      ['link_0000007'],
    );
    assert.equal(await world.lists.count({ ...all, search: 'key-77' }), 111);
    assert.equal(await world.lists.count({ ...all, search: 'zz' }), 0);
    const some = await world.lists.list(
      { ...all, search: 'key-77', domain: 'a.example' },
      { ...page, sortBy: 'clicks' },
    );
    assert.deepEqual(
      some.map((link) => link.id),
      ['link_0007799', 'link_0007789', 'link_0007779'],
    );
  });

  test('two filters that only meet at the far end are found', async () => {
    const filter: LinkFilter = { ...all, domain: 'a.example', userId: 'user_last' };
    assert.deepEqual(
      (await world.lists.list(filter, page)).map((link) => link.id),
      ['link_0000000'],
    );
    assert.equal(await world.lists.count({ ...all, domain: 'a.example', userId: 'user_most' }), COUNT - 1);
  });

  test('pages come from an index in their order: nothing is sorted, nothing is scanned', async () => {
    const scopes = [
      { by: 'workspace' },
      { by: 'folder', value: null },
      { by: 'domain', value: 'a.example' },
      { by: 'user', value: 'user_most' },
    ] as const;
    const tags = { by: 'tags', values: ['tag_0'] } as const;
    for (const scope of [...scopes, tags]) {
      for (const direction of ['asc', 'desc'] as const) {
        await assertOrderedPlan(
          world.db,
          places(all, scope, { sortBy: 'createdAt', direction }, { take: 100 }),
        );
      }
    }
    for (const sortBy of SORTS) {
      await assertOrderedPlan(
        world.db,
        places(all, { by: 'workspace' }, { sortBy, direction: 'desc' }, { take: 100 }),
      );
    }
  });

  test('a chunk starts where the last one ended, without passing over what was before', async () => {
    const after = { id: 'link_0000100', created_at: 100, sort_value: 0 };
    for (const sortBy of ['createdAt', 'clicks'] as const) {
      await assertOrderedPlan(
        world.db,
        places(all, { by: 'workspace' }, { sortBy, direction: 'desc', after }, { take: 10 }),
        /created_at,\s*id\)|created_at</,
      );
    }
  });
}

async function insertMany(db: Database, count: number): Promise<void> {
  const series =
    db.engine === 'sqlite'
      ? sql`(with recursive series (n) as (select 0 union all select n + 1 from series where n < ${count - 1}) select n from series) as series`
      : sql`(select n from generate_series(0, ${sql.lit(count - 1)}) as n) as series`;
  const id =
    db.engine === 'sqlite' ? sql`printf('link_%07d', n)` : sql`'link_' || lpad(cast(n as text), 7, '0')`;
  await db.write(async (trx) => {
    await sql`insert into link (id, workspace_id, domain, key, lookup_key, url, url_hash, user_id, clicks, created_at, updated_at)
      select ${id}, 'ws_1', 'a.example', 'key-' || n || '.', 'key-' || n || '.', 'https://example.com/', 'hash',
      case when n = 0 then 'user_last' else 'user_most' end, n % 10 / 9, n, n from ${series}`.execute(trx);
    await sql`insert into link_tag (link_id, tag_id, position, archived, created_at)
      select id, 'tag_0', 0, archived, created_at from link where created_at % 2 = 0`.execute(trx);
  });
}

async function assertOrderedPlan(db: Database, query: RawBuilder<unknown>, seek?: RegExp): Promise<void> {
  const explain = db.engine === 'sqlite' ? sql`explain query plan ${query}` : sql`explain ${query}`;
  const { rows } = await explain.execute(db.query);
  const plan = rows.map((row) => Object.values(row as object).join(' ')).join('\n');
  assert.match(plan, /COVERING INDEX|Index (Only )?Scan/, plan);
  assert.doesNotMatch(plan, /SCAN link\b|TEMP B-TREE|Seq Scan|Sort/, plan);
  if (seek) assert.match(plan, seek, plan);
}
