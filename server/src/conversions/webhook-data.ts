// Leads and sales as receivers of webhooks see them: the customer before the conversion, the link after it.
import type { ClickRecord } from '../analytics/click-record.ts';
import { type Customer, displayName } from '../customers/customer.ts';
import { isoTime } from '../kernel/clock.ts';
import { presentLink, type WireLink } from '../links/link-wire.ts';
import type { SaleAnswer } from './conversion.ts';
import type { ConversionFacts } from './earnings.ts';

/** The click of an event, with the browser's own words and the bare region. */
export function clickData(click: ClickRecord) {
  return {
    id: click.id,
    timestamp: isoTime(click.timeMs),
    url: click.url,
    country: click.country,
    city: click.city,
    region: click.region,
    continent: click.continent,
    device: click.device,
    browser: click.browser,
    os: click.os,
    trigger: click.trigger,
    referer: click.referer,
    refererUrl: click.refererUrl,
    qr: click.qr,
    ip: click.ip,
    ua: click.userAgent,
  };
}

export function customerData(customer: Customer) {
  const { id, email, avatar, externalId, stripeCustomerId, sales, saleAmount } = customer;
  const timeOrNull = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    id,
    name: displayName(customer),
    email,
    avatar,
    externalId,
    stripeCustomerId,
    sales,
    saleAmount,
    createdAt: isoTime(customer.createdAt),
    firstSaleAt: timeOrNull(customer.firstSaleAt),
    subscriptionCanceledAt: timeOrNull(customer.subscriptionCanceledAt),
  };
}

export interface LeadData {
  readonly eventName: string;
  readonly customer: ReturnType<typeof customerData>;
  readonly click: ReturnType<typeof clickData>;
  readonly link: WireLink;
  /** Absent for the lead that a sale brought along. */
  readonly partner?: object | null;
  readonly metadata: object | null;
}

export interface SaleData extends LeadData {
  readonly sale: Omit<NonNullable<SaleAnswer['sale']>, 'metadata'>;
}

/** `partner` undefined: nothing is said of one. */
export function leadData(
  facts: ConversionFacts,
  partner: object | null | undefined,
  publicUrl: string,
): LeadData {
  const { eventName, customer, click, link, metadata } = facts;
  return {
    eventName,
    customer: customerData(customer),
    click: clickData(click),
    link: presentLink(link, publicUrl),
    ...(partner !== undefined && { partner }),
    metadata,
  };
}

export function saleData(
  facts: ConversionFacts,
  { metadata: _, ...sale }: NonNullable<SaleAnswer['sale']>,
  partner: object | null,
  publicUrl: string,
): SaleData {
  return { ...leadData(facts, partner, publicUrl), sale };
}
