// The tables of events, one per kind, and how a row of one becomes a record and a record a row. Leads and sales have
// the columns of their click under the same names, so one condition serves all three.
import { CLICK_COLUMNS, type ClickRecord, type ColumnType } from './click-record.ts';
import type { LeadRecord, SaleRecord } from './conversion-record.ts';
import type { EventKind, EventRecords } from './query.ts';

export const EVENT_TABLES = { clicks: 'click', leads: 'lead', sales: 'sale' } as const satisfies Record<
  EventKind,
  string
>;

/** Texts of metadata by their path, a map from text to text; only leads and sales have it, and nobody reads it out. */
export const METADATA_TEXTS = 'metadata_texts';

/** Destinations that are told the visitor's address have it as a parameter. In the words of every engine. */
export const URL_WITHOUT_ADDRESS = "replace(url, concat('=', replace(ip, ':', '%3A')), '=')";
/** For an `update`, all of which reads the row as it was before. */
export const BLANK_ADDRESS = `url = ${URL_WITHOUT_ADDRESS}, ip = ''`;

export interface EventColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** What a lead or sale has of its own, or what it has from its click. */
  readonly of: 'event' | 'click';
  readonly field: string;
}

type Value = string | number | boolean;

const RENAMED: Readonly<Record<string, string>> = { id: 'click_id', time_ms: 'click_time_ms' };
/** The same for the event and its click. */
const SHARED: ReadonlySet<string> = new Set<keyof ClickRecord>(['workspaceId', 'linkId']);

const own = (name: string, field: keyof SaleRecord, type: ColumnType = 'VARCHAR'): EventColumn => ({
  name,
  type,
  of: 'event',
  field,
});

const LEAD_OWN: readonly EventColumn[] = [
  own('time_ms', 'timeMs', 'BIGINT'),
  own('workspace_id', 'workspaceId'),
  own('link_id', 'linkId'),
  own('id', 'id'),
  own('customer_id', 'customerId'),
  own('event_name', 'eventName'),
  own('metadata', 'metadata'),
];

const SALE_OWN: readonly EventColumn[] = [
  ...LEAD_OWN,
  own('amount', 'amount', 'BIGINT'),
  own('currency', 'currency'),
  own('payment_processor', 'paymentProcessor'),
  own('invoice_id', 'invoiceId'),
];

const OF_CLICK: readonly EventColumn[] = CLICK_COLUMNS.filter(({ field }) => !SHARED.has(field)).map(
  ({ name, type, field }) => ({ name: RENAMED[name] ?? name, type, of: 'click', field }),
);

/** New columns are added at the end: what older rows lack is empty. */
export const EVENT_COLUMNS: Readonly<Record<EventKind, readonly EventColumn[]>> = {
  clicks: CLICK_COLUMNS.map((column) => ({ ...column, of: 'event' })),
  leads: [...LEAD_OWN, ...OF_CLICK],
  sales: [...SALE_OWN, ...OF_CLICK],
};

/** The values of a lead or sale in the order of its columns. */
export function conversionValues(kind: 'leads' | 'sales', record: LeadRecord | SaleRecord): Value[] {
  const event = record as unknown as Readonly<Record<string, Value>>;
  const click = record.click as unknown as Readonly<Record<string, Value>>;
  return EVENT_COLUMNS[kind].map(({ of, field }) => (of === 'event' ? event : click)[field] ?? '');
}

const READ: Readonly<Record<ColumnType, (value: unknown) => Value>> = {
  VARCHAR: String,
  BIGINT: Number,
  BOOLEAN: (value) => value === true || value === 'true' || value === 1,
};

/** A row by the names of its columns; numbers and booleans may come in any form that an engine gives them. */
export function toRecord<K extends EventKind>(
  kind: K,
  row: Readonly<Record<string, unknown>>,
): EventRecords[K] {
  const event: Record<string, unknown> = {};
  const click: Record<string, unknown> = { workspaceId: row.workspace_id, linkId: row.link_id };
  for (const { name, type, of, field } of EVENT_COLUMNS[kind]) {
    const target = of === 'event' ? event : click;
    target[field] = READ[type](row[name]);
  }
  return (kind === 'clicks' ? event : { ...event, click }) as unknown as EventRecords[K];
}
