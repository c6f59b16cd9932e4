// What every engine must do for lists: all pages together are the whole list, in order, in both directions.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import type { TestDatabases } from '../testing/databases.ts';
import type { Database } from './database.ts';
import { type FindCursor, listPage, type PageRequest } from './page.ts';

interface Row {
  id: string;
  name: string;
  created_at: number;
}

type SortBy = 'name' | 'createdAt';

/** Small and repeatable: the same rows on every run and every engine. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function makeRows(count: number): Row[] {
  const random = createRandom(7);
  // Few names and few times, so that most rows tie; ids that say nothing about either.
  return Array.from({ length: count }, (_, index) => ({
    id: `tok_${random(1_000_000).toString(36)}_${index}`,
    name: ['a', 'B', 'ä', 'z'][random(4)] as string,
    created_at: random(5),
  }));
}

function sorted(rows: Row[], sortBy: SortBy, sortOrder: 'asc' | 'desc'): string[] {
  const compare = (x: Row, y: Row) =>
    (sortBy === 'name' ? Buffer.compare(Buffer.from(x.name), Buffer.from(y.name)) : 0) ||
    x.created_at - y.created_at ||
    Buffer.compare(Buffer.from(x.id), Buffer.from(y.id));
  const ids = rows.toSorted(compare).map((row) => row.id);
  return sortOrder === 'asc' ? ids : ids.reverse();
}

async function insertRows(db: Database, rows: Row[]): Promise<void> {
  const times = { created_at: 1, updated_at: 1 };
  const counts = {
    events_usage: 0,
    links_usage: 0,
    usage_month: 0,
    payouts_usage: 0,
    total_links: 0,
    total_clicks: 0,
  };
  const flags = { conversion_enabled: 0, webhook_enabled: 0 };
  const texts = {
    name: 'W',
    slug: 'w',
    plan: 'free',
    default_product: 'links',
    allowed_hostnames: '[]',
    limits: '{}',
  };
  await db.write(async (trx) => {
    await trx
      .insertInto('user')
      .values({ id: 'user_1', is_machine: 0, ...times })
      .execute();
    await trx
      .insertInto('workspace')
      .values({ id: 'ws_1', ...texts, ...flags, ...counts, ...times })
      .execute();
    const owner = { user_id: 'user_1', workspace_id: 'ws_1', partial_key: 'x', updated_at: 1 };
    const tokens = rows.map((row) => ({ ...row, ...owner, hashed_key: row.id }));
    await trx.insertInto('token').values(tokens).execute();
  });
}

export function pageContract(databases: TestDatabases): void {
  const rows = makeRows(53);
  let db: Database;
  before(async () => {
    db = await databases.open();
    await insertRows(db, rows);
  });

  const findCursor: FindCursor = async (id) => {
    const row = await db.query
      .selectFrom('token')
      .select('created_at')
      .where('id', '=', id)
      .executeTakeFirst();
    return row && { createdAt: row.created_at };
  };

  async function list(page: Partial<PageRequest<SortBy>>): Promise<string[]> {
    const spec = {
      columns: { name: 'token.name', createdAt: 'token.created_at' },
      createdAt: 'token.created_at',
      id: 'token.id',
    } as const;
    const request = { sortBy: 'createdAt', sortOrder: 'asc', page: 1, pageSize: 10, ...page } as const;
    const found = await listPage(db.query.selectFrom('token').select('token.id'), spec, request, findCursor);
    return found.map((row) => row.id);
  }

  for (const sortBy of ['name', 'createdAt'] as const) {
    for (const sortOrder of ['asc', 'desc'] as const) {
      test(`numbered pages by ${sortBy} ${sortOrder} are the whole list, whatever their size`, async () => {
        for (const pageSize of [1, 7, 53, 60]) {
          const ids: string[] = [];
          for (let page = 1; ids.length < rows.length; page++) {
            const next = await list({ sortBy, sortOrder, page, pageSize });
            assert.notEqual(next.length, 0);
            ids.push(...next);
          }
          assert.deepEqual(ids, sorted(rows, sortBy, sortOrder));
          assert.deepEqual(
            await list({ sortBy, sortOrder, pageSize, page: Math.ceil(53 / pageSize) + 1 }),
            [],
          );
        }
      });
    }
  }

  for (const sortOrder of ['asc', 'desc'] as const) {
    test(`cursors ${sortOrder} walk the whole list forwards and backwards`, async () => {
      const all = sorted(rows, 'createdAt', sortOrder);
      const forwards = await list({ sortOrder, pageSize: 7 });
      for (let next = forwards; next.length > 0; forwards.push(...next)) {
        next = await list({ sortOrder, pageSize: 7, startingAfter: forwards.at(-1) });
      }
      assert.deepEqual(forwards, all);

      const backwards = [all.at(-1) as string];
      for (let next = backwards; next.length > 0; backwards.unshift(...next)) {
        next = await list({ sortOrder, pageSize: 7, endingBefore: backwards[0] });
      }
      assert.deepEqual(backwards, all);
    });
  }

  test('the page before a row is the nearest one, and leaves the row itself out', async () => {
    const all = sorted(rows, 'createdAt', 'desc');
    assert.deepEqual(
      await list({ sortOrder: 'desc', pageSize: 3, endingBefore: all[20] }),
      all.slice(17, 20),
    );
    assert.deepEqual(
      await list({ sortOrder: 'desc', pageSize: 3, startingAfter: all[20] }),
      all.slice(21, 24),
    );
  });

  test('an unknown cursor is refused by the name of its parameter', async () => {
    for (const name of ['startingAfter', 'endingBefore']) {
      await assert.rejects(list({ [name]: 'tok_none' }), (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.status, 422);
        assert.match(error.message, new RegExp(`^custom: ${name}: `));
        return true;
      });
    }
  });
}
