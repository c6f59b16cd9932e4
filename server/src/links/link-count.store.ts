// Counts of links from the counters that the database keeps by itself: exact, and as quick for a million links
// as for ten. What no counter holds (two filters at once, a search) is not answered here.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { archivedValues, type LinkFilter, type Scope } from './link-filter.ts';

export const GROUPINGS = ['domain', 'tagId', 'userId', 'folderId'] as const;
export type LinkGrouping = (typeof GROUPINGS)[number];

/** The value of a group is empty for links that have none. */
export interface LinkGroup {
  readonly value: string;
  readonly count: number;
}

/** No answer grows without bound; nobody reads more groups than this. */
export const MAX_GROUPS = 10_000;

/** So many pairs of link and tag are counted by one statement at most. */
const MAX_COUNTED_PAIRS = 100_000;

interface Counter {
  readonly dimension: string;
  readonly value: string;
}

const ALL: Counter = { dimension: 'all', value: '' };
const DIMENSIONS = { domain: 'domain', tagId: 'tag', userId: 'user' } as const;

export function createLinkCountStore(db: Database) {
  /** How many links a scope holds; with several tags, an upper bound. */
  async function size(filter: LinkFilter, scope: Scope): Promise<number> {
    const { rows } = await sql<{ links: number | null }>`select sum(links) as links from link_count
      where workspace_id = ${filter.workspaceId} and archived in (${sql.join(archivedValues(filter))})
      and ${countersOf(scope)}`.execute(db.query);
    return rows[0]?.links ?? 0;
  }

  async function asksForTagsOnly(filter: LinkFilter): Promise<boolean> {
    const { tagIds, domain, userId, tenantId, folderId, readable, search } = filter;
    const others = [domain, userId, tenantId, folderId, readable, search || undefined];
    if (!tagIds || others.some((other) => other !== undefined)) return false;
    return (await size(filter, { by: 'tags', values: tagIds })) <= MAX_COUNTED_PAIRS;
  }

  /** Links with any of several tags: an index says it without a look at the links. */
  async function countTagged(filter: LinkFilter): Promise<number> {
    const own = sql`select id from tag where workspace_id = ${filter.workspaceId} and id in (${sql.join(filter.tagIds as string[])})`;
    const { rows } = await sql<{ count: number }>`select count(distinct link_id) as count from link_tag
      where tag_id in (${own}) and archived in (${sql.join(archivedValues(filter))})`.execute(db.query);
    return rows[0]?.count ?? 0;
  }

  return {
    size,

    /** Undefined when there is no counter for this filter. */
    async count(filter: LinkFilter): Promise<number | undefined> {
      const counter = counterOf(filter);
      if (!counter) return (await asksForTagsOnly(filter)) ? countTagged(filter) : undefined;
      const { rows } = await sql<{ links: number | null }>`select sum(links) as links from link_count
        where ${within(filter)} and ${isCounter(counter)}`.execute(db.query);
      return rows[0]?.links ?? 0;
    },

    /** Most first; undefined when there are no counters for this filter. */
    async countBy(filter: LinkFilter, grouping: LinkGrouping): Promise<LinkGroup[] | undefined> {
      const counter = counterOf(filter);
      if (!counter || (grouping !== 'folderId' && counter !== ALL)) return undefined;
      const [column, condition] =
        grouping === 'folderId'
          ? [sql.ref('folder_id'), isCounter(counter)]
          : [sql.ref('value'), sql<SqlBool>`dimension = ${DIMENSIONS[grouping]}`];
      const { rows } = await sql<{
        value: string;
        count: number;
      }>`select ${column} as value, sum(links) as count from link_count
        where ${within(filter)} and ${condition} group by ${column} order by count desc, value limit ${MAX_GROUPS}`.execute(
        db.query,
      );
      return rows;
    },
  };
}

/** The one counter beside folder and archive that the filter needs. */
function counterOf({ domain, userId, tenantId, tagIds, withTags, search }: LinkFilter): Counter | undefined {
  if (search || (tagIds && tagIds.length !== 1)) return undefined;
  const counters: Counter[] = [];
  if (domain !== undefined) counters.push({ dimension: 'domain', value: domain });
  if (userId !== undefined) counters.push({ dimension: 'user', value: userId });
  if (tenantId !== undefined) counters.push({ dimension: 'tenant', value: tenantId });
  if (tagIds) counters.push({ dimension: 'tag', value: tagIds[0] as string });
  else if (withTags) counters.push({ dimension: 'tagged', value: '' });
  return counters.length > 1 ? undefined : (counters[0] ?? ALL);
}

function within(filter: LinkFilter): RawBuilder<SqlBool> {
  const { workspaceId, folderId, readable } = filter;
  const parts = [sql`workspace_id = ${workspaceId} and archived in (${sql.join(archivedValues(filter))})`];
  if (folderId !== undefined) parts.push(sql`link_count.folder_id = ${folderId ?? ''}`);
  if (readable) parts.push(sql`${readable(sql.ref<string | null>('link_count.folder_id'))}`);
  return sql.join(parts, sql` and `);
}

function isCounter({ dimension, value }: Counter): RawBuilder<SqlBool> {
  return sql`dimension = ${dimension} and value = ${value}`;
}

function countersOf(scope: Scope): RawBuilder<SqlBool> {
  if (scope.by === 'workspace') return isCounter(ALL);
  if (scope.by === 'folder') return sql`${isCounter(ALL)} and folder_id = ${scope.value ?? ''}`;
  if (scope.by === 'tags') return sql`dimension = 'tag' and value in (${sql.join(scope.values)})`;
  return isCounter({ dimension: scope.by, value: scope.value });
}
