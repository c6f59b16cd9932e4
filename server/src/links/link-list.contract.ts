// What every engine must do for lists and counts of links: agree with a plain filter over all of them, whatever
// the filters, the order and the page, after any mix of writes.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import { createTextSearch } from '../db/text-search.ts';
import { AppError } from '../kernel/errors.ts';
import type { TestDatabases } from '../testing/databases.ts';
import { createLinkStore } from './link.store.ts';
import { EMPTY_FIELDS } from './link.ts';
import { GROUPINGS, type LinkGrouping } from './link-count.store.ts';
import type { LinkFilter } from './link-filter.ts';
import { createLinkListStore } from './link-list.store.ts';
import type { LinkSort } from './link-walk.ts';

interface Sample {
  id: string;
  workspaceId: string;
  domain: string;
  key: string;
  url: string;
  folderId: string | null;
  userId: string | null;
  tenantId: string | null;
  archived: boolean;
  tagIds: string[];
  clicks: number;
  saleAmount: number;
  lastClicked: number;
  createdAt: number;
}

export const SORTS: LinkSort[] = ['createdAt', 'clicks', 'saleAmount', 'lastClicked'];
const PRIVATE_FOLDER = 'fold_2';

/** Small and repeatable: the same links on every run and every engine. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function makeSample(random: (below: number) => number, index: number): Sample {
  const pick = <T>(...values: T[]) => values[random(values.length)] as T;
  const key = index % 40 === 0 && index < 80 ? '_root' : `${pick('Promo', 'sale', 'xn--wgv71a')}-${index}`;
  const few = () => (random(3) === 0 ? random(4) : 0);
  const workspaceId = pick('ws_1', 'ws_1', 'ws_1', 'ws_2');
  const tagIds = workspaceId === 'ws_2' ? ['tag_foreign'] : [`tag_${random(3)}`, `tag_${random(3)}`];
  return {
    id: `link_${random(1_000_000).toString(36)}_${index}`,
    workspaceId,
    domain: key === '_root' ? `root-${index}.example` : pick('a.example', 'b.example', 'c.example'),
    key,
    url: pick(
      'https://Shop.example/É?q=1_0%',
      'https://shop.example/page',
      'mailto:a@b.example',
      'https://other.example/SALE',
    ),
    folderId: pick(null, null, 'fold_1', PRIVATE_FOLDER),
    userId: pick(null, 'user_1', 'user_2'),
    tenantId: pick(null, 't1', 't2'),
    archived: random(4) === 0,
    tagIds: [...new Set(tagIds.slice(random(3)))],
    clicks: few(),
    saleAmount: few(),
    lastClicked: few(),
    createdAt: 1 + random(20),
  };
}

function isMeant(sample: Sample, filter: LinkFilter & { readonly hidden?: string | undefined }): boolean {
  const { domain, folderId, tagIds, userId, tenantId } = filter;
  const shortLink = `https://${sample.domain}${sample.key === '_root' ? '' : `/${sample.key}`}`;
  const search = filter.search?.toLowerCase() ?? '';
  return (
    sample.workspaceId === filter.workspaceId &&
    (filter.showArchived || !sample.archived) &&
    (domain === undefined || sample.domain === domain) &&
    (folderId === undefined || sample.folderId === folderId) &&
    (filter.hidden === undefined || sample.folderId !== filter.hidden) &&
    (tagIds === undefined || sample.tagIds.some((id) => tagIds.includes(id))) &&
    (!filter.withTags || sample.tagIds.length > 0) &&
    (userId === undefined || sample.userId === userId) &&
    (tenantId === undefined || sample.tenantId === tenantId) &&
    (shortLink.toLowerCase().includes(search) || sample.url.toLowerCase().includes(search))
  );
}

function compare(sortBy: LinkSort) {
  return (x: Sample, y: Sample) =>
    x[sortBy] - y[sortBy] ||
    x.createdAt - y.createdAt ||
    Buffer.compare(Buffer.from(x.id), Buffer.from(y.id));
}

function makeFilter(random: (below: number) => number): LinkFilter & { hidden?: string | undefined } {
  const maybe = <T>(chance: number, ...values: T[]) =>
    random(chance) === 0 ? (values[random(values.length)] as T) : undefined;
  const hidden = maybe(3, PRIVATE_FOLDER);
  const readable = (folderId: Expression<string | null>) =>
    sql<SqlBool>`(${folderId} is null or ${folderId} not in (${PRIVATE_FOLDER}))`;
  return {
    workspaceId: 'ws_1',
    domain: maybe(3, 'a.example', 'b.example', 'unknown.example'),
    tagIds: maybe(3, ['tag_0'], ['tag_1', 'tag_2'], ['tag_0', 'tag_0', 'tag_foreign'], []),
    withTags: random(4) === 0,
    folderId: maybe(3, null, 'fold_1', PRIVATE_FOLDER),
    search: maybe(
      3,
      'PROMO',
      'sale',
      'é',
      'Shop.example/é',
      '_',
      '1_0%',
      'a.example/s',
      'wgv71A',
      'nowhere',
      '"',
      '_root',
      'ample\nhttps',
    ),
    userId: maybe(5, 'user_1', 'user_2'),
    tenantId: maybe(5, 't1', 't3'),
    showArchived: random(2) === 0,
    hidden,
    readable: hidden === undefined ? undefined : readable,
  };
}

/** Rows that links hang on, in the two workspaces. */
export async function prepare(db: Database): Promise<void> {
  const statements = ['ws_1', 'ws_2'].map(
    (
      id,
    ) => sql`insert into workspace (id, name, slug, plan, default_product, allowed_hostnames, limits, conversion_enabled, webhook_enabled,
      events_usage, links_usage, usage_month, payouts_usage, total_links, total_clicks, created_at, updated_at)
      values (${id}, ${id}, ${id}, 'free', 'links', '[]', '{}', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1)`,
  );
  for (const statement of statements) await statement.execute(db.query);
  for (const tag of ['tag_0', 'tag_1', 'tag_2', 'tag_foreign']) {
    const workspaceId = tag === 'tag_foreign' ? 'ws_2' : 'ws_1';
    await db.query
      .insertInto('tag')
      .values({
        id: tag,
        workspace_id: workspaceId,
        name: tag,
        name_folded: tag,
        color: 'red',
        created_at: 1,
        updated_at: 1,
      })
      .execute();
  }
}

