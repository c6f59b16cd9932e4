// SQL for conversions: leads and sales, what may happen once, clicks that were brought along, refunds.
import type { Selectable } from 'kysely';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import type { ConversionSlot } from './conversion.ts';

type SaleRow = Selectable<Schema['sale']>;

/** Clicks are wide, so that a statement has few of them. */
const ROWS_PER_INSERT = 50;

export interface StoredSale {
  readonly id: string;
  readonly workspaceId: string;
  readonly customerId: string;
  readonly linkId: string;
  readonly invoiceId: string | null;
  /** In US cents. */
  readonly amount: number;
  readonly originalAmount: number;
  readonly refundedAmount: number;
}

export function createConversionStore(db: Database) {
  const ofSlot = ({ workspaceId, kind, key }: ConversionSlot) =>
    db.query
      .selectFrom('conversion_key')
      .where('workspace_id', '=', workspaceId)
      .where('kind', '=', kind)
      .where('key', '=', key);

  return {
    /** The answer that was given; empty where the customer it told of was erased. */
    async findAnswer(slot: ConversionSlot): Promise<string | undefined> {
      return (await ofSlot(slot).select('answer').executeTakeFirst())?.answer;
    },

    async findEventId(slot: ConversionSlot): Promise<string | undefined> {
      return (await ofSlot(slot).select('event_id').executeTakeFirst())?.event_id ?? undefined;
    },

    /** False when it was taken; whoever asks while another holds it waits until that transaction ends. */
    async claim({ workspaceId, kind, key }: ConversionSlot, nowMs: number): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db.query
        .insertInto('conversion_key')
        .values({
          workspace_id: workspaceId,
          kind,
          key,
          customer_id: null,
          event_id: null,
          answer: '',
          created_at: nowMs,
        })
        .onConflict((conflict) => conflict.columns(['workspace_id', 'kind', 'key']).doNothing())
        .executeTakeFirst();
      return Number(numInsertedOrUpdatedRows) === 1;
    },

    /** In the transaction of the claim. */
    async keepAnswer(
      { workspaceId, kind, key }: ConversionSlot,
      kept: { customerId: string; eventId: string; answer: unknown },
    ): Promise<void> {
      await db.query
        .updateTable('conversion_key')
        .set({
          customer_id: kept.customerId,
          event_id: kept.eventId,
          answer: JSON.stringify(kept.answer),
        })
        .where('workspace_id', '=', workspaceId)
        .where('kind', '=', kind)
        .where('key', '=', key)
        .execute();
    },

    /** `url`: the destination that the leads count for. */
    async insertLeads(leads: readonly LeadRecord[], url: string): Promise<void> {
      for (let start = 0; start < leads.length; start += ROWS_PER_INSERT) {
        const rows = leads.slice(start, start + ROWS_PER_INSERT).map((lead) => ({ ...toColumns(lead), url }));
        await db.query.insertInto('lead').values(rows).execute();
      }
    },

    async insertSale(sale: SaleRecord, original: { amount: number; currency: string }): Promise<void> {
      await db.query
        .insertInto('sale')
        .values({
          ...toColumns(sale),
          amount: sale.amount,
          currency: sale.currency,
          original_amount: original.amount,
          original_currency: original.currency,
          payment_processor: sale.paymentProcessor,
          invoice_id: sale.invoiceId === '' ? null : sale.invoiceId,
          refunded_amount: 0,
          refunded_at: null,
        })
        .execute();
    },

    /** The click of the latest lead, or of the latest with this name. */
    async findLeadClick(customerId: string, eventName: string | null): Promise<ClickRecord | undefined> {
      let query = db.query
        .selectFrom('lead')
        .select('click')
        .where('customer_id', '=', customerId)
        .orderBy('time_ms', 'desc')
        .orderBy('id', 'desc')
        .limit(1);
      if (eventName !== null) query = query.where('event_name', '=', eventName);
      const row = await query.executeTakeFirst();
      return row && (JSON.parse(row.click) as ClickRecord);
    },

    /** A click that is known from an earlier lead of the customer. */
    async findOwnClick(customerId: string, clickId: string): Promise<ClickRecord | undefined> {
      const row = await db.query
        .selectFrom('lead')
        .select('click')
        .where('customer_id', '=', customerId)
        .where('click_id', '=', clickId)
        .limit(1)
        .executeTakeFirst();
      return row && (JSON.parse(row.click) as ClickRecord);
    },

    /** A click that was brought along, or entered by hand. */
    async findIndexedClick(id: string): Promise<ClickRecord | undefined> {
      const row = await db.query
        .selectFrom('click_index')
        .select('click')
        .where('id', '=', id)
        .executeTakeFirst();
      return row && (JSON.parse(row.click) as ClickRecord);
    },

    /** For clicks that were entered by hand. */
    async indexClick(click: ClickRecord): Promise<void> {
      const { id, workspaceId, linkId, timeMs } = click;
      await db.query
        .insertInto('click_index')
        .values({
          id,
          workspace_id: workspaceId,
          link_id: linkId,
          time_ms: timeMs,
          click: JSON.stringify(click),
        })
        .execute();
    },

    async hasSale(linkId: string, customerId: string): Promise<boolean> {
      const row = await db.query
        .selectFrom('sale')
        .select('id')
        .where('link_id', '=', linkId)
        .where('customer_id', '=', customerId)
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },

    /** Leads of a link since a time, by the destination that they count for. */
    async countLeadsByUrl(
      linkId: string,
      sinceMs: number,
      urls: readonly string[],
    ): Promise<Map<string, number>> {
      if (urls.length === 0) return new Map();
      const rows = await db.query
        .selectFrom('lead')
        .select((eb) => ['url', eb.fn.countAll<number>().as('leads')])
        .where('link_id', '=', linkId)
        .where('time_ms', '>=', sinceMs)
        .where('url', 'in', urls)
        .groupBy('url')
        .execute();
      return new Map(rows.map(({ url, leads }) => [url, Number(leads)]));
    },

    /** Nobody else can change the sale until the transaction ends. */
    async lockSale(id: string): Promise<StoredSale | undefined> {
      const row = await db.query
        .updateTable('sale')
        .set((eb) => ({ refunded_amount: eb.ref('refunded_amount') }))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      return row && toSale(row);
    },

    async addRefund(id: string, amount: number, atMs: number): Promise<void> {
      await db.query
        .updateTable('sale')
        .set((eb) => ({ refunded_amount: eb('refunded_amount', '+', amount), refunded_at: atMs }))
        .where('id', '=', id)
        .execute();
    },
  };
}

export type ConversionStore = ReturnType<typeof createConversionStore>;

function toColumns(event: LeadRecord) {
  return {
    id: event.id,
    workspace_id: event.workspaceId,
    customer_id: event.customerId,
    link_id: event.linkId,
    click_id: event.click.id,
    event_name: event.eventName,
    click: JSON.stringify(event.click),
    metadata: event.metadata === '' ? null : event.metadata,
    time_ms: event.timeMs,
    created_at: event.timeMs,
  };
}

function toSale(row: SaleRow): StoredSale {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    customerId: row.customer_id,
    linkId: row.link_id,
    invoiceId: row.invoice_id,
    amount: row.amount,
    originalAmount: row.original_amount,
    refundedAmount: row.refunded_amount,
  };
}
