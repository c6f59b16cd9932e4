// What Stripe's events mean for attribution, as plain values: who paid how much for which invoice, what was given
// back, and which other name an invoice has. Pure; what an event does not say is null.
import { z } from 'zod';
import { parseInput } from '../http/operation.ts';

/** Whoever paid, as far as the event tells. */
export interface Payer {
  /** Stripe's id. */
  readonly stripeCustomerId: string | null;
  /** The id in the seller's own system, from the metadata that the seller set. */
  readonly externalId: string | null;
  /** The click that brought the payer, from the short link or the seller's metadata. */
  readonly clickId: string | null;
  readonly name: string | null;
  readonly email: string | null;
  /** As two letters. */
  readonly country: string | null;
  readonly codes: UsedCodes;
}

/** What an event tells of discount codes that were used: seldom the code itself. */
export interface UsedCodes {
  /** What may be a code, the likeliest first. */
  readonly texts: readonly string[];
  /** Stripe's ids of promotion codes, whose text only Stripe knows. */
  readonly promotionCodeIds: readonly string[];
  /** The invoice, where it has discounts of which the event tells no more than that. */
  readonly invoiceId: string | null;
}

export type StripeStep =
  | { readonly kind: 'lead'; readonly payer: Payer }
  | {
      readonly kind: 'sale';
      readonly payer: Payer;
      readonly eventName: string;
      readonly amount: number;
      readonly currency: string;
      readonly invoiceId: string;
      readonly metadata: Readonly<Record<string, string>>;
      /** Other names of the same payment. */
      readonly references: readonly string[];
    }
  | {
      readonly kind: 'refund';
      /** Names of the payment, the surest first. */
      readonly references: readonly string[];
      readonly refundId: string;
      /** Undefined: all that is left of it. */
      readonly amount: number | undefined;
    }
  | { readonly kind: 'reference'; readonly reference: string; readonly invoiceId: string };

/** Set by short links that lead to a payment page. */
const CLICK_REFERENCE = 'dub_id_';

const id = z
  .union([z.string(), z.object({ id: z.string() }).transform((value) => value.id)])
  .nullish()
  .transform((value) => value ?? null);
const text = z
  .string()
  .nullish()
  .transform((value) => value || null);
const metadata = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {});
const amount = z.int().min(0);
const currency = z.string().min(3).max(10);

const address = z
  .looseObject({ country: text })
  .nullish()
  .transform((value) => (/^[A-Z]{2}$/.test(value?.country ?? '') ? (value?.country ?? null) : null));

const promotionCode = z.union([z.string(), z.looseObject({ id: text, code: text })]).nullish();
const coupon = z.union([z.string(), z.looseObject({ id: text, name: text })]).nullish();
/** In the forms of all versions of Stripe's API; an id where the event tells no more. */
const discount = z
  .union([
    z.string(),
    z.looseObject({
      coupon,
      source: z.looseObject({ coupon }).nullish(),
      promotion_code: promotionCode,
    }),
  ])
  .nullish();
type Discount = z.output<typeof discount>;
const discounts = z
  .array(discount)
  .nullish()
  .transform((value) => value ?? []);

const session = z.object({
  id: z.string(),
  client_reference_id: text,
  customer: id,
  customer_details: z.object({ name: text, email: text, address }).nullish(),
  discounts,
  amount_total: amount.nullish(),
  currency: currency.nullish(),
  payment_status: text,
  invoice: id,
  payment_intent: id,
  metadata,
});

const invoice = z.object({
  id: z.string(),
  customer: id,
  customer_name: text,
  customer_email: text,
  customer_address: address,
  discount,
  discounts,
  amount_paid: amount,
  currency,
  billing_reason: text,
  payment_intent: id,
  charge: id,
  metadata,
  subscription_details: z.object({ metadata }).nullish(),
  parent: z.object({ subscription_details: z.object({ metadata }).nullish() }).nullish(),
});

