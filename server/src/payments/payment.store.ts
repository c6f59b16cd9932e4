// SQL for payment providers and the names that they give to payments.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';

export interface Bridge {
  readonly secret: string;
  /** By which the provider can be asked. */
  readonly apiKey: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A refund whose sale is not known yet. */
export interface EarlyRefund {
  readonly refundId: string;
  /** Null: all that is left of the sale. */
  readonly amount: number | null;
}

const ROWS_PER_DELETE = 1_000;

export function createPaymentStore(db: Database) {
  return {
    async findBridge(workspaceId: string, provider: string): Promise<Bridge | undefined> {
      const row = await db.query
        .selectFrom('payment_bridge')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('provider', '=', provider)
        .executeTakeFirst();
      if (!row) return undefined;
      const { secret, api_key: apiKey, created_at: createdAt, updated_at: updatedAt } = row;
      return { secret, apiKey, createdAt, updatedAt };
    },

    /** A key that is not given stays as it is. */
    async putBridge(
      workspaceId: string,
      provider: string,
      { secret, apiKey }: Pick<Bridge, 'secret'> & { readonly apiKey?: string | null | undefined },
      nowMs: number,
    ): Promise<void> {
      const key = apiKey === undefined ? {} : { api_key: apiKey };
      const times = { created_at: nowMs, updated_at: nowMs };
      await db.query
        .insertInto('payment_bridge')
        .values({ workspace_id: workspaceId, provider, secret, api_key: apiKey ?? null, ...times })
        .onConflict((conflict) =>
          conflict.columns(['workspace_id', 'provider']).doUpdateSet({ secret, ...key, updated_at: nowMs }),
        )
        .execute();
    },

    async deleteBridge(workspaceId: string, provider: string): Promise<boolean> {
      const { numDeletedRows } = await db.query
        .deleteFrom('payment_bridge')
        .where('workspace_id', '=', workspaceId)
        .where('provider', '=', provider)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },

    /** The first invoice that a name was given to keeps it. */
    async addReferences(
      workspaceId: string,
      references: readonly string[],
      invoiceId: string,
      nowMs: number,
    ): Promise<void> {
      if (references.length === 0) return;
      await db.query
        .insertInto('payment_reference')
        .values(
          references.map((reference) => ({
            workspace_id: workspaceId,
            reference,
            invoice_id: invoiceId,
            created_at: nowMs,
          })),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    /** The invoices behind these names, where they are known. */
    async findInvoiceIds(workspaceId: string, references: readonly string[]): Promise<string[]> {
      if (references.length === 0) return [];
      const rows = await db.query
        .selectFrom('payment_reference')
        .select('invoice_id')
        .where('workspace_id', '=', workspaceId)
        .where('reference', 'in', references)
        .execute();
      return rows.map((row) => row.invoice_id);
    },

    /** Kept under every name of its payment. */
    async addEarlyRefund(
      workspaceId: string,
      references: readonly string[],
      { refundId, amount }: EarlyRefund,
      nowMs: number,
    ): Promise<void> {
      const rows = references.map((reference) => ({
        workspace_id: workspaceId,
        reference,
        refund_id: refundId,
        amount,
        created_at: nowMs,
      }));
      await db.query
        .insertInto('early_refund')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    /** In the order in which they came. */
    async findEarlyRefunds(workspaceId: string, references: readonly string[]): Promise<EarlyRefund[]> {
      const rows = await db.query
        .selectFrom('early_refund')
        .select(['refund_id as refundId', 'amount'])
        .where('workspace_id', '=', workspaceId)
        .where('reference', 'in', references)
        .orderBy('created_at')
        .orderBy('refund_id')
        .execute();
      return [...new Map(rows.map((row) => [row.refundId, row])).values()];
    },

    async deleteEarlyRefund(
      workspaceId: string,
      references: readonly string[],
      refundId: string,
    ): Promise<void> {
      await db.query
        .deleteFrom('early_refund')
        .where('workspace_id', '=', workspaceId)
        .where('reference', 'in', references)
        .where('refund_id', '=', refundId)
        .execute();
    },

    /** Deletes some of those from before; true while there may be more. */
    async pruneEarlyRefunds(beforeMs: number): Promise<boolean> {
      const { numAffectedRows = 0n } = await sql`delete from early_refund
        where (workspace_id, reference, refund_id) in (
          select workspace_id, reference, refund_id from early_refund
          where created_at < ${beforeMs} order by created_at limit ${ROWS_PER_DELETE}
        )`.execute(db.query);
      return Number(numAffectedRows) === ROWS_PER_DELETE;
    },
  };
}

export type PaymentStore = ReturnType<typeof createPaymentStore>;
