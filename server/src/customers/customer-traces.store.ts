// SQL for what a customer leaves in other tables: leads, sales, their clicks, answers kept for repeats. Read to
// show a person all of it, blanked when the person is erased; the events themselves stay.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { keepInDestination } from '../kernel/ip-privacy.ts';
import { withoutPerson } from './customer.ts';

export interface CustomerEvent {
  readonly id: string;
  readonly linkId: string;
  readonly clickId: string;
  readonly eventName: string;
  readonly metadata: unknown;
  readonly click: unknown;
  readonly timeMs: number;
  /** Sales only. */
  readonly amount?: number;
  readonly currency?: string;
  readonly originalAmount?: number;
  readonly originalCurrency?: string;
  readonly paymentProcessor?: string;
  readonly invoiceId?: string | null;
  readonly refundedAmount?: number;
}

export interface EventPage {
  readonly after?: Pick<CustomerEvent, 'id' | 'timeMs'> | undefined;
  readonly limit: number;
}

type EventTable = 'lead' | 'sale';

/** How `ip` stands in the JSON of a click without an address. */
const NO_ADDRESS = '"ip":""';

export function createCustomerTraceStore(db: Database) {
  const page = (customerId: string, { after, limit }: EventPage) => sql`
    customer_id = ${customerId} and ${after ? sql`(time_ms, id) > (${after.timeMs}, ${after.id})` : sql`1 = 1`}
    order by time_ms, id limit ${limit}`;

  /** Blanks some events that still hold something of the person; returns the ids of their clicks. */
  async function blankEvents(table: EventTable, customerId: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string; click_id: string; click: string; url?: string }>`
      select id, click_id, click ${table === 'lead' ? sql`, url` : sql``} from ${sql.table(table)} where customer_id = ${customerId}
      and (metadata is not null or not ${contains(sql.ref('click'), NO_ADDRESS)}) limit ${limit}`.execute(
      db.query,
    );
    for (const { id, click, url } of rows) {
      const led = url === undefined ? sql`` : sql`, url = ${keepInDestination(url, addressOf(click), '')}`;
      await sql`update ${sql.table(table)} set metadata = null, click = ${withoutAddress(click)} ${led}
        where id = ${id}`.execute(db.query);
    }
    return rows.map((row) => row.click_id);
  }

  async function blankAnswers(customerId: string, limit: number): Promise<number> {
    const rows = await db.query
      .selectFrom('conversion_key')
      .select(['workspace_id', 'kind', 'key', 'answer'])
      .where('customer_id', '=', customerId)
      .limit(limit)
      .execute();
    for (const { workspace_id, kind, key, answer } of rows) {
      const same = { workspace_id, kind, key };
      // The key of a lead names the person, and its event cannot come again: a new one is somebody new.
      if (kind === 'lead') await db.query.deleteFrom('conversion_key').where(matches(same)).execute();
      else
        await db.query
          .updateTable('conversion_key')
          .set({ answer: blanked(answer, customerId), customer_id: null })
          .where(matches(same))
          .execute();
    }
    return rows.length;
  }

  return {
    async listLeads(customerId: string, request: EventPage): Promise<CustomerEvent[]> {
      const { rows } = await sql<EventRow>`select * from lead where ${page(customerId, request)}`.execute(
        db.query,
      );
      return rows.map(toEvent);
    },

    async listSales(customerId: string, request: EventPage): Promise<CustomerEvent[]> {
      const { rows } = await sql<SaleRow>`select * from sale where ${page(customerId, request)}`.execute(
        db.query,
      );
      return rows.map(toSale);
    },

    /** Blanks at most so many rows; returns how many, and the clicks whose addresses must go elsewhere too. */
    async blank(customerId: string, limit: number): Promise<{ rows: number; clickIds: string[] }> {
      const leads = await blankEvents('lead', customerId, limit);
      const sales = await blankEvents('sale', customerId, limit - leads.length);
      const clickIds = [...new Set([...leads, ...sales])];
      const events = leads.length + sales.length;
      const answers = events < limit ? await blankAnswers(customerId, limit - events) : 0;
      return { rows: events + answers, clickIds };
    },

    /** A click that is kept in SQL. */
    async findClick(id: string): Promise<object | undefined> {
      const row = await db.query
        .selectFrom('click_index')
        .select('click')
        .where('id', '=', id)
        .executeTakeFirst();
      return row && (JSON.parse(row.click) as object);
    },

    /** Takes the address out of clicks that are kept in SQL. */
    async blankClicks(clickIds: readonly string[]): Promise<void> {
      if (clickIds.length === 0) return;
      const rows = await db.query
        .selectFrom('click_index')
        .select(['id', 'click'])
        .where('id', 'in', clickIds)
        .execute();
      for (const { id, click } of rows) {
        const set = { click: withoutAddress(click) };
        await db.query.updateTable('click_index').set(set).where('id', '=', id).execute();
      }
    },

    /** What waits for receivers: the table is small, for it is emptied within moments. */
    async blankOutbox(workspaceId: string, customerId: string): Promise<void> {
      const rows = await db.query
        .selectFrom('outbox')
        .select(['id', 'webhook'])
        .where('workspace_id', '=', workspaceId)
        .where(contains(sql.ref('webhook'), JSON.stringify(customerId)))
        .execute();
      for (const { id, webhook } of rows) {
        const set = { webhook: blanked(webhook as string, customerId) };
        await db.query.updateTable('outbox').set(set).where('id', '=', id).execute();
      }
    },
  };
}

export type CustomerTraceStore = ReturnType<typeof createCustomerTraceStore>;

function matches(values: Readonly<Record<'workspace_id' | 'kind' | 'key', string>>) {
  return sql<boolean>`${sql.join(
    Object.entries(values).map(([column, value]) => sql`${sql.ref(column)} = ${value}`),
    sql` and `,
  )}`;
}

function addressOf(click: string): string {
  return (JSON.parse(click) as { ip?: string }).ip ?? '';
}

/** Also where the destination was told it. */
function withoutAddress(text: string): string {
  const click = JSON.parse(text) as { url?: string };
  const url = click.url && keepInDestination(click.url, addressOf(text), '');
  return JSON.stringify({ ...click, ip: '', ...(url && { url }) });
}

function blanked(json: string, customerId: string): string {
  return json === '' ? json : JSON.stringify(withoutPerson(JSON.parse(json), customerId));
}

interface EventRow {
  id: string;
  link_id: string;
  click_id: string;
  event_name: string;
  click: string;
  metadata: string | null;
  time_ms: number;
}

interface SaleRow extends EventRow {
  amount: number;
  currency: string;
  original_amount: number;
  original_currency: string;
  payment_processor: string;
  invoice_id: string | null;
  refunded_amount: number;
}

function toEvent(row: EventRow): CustomerEvent {
  return {
    id: row.id,
    linkId: row.link_id,
    clickId: row.click_id,
    eventName: row.event_name,
    metadata: row.metadata === null ? null : JSON.parse(row.metadata),
    click: JSON.parse(row.click),
    timeMs: row.time_ms,
  };
}

function toSale(row: SaleRow): CustomerEvent {
  return {
    ...toEvent(row),
    amount: row.amount,
    currency: row.currency,
    originalAmount: row.original_amount,
    originalCurrency: row.original_currency,
    paymentProcessor: row.payment_processor,
    invoiceId: row.invoice_id,
    refundedAmount: row.refunded_amount,
  };
}
