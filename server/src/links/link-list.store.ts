// Lists and counts of links. Counters and indexes answer what they can by themselves; for all else the links of
// the smallest scope are looked at one by one, in chunks. Whatever the way, the filter's conditions decide.
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { TextSearch } from '../db/text-search.ts';
import { invalid } from '../kernel/errors.ts';
import type { LinkStore } from './link.store.ts';
import type { Link } from './link.ts';
import { createLinkCountStore, type LinkGroup, type LinkGrouping, MAX_GROUPS } from './link-count.store.ts';
import { conditions, inScope, isWholeFilter, type LinkFilter, type Scope, scopesOf } from './link-filter.ts';
import {
  beyond,
  type ChunkSizes,
  chunksOf,
  columnsOf,
  isIndexed,
  type LinkOrder,
  type LinkSort,
  orderBy,
  type Place,
  places,
} from './link-walk.ts';

interface LinkListSizes extends ChunkSizes {
  /** So many links are read by one statement without being cut into chunks. */
  readonly fewLinks: number;
  /** How far a search walks before it asks the index of text: what many links contain is found on the way. */
  readonly walkBeforeSearch: number;
}

const SIZES: LinkListSizes = {
  firstChunk: 500,
  largestChunk: 10_000,
  fewLinks: 10_000,
  walkBeforeSearch: 10_000,
};

/** So many entries of an index are looked at in the time of one link that has to be read. */
const ENTRIES_PER_LINK = 20;

const WORKSPACE: Scope = { by: 'workspace' };
const BY_CREATION: LinkOrder = { sortBy: 'createdAt', direction: 'desc' };

interface Slice {
  readonly skip: number;
  readonly take: number;
}

