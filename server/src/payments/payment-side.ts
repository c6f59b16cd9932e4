// Puts together what payment providers tell and are asked. For the composition root.
import type { Conversions } from '../conversions/conversions.ts';
import type { Customers } from '../customers/customers.ts';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { GuardedFetch } from '../kernel/guarded-fetch.ts';
import type { Log } from '../kernel/log.ts';
import type { CommissionEntries } from '../partners/commission-entries.ts';
import { type CodeCreditParts, createCodeCredit } from './code-credit.ts';
import { createEarlyRefunds } from './early-refunds.ts';
import { createInvoiceImportStore } from './invoice-import.store.ts';
import { createInvoiceImports } from './invoice-imports.ts';
import { createPaymentStore } from './payment.store.ts';
import { createPayments, STRIPE } from './payments.ts';
import { createStripeClient } from './stripe-client.ts';

export interface PaymentSideParts {
  readonly db: Database;
  readonly customers: Customers;
  readonly conversions: Conversions;
  readonly commissionEntries: Pick<CommissionEntries, 'enterImported' | 'gather'>;
  readonly findLinkByCode: CodeCreditParts['findLinkByCode'];
  readonly fetch: GuardedFetch;
  /** For tests: where Stripe is. */
  readonly stripeUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export function createPaymentSide(parts: PaymentSideParts) {
  const { db, commissionEntries, fetch, stripeUrl: baseUrl } = parts;
  const store = createPaymentStore(db);
  const stripe = createStripeClient({ fetch, baseUrl });
  const earlyRefunds = createEarlyRefunds({ ...parts, store });
  const creditByCode = createCodeCredit({ ...parts, stripe });
  const payments = createPayments({ ...parts, store, earlyRefunds, creditByCode });
  const invoiceImports = createInvoiceImports({
    ...parts,
    store: createInvoiceImportStore(db),
    payments: store,
    stripe,
    earlyRefunds,
    recordSale: (target, sale) =>
      commissionEntries.enterImported(target, { ...sale, paymentProcessor: STRIPE }),
    gather: commissionEntries.gather,
  });
  return { payments, earlyRefunds, invoiceImports };
}

export type PaymentSide = ReturnType<typeof createPaymentSide>;
