// Lists, filters, sorts, counts and searches over one workspace that grows tenfold twice. Reported, without a
// bar: each line is the median at full size, compared with the median at the size before.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../server/src/db/database.ts';
import { migrate } from '../../server/src/db/migrate.ts';
import { createTextSearch } from '../../server/src/db/text-search.ts';
import { systemClock } from '../../server/src/kernel/clock.ts';
import { silentLog } from '../../server/src/kernel/log.ts';
import { createLinkStore } from '../../server/src/links/link.store.ts';
import type { LinkFilter } from '../../server/src/links/link-filter.ts';
import { createLinkListStore } from '../../server/src/links/link-list.store.ts';
import type { LinkSort } from '../../server/src/links/link-walk.ts';
import { median } from '../compare.ts';
import { addBigLinks, addWorkspaces, BIG } from '../link-fill.ts';
import type { Line, Scenario, ScenarioContext } from '../scenario.ts';

const SAMPLES = 5;
/** Longer than this and one sample has to do. */
const SLOW_MS = 300;

type Question = (lists: ReturnType<typeof createLinkListStore>, total: number) => Promise<unknown>;

const scope: LinkFilter = { workspaceId: BIG, folderId: null, showArchived: false };
const all: LinkFilter = { workspaceId: BIG, showArchived: false };

function list(
  filter: LinkFilter,
  sortBy: LinkSort = 'createdAt',
  page = 1,
  sortOrder: 'asc' | 'desc' = 'desc',
): Question {
  return (lists) => lists.list(filter, { sortBy, sortOrder, page, pageSize: 100 });
}
const count =
  (filter: LinkFilter): Question =>
  (lists) =>
    lists.count(filter);

const QUESTIONS: Record<string, Question> = {
  'list, newest': list(scope),
  'list, oldest': list(scope, 'createdAt', 1, 'asc'),
  'list, with archived': list({ ...scope, showArchived: true }),
  'list, page 50': list(scope, 'createdAt', 50),
  'list, page 1000': list(scope, 'createdAt', 1000),
  'list, by clicks': list(scope, 'clicks'),
  'list, by clicks, least': list(scope, 'clicks', 1, 'asc'),
  'list, by sale amount': list(scope, 'saleAmount'),
  'list, by last click': list(scope, 'lastClicked'),
  'list, cursor': (lists, total) =>
    lists.list(scope, {
      sortBy: 'createdAt',
      sortOrder: 'desc',
      page: 1,
      pageSize: 100,
      startingAfter: `link_b${String(Math.floor(total / 2)).padStart(24, '0')}`,
    }),
  'list, domain (2/3)': list({ ...all, domain: 'a.example' }),
  'list, domain (2/3), by clicks': list({ ...all, domain: 'a.example' }, 'clicks'),
  'list, domain (1%), by clicks': list({ ...all, domain: 'rare.example' }, 'clicks'),
  'list, folder': list({ ...all, folderId: 'fold_3' }),
  'list, user': list({ ...scope, userId: 'user_3' }),
  'list, user, by clicks': list({ ...scope, userId: 'user_3' }, 'clicks'),
  'list, tenant': list({ ...all, tenantId: 'tenant_44' }),
  'list, one tag (1/4)': list({ ...all, tagIds: ['tag_0'] }),
  'list, three tags': list({ ...all, tagIds: ['tag_0', 'tag_7', 'tag_8'] }),
  'list, tag, by clicks': list({ ...all, tagIds: ['tag_7'] }, 'clicks'),
  'list, any tag': list({ ...scope, withTags: true }),
  'list, domain and tag': list({ ...all, domain: 'rare.example', tagIds: ['tag_7'] }),
  'count, default': count(scope),
  'count, all': count({ ...all, showArchived: true }),
  'count, domain': count({ ...all, domain: 'a.example' }),
  'count, tenant': count({ ...all, tenantId: 'tenant_44' }),
  'count, user': count({ ...scope, userId: 'user_3' }),
  'count, tag': count({ ...all, tagIds: ['tag_0'] }),
  'count, any tag': count({ ...scope, withTags: true }),
  'count by domain': (lists) => lists.countBy(all, 'domain'),
  'count by tag': (lists) => lists.countBy(all, 'tagId'),
  'count by user': (lists) => lists.countBy(all, 'userId'),
  'count by folder': (lists) => lists.countBy(all, 'folderId'),
  'count, tenant and tag': count({ ...all, tenantId: 'tenant_44', tagIds: ['tag_7'] }),
  'count, two tags': count({ ...all, tagIds: ['tag_7', 'tag_8'] }),
  'search, in every link': list({ ...all, search: 'Products' }),
  'search, one link': list({ ...all, search: '-4242' }),
  'search, no link': list({ ...all, search: 'nothing-like-it' }),
  'search, common pieces, no link': list({ ...all, search: 'example.com/products/x' }),
  'search, some links, by clicks': list({ ...all, search: 'shop42.EXAMPLE' }, 'clicks'),
  'search, two letters': list({ ...all, search: 'sh' }),
  'count, search, few': count({ ...all, search: '-4242' }),
  'count, search, 1%': count({ ...all, search: 'shop42.example' }),
};

