// What partners earn by conversions: the seam between tracking and programs. Every call is made inside the
// transaction of the conversion, so that a commission is there exactly when its lead or sale is.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { Customer } from '../customers/customer.ts';
import type { Link } from '../links/link.ts';

/** What leads and sales have in common. */
export interface ConversionFacts {
  readonly workspaceId: string;
  /** The link that gets the credit, with its counters after this conversion. */
  readonly link: Link;
  /** As it was before this conversion. */
  readonly customer: Customer;
  readonly click: ClickRecord;
  readonly eventId: string;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly atMs: number;
  /** How it came here; tracked if absent. */
  readonly source?: string | undefined;
}

export interface LeadFacts extends ConversionFacts {
  /** How many leads were recorded; `eventId` is the first of them. */
  readonly quantity: number;
  /** The lead that a sale without an earlier lead brought along: partners earn by the sale alone. */
  readonly isDirectSale: boolean;
}

export interface SaleFacts extends ConversionFacts {
  /** In US cents. */
  readonly amount: number;
  readonly paymentProcessor: string;
  readonly invoiceId: string | null;
  /** The first sale of this customer by this link. */
  readonly isFirst: boolean;
}

export interface RefundFacts {
  readonly workspaceId: string;
  /** Tells refunds of the same sale apart. */
  readonly refundId: string;
  readonly saleId: string;
  readonly invoiceId: string | null;
  readonly customerId: string;
  readonly linkId: string;
  /** In US cents: what this refund takes back, and what the sale was. */
  readonly amount: number;
  readonly saleAmount: number;
  /** What all refunds of the sale have taken back, this one included. */
  readonly refundedAmount: number;
  readonly atMs: number;
}

export interface Earnings {
  lead(facts: LeadFacts): Promise<void>;
  sale(facts: SaleFacts): Promise<void>;
  refund(facts: RefundFacts): Promise<void>;
  /** The partner as receivers of webhooks see it; null for links without one. Asked after `lead` or `sale`. */
  findPartner(link: Link): Promise<object | null>;
}
