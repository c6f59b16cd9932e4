// The part of the composition root that a rebuild of the event store reads from: what SQL has of links, partners,
// leads and sales, in pages of one size.
import type { ListRows } from './pipeline/rebuild.ts';
import type { RowPage, SqlRows } from './pipeline/rebuild-thread.ts';

type ListPage<T, P> = (after: P | undefined, limit: number) => Promise<RowPage<T> & { next: P | undefined }>;

/** The lists of the stores. */
export interface EventRowsParts<P> {
  readonly links: (
    after: number,
    limit: number,
  ) => Promise<{ readonly links: readonly SqlRows['links'][]; readonly next: number | undefined }>;
  readonly partners: ListPage<SqlRows['partners'], string>;
  readonly leads: ListPage<SqlRows['leads'], P>;
  readonly sales: ListPage<SqlRows['sales'], P>;
}

const ROWS_PER_PAGE = 1_000;

export function createEventRows<P>({ links, partners, leads, sales }: EventRowsParts<P>): ListRows {
  return {
    async links(after: number | undefined) {
      const page = await links(after ?? 0, ROWS_PER_PAGE);
      return { rows: page.links, next: page.next };
    },
    partners: (after: string | undefined) => partners(after, ROWS_PER_PAGE),
    leads: (after: P | undefined) => leads(after, ROWS_PER_PAGE),
    sales: (after: P | undefined) => sales(after, ROWS_PER_PAGE),
  };
}
