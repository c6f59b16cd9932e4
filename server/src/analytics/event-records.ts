// Events as clients see them: what was recorded, beside the link and the customer as they are now.
import { z } from 'zod';
import { type Customer, displayName } from '../customers/customer.ts';
import { isoTime } from '../kernel/clock.ts';
import { linkSchema, type WireLink } from '../links/link-wire.ts';
import { type ClickRecord, UNKNOWN } from './click-record.ts';
import {
  type LeadRecord,
  PAYMENT_PROCESSORS,
  type PaymentProcessor,
  type SaleRecord,
} from './conversion-record.ts';
import type { EventKind, EventRecords } from './query.ts';

/** What an event shows of its customer. */
export type EventCustomer = Pick<
  Customer,
  'id' | 'name' | 'email' | 'avatar' | 'externalId' | 'country' | 'createdAt'
>;

const time = z.iso.datetime();
const old = (replacement: string) => ({ deprecated: true, description: `Use ${replacement}.` });

const clickSchema = z.strictObject({
  id: z.string().describe('The id of the click.'),
  timestamp: time.describe('When the click happened.'),
  url: z.string().describe('Where the visitor was sent.'),
  country: z.string().describe('Two letters, or Unknown.'),
  city: z.string(),
  region: z.string().describe('With its country, such as US-CA.'),
  continent: z.string().describe('Two letters, or empty.'),
  device: z.string(),
  browser: z.string(),
  os: z.string(),
  trigger: z.enum(['qr', 'link', 'pageview', 'deeplink']).nullable().optional(),
  referer: z.string().describe('The host that the visitor came from, or (direct).'),
  refererUrl: z.string().describe('The address that the visitor came from, without its query, or (direct).'),
  qr: z.boolean(),
  ip: z.string().describe('Empty where it may not be kept.'),
});

/** Kept for older clients. */
const flatFields = {
  click_id: z.string().meta(old('click.id')),
  link_id: z.string().meta(old('link.id')),
  domain: z.string().meta(old('link.domain')),
  key: z.string().meta(old('link.key')),
  url: z.string().meta(old('click.url')),
  continent: z.string().meta(old('click.continent')),
  country: z.string().meta(old('click.country')),
  city: z.string().meta(old('click.city')),
  device: z.string().meta(old('click.device')),
  browser: z.string().meta(old('click.browser')),
  os: z.string().meta(old('click.os')),
  qr: z.number().meta(old('click.qr')),
  ip: z.string().meta(old('click.ip')),
};

const customerSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  avatar: z.string().nullable(),
  externalId: z.string(),
  country: z.string(),
  createdAt: time,
});

const commonFields = {
  timestamp: time.describe('When the event happened.'),
  click: clickSchema,
  link: linkSchema,
  ...flatFields,
};

const conversionFields = {
  ...commonFields,
  eventId: z.string(),
  eventName: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullable().describe('What was sent with the event.'),
  customer: customerSchema,
};

const clickEvent = z.strictObject({ event: z.literal('click'), ...commonFields });
const leadEvent = z.strictObject({ event: z.literal('lead'), ...conversionFields });
const saleEvent = z.strictObject({
  event: z.literal('sale'),
  ...conversionFields,
  sale: z.strictObject({
    amount: z.int().describe('In US cents.'),
    invoiceId: z.string().nullable(),
    paymentProcessor: z.enum(PAYMENT_PROCESSORS),
    currency: z.string().describe('The currency of the amount, in lower case.'),
  }),
  saleAmount: z.number().meta(old('sale.amount')),
  invoice_id: z.string().meta(old('sale.invoiceId')),
  payment_processor: z.string().meta(old('sale.paymentProcessor')),
});

export const eventSchema = z
  .discriminatedUnion('event', [
    clickEvent.meta({ id: 'ClickEvent', description: 'A click.' }),
    leadEvent.meta({ id: 'LeadEvent', description: 'A lead.' }),
    saleEvent.meta({ id: 'SaleEvent', description: 'A sale.' }),
  ])
  .meta({ id: 'Event', description: 'A click, a lead or a sale.' });