export function openLists(db: Database) {
  const links = createLinkStore(db);
  const search = createTextSearch(db, 'link');
  const lists = createLinkListStore(db, links, search);
  // So small that a few hundred links take every way that millions do.
  const smallLists = createLinkListStore(db, links, search, {
    firstChunk: 7,
    largestChunk: 20,
    fewLinks: 30,
    walkBeforeSearch: 15,
  });
  const state = new Map<string, Sample>();

  async function add(samples: readonly Sample[]): Promise<void> {
    await db.write(async () => {
      await links.insert(
        samples.map(
          ({ id, workspaceId, userId, key, createdAt, domain, url, folderId, tenantId, archived }) => ({
            id,
            workspaceId,
            userId,
            lookupKey: key.toLowerCase(),
            createdAt,
            fields: { ...EMPTY_FIELDS, domain, key, url, folderId, tenantId, archived },
          }),
        ),
      );
      await links.addTags(new Map(samples.map(({ id, tagIds }) => [id, tagIds])));
      for (const { id, clicks, saleAmount, lastClicked } of samples) {
        await links.update(id, { clicks, sale_amount: saleAmount, last_clicked_at: lastClicked });
      }
    });
    for (const sample of samples) state.set(sample.id, sample);
  }

  return { db, links, search, lists, smallLists, state, add };
}

export type Lists = ReturnType<typeof openLists>;

/** Moves, renames, archives, retags and deletes some of the links. */
async function shuffle({ links, state }: Lists, random: (below: number) => number): Promise<void> {
  for (const sample of [...state.values()]) {
    const change = random(8);
    if (change === 0) {
      Object.assign(sample, { folderId: 'fold_1', archived: !sample.archived, tenantId: 't2' });
      await links.update(sample.id, {
        folder_id: 'fold_1',
        archived: sample.archived ? 1 : 0,
        tenant_id: 't2',
      });
    } else if (change === 1) {
      Object.assign(sample, { url: 'https://moved.example/sale' });
      await links.update(sample.id, { url: sample.url, url_folded: null });
    } else if (change === 2) {
      sample.tagIds = [sample.workspaceId === 'ws_2' ? 'tag_foreign' : `tag_${random(3)}`];
      await links.setTags(new Map([[sample.id, sample.tagIds]]));
    } else if (change === 3) {
      await links.delete([sample.id]);
      state.delete(sample.id);
    } else if (change === 4) sample.tagIds = [];
    if (change === 4) await links.setTags(new Map([[sample.id, []]]));
  }
}

