// Lists and counts of customers. What an index holds in order is read from it; what a search or a small scope
// narrows down is sorted; for all else the customers are looked at in their order, chunk by chunk, so that no
// statement looks at more than a chunk. Whatever the way, the filter's conditions decide.
import { type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import type { CustomerTable } from '../db/schema.ts';
import type { TextSearch } from '../db/text-search.ts';
import { toCustomer } from './customer.store.ts';
import { type Customer, foldEmail, foldSearch } from './customer.ts';

export interface CustomerFilter {
  readonly workspaceId: string;
  readonly email?: string | undefined;
  readonly externalId?: string | undefined;
  readonly search?: string | undefined;
  readonly country?: string | undefined;
  readonly linkId?: string | undefined;
  readonly programId?: string | undefined;
  readonly partnerId?: string | undefined;
}

export const CUSTOMER_SORTS = ['createdAt', 'saleAmount', 'firstSaleAt', 'subscriptionCanceledAt'] as const;
export type CustomerSort = (typeof CUSTOMER_SORTS)[number];

export interface CustomerOrder {
  readonly sortBy: CustomerSort;
  readonly direction: 'asc' | 'desc';
  /** Only what comes after this customer. */
  readonly after?: Pick<Customer, 'id' | 'createdAt'> | undefined;
}

export interface CustomerListSizes {
  /** So many are sorted by one statement. */
  readonly few: number;
  readonly firstChunk: number;
  readonly largestChunk: number;
}

const SIZES: CustomerListSizes = { few: 10_000, firstChunk: 500, largestChunk: 10_000 };

const SORT_COLUMNS = {
  createdAt: 'created_at',
  saleAmount: 'sale_amount',
  firstSaleAt: 'first_sale_order',
  subscriptionCanceledAt: 'cancellation_order',
} as const;

/** Filters with an index of their own that holds customers in order of creation. */
const SCOPE_COLUMNS = {
  email: 'email_folded',
  externalId: 'external_id',
  linkId: 'link_id',
  partnerId: 'partner_id',
  programId: 'program_id',
  country: 'country',
} as const;
type ScopeName = keyof typeof SCOPE_COLUMNS;

interface Slice {
  readonly skip: number;
  readonly take: number;
}

/** A query for customers by their `id` or their `seq`. */
interface Keys {
  readonly by: 'id' | 'seq';
  readonly query: RawBuilder<unknown>;
}

/** Where a customer stands in a list. */
interface Place {
  readonly id: string;
  readonly created_at: number;
  readonly sort_value: number;
}

export function createCustomerListStore(db: Database, search: TextSearch, sizes = SIZES) {
  const run = async <T>(query: RawBuilder<T>): Promise<T[]> => (await query.execute(db.query)).rows;

  async function isFew(keys: RawBuilder<unknown>): Promise<boolean> {
    const query = sql<{
      count: number;
    }>`select count(*) as count from (${keys} limit ${sizes.few}) as counted`;
    return ((await run(query))[0]?.count ?? 0) < sizes.few;
  }

  /** Few customers, among them all of the filter; undefined when nothing narrows them down that far. */
  async function findFew(filter: CustomerFilter): Promise<Keys | undefined> {
    for (const scope of scopesOf(filter)) {
      const query = sql`select id from customer where ${inScope(filter, scope)}`;
      if (await isFew(query)) return { by: 'id', query };
    }
    const candidates = filter.search ? await search.findCandidates(foldSearch(filter.search)) : undefined;
    return candidates && { by: 'seq', query: candidates };
  }

  /** The customers of a scope in their order, as queries over one chunk after the other. */
  async function* chunks(filter: CustomerFilter, scope: ScopeName | undefined, order: CustomerOrder) {
    let from: Place | undefined = order.after && placeOf(order.after);
    for (let take = sizes.firstChunk; ; take = Math.min(take * 4, sizes.largestChunk)) {
      const places = placesOf(filter, scope, order, from);
      yield { by: 'id', query: sql`${places} limit ${take}` } satisfies Keys;
      [from] = await run(sql<Place>`${places} limit 1 offset ${take - 1}`);
      if (!from) return;
    }
  }

  async function walk(
    filter: CustomerFilter,
    order: CustomerOrder,
    { skip, take }: Slice,
  ): Promise<string[]> {
    const found = new Set<string>();
    // Other orders than by creation are there for a whole workspace only.
    const scope = order.sortBy === 'createdAt' ? scopesOf(filter)[0] : undefined;
    for await (const keys of chunks(filter, scope, order)) {
      const some = sorted(filter, order, keys, { skip: 0, take: skip + take - found.size });
      for (const { id } of await run(some)) found.add(id);
      if (found.size >= skip + take) break;
    }
    return [...found].slice(skip);
  }

  async function pageOf(filter: CustomerFilter, order: CustomerOrder, slice: Slice): Promise<string[]> {
    const [scope] = scopesOf(filter);
    if (isOneScope(filter) && (order.sortBy === 'createdAt' || !scope)) {
      const places = placesOf(filter, scope, order, order.after && placeOf(order.after));
      return ids(await run(sql<Place>`${places} limit ${slice.take} offset ${slice.skip}`));
    }
    const few = await findFew(filter);
    return few ? ids(await run(sorted(filter, order, few, slice))) : walk(filter, order, slice);
  }

  return {
    async list(filter: CustomerFilter, order: CustomerOrder, slice: Slice): Promise<Customer[]> {
      const found = await pageOf(filter, order, slice);
      if (found.length === 0) return [];
      const rows = await db.query.selectFrom('customer').selectAll().where('id', 'in', found).execute();
      const byId = new Map(rows.map((row) => [row.id, toCustomer(row as Selectable<CustomerTable>)]));
      return found.flatMap((id) => byId.get(id) ?? []);
    },

    async count(filter: CustomerFilter): Promise<number> {
      const countOf = async (keys: Keys) => {
        const source = isOneScope(filter) ? sql`(${keys.query}) as keys` : matching(filter, keys);
        return (await run(sql<{ count: number }>`select count(*) as count from ${source}`))[0]?.count ?? 0;
      };
      const few = await findFew(filter);
      if (few) return countOf(few);
      let total = 0;
      const order: CustomerOrder = { sortBy: 'createdAt', direction: 'asc' };
      for await (const keys of chunks(filter, scopesOf(filter)[0], order)) total += await countOf(keys);
      return total;
    },
  };
}

export type CustomerListStore = ReturnType<typeof createCustomerListStore>;

function ids(places: readonly { readonly id: string }[]): string[] {
  return places.map(({ id }) => id);
}

/** Cursors are there for the order of creation alone. */
function placeOf({ id, createdAt }: Pick<Customer, 'id' | 'createdAt'>): Place {
  return { id, created_at: createdAt, sort_value: createdAt };
}

/** The scopes that hold every customer of the filter; the first is likely to be the smallest. */
function scopesOf(filter: CustomerFilter): ScopeName[] {
  return (Object.keys(SCOPE_COLUMNS) as ScopeName[]).filter((name) => filter[name] !== undefined);
}

/** Whether one index holds just the customers of the filter. */
function isOneScope(filter: CustomerFilter): boolean {
  return !filter.search && scopesOf(filter).length < 2;
}

function filterValue(filter: CustomerFilter, scope: ScopeName): string {
  const value = filter[scope] as string;
  return scope === 'email' ? foldEmail(value) : value;
}

function inScope(filter: CustomerFilter, scope: ScopeName | undefined): RawBuilder<SqlBool> {
  const ofWorkspace = sql<SqlBool>`customer.workspace_id = ${filter.workspaceId}`;
  if (!scope) return ofWorkspace;
  return sql`${ofWorkspace} and ${sql.ref(`customer.${SCOPE_COLUMNS[scope]}`)} = ${filterValue(filter, scope)}`;
}

/** Everything the filter says, about a row of `customer`. */
function conditions(filter: CustomerFilter): RawBuilder<SqlBool> {
  const all: Expression<SqlBool>[] = [inScope(filter, undefined)];
  for (const scope of scopesOf(filter)) all.push(inScope(filter, scope));
  // Each text is a line: what spans lines is in none.
  if (filter.search?.includes('\n')) all.push(sql`1 = 0`);
  else if (filter.search) all.push(contains(sql.ref('customer.search_text'), foldSearch(filter.search)));
  return sql.join(all, sql` and `);
}

/** The columns of `customer` that a list goes by. */
function columnsOf({ sortBy }: CustomerOrder): string[] {
  const byCreation = ['customer.created_at', 'customer.id'];
  return sortBy === 'createdAt' ? byCreation : [`customer.${SORT_COLUMNS[sortBy]}`, ...byCreation];
}

function inOrder(order: CustomerOrder, from: Place | undefined): RawBuilder<unknown> {
  const columns = columnsOf(order);
  const direction = sql.raw(order.direction);
  const orderBy = sql`order by ${sql.join(columns.map((column) => sql`${sql.ref(column)} ${direction}`))}`;
  if (!from) return orderBy;
  const values = [from.sort_value, from.created_at, from.id].slice(-columns.length);
  const beyond = sql.raw(order.direction === 'asc' ? '>' : '<');
  return sql`and (${sql.join(columns.map((column) => sql.ref(column)))}) ${beyond} (${sql.join(values)}) ${orderBy}`;
}

function selected(order: CustomerOrder): RawBuilder<unknown> {
  return sql`select customer.id as id, customer.created_at as created_at, ${sql.ref(columnsOf(order)[0] as string)} as sort_value`;
}

function placesOf(
  filter: CustomerFilter,
  scope: ScopeName | undefined,
  order: CustomerOrder,
  from: Place | undefined,
): RawBuilder<Place> {
  return sql`${selected(order)} from customer where ${inScope(filter, scope)} ${inOrder(order, from)}`;
}

/** From each of the keys to its customer, in this order: an engine left to choose might go through all instead. */
function matching(filter: CustomerFilter, { by, query }: Keys): RawBuilder<unknown> {
  return sql`(${query}) as keys cross join customer where ${sql.ref(`customer.${by}`)} = ${sql.ref(`keys.${by}`)} and ${conditions(filter)}`;
}

function sorted(filter: CustomerFilter, order: CustomerOrder, keys: Keys, slice: Slice): RawBuilder<Place> {
  const from = order.after && placeOf(order.after);
  return sql`${selected(order)} from ${matching(filter, keys)} ${inOrder(order, from)} limit ${slice.take} offset ${slice.skip}`;
}
