// Payment providers that tell of sales: what they send is checked by its signature and becomes leads, sales and
// refunds by the same rules, and as often as they send it again, once.
import type { LinkCredit } from '../conversions/conversion.ts';
import type { Conversions } from '../conversions/conversions.ts';
import type { Customer } from '../customers/customer.ts';
import type { Customers } from '../customers/customers.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { CodeCredit } from './code-credit.ts';
import { type EarlyRefunds, KEPT_DAYS } from './early-refunds.ts';
import { isMissing } from './missing.ts';
import type { Bridge, PaymentStore } from './payment.store.ts';
import { type Payer, type StripeStep, stripeSteps } from './stripe-events.ts';
import { type SignatureFault, stripeSignatureFault } from './stripe-signature.ts';

export interface PaymentsParts {
  readonly store: PaymentStore;
  readonly customers: Pick<Customers, 'findByStripeId' | 'findByExternalId' | 'update'>;
  readonly conversions: Pick<Conversions, 'trackLead' | 'trackSale'>;
  readonly earlyRefunds: EarlyRefunds;
  readonly creditByCode: CodeCredit;
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
/** Where an event came from. */
interface Sender {
  readonly workspaceId: string;
  readonly apiKey: string | null;
}
type Step<K extends StripeStep['kind']> = Extract<StripeStep, { kind: K }>;

export const STRIPE = 'stripe';
const NOBODY = 'The event names neither a customer, nor a click, nor a code of a partner.';
const TRIAL_LEAD = 'Checkout completed';
const FAULTS: Record<SignatureFault, string> = {
  malformed: 'The header Stripe-Signature is missing or not in the form that Stripe sends.',
  wrong: 'The header Stripe-Signature does not fit the body and the signing secret of this workspace.',
  old: 'The header Stripe-Signature is from more than five minutes ago.',
};

export function createPayments(parts: PaymentsParts) {
  const { store, customers, conversions, earlyRefunds, creditByCode, clock } = parts;

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

  async function findKnown(workspaceId: string, payer: Payer): Promise<Customer | undefined> {
    const { stripeCustomerId, externalId } = payer;
    const found = stripeCustomerId && (await customers.findByStripeId(workspaceId, stripeCustomerId));
    return found || (externalId ? customers.findByExternalId(workspaceId, externalId) : undefined);
  }

  /** Undefined when nobody can be made of the payer. */
  async function identify({ workspaceId, apiKey }: Sender, payer: Payer) {
    const known = await findKnown(workspaceId, payer);
    const otherwise = await creditByCode(workspaceId, payer, known, apiKey);
    const customerExternalId = known?.externalId ?? externalIdOf(payer, otherwise);
    if (!customerExternalId) return undefined;
    const { name: customerName, email: customerEmail, clickId } = payer;
    return {
      customerExternalId,
      customerName,
      customerEmail,
      customerAvatar: null,
      clickId: clickId ?? '',
      otherwise,
    };
  }

  async function recordLead(sender: Sender, { payer }: Step<'lead'>): Promise<Done> {
    const { workspaceId } = sender;
    const who = await identify(sender, payer);
    if (!who || (who.clickId === '' && !who.otherwise)) return { ignored: NOBODY };
    const lead = { eventName: TRIAL_LEAD, mode: 'wait', eventQuantity: 1, metadata: null } as const;
    await conversions.trackLead(workspaceId, { ...who, ...lead });
    // What is paid when the trial is over names no click any more.
    const customer = await customers.findByExternalId(workspaceId, who.customerExternalId);
    if (customer) await rememberStripeId(workspaceId, payer, customer.id);
    return { recorded: 'lead' };
  }

  async function recordSale(sender: Sender, step: Step<'sale'>): Promise<Done> {
    const { workspaceId } = sender;
    const { payer, eventName, amount, currency, invoiceId, metadata, references } = step;
    await store.addReferences(workspaceId, references, invoiceId, clock.now());
    const who = await identify(sender, payer);
    if (!who) return { ignored: NOBODY };
    const { customer } = await conversions.trackSale(workspaceId, {
      ...who,
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
    await earlyRefunds.apply(workspaceId, invoiceId, references);
    return { recorded: 'sale' };
  }

  async function recordRefund({ workspaceId }: Sender, step: Step<'refund'>): Promise<Done> {
    if (await earlyRefunds.record(workspaceId, step)) return { recorded: 'refund' };
    return {
      ignored: `No sale of this payment is recorded yet. The refund waits for one for ${KEPT_DAYS} days.`,
    };
  }

  async function recordReference({ workspaceId }: Sender, step: Step<'reference'>): Promise<Done> {
    const { reference, invoiceId } = step;
    await store.addReferences(workspaceId, [reference], invoiceId, clock.now());
    await earlyRefunds.apply(workspaceId, invoiceId, [reference]);
    return {};
  }

  function record(sender: Sender, step: StripeStep): Promise<Done> {
    switch (step.kind) {
      case 'lead':
        return recordLead(sender, step);
      case 'sale':
        return recordSale(sender, step);
      case 'refund':
        return recordRefund(sender, step);
      case 'reference':
        return recordReference(sender, step);
    }
  }

  return {
    getStripe,

    /** A key that is not given stays; null takes it away. */
    async connectStripe(
      workspaceId: string,
      given: { readonly secret: string; readonly apiKey?: string | null | undefined },
    ): Promise<Bridge> {
      await store.putBridge(workspaceId, STRIPE, given, clock.now());
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
      const { secret, apiKey } = await getStripe(workspaceId);
      const fault = stripeSignatureFault(signature, bytes, secret, clock.now());
      if (fault) throw new AppError('unauthorized', FAULTS[fault]);
      const receipt: Receipt = { recorded: [], ignored: [] };
      for (const step of stripeSteps(event)) {
        const { recorded, ignored } = await record({ workspaceId, apiKey }, step).catch(asIgnored);
        if (recorded) receipt.recorded.push(recorded);
        if (ignored) receipt.ignored.push(ignored);
      }
      return receipt;
    },
  };
}

export type Payments = ReturnType<typeof createPayments>;

/** The seller's own id where it was given; who came by a click or with a code is a customer all the same. */
function externalIdOf(
  { externalId, clickId, stripeCustomerId, email }: Payer,
  otherwise: LinkCredit | undefined,
): string | null {
  return externalId ?? (clickId === null && !otherwise ? null : (stripeCustomerId ?? email));
}

function asIgnored(error: unknown): Done {
  if (isMissing(error)) return { ignored: error.message };
  throw error;
}
