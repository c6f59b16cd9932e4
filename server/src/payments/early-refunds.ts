// Refunds that come before their sale: providers send events in any order. They are kept for a while under every name
// of the payment, and applied as soon as the sale is there. Whichever comes first finds the other.
import type { Conversions } from '../conversions/conversions.ts';
import type { Clock } from '../kernel/clock.ts';
import { unlessMissing } from './missing.ts';
import type { EarlyRefund, PaymentStore } from './payment.store.ts';

export interface EarlyRefundsParts {
  readonly store: PaymentStore;
  readonly conversions: Pick<Conversions, 'refund'>;
  readonly clock: Clock;
}

/** What is known of a refund: names of the payment, the surest first, and how much was given back. */
export interface GivenRefund {
  readonly references: readonly string[];
  readonly refundId: string;
  /** Undefined: all that is left. */
  readonly amount: number | undefined;
}

export const KEPT_DAYS = 30;
const KEPT_MS = KEPT_DAYS * 86_400_000;

export function createEarlyRefunds({ store, conversions, clock }: EarlyRefundsParts) {
  async function refund(workspaceId: string, invoiceIds: readonly string[], given: EarlyRefund) {
    const { refundId, amount } = given;
    for (const invoiceId of invoiceIds) {
      const request = { workspaceId, invoiceId, refundId, ...(amount !== null && { amount }) };
      if (await unlessMissing(conversions.refund(request))) return true;
    }
    return false;
  }

  return {
    /** False when there is no sale yet: then it is kept. */
    async record(workspaceId: string, { references, refundId, amount }: GivenRefund): Promise<boolean> {
      const find = async () => [...(await store.findInvoiceIds(workspaceId, references)), ...references];
      const names = await find();
      const given = { refundId, amount: amount ?? null };
      if (await refund(workspaceId, names, given)) return true;
      await store.addEarlyRefund(workspaceId, [...new Set(names)], given, clock.now());
      // A sale that was recorded meanwhile has looked before this refund was there.
      const now = await find();
      if (!(await refund(workspaceId, now, given))) return false;
      await store.deleteEarlyRefund(workspaceId, now, refundId);
      return true;
    },

    /** Once a sale is there, or another name of it is known. */
    async apply(workspaceId: string, invoiceId: string, references: readonly string[]): Promise<void> {
      const names = [invoiceId, ...references];
      for (const waiting of await store.findEarlyRefunds(workspaceId, names)) {
        if (!(await refund(workspaceId, [invoiceId], waiting))) return;
        await store.deleteEarlyRefund(workspaceId, names, waiting.refundId);
      }
    },

    /** Where it is known what all refunds come to, what is kept of them says nothing more. */
    async drop(workspaceId: string, names: readonly string[]): Promise<void> {
      for (const { refundId } of await store.findEarlyRefunds(workspaceId, names))
        await store.deleteEarlyRefund(workspaceId, names, refundId);
    },

    /** Those whose sale never came; for a job. */
    async prune(signal: AbortSignal): Promise<void> {
      while (!signal.aborted && (await store.pruneEarlyRefunds(clock.now() - KEPT_MS)));
    },
  };
}

export type EarlyRefunds = ReturnType<typeof createEarlyRefunds>;
