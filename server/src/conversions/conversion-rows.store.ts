// All leads and sales as analytics stores them, page by page: for a rebuild of the event store. By workspace and
// time, so that the rows of a workspace's month lie together there too.
import { sql } from 'kysely';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import type { Database } from '../db/database.ts';
import type { LeadTable } from '../db/schema.ts';

/** The last row of a page. */
export interface ConversionPlace {
  readonly workspaceId: string;
  readonly timeMs: number;
  readonly id: string;
}

export interface ConversionPage<T> {
  readonly rows: readonly T[];
  /** Undefined after the last page. */
  readonly next: ConversionPlace | undefined;
}

const COMMON = [
  'id',
  'workspace_id',
  'customer_id',
  'link_id',
  'event_name',
  'click',
  'metadata',
  'time_ms',
] as const;

export function createConversionRowsStore(db: Database) {
  const following = (after: ConversionPlace | undefined) => {
    const { workspaceId, timeMs, id } = after ?? { workspaceId: '', timeMs: 0, id: '' };
    return sql<boolean>`(workspace_id, time_ms, id) > (${workspaceId}, ${timeMs}, ${id})`;
  };

  return {
    async listLeads(after: ConversionPlace | undefined, limit: number): Promise<ConversionPage<LeadRecord>> {
      const rows = await db.query
        .selectFrom('lead')
        .select(COMMON)
        .where(following(after))
        .orderBy('workspace_id')
        .orderBy('time_ms')
        .orderBy('id')
        .limit(limit)
        .execute();
      return toPage(rows.map(toLead), limit);
    },

    async listSales(after: ConversionPlace | undefined, limit: number): Promise<ConversionPage<SaleRecord>> {
      const rows = await db.query
        .selectFrom('sale')
        .select([...COMMON, 'amount', 'currency', 'payment_processor', 'invoice_id'])
        .where(following(after))
        .orderBy('workspace_id')
        .orderBy('time_ms')
        .orderBy('id')
        .limit(limit)
        .execute();
      const sales = rows.map((row) => ({
        ...toLead(row),
        amount: row.amount,
        currency: row.currency,
        paymentProcessor: row.payment_processor,
        invoiceId: row.invoice_id ?? '',
      }));
      return toPage(sales, limit);
    },
  };
}

function toLead(row: Pick<LeadTable, (typeof COMMON)[number]>): LeadRecord {
  return {
    id: row.id,
    timeMs: row.time_ms,
    workspaceId: row.workspace_id,
    linkId: row.link_id,
    customerId: row.customer_id,
    eventName: row.event_name,
    metadata: row.metadata ?? '',
    click: JSON.parse(row.click) as ClickRecord,
  };
}

function toPage<T extends LeadRecord>(rows: readonly T[], limit: number): ConversionPage<T> {
  const last = rows.length < limit ? undefined : rows.at(-1);
  return { rows, next: last && { workspaceId: last.workspaceId, timeMs: last.timeMs, id: last.id } };
}