export const million: Scenario = {
  name: 'million',
  title: 'lists, counts and searches as a workspace grows (--links 1m; 100k by default)',
  async run(context) {
    const lines = await onSqlite(context);
    const url = process.env.LINKTRAIL_TEST_POSTGRES;
    return url ? [...lines, ...(await onPostgres(url, context))] : lines;
  },
};

async function onSqlite(context: ScenarioContext): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'linktrail-bench-'));
  const db = await openDatabase({
    url: join(folder, 'linktrail.db'),
    log: silentLog,
    sqlite: { sync: 'normal' },
  });
  try {
    return await measureGrowth(db, context);
  } finally {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function onPostgres(url: string, context: ScenarioContext): Promise<Line[]> {
  const schema = `bench_${process.pid}`;
  const place = new URL(url);
  place.searchParams.set('options', `-c search_path=${schema} -c statement_timeout=0`);
  const admin = await openDatabase({ url, log: silentLog, postgres: { poolSize: 1, statementTimeoutMs: 0 } });
  try {
    await sql.raw(`create schema ${schema}`).execute(admin.query);
    const db = await openDatabase({ url: place.href, log: silentLog, postgres: { statementTimeoutMs: 0 } });
    try {
      return await measureGrowth(db, context);
    } finally {
      await db.close();
    }
  } finally {
    await sql.raw(`drop schema if exists ${schema} cascade`).execute(admin.query);
    await admin.close();
  }
}

async function measureGrowth(
  db: Database,
  { links: largest = 100_000, progress }: ScenarioContext,
): Promise<Line[]> {
  await migrate(db, { clock: systemClock });
  await addWorkspaces(db);
  const search = createTextSearch(db, 'link');
  const lists = createLinkListStore(db, createLinkStore(db), search);
  const sizes = [largest / 100, largest / 10, largest].filter((size) => size >= 1000);
  const medians: Map<string, number>[] = [];
  let filled = 0;
  for (const size of sizes) {
    const startMs = performance.now();
    await addBigLinks(db, filled, size);
    const insertedMs = performance.now();
    await search.index(new AbortController().signal);
    if (db.engine === 'postgres')
      await sql.raw('vacuum analyze link, link_tag, link_count').execute(db.query);
    progress(
      `${db.engine}: ${size} links; ${rate(size - filled, insertedMs - startMs)} inserted, ${rate(size - filled, performance.now() - insertedMs)} indexed`,
    );
    filled = size;
    const found = new Map<string, number>();
    for (const [name, ask] of Object.entries(QUESTIONS))
      found.set(name, await medianMs(() => ask(lists, size)));
    medians.push(found);
  }
  return Object.keys(QUESTIONS).map((name) =>
    toLine(
      db.engine,
      name,
      medians.map((found) => found.get(name) as number),
    ),
  );
}

function toLine(engine: string, name: string, growth: readonly number[]): Line {
  const ours = growth.at(-1) as number;
  const before = growth.at(-2);
  const line: Line = {
    name: engine,
    what: `${name} (${growth.map((ms) => ms.toFixed(1)).join(' → ')} ms)`,
    ours,
    unit: 'ms',
  };
  return before === undefined ? line : { ...line, baseline: before, ratio: ours / before };
}

async function medianMs(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const startMs = performance.now();
    await ask();
    times.push(performance.now() - startMs);
    if ((times[0] as number) > SLOW_MS) break;
  }
  return median(times);
}

function rate(rows: number, ms: number): string {
  return `${Math.round((rows / ms) * 1000).toLocaleString('en-US')} a second`;
}