const invoicePayment = z.object({
  invoice: id,
  payment: z.object({ payment_intent: id, charge: id }).nullish(),
});

const charge = z.object({
  id: z.string(),
  amount_refunded: amount,
  refunded: z.boolean(),
  invoice: id,
  payment_intent: id,
});

const HANDLERS: Readonly<Record<string, (object: unknown, previous: unknown) => StripeStep[]>> = {
  'checkout.session.completed': (object) => sessionSteps(parseInput(session, object)),
  'checkout.session.async_payment_succeeded': (object) => sessionSteps(parseInput(session, object)),
  'invoice.paid': (object) => invoiceSteps(parseInput(invoice, object)),
  'invoice_payment.paid': (object) => invoicePaymentSteps(parseInput(invoicePayment, object)),
  'charge.refunded': (object, previous) => [refundStep(parseInput(charge, object), previous)],
};

export const STRIPE_EVENTS: readonly string[] = Object.keys(HANDLERS);

/** None for events that say nothing about conversions. Throws when one of those is not as Stripe sends it. */
export function stripeSteps(event: {
  type: string;
  data: { object: unknown; previous_attributes?: unknown };
}): StripeStep[] {
  const handler = Object.hasOwn(HANDLERS, event.type) ? HANDLERS[event.type] : undefined;
  return handler?.(event.data.object, event.data.previous_attributes) ?? [];
}

/** A session without payment, a free trial for example, is a lead when it names its click, or a code. */
function sessionSteps(data: z.output<typeof session>): StripeStep[] {
  const payer = {
    stripeCustomerId: data.customer,
    ...marks(data.metadata),
    name: data.customer_details?.name ?? null,
    email: data.customer_details?.email ?? null,
    country: data.customer_details?.address ?? null,
    codes: usedCodes(data.metadata, data.discounts, data.invoice),
  };
  if (data.client_reference_id?.startsWith(CLICK_REFERENCE))
    payer.clickId = data.client_reference_id.slice(CLICK_REFERENCE.length);
  if (data.payment_status === 'unpaid') return [];
  if (!data.amount_total || !data.currency)
    return payer.clickId || namesCode(payer.codes) ? [{ kind: 'lead', payer }] : [];
  const names = [data.invoice, data.payment_intent, data.id].filter((name) => name !== null);
  const [invoiceId = data.id, ...references] = names;
  return [
    {
      kind: 'sale',
      payer,
      eventName: 'Checkout completed',
      amount: data.amount_total,
      currency: data.currency,
      invoiceId,
      metadata: data.metadata,
      references,
    },
  ];
}

function invoiceSteps(data: z.output<typeof invoice>): StripeStep[] {
  if (data.amount_paid === 0) return [];
  const ofSubscription =
    data.parent?.subscription_details?.metadata ?? data.subscription_details?.metadata ?? {};
  const all = { ...ofSubscription, ...data.metadata };
  const payer = {
    stripeCustomerId: data.customer,
    ...marks(all),
    name: data.customer_name,
    email: data.customer_email,
    country: data.customer_address,
    codes: usedCodes(all, discountsOfInvoice(data), data.id),
  };
  return [
    {
      kind: 'sale',
      payer,
      eventName: data.billing_reason === 'subscription_cycle' ? 'Subscription renewed' : 'Invoice paid',
      amount: data.amount_paid,
      currency: data.currency,
      invoiceId: data.id,
      metadata: all,
      references: [data.payment_intent, data.charge].filter((name) => name !== null),
    },
  ];
}

/**
 * The first invoice of a subscription often comes before the checkout that began it, and only the checkout says whether
 * a click brought the payer: codes that both show are left to the checkout.
 */
function discountsOfInvoice(data: z.output<typeof invoice>): Discount[] {
  return data.billing_reason === 'subscription_create' ? [] : [data.discount, ...data.discounts];
}

