// The query parameters every list shares, and the page request that the stores understand.
import { z } from 'zod';
import { invalid } from '../kernel/errors.ts';

const MAX_PAGE_SIZE = 100;
/** Lists that offer cursors refuse to count their way further than this. */
const MAX_PAGE_WITH_CURSOR = 1000;

export interface ListOptions<S extends string> {
  readonly sortBy: readonly [S, ...S[]];
  readonly defaultOrder?: 'asc' | 'desc';
  readonly defaultPageSize?: number;
}

/** Page, size and order; the first sort field is the default. */
export function listQuery<const S extends string>(options: ListOptions<S>) {
  return {
    sortBy: z
      .enum(options.sortBy)
      .default(options.sortBy[0] as never)
      .describe('The field to sort by.'),
    sortOrder: z
      .enum(['asc', 'desc'])
      .default(options.defaultOrder ?? 'asc')
      .describe('The direction to sort in.'),
    page: z.int().min(1).default(1).describe('The page, counted from 1.'),
    pageSize: z
      .int()
      .min(1)
      .max(MAX_PAGE_SIZE)
      .default(options.defaultPageSize ?? MAX_PAGE_SIZE)
      .describe('Rows per page.'),
  };
}

/** The same for lists that can also be walked by cursor. */
export function cursorListQuery<const S extends string>(options: ListOptions<S>) {
  return {
    ...listQuery(options),
    page: z
      .int()
      .min(1)
      .max(MAX_PAGE_WITH_CURSOR, `at most ${MAX_PAGE_WITH_CURSOR}; use startingAfter to go further`)
      .optional()
      .describe('The page, counted from 1. Not together with a cursor.'),
    startingAfter: z
      .string()
      .min(1)
      .optional()
      .describe('An id: the rows that follow it. Needs sortBy=createdAt.'),
    endingBefore: z
      .string()
      .min(1)
      .optional()
      .describe('An id: the rows just before it. Needs sortBy=createdAt.'),
  };
}

interface CursorQuery {
  sortBy: string;
  page?: number | undefined;
  startingAfter?: string | undefined;
  endingBefore?: string | undefined;
}

/** The rules that tie the cursor parameters together; fills in the first page. */
export function checkCursor<Q extends CursorQuery>(query: Q): Q & { page: number } {
  const cursor = query.startingAfter ?? query.endingBefore;
  if (query.startingAfter !== undefined && query.endingBefore !== undefined) {
    throw invalid('endingBefore', 'give either startingAfter or endingBefore, not both');
  }
  if (cursor !== undefined && query.page !== undefined) {
    throw invalid('page', 'a page number and a cursor cannot be combined');
  }
  if (cursor !== undefined && query.sortBy !== 'createdAt') {
    throw invalid('sortBy', 'cursors need sortBy=createdAt');
  }
  return { ...query, page: query.page ?? 1 };
}