export function createLinkListStore(
  db: Database,
  links: LinkStore,
  search: TextSearch,
  sizes: LinkListSizes = SIZES,
) {
  const counters = createLinkCountStore(db);

  async function smallestScope(filter: LinkFilter): Promise<{ scope: Scope; size: number }> {
    const sized = await Promise.all(
      scopesOf(filter).map(async (scope) => ({ scope, size: await counters.size(filter, scope) })),
    );
    return sized.reduce((best, other) => (other.size < best.size ? other : best));
  }

  /** The ids of one page. */
  async function pageOf(filter: LinkFilter, order: LinkOrder, slice: Slice): Promise<string[]> {
    const byCreation = order.sortBy === 'createdAt';
    const [only] = scopesOf(filter) as [Scope];
    if (isWholeFilter(filter, only) && (byCreation || only.by === 'workspace')) {
      return ids(places(filter, only, order, slice));
    }
    const { scope, size } = await smallestScope(filter);
    // A walk in the order of the list ends with the page; one through all links may be in vain, so it has a limit.
    const onWalk = ((slice.skip + slice.take) * (await counters.size(filter, WORKSPACE))) / Math.max(size, 1);
    // An index entry is gathered in a fraction of the time that a link takes to be read on a walk.
    const worth = isIndexed(filter, scope) ? size / ENTRIES_PER_LINK : size;
    const limit = Math.min(byCreation ? Infinity : worth, filter.search ? sizes.walkBeforeSearch : Infinity);
    if (byCreation || onWalk < worth) {
      const found = await walk(filter, byCreation ? scope : WORKSPACE, order, slice, limit);
      if (found) return found;
    }
    const candidates = filter.search ? await search.findCandidates(filter.search) : undefined;
    if (candidates) return ids(sorted(filter, order, bySeq(candidates), slice));
    return (
      (byCreation && (await walk(filter, scope, order, slice, Infinity))) ||
      gather(filter, scope, order, slice)
    );
  }

  /** Looks at the links in their order until the page is full; undefined when that takes more than so many. */
  async function walk(
    filter: LinkFilter,
    scope: Scope,
    order: LinkOrder,
    { skip, take }: Slice,
    limit: number,
  ): Promise<string[] | undefined> {
    const found = new Set<string>();
    let walked = 0;
    for await (const { keys, size } of chunksOf(db, filter, scope, order, {
      ...sizes,
      firstChunk: Math.max(sizes.firstChunk, 2 * (skip + take)),
      indexed: isIndexed(filter, scope),
    })) {
      if (walked >= limit) return undefined;
      for (const id of await ids(sorted(filter, order, keys, { skip: 0, take: skip + take - found.size })))
        found.add(id);
      if (found.size >= skip + take) break;
      walked += size;
    }
    return [...found].slice(skip, skip + take);
  }

  /** Looks at all links of a scope, whatever their order, and keeps those that come first. */
  async function gather(
    filter: LinkFilter,
    scope: Scope,
    order: LinkOrder,
    { skip, take }: Slice,
  ): Promise<string[]> {
    let best: Place[] = [];
    for await (const keys of everything(filter, scope, isIndexed(filter, scope))) {
      const { rows } = await sorted(filter, order, keys, { skip: 0, take: skip + take }).execute(db.query);
      best = best.length === 0 ? rows : [...best, ...rows].sort(inOrder(order)).slice(0, skip + take);
    }
    return best.slice(skip).map((place) => place.id);
  }

  /** The links of a scope: from its index where that says enough, else in one query when they are few. */
  async function* everything(filter: LinkFilter, scope: Scope, indexed: boolean): AsyncGenerator<Keys> {
    const few = !indexed && (await counters.size(filter, scope)) <= sizes.fewLinks;
    if (few) return yield inAnyOrder(filter, scope);
    for await (const { keys } of chunksOf(db, filter, scope, BY_CREATION, { ...sizes, indexed })) yield keys;
  }

  /** Among these are all links of the filter. */
  async function* mayMatch(filter: LinkFilter, grouping?: LinkGrouping): AsyncGenerator<Keys> {
    const { scope, size } = await smallestScope(filter);
    const candidates =
      filter.search && size > sizes.fewLinks ? await search.findCandidates(filter.search) : undefined;
    if (candidates) yield bySeq(candidates);
    else yield* everything(filter, scope, grouping !== 'userId' && isIndexed(filter, scope));
  }

  async function ids(query: RawBuilder<unknown>): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`${query}`.execute(db.query);
    return rows.map((row) => row.id);
  }

  async function orderOf(filter: LinkFilter, page: PageRequest<LinkSort>): Promise<LinkOrder> {
    const { sortBy, sortOrder, startingAfter, endingBefore } = page;
    const id = startingAfter ?? endingBefore;
    if (id === undefined) return { sortBy, direction: sortOrder };
    const link = await links.findById(id);
    if (link?.workspaceId !== filter.workspaceId) {
      throw invalid(
        startingAfter === undefined ? 'endingBefore' : 'startingAfter',
        `There is no row with the id ${id}.`,
      );
    }
    const backwards = startingAfter === undefined;
    const direction = (sortOrder === 'asc') !== backwards ? 'asc' : 'desc';
    return {
      sortBy: 'createdAt',
      direction,
      after: { id, created_at: link.createdAt, sort_value: link.createdAt },
    };
  }

  return {
    async list(filter: LinkFilter, page: PageRequest<LinkSort>): Promise<Link[]> {
      const order = await orderOf(filter, page);
      if (filter.tagIds?.length === 0) return [];
      const skip = order.after ? 0 : (page.page - 1) * page.pageSize;
      const found = await pageOf(filter, order, { skip, take: page.pageSize });
      const byId = new Map((await links.findByIds(found)).map((link) => [link.id, link]));
      const inOrder = found.flatMap((id) => byId.get(id) ?? []);
      // Before a cursor, the nearest were taken from its side; the list still reads in its own direction.
      return order.direction === page.sortOrder ? inOrder : inOrder.reverse();
    },

    async count(filter: LinkFilter): Promise<number> {
      if (filter.tagIds?.length === 0) return 0;
      const counted = await counters.count(filter);
      if (counted !== undefined) return counted;
      let total = 0;
      for await (const keys of mayMatch(filter)) {
        const { rows } = await sql<{
          count: number;
        }>`select count(*) as count from ${matching(filter, keys)}`.execute(db.query);
        total += rows[0]?.count ?? 0;
      }
      return total;
    },

    /** Counts per value, most first. */
    async countBy(
      filter: LinkFilter,
      grouping: LinkGrouping,
    ): Promise<{ value: string | null; count: number }[]> {
      if (filter.tagIds?.length === 0) return [];
      const groups = (await counters.countBy(filter, grouping)) ?? (await countEach(filter, grouping));
      return groups.map(({ value, count }) => ({ value: value === '' ? null : value, count }));
    },
  };

  async function countEach(filter: LinkFilter, grouping: LinkGrouping): Promise<LinkGroup[]> {
    const totals = new Map<string, number>();
    const value = GROUP_VALUE[grouping];
    for await (const keys of mayMatch(filter, grouping)) {
      const found = sql`select ${value} as value from ${matching(filter, keys)}`;
      const pairs = sql`select link_tag.tag_id as value from (select link.id as id from ${matching(filter, keys)}) as found
        cross join link_tag where link_tag.link_id = found.id`;
      const { rows } = await sql<LinkGroup>`select value, count(*) as count
        from (${grouping === 'tagId' ? pairs : found}) as grouped group by value`.execute(db.query);
      for (const row of rows) totals.set(row.value, (totals.get(row.value) ?? 0) + row.count);
    }
    return [...totals]
      .map(([name, count]) => ({ value: name, count }))
      .sort((a, b) => b.count - a.count || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)))
      .slice(0, MAX_GROUPS);
  }
}

