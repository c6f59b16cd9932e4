// The counters of links. Clicks are added up before they come here: one row per link and call.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { LinkConversions } from './link.ts';

export interface LinkClicks {
  readonly linkId: string;
  readonly clicks: number;
  readonly lastMs: number;
}

/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_UPDATE = 500;

export function createLinkCounterStore(db: Database) {
  return {
    /** Links that are gone are passed over. The rows are in the order of their ids, so that writers do not cross. */
    async addClicks(rows: readonly LinkClicks[]): Promise<void> {
      for (let start = 0; start < rows.length; start += ROWS_PER_UPDATE) {
        const values = rows
          .slice(start, start + ROWS_PER_UPDATE)
          .map((row) => sql`(${row.linkId}, cast(${row.clicks} as bigint), cast(${row.lastMs} as bigint))`);
        await sql`update link set
            clicks = link.clicks + added.column2,
            last_clicked_at = case when link.last_clicked_at < added.column3 then added.column3 else link.last_clicked_at end
          from (values ${sql.join(values)}) as added
          where link.id = added.column1`.execute(db.query);
      }
    },

    /**
     * In the transaction of the conversion: who adds to the same link waits until it ends. Returns the counters as
     * they are then; undefined when the link is gone.
     */
    async addConversions(
      linkId: string,
      { leads = 0, conversions = 0, sales = 0, saleAmount = 0 }: Partial<LinkConversions>,
    ): Promise<LinkConversions | undefined> {
      return db.query
        .updateTable('link')
        .set((eb) => ({
          leads: eb('leads', '+', leads),
          conversions: eb('conversions', '+', conversions),
          sales: eb('sales', '+', sales),
          sale_amount: eb('sale_amount', '+', saleAmount),
        }))
        .where('id', '=', linkId)
        .returning(['leads', 'conversions', 'sales', 'sale_amount as saleAmount'])
        .executeTakeFirst();
    },
  };
}