async function assertAgrees(
  { lists: large, smallLists, state }: Lists,
  random: (below: number) => number,
): Promise<void> {
  const lists = random(2) === 0 ? large : smallLists;
  const filter = makeFilter(random);
  const sortBy = SORTS[random(4)] as LinkSort;
  const sortOrder = random(2) === 0 ? 'asc' : 'desc';
  const meant = [...state.values()].filter((sample) => isMeant(sample, filter)).sort(compare(sortBy));
  if (sortOrder === 'desc') meant.reverse();
  const told = JSON.stringify({ ...filter, sortBy, sortOrder });

  const page: PageRequest<LinkSort> = { sortBy, sortOrder, page: 1 + random(3), pageSize: 1 + random(30) };
  const found = await lists.list(filter, page);
  const start = (page.page - 1) * page.pageSize;
  const expected = meant.slice(start, start + page.pageSize);
  assert.deepEqual(
    found.map((link) => link.id),
    expected.map((sample) => sample.id),
    told,
  );
  assert.deepEqual(
    found.map((link) => link.tags.length),
    expected.map((sample) => sample.tagIds.length),
    told,
  );
  assert.equal(await lists.count(filter), meant.length, told);
  for (const grouping of GROUPINGS) {
    assert.deepEqual(await lists.countBy(filter, grouping), groupsOf(meant, grouping), `${grouping} ${told}`);
  }
  await assertCursorsAgree(lists, filter, sortOrder, [...meant].sort(compare('createdAt')), random);
}

function groupsOf(
  samples: readonly Sample[],
  grouping: LinkGrouping,
): { value: string | null; count: number }[] {
  const counts = new Map<string, number>();
  for (const sample of samples) {
    const values = grouping === 'tagId' ? sample.tagIds : [sample[grouping] ?? ''];
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([value, count]) => ({ value: value === '' ? null : value, count }));
}

async function assertCursorsAgree(
  lists: Lists['lists'],
  filter: LinkFilter,
  sortOrder: 'asc' | 'desc',
  meant: Sample[],
  random: (below: number) => number,
): Promise<void> {
  if (sortOrder === 'desc') meant.reverse();
  if (meant.length === 0) return;
  const at = random(meant.length);
  const id = (meant[at] as Sample).id;
  const page = { sortBy: 'createdAt', sortOrder, page: 1, pageSize: 7 } as const;
  const after = await lists.list(filter, { ...page, startingAfter: id });
  assert.deepEqual(
    after.map((link) => link.id),
    meant.slice(at + 1, at + 8).map((sample) => sample.id),
  );
  const before = await lists.list(filter, { ...page, endingBefore: id });
  assert.deepEqual(
    before.map((link) => link.id),
    meant.slice(Math.max(0, at - 7), at).map((sample) => sample.id),
  );
}

export function linkListContract(databases: TestDatabases): void {
  let world: Lists;
  const random = createRandom(11);
  before(async () => {
    const db = await databases.open();
    await prepare(db);
    world = openLists(db);
  });

  test('lists, counts and searches agree with a plain filter over all links', async () => {
    await world.add(Array.from({ length: 300 }, (_, index) => makeSample(random, index)));
    for (let round = 0; round < 50; round++) await assertAgrees(world, random);
  });

  test('they still agree after links were moved, changed, retagged and deleted, indexed or not', async () => {
    await world.search.index(new AbortController().signal);
    await shuffle(world, random);
    for (let round = 0; round < 25; round++) await assertAgrees(world, random);
    await world.search.index(new AbortController().signal);
    for (let round = 0; round < 25; round++) await assertAgrees(world, random);
  });

  test('they agree after a tag was deleted', async () => {
    await world.db.query.deleteFrom('tag').where('id', '=', 'tag_0').execute();
    await world.links.removeTag('tag_0', 10_000, 0);
    for (const sample of world.state.values()) sample.tagIds = sample.tagIds.filter((id) => id !== 'tag_0');
    for (let round = 0; round < 15; round++) await assertAgrees(world, random);
  });

  test('a cursor of another workspace is refused', async () => {
    const foreign = [...world.state.values()].find((sample) => sample.workspaceId === 'ws_2') as Sample;
    const page = {
      sortBy: 'createdAt',
      sortOrder: 'desc',
      page: 1,
      pageSize: 1,
      startingAfter: foreign.id,
    } as const;
    await assert.rejects(
      world.lists.list({ workspaceId: 'ws_1', showArchived: true }, page),
      (error) => error instanceof AppError && error.code === 'unprocessable_entity',
    );
  });

  test('no counter is left once the links are gone', async () => {
    await world.links.delete([...world.state.keys()]);
    const { rows } = await sql`select * from link_count`.execute(world.db.query);
    assert.deepEqual(rows, []);
  });
}
