// Leads and sales as they are asked for and answered, and the pure rules about them.
import { type ClickRecord, UNKNOWN } from '../analytics/click-record.ts';
import type { PaymentProcessor } from '../analytics/conversion-record.ts';
import { type Customer, type CustomerDraft, displayName } from '../customers/customer.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { type Link, shortLink } from '../links/link.ts';

export const LEAD_MODES = ['async', 'wait', 'deferred'] as const;
export type LeadMode = (typeof LEAD_MODES)[number];

/** The name of the lead that a sale brings along when its customer is new. */
export const DIRECT_SALE_LEAD = 'Direct sale';

export type Metadata = Readonly<Record<string, unknown>>;

/** Whoever converts, as the caller names them; all but the id counts for new customers only. */
export interface NamedCustomer {
  readonly customerExternalId: string;
  readonly customerName: string | null;
  readonly customerEmail: string | null;
  readonly customerAvatar: string | null;
}

/** Credit without a click, for a customer whom no click has brought: a discount code that was used belongs to a link. */
export interface LinkCredit {
  readonly linkId: string;
  /** Where the customer is, as two letters. */
  readonly country: string | null;
}

export interface LeadRequest extends NamedCustomer {
  /** Empty: the click that brought the customer. */
  readonly clickId: string;
  readonly eventName: string;
  readonly mode: LeadMode;
  readonly eventQuantity: number;
  readonly metadata: Metadata | null;
  /** Where no click gets the credit. */
  readonly otherwise?: LinkCredit | undefined;
}

export interface SaleRequest extends NamedCustomer {
  /** For customers that are new; empty: none. */
  readonly clickId: string;
  readonly eventName: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
  readonly paymentProcessor: PaymentProcessor;
  readonly invoiceId: string | null;
  /** Which lead the sale follows; null: the latest. */
  readonly leadEventName: string | null;
  readonly metadata: Metadata | null;
  /** Where no click gets the credit. */
  readonly otherwise?: LinkCredit | undefined;
}

export interface LeadAnswer {
  readonly click: { readonly id: string };
  readonly link: {
    readonly id: string;
    readonly domain: string;
    readonly key: string;
    readonly shortLink: string;
    readonly url: string;
    readonly partnerId: string | null;
    readonly programId: string | null;
    readonly tenantId: string | null;
    readonly externalId: string | null;
  } | null;
  readonly customer: {
    readonly name: string | null;
    readonly email: string | null;
    readonly avatar: string | null;
    readonly externalId: string | null;
  };
}

export interface SaleAnswer {
  readonly eventName: string;
  readonly customer: {
    readonly id: string;
    readonly name: string | null;
    readonly email: string | null;
    readonly avatar: string | null;
    readonly externalId: string | null;
  } | null;
  readonly sale: {
    /** In US cents. */
    readonly amount: number;
    readonly currency: string;
    readonly paymentProcessor: PaymentProcessor;
    readonly invoiceId: string | null;
    readonly metadata: Metadata | null;
  } | null;
}

/** What may happen once. */
export interface ConversionSlot {
  readonly workspaceId: string;
  readonly kind: 'lead' | 'invoice' | 'refund';
  readonly key: string;
}

/** One lead of a name per customer; case and spaces make no other name. Hashed: an id may be an e-mail address. */
export function leadSlot(workspaceId: string, externalId: string, eventName: string): ConversionSlot {
  const name = eventName.toLowerCase().replaceAll(' ', '-');
  return { workspaceId, kind: 'lead', key: sha256Hex(`${name}\n${externalId}`) };
}

export function invoiceSlot(workspaceId: string, invoiceId: string): ConversionSlot {
  return { workspaceId, kind: 'invoice', key: invoiceId };
}

export function customerDraft(request: NamedCustomer, click: ClickRecord, link: Link): CustomerDraft {
  return {
    externalId: request.customerExternalId,
    name: request.customerName,
    email: request.customerEmail,
    avatar: request.customerAvatar,
    clickId: click.id,
    clickedAt: click.timeMs,
    linkId: link.id,
    programId: link.programId,
    partnerId: link.partnerId,
    country: click.country === UNKNOWN ? null : click.country,
  };
}

export function leadAnswer(click: ClickRecord, link: Link, customer: Customer): LeadAnswer {
  const { id, domain, key, url, partnerId, programId, tenantId, externalId } = link;
  return {
    click: { id: click.id },
    link: {
      id,
      domain,
      key,
      shortLink: shortLink(domain, key),
      url,
      partnerId,
      programId,
      tenantId,
      externalId,
    },
    customer: presentCustomer(customer),
  };
}

export function saleAnswer(request: SaleRequest, customer: Customer, cents: number): SaleAnswer {
  const { eventName, paymentProcessor, invoiceId, metadata } = request;
  return {
    eventName,
    customer: { id: customer.id, ...presentCustomer(customer) },
    sale: { amount: cents, currency: 'usd', paymentProcessor, invoiceId, metadata },
  };
}

/** The answer where nothing is sold: nobody to credit, or no money. */
export function nothingSold({ eventName }: SaleRequest): SaleAnswer {
  return { eventName, customer: null, sale: null };
}

function presentCustomer(customer: Customer) {
  const { email, avatar, externalId } = customer;
  return { name: displayName(customer), email, avatar, externalId };
}
