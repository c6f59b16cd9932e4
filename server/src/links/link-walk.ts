// Links of a scope in the order of a list, straight from the indexes: a page at any depth, or chunk by chunk
// for whoever has to look at each link. No statement looks at more than a chunk, so that nobody waits for it.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { archivedValues, inScope, type LinkFilter, type Scope } from './link-filter.ts';

export type LinkSort = 'createdAt' | 'clicks' | 'saleAmount' | 'lastClicked';

/** Where a link stands in a list. */
export interface Place {
  readonly id: string;
  readonly created_at: number;
  readonly sort_value: number;
}

export interface LinkOrder {
  readonly sortBy: LinkSort;
  readonly direction: 'asc' | 'desc';
  /** Only what comes after it. */
  readonly after?: Place | undefined;
}

const SORT_COLUMNS = {
  createdAt: 'created_at',
  clicks: 'clicks',
  saleAmount: 'sale_amount',
  lastClicked: 'last_clicked_at',
} as const;

/** How many links a statement may look at, first and later. */
export interface ChunkSizes {
  readonly firstChunk: number;
  readonly largestChunk: number;
}

/** What the indexes of a domain and of a folder hold: enough to sort by, and to decide on, without the link itself. */
const INDEXED_COLUMNS = [
  'workspace_id',
  'domain',
  'folder_id',
  'archived',
  'clicks',
  'sale_amount',
  'last_clicked_at',
] as const;

/** Whether the index of the scope answers for all that the filter says and the list goes by. */
export function isIndexed({ userId, tenantId, search }: LinkFilter, scope: Scope): boolean {
  if (userId !== undefined || tenantId !== undefined || search) return false;
  return scope.by === 'domain' || scope.by === 'folder';
}

interface Part {
  readonly skip?: number;
  readonly take: number;
  /** With each place also the columns that are in the index. */
  readonly indexed?: boolean;
}

/** At most so many places of the scope, in order. Other orders than by creation are there for a whole workspace only. */
export function places(
  filter: LinkFilter,
  scope: Scope,
  order: LinkOrder,
  { skip = 0, take, indexed = false }: Part,
) {
  const branches = archivedValues(filter).flatMap((archived) =>
    scope.by === 'tags'
      ? scope.values.map((tagId) => ofTag(tagId, archived, order))
      : [ofLinks(filter, scope, { archived, indexed }, order)],
  );
  const page = sql`limit ${take} offset ${skip}`;
  if (branches.length === 1) return sql<Place>`${branches[0]} ${page}`;
  // Each branch comes in order and ends early; a link with several of the tags is there only once.
  const parts = branches.map((branch) => sql`select * from (${branch} limit ${skip + take}) as branch`);
  return sql<Place>`select * from (${sql.join(parts, sql` union `)}) as merged ${orderBy(['sort_value', 'created_at', 'id'], order)} ${page}`;
}

/** All places of the scope, as queries over one chunk after the other. */
export async function* chunksOf(
  db: Database,
  filter: LinkFilter,
  scope: Scope,
  order: LinkOrder,
  { firstChunk, largestChunk, indexed }: ChunkSizes & Pick<Part, 'indexed'>,
) {
  let { after } = order;
  for (let take = Math.min(firstChunk, largestChunk); ; take = Math.min(take * 4, largestChunk)) {
    const from = { ...order, after };
    const query = places(filter, scope, from, { take, indexed: indexed ?? false });
    yield { keys: { by: indexed ? ('place' as const) : ('id' as const), query }, size: take };
    const { rows } = await places(filter, scope, from, { skip: take - 1, take: 1 }).execute(db.query);
    after = rows[0];
    if (!after) return;
  }
}

export function orderBy(columns: readonly string[], { direction }: LinkOrder): RawBuilder<unknown> {
  return sql`order by ${sql.join(columns.map((column) => sql`${sql.ref(column)} ${sql.raw(direction)}`))}`;
}

/** The columns of `link` that a list goes by. */
export function columnsOf({ sortBy }: LinkOrder): string[] {
  return sortBy === 'createdAt'
    ? ['link.created_at', 'link.id']
    : [`link.${SORT_COLUMNS[sortBy]}`, 'link.created_at', 'link.id'];
}

function ofLinks(
  filter: LinkFilter,
  scope: Exclude<Scope, { by: 'tags' }>,
  { archived, indexed }: { archived: number; indexed: boolean },
  order: LinkOrder,
): RawBuilder<Place> {
  const columns = columnsOf(order);
  // PostgreSQL does not see that a column which is null throughout changes nothing in the order.
  const constant = scope.by === 'folder' && scope.value === null ? ['link.folder_id'] : [];
  const others = indexed ? sql`, ${sql.join(INDEXED_COLUMNS.map((name) => sql.ref(name)))}` : sql``;
  return sql<Place>`select id, created_at, ${sql.ref(columns[0] as string)} as sort_value${others} from link
    where ${inScope(filter, scope)} and archived = ${archived} and ${beyond(columns, order)} ${orderBy([...constant, ...columns], order)}`;
}

function ofTag(tagId: string, archived: number, order: LinkOrder): RawBuilder<Place> {
  const columns = ['created_at', 'link_id'];
  return sql<Place>`select link_id as id, created_at, created_at as sort_value from link_tag
    where tag_id = ${tagId} and archived = ${archived} and ${beyond(columns, order)} ${orderBy(columns, order)}`;
}

/** True for what comes after the place that the order starts at. */
export function beyond(columns: readonly string[], { after, direction }: LinkOrder): RawBuilder<SqlBool> {
  if (!after) return sql`1 = 1`;
  const values =
    columns.length === 3 ? [after.sort_value, after.created_at, after.id] : [after.created_at, after.id];
  return sql`(${sql.join(columns.map((column) => sql.ref(column)))}) ${sql.raw(direction === 'asc' ? '>' : '<')} (${sql.join(values)})`;
}
