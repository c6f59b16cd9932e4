// Fetches what a customer has paid in Stripe and records it as sales of a partner. What is to be fetched is kept in SQL,
// so that a restart loses nothing; an invoice that is recorded already is passed over, so that beginning anew is safe.
import type { Conversions } from '../conversions/conversions.ts';
import type { Customers } from '../customers/customers.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { EarlyRefunds } from './early-refunds.ts';
import type { ImportTarget, InvoiceImport, InvoiceImportStore } from './invoice-import.store.ts';
import { unlessMissing } from './missing.ts';
import type { PaymentStore } from './payment.store.ts';
import { STRIPE } from './payments.ts';
import type { StripeClient } from './stripe-client.ts';
import type { ListedInvoice } from './stripe-events.ts';

/** A sale that is to be recorded for a partner. */
export interface ImportedSale {
  readonly atMs: number;
  readonly amount: number;
  readonly currency: string;
  readonly eventName: string;
  readonly invoiceId: string;
  readonly metadata: Readonly<Record<string, string>> | null;
}

export interface InvoiceImportsParts {
  readonly store: InvoiceImportStore;
  readonly payments: PaymentStore;
  readonly stripe: Pick<StripeClient, 'listPaidInvoices'>;
  readonly customers: Pick<Customers, 'get'>;
  readonly conversions: Pick<Conversions, 'refund'>;
  readonly earlyRefunds: Pick<EarlyRefunds, 'apply' | 'drop'>;
  /** False when there is a sale of this invoice already. */
  readonly recordSale: (target: ImportTarget, sale: ImportedSale) => Promise<boolean>;
  /** What the partner is due is gathered. */
  readonly gather: (target: ImportTarget) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const MINUTE_MS = 60_000;
const KEPT_MS = 30 * 86_400_000;
/** Waits before another try; after the last of them it is given up. */
const WAITS_MS = [1, 2, 5, 15, 60, 240].map((minutes) => minutes * MINUTE_MS);
const SHOWN = 20;

export function createInvoiceImports(parts: InvoiceImportsParts) {
  const { store, payments, stripe, customers, conversions, earlyRefunds, clock, log } = parts;

  async function recordOne(target: ImportTarget, listed: ListedInvoice): Promise<boolean> {
    const { workspaceId } = target;
    const { eventName, amount, currency, invoiceId, metadata, references } = listed.sale;
    await payments.addReferences(workspaceId, references, invoiceId, clock.now());
    const isNew = await parts.recordSale(target, {
      atMs: Math.min(listed.paidAtMs, clock.now()),
      amount,
      currency: currency.toLowerCase(),
      eventName,
      invoiceId,
      metadata: Object.keys(metadata).length > 0 ? metadata : null,
    });
    await refund(workspaceId, listed);
    return isNew;
  }

  /** Stripe says what all refunds come to: nothing that was kept of single ones is needed then. */
  async function refund(workspaceId: string, { sale, refund: given }: ListedInvoice): Promise<void> {
    const { invoiceId, references } = sale;
    if (!given) return earlyRefunds.apply(workspaceId, invoiceId, references);
    await unlessMissing(conversions.refund({ workspaceId, invoiceId, ...given }));
    await earlyRefunds.drop(workspaceId, [invoiceId, ...references]);
  }

  interface Outcome {
    readonly recorded: number;
    readonly error: string | null;
    readonly mayComeRight?: boolean;
  }

  async function recordAll(
    job: InvoiceImport,
    invoices: readonly ListedInvoice[],
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    let recorded = 0;
    let error: string | null = null;
    for (const listed of invoices) {
      if (signal.aborted) return undefined;
      try {
        if (await recordOne(job, listed)) recorded += 1;
      } catch (cause) {
        if (!isFinal(cause)) throw cause;
        // Others of the customer may still be fine.
        error ??= `${listed.sale.invoiceId}: ${cause.message}`;
      }
    }
    await parts.gather(job);
    return { recorded, error };
  }

  /** Undefined when it was interrupted: the job stays due. */
  async function run(job: InvoiceImport, signal: AbortSignal): Promise<Outcome | undefined> {
    const bridge = await payments.findBridge(job.workspaceId, STRIPE);
    if (!bridge?.apiKey) return { recorded: 0, error: 'The key was taken away.' };
    const { stripeCustomerId } = await customers.get(job.workspaceId, job.customerId);
    if (stripeCustomerId === null) return { recorded: 0, error: 'The customer has no stripeCustomerId.' };
    const answer = await stripe.listPaidInvoices(bridge.apiKey, stripeCustomerId);
    if (answer.ok) return recordAll(job, answer.value, signal);
    return { recorded: 0, error: answer.message, mayComeRight: answer.mayComeRight };
  }

  async function settle(job: InvoiceImport, { recorded, error, mayComeRight }: Outcome): Promise<void> {
    const wait = mayComeRight ? WAITS_MS[job.attempts] : undefined;
    const nextAt = wait === undefined ? null : clock.now() + wait;
    const status = nextAt !== null ? 'waiting' : error === null ? 'done' : 'failed';
    const attempts = job.attempts + 1;
    await store.settle(job, { status, attempts, nextAt, recorded, error }, clock.now());
  }

  return {
    /** In the caller's transaction. Refused where Stripe cannot be asked. */
    async start(target: ImportTarget): Promise<void> {
      const bridge = await payments.findBridge(target.workspaceId, STRIPE);
      if (!bridge?.apiKey) {
        const how = 'send a restricted key of Stripe as apiKey to PUT /integrations/stripe first';
        throw new AppError('bad_request', `custom: importStripeInvoices: ${how}`);
      }
      await store.put(target, clock.now());
    },

    /** The latest first, whatever became of them. */
    list: (workspaceId: string): Promise<InvoiceImport[]> => store.listLatest(workspaceId, SHOWN),

    /** Does all that is due; for a job. One that fails in an unforeseen way does not hold up the others. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const job = await store.findDue(clock.now());
        if (!job) return;
        try {
          const outcome = await run(job, signal);
          if (!outcome) return;
          await settle(job, outcome);
        } catch (error) {
          log.error({ err: error, workspaceId: job.workspaceId }, 'Invoices cannot be imported');
          await settle(job, { recorded: 0, error: 'Something went wrong here.', mayComeRight: true });
        }
      }
    },

    async prune(signal: AbortSignal): Promise<void> {
      while (!signal.aborted && (await store.prune(clock.now() - KEPT_MS)));
    },
  };
}

export type InvoiceImports = ReturnType<typeof createInvoiceImports>;

/** What trying again would not change: the partner is gone, a currency has no rate. */
function isFinal(error: unknown): error is AppError {
  return error instanceof AppError && error.code !== 'internal_server_error';
}
