// Paging, the same for every list. Rows are ordered by the sort column, then by time of creation, then by id,
// all in one direction: a total order, so that pages neither overlap nor leave gaps.
import { type Expression, type SelectQueryBuilder, type SqlBool, type StringReference, sql } from 'kysely';
import { invalid } from '../kernel/errors.ts';

export interface PageRequest<S extends string> {
  sortBy: S;
  sortOrder: 'asc' | 'desc';
  pageSize: number;
  /** Counts from 1; ignored when a cursor is given. */
  page: number;
  /** The id of a row: the page that follows it. Cursors order by time of creation, whatever sortBy says. */
  startingAfter?: string | undefined;
  /** The id of a row: the page just before it, in the same direction. */
  endingBefore?: string | undefined;
}

export interface PageSpec<DB, TB extends keyof DB, S extends string> {
  /** What the list can be sorted by. The columns hold no null: engines disagree on where null belongs. */
  columns: Record<S, StringReference<DB, TB> | Expression<unknown>>;
  createdAt: StringReference<DB, TB>;
  id: StringReference<DB, TB>;
}

/** When the row of a cursor was created; undefined when the caller may not see such a row. */
export type FindCursor = (id: string) => Promise<{ createdAt: number } | undefined>;

export async function listPage<DB, TB extends keyof DB, O, S extends string>(
  query: SelectQueryBuilder<DB, TB, O>,
  spec: PageSpec<DB, TB, S>,
  page: PageRequest<S>,
  findCursor?: FindCursor,
): Promise<O[]> {
  if (page.startingAfter !== undefined || page.endingBefore !== undefined) {
    return listByCursor(query, spec, page, findCursor);
  }
  const columns = new Set([spec.columns[page.sortBy], spec.createdAt, spec.id]);
  return ordered(query, [...columns], page.sortOrder)
    .limit(page.pageSize)
    .offset((page.page - 1) * page.pageSize)
    .execute();
}

async function listByCursor<DB, TB extends keyof DB, O, S extends string>(
  query: SelectQueryBuilder<DB, TB, O>,
  spec: PageSpec<DB, TB, S>,
  page: PageRequest<S>,
  findCursor: FindCursor | undefined,
): Promise<O[]> {
  const name = page.startingAfter === undefined ? 'endingBefore' : 'startingAfter';
  const id = page[name] as string;
  if (!findCursor) throw invalid(name, 'This list has no cursors.');
  const cursor = await findCursor(id);
  if (!cursor) throw invalid(name, `There is no row with the id ${id}.`);

  const backwards = name === 'endingBefore';
  const direction = (page.sortOrder === 'asc') !== backwards ? 'asc' : 'desc';
  const beyond = sql.raw(direction === 'asc' ? '>' : '<');
  const rows = await ordered(query, [spec.createdAt, spec.id], direction)
    .where(
      sql<SqlBool>`(${sql.ref(spec.createdAt)}, ${sql.ref(spec.id)}) ${beyond} (${cursor.createdAt}, ${id})`,
    )
    .limit(page.pageSize)
    .execute();
  // The rows nearest to the cursor were taken from its side; the list still reads in its own direction.
  return backwards ? rows.reverse() : rows;
}

function ordered<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  columns: (StringReference<DB, TB> | Expression<unknown>)[],
  direction: 'asc' | 'desc',
): SelectQueryBuilder<DB, TB, O> {
  let result = query;
  for (const column of columns) {
    result = result.orderBy(typeof column === 'string' ? sql.ref(column) : column, direction);
  }
  return result;
}
