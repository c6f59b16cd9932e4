// Events as rows of a table for people: the columns that can be asked for, their headings and what is in them.
import type { CsvValue } from '../kernel/csv.ts';
import { invalid } from '../kernel/errors.ts';
import type { WireEvent } from './event-records.ts';
import type { EventKind } from './query.ts';

interface Column {
  readonly heading: string;
  /** The kinds of events that have it. */
  readonly kinds: readonly EventKind[];
  readonly read: (event: WireEvent) => CsvValue;
}

const ALL: readonly EventKind[] = ['clicks', 'leads', 'sales'];
const CONVERSIONS: readonly EventKind[] = ['leads', 'sales'];
const SALES: readonly EventKind[] = ['sales'];

const column = (heading: string, read: Column['read'], kinds = ALL): Column => ({ heading, kinds, read });
const ofConversion = (heading: string, read: (event: Exclude<WireEvent, { event: 'click' }>) => CsvValue) =>
  column(heading, (event) => (event.event === 'click' ? null : read(event)), CONVERSIONS);
const ofSale = (heading: string, read: (event: Extract<WireEvent, { event: 'sale' }>) => CsvValue) =>
  column(heading, (event) => (event.event === 'sale' ? read(event) : null), SALES);

/** In the order in which they stand when none are named. */
const COLUMNS = {
  timestamp: column('Date', ({ timestamp }) => timestamp),
  trigger: column('Event', ({ click }) => click.trigger),
  eventName: ofConversion('Event Name', ({ eventName }) => eventName),
  eventId: ofConversion('Event ID', ({ eventId }) => eventId),
  link: column('Link', ({ link }) => link.shortLink),
  linkId: column('Link ID', ({ link }) => link.id),
  domain: column('Domain', ({ link }) => link.domain),
  key: column('Key', ({ link }) => link.key),
  url: column('Destination URL', ({ click }) => click.url),
  clickId: column('Click ID', ({ click }) => click.id),
  clickTimestamp: column('Click Date', ({ click }) => click.timestamp),
  customer: ofConversion('Customer', ({ customer }) => customer.name),
  customerId: ofConversion('Customer ID', ({ customer }) => customer.id),
  customerEmail: ofConversion('Customer Email', ({ customer }) => customer.email),
  customerExternalId: ofConversion('Customer External ID', ({ customer }) => customer.externalId),
  saleAmount: ofSale('Sale Amount', ({ sale }) => sale.amount),
  currency: ofSale('Currency', ({ sale }) => sale.currency),
  invoiceId: ofSale('Invoice ID', ({ sale }) => sale.invoiceId),
  paymentProcessor: ofSale('Payment Processor', ({ sale }) => sale.paymentProcessor),
  metadata: ofConversion('Metadata', ({ metadata }) => metadata && JSON.stringify(metadata)),
  continent: column('Continent', ({ click }) => click.continent),
  country: column('Country', ({ click }) => click.country),
  region: column('Region', ({ click }) => click.region),
  city: column('City', ({ click }) => click.city),
  device: column('Device', ({ click }) => click.device),
  browser: column('Browser', ({ click }) => click.browser),
  os: column('OS', ({ click }) => click.os),
  referer: column('Referrer', ({ click }) => click.referer),
  refererUrl: column('Referrer URL', ({ click }) => click.refererUrl),
  qr: column('QR', ({ click }) => click.qr),
  ip: column('IP', ({ click }) => click.ip),
} as const satisfies Readonly<Record<string, Column>>;

export const COLUMN_NAMES = Object.keys(COLUMNS);

export interface EventTable {
  readonly headings: readonly string[];
  row(event: WireEvent): CsvValue[];
}

/** Without names, all columns that events of this kind have. */
export function readEventTable(names: readonly string[] | undefined, kind: EventKind): EventTable {
  const columns = names?.length ? names.map(getColumn) : columnsOf(kind);
  return {
    headings: columns.map(({ heading }) => heading),
    row: (event) => columns.map(({ read }) => read(event)),
  };
}

function columnsOf(kind: EventKind): Column[] {
  return Object.values<Column>(COLUMNS).filter(({ kinds }) => kinds.includes(kind));
}

function getColumn(name: string): Column {
  if (!Object.hasOwn(COLUMNS, name))
    throw invalid('columns', `there is no column ${name.slice(0, 50)}; there are ${COLUMN_NAMES.join(', ')}`);
  return COLUMNS[name as keyof typeof COLUMNS];
}