export type LinkListStore = ReturnType<typeof createLinkListStore>;

const GROUP_VALUE = {
  domain: sql`link.domain`,
  userId: sql`coalesce(link.user_id, '')`,
  folderId: sql`coalesce(link.folder_id, '')`,
  tagId: sql`''`,
} as const;

/** A query for links by their `id` or their `seq`, or for places that hold all that the filter and the list need. */
interface Keys {
  readonly by: 'id' | 'seq' | 'place';
  readonly query: RawBuilder<unknown>;
}

/** From each of the keys to its link, in this order: an engine left to choose might go through all links instead. */
function matching(filter: LinkFilter, { by, query }: Keys): RawBuilder<unknown> {
  if (by === 'place') return sql`(${query}) as link where ${conditions(filter)}`;
  return sql`(${query}) as keys cross join link where ${sql.ref(`link.${by}`)} = ${sql.ref(`keys.${by}`)} and ${conditions(filter)}`;
}

function sorted(filter: LinkFilter, order: LinkOrder, keys: Keys, { skip, take }: Slice): RawBuilder<Place> {
  const columns = columnsOf(order);
  return sql<Place>`select link.id as id, link.created_at as created_at, ${sql.ref(columns[0] as string)} as sort_value
    from ${matching(filter, keys)} and ${beyond(columns, order)} ${orderBy(columns, order)} limit ${take} offset ${skip}`;
}

function inOrder({ direction }: LinkOrder): (a: Place, b: Place) => number {
  const sign = direction === 'asc' ? 1 : -1;
  return (a, b) =>
    sign * (a.sort_value - b.sort_value || a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
}

function inAnyOrder(filter: LinkFilter, scope: Scope): Keys {
  const query =
    scope.by === 'tags'
      ? sql`select distinct link_id as id from link_tag where tag_id in (${sql.join(scope.values)})`
      : sql`select id from link where ${inScope(filter, scope)}`;
  return { by: 'id', query };
}

function bySeq(candidates: RawBuilder<unknown>): Keys {
  return { by: 'seq', query: candidates };
}
