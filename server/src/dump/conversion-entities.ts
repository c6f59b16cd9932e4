// Customers, clicks that are kept in SQL, leads, sales and what may happen once, as lines of a dump. What they
// refer to may be gone: events outlive links and customers.
import { sql } from 'kysely';
import { z } from 'zod';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import { foldEmail, searchTextOf } from '../customers/customer.ts';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { clickLine, presentClick } from './click-line.ts';
import type { Entity } from './entity.ts';
import {
  count,
  type Field,
  type FileAddresses,
  id,
  idOrNull,
  image,
  jsonOrNull,
  oneOf,
  text,
  textOrNull,
  time,
  timeOrNull,
  times,
} from './field.ts';
import { type DraftItem, type DraftRow, inGroups } from './record.ts';
import { tableEntity } from './table-entity.ts';

export interface ConversionEntityParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly files: FileAddresses;
}

/** So few that a change stays small, however many events there are. */
const EVENTS_PER_CHANGE = 20;

const OF_WORKSPACE = { references: { workspaceId: 'workspace' } } as const;

export function conversionEntities(parts: ConversionEntityParts): Entity[] {
  return [
    customerEntity(parts),
    tableEntity(parts, {
      name: 'indexedClick',
      table: 'click_index',
      timeColumn: 'time_ms',
      fields: { id: id(), workspaceId: id(), linkId: id(), time: time('time_ms'), click: click() },
      ...OF_WORKSPACE,
    }),
    tableEntity(parts, {
      name: 'lead',
      table: 'lead',
      timeColumn: 'time_ms',
      fields: { ...eventFields(), url: text() },
      eventsOf: (rows) =>
        inGroups(rows.map(leadOf), EVENTS_PER_CHANGE).map((leads) => ({
          type: 'leads.imported',
          payload: { leads },
        })),
      ...OF_WORKSPACE,
    }),
    tableEntity(parts, {
      name: 'sale',
      table: 'sale',
      timeColumn: 'time_ms',
      fields: { ...eventFields(), ...moneyFields() },
      eventsOf: (rows) =>
        inGroups(rows.map(saleOf), EVENTS_PER_CHANGE).map((sales) => ({
          type: 'sales.imported',
          payload: { sales },
        })),
      ...OF_WORKSPACE,
    }),
    tableEntity(parts, {
      name: 'conversionKey',
      table: 'conversion_key',
      key: ['workspaceId', 'kind', 'key'],
      fields: {
        workspaceId: id(),
        kind: oneOf(['lead', 'invoice', 'refund']),
        key: text(1_000),
        customerId: idOrNull(),
        eventId: idOrNull(),
        answer: text(),
        createdAt: times().createdAt,
      },
      ofWorkspace: (workspaceId) => sql`workspace_id = ${workspaceId}`,
      ...OF_WORKSPACE,
    }),
  ];
}

function customerEntity(parts: ConversionEntityParts): Entity {
  return tableEntity(parts, {
    name: 'customer',
    table: 'customer',
    fields: {
      id: id(),
      workspaceId: id(),
      externalId: text(1_000),
      name: textOrNull(),
      email: textOrNull(1_000),
      avatar: image(parts.files),
      stripeCustomerId: textOrNull(255),
      country: textOrNull(255),
      clickId: idOrNull(),
      clickedAt: timeOrNull(),
      linkId: idOrNull(),
      programId: idOrNull(),
      partnerId: idOrNull(),
      sales: count(),
      saleAmount: count(),
      firstSaleAt: timeOrNull(),
      subscriptionCanceledAt: timeOrNull(),
      ...times(),
    },
    derived: ['email_folded', 'search_text'],
    unique: [
      { field: 'externalId', columns: ['workspace_id', 'external_id'] },
      { field: 'stripeCustomerId', columns: ['workspace_id', 'stripe_customer_id'] },
    ],
    imageFields: ['avatar'],
    derive: async (items) => {
      for (const item of items) deriveCustomer(item);
    },
    ...OF_WORKSPACE,
  });
}

function deriveCustomer({ row }: DraftItem): void {
  const [email, name] = [row.email as string | null, row.name as string | null];
  row.email_folded = email === null ? null : foldEmail(email);
  row.search_text = searchTextOf({
    id: row.id as string,
    externalId: row.external_id as string,
    name,
    email,
  });
}

/** Kept as the JSON of the record. */
const click = (): Field => ({
  schema: clickLine.transform((record) => JSON.stringify(record)),
  show: (value) => presentClick(JSON.parse(value as string) as ClickRecord),
});

const eventFields = () => ({
  id: id(),
  workspaceId: id(),
  customerId: id(),
  linkId: id(),
  clickId: id(),
  eventName: text(1_000),
  click: click(),
  metadata: jsonOrNull(z.record(z.string(), z.unknown())),
  time: time('time_ms'),
  createdAt: times().createdAt,
});

const moneyFields = () => ({
  amount: count(),
  currency: text(10),
  originalAmount: count(),
  originalCurrency: text(10),
  paymentProcessor: text(255),
  invoiceId: textOrNull(1_000),
  refundedAmount: count(),
  refundedAt: timeOrNull(),
});

function leadOf(row: DraftRow): LeadRecord {
  return {
    id: row.id as string,
    timeMs: row.time_ms as number,
    workspaceId: row.workspace_id as string,
    linkId: row.link_id as string,
    customerId: row.customer_id as string,
    eventName: row.event_name as string,
    metadata: (row.metadata as string | null) ?? '',
    click: JSON.parse(row.click as string) as ClickRecord,
  };
}

function saleOf(row: DraftRow): SaleRecord {
  return {
    ...leadOf(row),
    amount: row.amount as number,
    currency: row.currency as string,
    paymentProcessor: row.payment_processor as string,
    invoiceId: (row.invoice_id as string | null) ?? '',
  };
}