function invoicePaymentSteps(data: z.output<typeof invoicePayment>): StripeStep[] {
  const { invoice: invoiceId } = data;
  if (invoiceId === null) return [];
  const references = [data.payment?.payment_intent, data.payment?.charge];
  return references.flatMap((reference) => (reference ? [{ kind: 'reference', reference, invoiceId }] : []));
}

/** The event tells what was given back so far; the difference to before is this refund. */
function refundStep(data: z.output<typeof charge>, previous: unknown): StripeStep {
  const before = z.object({ amount_refunded: amount }).safeParse(previous).data?.amount_refunded ?? 0;
  return {
    kind: 'refund',
    references: [data.invoice, data.payment_intent, data.id].filter((name) => name !== null),
    refundId: refundIdOf(data),
    amount: data.refunded ? undefined : data.amount_refunded - before,
  };
}

/** What the seller wrote into the metadata for us. */
function marks(values: Readonly<Record<string, string>>): Pick<Payer, 'externalId' | 'clickId'> {
  return {
    externalId: values.dubCustomerExternalId || values.dubCustomerId || null,
    clickId: values.dubClickId || values.dub_id || null,
  };
}

/** A code that the seller wrote down, promotion codes, and then coupons, which are seldom of one partner. */
function usedCodes(
  values: Readonly<Record<string, string>>,
  given: readonly Discount[],
  invoiceId: string | null,
): UsedCodes {
  const told = given.flatMap((each) => (each && typeof each !== 'string' ? [each] : []));
  const promotions = told.flatMap((each) => each.promotion_code ?? []);
  const coupons = told.flatMap((each) => each.coupon ?? each.source?.coupon ?? []);
  const promotionCodeIds = promotions.flatMap((each) => (typeof each === 'string' ? [each] : []));
  const texts = [
    values.dubDiscountCode,
    ...promotions.map((each) => (typeof each === 'string' ? each : each.code)),
    ...coupons.flatMap((each) => (typeof each === 'string' ? [each] : [each.id, each.name])),
  ].flatMap((each) => each || []);
  const isUntold = given.some((each) => typeof each === 'string');
  return { texts, promotionCodeIds, invoiceId: isUntold ? invoiceId : null };
}

export function namesCode({ texts, invoiceId }: UsedCodes): boolean {
  return texts.length > 0 || invoiceId !== null;
}

/** The codes of an invoice whose discounts Stripe was asked to show. */
export function codesOfInvoice(object: unknown): UsedCodes {
  const { discounts: shown } = parseInput(z.object({ discounts }), object);
  return usedCodes({}, shown, null);
}

/** An invoice as Stripe lists it: the sale, when it was paid, and what was given back since. */
export interface ListedInvoice {
  readonly sale: Extract<StripeStep, { kind: 'sale' }>;
  readonly paidAtMs: number;
  /** Of all that was paid, in its unit; undefined where nothing was given back. */
  readonly refund: { readonly refundId: string; readonly total: number } | undefined;
}

const listed = z.object({
  created: z.int().min(0),
  status_transitions: z.object({ paid_at: z.int().min(0).nullish() }).nullish(),
  charge: z.union([z.string(), z.object({ id: z.string(), amount_refunded: amount })]).nullish(),
});

/** Undefined where nothing was paid. */
export function readListedInvoice(object: unknown): ListedInvoice | undefined {
  const [sale] = invoiceSteps(parseInput(invoice, object));
  if (sale?.kind !== 'sale') return undefined;
  const { created, status_transitions: times, charge: paidBy } = parseInput(listed, object);
  const isRefunded = typeof paidBy === 'object' && paidBy !== null && paidBy.amount_refunded > 0;
  const refund = isRefunded ? { refundId: refundIdOf(paidBy), total: paidBy.amount_refunded } : undefined;
  return { sale, paidAtMs: (times?.paid_at ?? created) * 1000, refund };
}

function refundIdOf({ id: chargeId, amount_refunded }: { id: string; amount_refunded: number }): string {
  return `${chargeId}/${amount_refunded}`;
}