export type WireEvent = z.input<typeof eventSchema>;

/** What the events of a page need beside themselves. */
export interface Surroundings {
  readonly links: ReadonlyMap<string, WireLink>;
  readonly customers: ReadonlyMap<string, EventCustomer>;
}

/** Undefined when the link was deleted a moment ago. */
export function presentEvent<K extends EventKind>(
  kind: K,
  record: EventRecords[K],
  surroundings: Surroundings,
): WireEvent | undefined {
  const link = surroundings.links.get(record.linkId);
  if (!link) return undefined;
  if (kind === 'clicks') return presentClickEvent(record as ClickRecord, link);
  const conversion = presentConversion(record as LeadRecord, link, surroundings.customers);
  return kind === 'leads' ? { event: 'lead', ...conversion } : presentSale(record as SaleRecord, conversion);
}

function presentClickEvent(record: ClickRecord, link: WireLink): WireEvent {
  const timestamp = isoTime(record.timeMs);
  return { event: 'click', timestamp, click: presentClick(record), link, ...flat(record, link) };
}

function presentConversion(
  record: LeadRecord,
  link: WireLink,
  customers: ReadonlyMap<string, EventCustomer>,
) {
  return {
    timestamp: isoTime(record.timeMs),
    eventId: record.id,
    eventName: record.eventName,
    metadata: parseMetadata(record.metadata),
    click: presentClick(record.click),
    link,
    customer: presentCustomer(record.customerId, customers.get(record.customerId)),
    ...flat(record.click, link),
  };
}

function presentSale(record: SaleRecord, conversion: ReturnType<typeof presentConversion>): WireEvent {
  const { amount, invoiceId, currency } = record;
  const paymentProcessor = processorOf(record.paymentProcessor);
  return {
    event: 'sale',
    ...conversion,
    sale: { amount, invoiceId: invoiceId || null, paymentProcessor, currency },
    saleAmount: amount,
    invoice_id: invoiceId,
    payment_processor: paymentProcessor,
  };
}

function presentClick(record: ClickRecord): z.input<typeof clickSchema> {
  return {
    id: record.id,
    timestamp: isoTime(record.timeMs),
    url: record.url,
    country: record.country,
    city: record.city,
    region: regionCode(record),
    continent: record.continent,
    device: record.device,
    browser: record.browser,
    os: record.os,
    trigger: record.trigger,
    referer: record.referer,
    refererUrl: withoutQuery(record.refererUrl),
    qr: record.qr,
    ip: record.ip,
  };
}

function flat(record: ClickRecord, link: WireLink) {
  return {
    click_id: record.id,
    link_id: link.id,
    domain: link.domain,
    key: link.key,
    url: record.url,
    continent: record.continent,
    country: record.country,
    city: record.city,
    device: record.device,
    browser: record.browser,
    os: record.os,
    qr: record.qr ? 1 : 0,
    ip: record.ip,
  };
}

function regionCode({ country, region }: ClickRecord): string {
  return country === UNKNOWN ? UNKNOWN : `${country}-${region || UNKNOWN}`;
}

function withoutQuery(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
}

function parseMetadata(text: string): Record<string, unknown> | null {
  return text === '' ? null : (JSON.parse(text) as Record<string, unknown>);
}

/** Clients know a closed list. */
function processorOf(name: string): PaymentProcessor {
  return PAYMENT_PROCESSORS.find((known) => known === name) ?? 'custom';
}

function presentCustomer(id: string, customer: EventCustomer | undefined): z.input<typeof customerSchema> {
  if (!customer) return deletedCustomer(id);
  const { email, avatar, externalId, country, createdAt } = customer;
  return {
    id,
    name: displayName(customer),
    email: email ?? '',
    avatar,
    externalId,
    country: country ?? '',
    createdAt: isoTime(createdAt),
  };
}

function deletedCustomer(id: string): z.input<typeof customerSchema> {
  return {
    id,
    name: 'Deleted Customer',
    email: 'deleted@customer.com',
    avatar: null,
    externalId: id,
    country: '',
    createdAt: isoTime(0),
  };
}
