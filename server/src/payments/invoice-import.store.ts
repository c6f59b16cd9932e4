// SQL for invoices that are to be fetched: one row per customer and partner, which also says how it went.
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';

export const IMPORT_STATUSES = ['waiting', 'done', 'failed'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

export interface ImportTarget {
  readonly workspaceId: string;
  readonly customerId: string;
  readonly partnerId: string;
  /** The link that gets the credit. */
  readonly linkId: string;
}

export interface InvoiceImport extends ImportTarget {
  readonly status: ImportStatus;
  readonly attempts: number;
  /** How many sales it has recorded. */
  readonly recorded: number;
  readonly error: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const ROWS_PER_DELETE = 1_000;

export function createInvoiceImportStore(db: Database) {
  const all = () => db.query.selectFrom('invoice_import').selectAll();

  return {
    /** One that was done begins anew: what it finds is recorded once in any case. */
    async put({ workspaceId, customerId, partnerId, linkId }: ImportTarget, nowMs: number): Promise<void> {
      const anew = {
        link_id: linkId,
        status: 'waiting',
        attempts: 0,
        next_at: nowMs,
        recorded: 0,
        error: null,
        updated_at: nowMs,
      };
      await db.query
        .insertInto('invoice_import')
        .values({
          workspace_id: workspaceId,
          customer_id: customerId,
          partner_id: partnerId,
          created_at: nowMs,
          ...anew,
        })
        .onConflict((conflict) =>
          conflict.columns(['workspace_id', 'customer_id', 'partner_id']).doUpdateSet(anew),
        )
        .execute();
    },

    /** The one that has waited longest. */
    async findDue(nowMs: number): Promise<InvoiceImport | undefined> {
      const row = await all().where('next_at', '<=', nowMs).orderBy('next_at').limit(1).executeTakeFirst();
      return row && toImport(row);
    },

    /** Unless it was asked for anew meanwhile. */
    async settle(
      { workspaceId, customerId, partnerId, updatedAt }: InvoiceImport,
      outcome: {
        readonly status: ImportStatus;
        readonly attempts: number;
        readonly nextAt: number | null;
        readonly recorded: number;
        readonly error: string | null;
      },
      nowMs: number,
    ): Promise<void> {
      const { status, attempts, nextAt, recorded, error } = outcome;
      await db.query
        .updateTable('invoice_import')
        .set({ status, attempts, next_at: nextAt, recorded, error, updated_at: nowMs })
        .where('workspace_id', '=', workspaceId)
        .where('customer_id', '=', customerId)
        .where('partner_id', '=', partnerId)
        .where('updated_at', '=', updatedAt)
        .execute();
    },

    /** The latest first. */
    async listLatest(workspaceId: string, limit: number): Promise<InvoiceImport[]> {
      const rows = await all()
        .where('workspace_id', '=', workspaceId)
        .orderBy('updated_at', 'desc')
        .orderBy('customer_id')
        .limit(limit)
        .execute();
      return rows.map(toImport);
    },

    /** Deletes some that were settled before; true while there may be more. */
    async prune(beforeMs: number): Promise<boolean> {
      const { numAffectedRows = 0n } = await sql`delete from invoice_import
        where (workspace_id, customer_id, partner_id) in (
          select workspace_id, customer_id, partner_id from invoice_import
          where next_at is null and updated_at < ${beforeMs} limit ${ROWS_PER_DELETE}
        )`.execute(db.query);
      return Number(numAffectedRows) === ROWS_PER_DELETE;
    },
  };
}

export type InvoiceImportStore = ReturnType<typeof createInvoiceImportStore>;

function toImport(row: Selectable<Schema['invoice_import']>): InvoiceImport {
  const { nextAt: _, status, ...fields } = toFields(row);
  return { ...fields, status: status as ImportStatus };
}
