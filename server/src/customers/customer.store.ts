// SQL for customers, one by one: found, made, changed, removed. Lists are in customer-list.store.ts.
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import type { CustomerTable } from '../db/schema.ts';
import { type Customer, foldEmail, searchTextOf } from './customer.ts';

export interface CustomerSale {
  /** In US cents. */
  readonly amount: number;
  readonly atMs: number;
  /** Where the link of the sale has them; what is absent stays. */
  readonly programId?: string | null | undefined;
  readonly partnerId?: string | null | undefined;
}

export function createCustomerStore(db: Database) {
  const all = () => db.query.selectFrom('customer').selectAll();
  const one = async (query: ReturnType<typeof all>): Promise<Customer | undefined> => {
    const row = await query.executeTakeFirst();
    return row && toCustomer(row);
  };

  return {
    findById: (id: string) => one(all().where('id', '=', id)),

    findByExternalId: (workspaceId: string, externalId: string) =>
      one(all().where('workspace_id', '=', workspaceId).where('external_id', '=', externalId)),

    findByStripeId: (workspaceId: string, stripeCustomerId: string) =>
      one(all().where('workspace_id', '=', workspaceId).where('stripe_customer_id', '=', stripeCustomerId)),

    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Customer[]> {
      const rows = await all().where('workspace_id', '=', workspaceId).where('id', 'in', ids).execute();
      return rows.map(toCustomer);
    },

    /** False when another customer of the workspace has its external id, or its id at the payment service. */
    async insert(customer: Customer): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db.query
        .insertInto('customer')
        .values(toRow(customer))
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return Number(numInsertedOrUpdatedRows) === 1;
    },

    /** What a change may touch, and nothing that sales touch at the same time. Fails where a value is taken. */
    async update(customer: Customer): Promise<void> {
      await db.query
        .updateTable('customer')
        .set({
          external_id: customer.externalId,
          name: customer.name,
          email: customer.email,
          avatar: customer.avatar,
          stripe_customer_id: customer.stripeCustomerId,
          country: customer.country,
          updated_at: customer.updatedAt,
          ...foundBy(customer),
        })
        .where('id', '=', customer.id)
        .execute();
    },

    /** The customer with the sale counted in; undefined when there is none any more. */
    async addSale(id: string, sale: CustomerSale, nowMs: number): Promise<Customer | undefined> {
      const row = await db.query
        .updateTable('customer')
        .set((eb) => ({
          sales: eb('sales', '+', 1),
          sale_amount: eb('sale_amount', '+', sale.amount),
          first_sale_at: eb.fn.coalesce('first_sale_at', eb.val(sale.atMs)),
          ...(sale.programId && { program_id: sale.programId }),
          ...(sale.partnerId && { partner_id: sale.partnerId }),
          updated_at: nowMs,
        }))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      return row && toCustomer(row);
    },

    async setSubscriptionCanceledAt(id: string, atMs: number | null, nowMs: number): Promise<void> {
      await db.query
        .updateTable('customer')
        .set({ subscription_canceled_at: atMs, updated_at: nowMs })
        .where('id', '=', id)
        .execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('customer').where('id', '=', id).execute();
    },
  };
}

export type CustomerStore = ReturnType<typeof createCustomerStore>;

export function toCustomer(row: Selectable<CustomerTable>): Customer {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    externalId: row.external_id,
    name: row.name,
    email: row.email,
    avatar: row.avatar,
    stripeCustomerId: row.stripe_customer_id,
    country: row.country,
    clickId: row.click_id,
    clickedAt: row.clicked_at,
    linkId: row.link_id,
    programId: row.program_id,
    partnerId: row.partner_id,
    sales: row.sales,
    saleAmount: row.sale_amount,
    firstSaleAt: row.first_sale_at,
    subscriptionCanceledAt: row.subscription_canceled_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toRow(customer: Customer): Insertable<CustomerTable> {
  return {
    id: customer.id,
    workspace_id: customer.workspaceId,
    external_id: customer.externalId,
    name: customer.name,
    email: customer.email,
    avatar: customer.avatar,
    stripe_customer_id: customer.stripeCustomerId,
    country: customer.country,
    click_id: customer.clickId,
    clicked_at: customer.clickedAt,
    link_id: customer.linkId,
    program_id: customer.programId,
    partner_id: customer.partnerId,
    sales: customer.sales,
    sale_amount: customer.saleAmount,
    first_sale_at: customer.firstSaleAt,
    subscription_canceled_at: customer.subscriptionCanceledAt,
    created_at: customer.createdAt,
    updated_at: customer.updatedAt,
    ...foundBy(customer),
  };
}

/** The columns that a customer is found by, made from others. */
export function foundBy(customer: Pick<Customer, 'id' | 'name' | 'email' | 'externalId'>) {
  return {
    email_folded: customer.email === null ? null : foldEmail(customer.email),
    search_text: searchTextOf(customer),
  };
}
