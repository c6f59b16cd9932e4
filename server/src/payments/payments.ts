// Payment providers that tell of sales: what they send is checked by its signature and becomes leads, sales and
// refunds by the same rules, and as often as they send it again, once.
import type { Conversions } from '../conversions/conversions.ts';
import type { Customer } from '../customers/customer.ts';
import type { Customers } from '../customers/customers.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Bridge, PaymentStore } from './payment.store.ts';
import { type Payer, type StripeStep, stripeSteps } from './stripe-events.ts';
import { type SignatureFault, stripeSignatureFault } from './stripe-signature.ts';

export interface PaymentsParts {
  readonly store: PaymentStore;
  readonly customers: Pick<Customers, 'findByStripeId' | 'findByExternalId' | 'update'>;
  readonly conversions: Pick<Conversions, 'trackLead' | 'trackSale' | 'refund'>;
  readonly clock: Clock;
}

export interface SignedEvent {
  readonly signature: string | undefined;
  readonly bytes: Uint8Array;
  readonly event: { type: string; data: { object: unknown; previous_attributes?: unknown } };
}

/** What became of an event. */
export interface Receipt {
  readonly recorded: ('lead' | 'sale' | 'refund')[];
  /** Why something of it was not recorded. */
  readonly ignored: string[];
}

type Done = { readonly recorded?: Receipt['recorded'][number]; readonly ignored?: string };
type Step<K extends StripeStep['kind']> = Extract<StripeStep, { kind: K }>;

const STRIPE = 'stripe';
const TRIAL_LEAD = 'Checkout completed';
const FAULTS: Record<SignatureFault, string> = {
  malformed: 'The header Stripe-Signature is missing or not in the form that Stripe sends.',
  wrong: 'The header Stripe-Signature does not fit the body and the signing secret of this workspace.',
  old: 'The header Stripe-Signature is from more than five minutes ago.',
};

export function createPayments({ store, customers, conversions, clock }: PaymentsParts) {
  async function getStripe(workspaceId: string): Promise<Bridge> {
    const bridge = await store.findBridge(workspaceId, STRIPE);
    if (!bridge) throw new AppError('not_found', 'This workspace takes no events from Stripe.');
    return bridge;
  }

  /** From now on what Stripe calls its customer finds ours. */
  async function rememberStripeId(workspaceId: string, payer: Payer, customerId: string): Promise<void> {
    const { stripeCustomerId } = payer;
    if (stripeCustomerId === null || (await customers.findByStripeId(workspaceId, stripeCustomerId))) return;
    await customers.update(workspaceId, customerId, { stripeCustomerId });
  }

  function findKnown(workspaceId: string, { stripeCustomerId }: Payer): Promise<Customer | undefined> {
    return stripeCustomerId === null
      ? Promise.resolve(undefined)
      : customers.findByStripeId(workspaceId, stripeCustomerId);
  }

  async function named(workspaceId: string, payer: Payer) {
    const known = await findKnown(workspaceId, payer);
    const customerExternalId = known?.externalId ?? externalIdOf(payer);
    const { name: customerName, email: customerEmail } = payer;
    return customerExternalId && { customerExternalId, customerName, customerEmail, customerAvatar: null };
  }

  async function recordLead(workspaceId: string, { payer }: Step<'lead'>): Promise<Done> {
    const who = await named(workspaceId, payer);
    if (!who) return { ignored: 'The event names neither a customer nor a click.' };
    const lead = {
      clickId: payer.clickId ?? '',
      eventName: TRIAL_LEAD,
      mode: 'wait',
      eventQuantity: 1,
    } as const;
    await conversions.trackLead(workspaceId, { ...who, ...lead, metadata: null });
    // What is paid when the trial is over names no click any more.
    const customer = await customers.findByExternalId(workspaceId, who.customerExternalId);
    if (customer) await rememberStripeId(workspaceId, payer, customer.id);
    return { recorded: 'lead' };
  }

  async function recordSale(workspaceId: string, step: Step<'sale'>): Promise<Done> {
    const { payer, eventName, amount, currency, invoiceId, metadata } = step;
    await store.addReferences(workspaceId, step.references, invoiceId, clock.now());
    const who = await named(workspaceId, payer);
    if (!who) return { ignored: 'The event names neither a customer nor a click.' };
    const { customer } = await conversions.trackSale(workspaceId, {
      ...who,
      clickId: payer.clickId ?? '',
      eventName,
      amount,
      currency: currency.toLowerCase(),
      paymentProcessor: STRIPE,
      invoiceId,
      leadEventName: null,
      metadata: Object.keys(metadata).length > 0 ? metadata : null,
    });
    if (!customer) return { ignored: 'The customer is unknown, and the event names no click.' };
    await rememberStripeId(workspaceId, payer, customer.id);
    return { recorded: 'sale' };
  }

  async function recordRefund(workspaceId: string, step: Step<'refund'>): Promise<Done> {
    const known = await store.findInvoiceIds(workspaceId, step.references);
    for (const invoiceId of [...known, ...step.references]) {
      const { refundId, amount } = step;
      const request = { workspaceId, invoiceId, refundId, ...(amount !== undefined && { amount }) };
      if (await unlessMissing(conversions.refund(request))) return { recorded: 'refund' };
    }
    return { ignored: 'No sale of this payment was recorded.' };
  }

  function record(workspaceId: string, step: StripeStep): Promise<Done> {
    switch (step.kind) {
      case 'lead':
        return recordLead(workspaceId, step);
      case 'sale':
        return recordSale(workspaceId, step);
      case 'refund':
        return recordRefund(workspaceId, step);
      case 'reference':
        return store
          .addReferences(workspaceId, [step.reference], step.invoiceId, clock.now())
          .then(() => ({}));
    }
  }

  return {
    getStripe,

    async connectStripe(workspaceId: string, secret: string): Promise<Bridge> {
      await store.putBridge(workspaceId, STRIPE, secret, clock.now());
      return getStripe(workspaceId);
    },

    async disconnectStripe(workspaceId: string): Promise<void> {
      if (!(await store.deleteBridge(workspaceId, STRIPE))) await getStripe(workspaceId);
    },

    /**
     * What can never be recorded (a click that nobody knows) is answered as done, so that it is not sent for days;
     * whatever may still come right fails, and the provider sends it again.
     */
    async receiveStripe(workspaceId: string, { signature, bytes, event }: SignedEvent): Promise<Receipt> {
      const { secret } = await getStripe(workspaceId);
      const fault = stripeSignatureFault(signature, bytes, secret, clock.now());
      if (fault) throw new AppError('unauthorized', FAULTS[fault]);
      const receipt: Receipt = { recorded: [], ignored: [] };
      for (const step of stripeSteps(event)) {
        const { recorded, ignored } = await record(workspaceId, step).catch(asIgnored);
        if (recorded) receipt.recorded.push(recorded);
        if (ignored) receipt.ignored.push(ignored);
      }
      return receipt;
    },
  };
}

export type Payments = ReturnType<typeof createPayments>;

/** The seller's own id where it was given; a visitor who came by a click is a customer all the same. */
function externalIdOf({ externalId, clickId, stripeCustomerId, email }: Payer): string | null {
  return externalId ?? (clickId === null ? null : (stripeCustomerId ?? email));
}

function isMissing(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'not_found';
}

function asIgnored(error: unknown): Done {
  if (isMissing(error)) return { ignored: error.message };
  throw error;
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
