// The body by which commissions are entered, in its present and its older form, and what it asks for. Where both
// forms are given the present one counts.
import { z } from 'zod';
import type { CustomerDraft } from '../customers/customer.ts';
import { parseHumanDate } from '../kernel/dates.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { MAX_DESCRIPTION_LENGTH } from './commission.ts';
import {
  type CommissionEntry,
  type EnteredSale,
  IMPORTED_LEAD,
  type ImportEntry,
} from './commission-entries.ts';
import type { CustomCommission } from './commissions.ts';
import { country } from './partner-fields.ts';

const MAX_METADATA_LENGTH = 10_000;
const MAX_CENTS = 10_000_000_000_000;
const PROCESSORS = [
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
export type PaymentProcessor = (typeof PROCESSORS)[number];

const text = (max: number) => z.string().trim().min(1).max(max);
const date = z.string().max(100).nullish().describe('When it happened; now if absent.');
const metadata = z
  .record(z.string(), z.unknown())
  .refine(
    (value) => JSON.stringify(value).length <= MAX_METADATA_LENGTH,
    `must have at most ${MAX_METADATA_LENGTH} characters as JSON`,
  )
  .nullish();
const partnerId = z.string().min(1);

export const currency = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[a-z]{3}$/, 'must be a code of three letters')
  .default('usd');

const customerFields = {
  partnerId,
  customerId: z.string().min(1).nullish().describe('A customer that is there. Either this or customer.'),
  customer: z
    .object({
      externalId: text(255).describe('What your own system knows the customer by.'),
      country,
      email: z.email().max(320).nullish(),
      name: z.string().trim().max(255).nullish(),
      avatar: z.string().nullish(),
      stripeCustomerId: text(255).nullish(),
    })
    .nullish()
    .describe('A customer that may be new; one with the same externalId is brought up to date.'),
  linkId: z
    .string()
    .min(1)
    .nullish()
    .describe('A link of the partner; the one that has sold the most if absent.'),
  date,
};

const customBody = z.object({
  type: z.literal('custom'),
  partnerId,
  amount: z
    .int()
    .min(-MAX_CENTS)
    .max(MAX_CENTS)
    .refine((cents) => cents !== 0, 'must not be 0')
    .describe('In US cents; negative takes back what was earned, and needs a description.'),
  date,
  description: z.string().trim().max(MAX_DESCRIPTION_LENGTH).nullish(),
});

const leadBody = z.object({
  type: z.literal('lead'),
  ...customerFields,
  lead: z.object({ eventName: text(255).nullish(), metadata }).nullish(),
  leadEventDate: date.meta({ deprecated: true }),
  leadEventName: text(255).nullish().meta({ deprecated: true }),
});

const amount = z.int().min(0).max(MAX_CENTS);
const saleBody = z.object({
  type: z.literal('sale'),
  ...customerFields,
  importStripeInvoices: z
    .boolean()
    .nullish()
    .describe(
      'Instead of a sale: all that the customer has paid in Stripe becomes sales of the partner, a little later. Takes a key of Stripe, and a customer with a stripeCustomerId.',
    ),
  sale: z
    .object({
      amount: amount.nullish().describe('In the smallest unit of the currency.'),
      currency,
      eventName: text(255).default('Purchase'),
      paymentProcessor: z.enum(PROCESSORS).default('custom'),
      invoiceId: text(190).nullish(),
      metadata,
    })
    .nullish(),
  saleEventDate: date.meta({ deprecated: true }),
  saleAmount: amount.nullish().meta({ deprecated: true }),
  invoiceId: text(190).nullish().meta({ deprecated: true }),
  productId: text(190).nullish().meta({ deprecated: true }),
});

export const entryBody = z.discriminatedUnion('type', [customBody, leadBody, saleBody]);

type CustomBody = z.output<typeof customBody>;
type LeadBody = z.output<typeof leadBody>;
type SaleBody = z.output<typeof saleBody>;

function readDate(field: string, given: string | null | undefined, nowMs: number): number {
  if (given == null) return nowMs;
  const ms = parseHumanDate(given, nowMs);
  if (ms === undefined) throw invalid(field, 'must be a date, such as 2027-01-15T10:00:00Z');
  if (ms > nowMs) throw invalid(field, 'must not be in the future');
  if (ms < 0) throw invalid(field, 'must not be before 1970');
  return ms;
}

export function readCustom(body: CustomBody, nowMs: number): CustomCommission {
  const description = body.description || null;
  if (body.amount < 0 && description === null) {
    throw invalid('description', 'is required where something is taken back, such as order_canceled');
  }
  return { amount: body.amount, description, atMs: readDate('date', body.date, nowMs) };
}

/** Undefined unless sales are to come from Stripe. */
export function readImport(body: LeadBody | SaleBody): ImportEntry | undefined {
  if (body.type !== 'sale' || !body.importStripeInvoices) return undefined;
  const { sale, saleAmount, invoiceId, productId } = body;
  if (sale != null || saleAmount != null || invoiceId != null || productId != null) {
    throw new AppError('bad_request', 'custom: importStripeInvoices: does not go with a sale that is given');
  }
  return readTarget(body);
}

function readTarget({ partnerId: whose, customerId, customer, linkId }: LeadBody | SaleBody): ImportEntry {
  if ((customerId == null) === (customer == null)) {
    throw new AppError('bad_request', 'custom: customerId: give either customerId or customer');
  }
  return {
    partnerId: whose,
    linkId: linkId ?? undefined,
    customerId: customerId ?? undefined,
    customer: customer ? draftOf(customer) : undefined,
  };
}

export function readConversion(body: LeadBody | SaleBody, nowMs: number): CommissionEntry {
  const found = readTarget(body);
  if (body.type === 'lead') {
    const field = body.date == null && body.leadEventDate != null ? 'leadEventDate' : 'date';
    const atMs = readDate(field, body.date ?? body.leadEventDate, nowMs);
    const eventName = body.lead?.eventName ?? body.leadEventName ?? 'Sign up';
    return { ...found, atMs, lead: { eventName, metadata: body.lead?.metadata ?? null } };
  }
  const field = body.date == null && body.saleEventDate != null ? 'saleEventDate' : 'date';
  const atMs = readDate(field, body.date ?? body.saleEventDate, nowMs);
  return { ...found, atMs, lead: { eventName: IMPORTED_LEAD, metadata: null }, sale: readSale(body) };
}

type GivenCustomer = NonNullable<LeadBody['customer']>;

/** What is not given stays as it is. */
function draftOf(customer: GivenCustomer): CustomerDraft {
  const given = Object.entries(customer).filter(([, value]) => value != null);
  return Object.fromEntries(given) as unknown as CustomerDraft;
}

function readSale(body: SaleBody): EnteredSale {
  const { sale, saleAmount, invoiceId, productId } = body;
  const cents = sale?.amount ?? saleAmount;
  if (!cents) throw invalid(sale ? 'sale.amount' : 'saleAmount', 'is required and must be more than 0');
  return {
    amount: cents,
    currency: sale?.currency ?? 'usd',
    eventName: sale?.eventName ?? 'Purchase',
    paymentProcessor: sale?.paymentProcessor ?? 'custom',
    invoiceId: sale?.invoiceId ?? invoiceId ?? null,
    metadata: sale?.metadata ?? (productId ? { productId } : null),
  };
}
