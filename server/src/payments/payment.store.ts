// SQL for payment providers and the names that they give to payments.
import type { Database } from '../db/database.ts';

export interface Bridge {
  readonly secret: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export function createPaymentStore(db: Database) {
  return {
    async findBridge(workspaceId: string, provider: string): Promise<Bridge | undefined> {
      const row = await db.query
        .selectFrom('payment_bridge')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('provider', '=', provider)
        .executeTakeFirst();
      return row && { secret: row.secret, createdAt: row.created_at, updatedAt: row.updated_at };
    },

    async putBridge(workspaceId: string, provider: string, secret: string, nowMs: number): Promise<void> {
      await db.query
        .insertInto('payment_bridge')
        .values({ workspace_id: workspaceId, provider, secret, created_at: nowMs, updated_at: nowMs })
        .onConflict((conflict) =>
          conflict.columns(['workspace_id', 'provider']).doUpdateSet({ secret, updated_at: nowMs }),
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
  };
}

export type PaymentStore = ReturnType<typeof createPaymentStore>;
