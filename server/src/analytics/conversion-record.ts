// Leads and sales as they are stored for analytics: the click they follow, and what is their own. The outbox
// carries them in this form; the customer is an id here and nothing else.
import type { ClickRecord } from './click-record.ts';

export const PAYMENT_PROCESSORS = [
  'stripe',
  'shopify',
  'polar',
  'paddle',
  'apple',
  'revenuecat',
  'lemonsqueezy',
  'dub',
  'custom',
] as const;
export type PaymentProcessor = (typeof PAYMENT_PROCESSORS)[number];

export interface LeadRecord {
  readonly id: string;
  readonly timeMs: number;
  readonly workspaceId: string;
  /** The link that gets the credit. */
  readonly linkId: string;
  readonly customerId: string;
  readonly eventName: string;
  /** A JSON object as text, or empty. */
  readonly metadata: string;
  /** The click, with its own time, id and destination. */
  readonly click: ClickRecord;
}

export interface SaleRecord extends LeadRecord {
  /** In US cents. */
  readonly amount: number;
  readonly currency: string;
  readonly paymentProcessor: string;
  /** Empty where there is none. */
  readonly invoiceId: string;
}

/** The payload of `lead.created`. */
export interface LeadsCreated {
  readonly leads: readonly LeadRecord[];
}

/** The payload of `sale.created`. */
export interface SalesCreated {
  readonly sales: readonly SaleRecord[];
}

/** The payload of `customer.erased`: metadata of its events and addresses of these clicks are to be blanked. */
export interface CustomerErased {
  readonly customerId: string;
  readonly clickIds: readonly string[];
}

/** The payload of `enrolment.changed`: what analytics filters and groups by. */
export interface EnrolmentChanged {
  readonly programId: string;
  readonly partnerId: string;
  /** Empty where the partner has none. */
  readonly groupId: string;
  readonly partnerTagIds: readonly string[];
  readonly deleted: boolean;
}
