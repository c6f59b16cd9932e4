// Money given back. A refund is noted on its sale and tells partners' earnings; recorded events and counters stay
// as they were, before refunds.
import { AppError } from '../kernel/errors.ts';
import type { StoredSale } from './conversion.store.ts';
import { invoiceSlot } from './conversion.ts';
import type { Recording } from './recording.ts';

export interface RefundRequest {
  readonly workspaceId: string;
  readonly invoiceId: string;
  /** Tells refunds apart: the same one counts once, for ever. */
  readonly refundId: string;
  /** In the currency and unit that the sale was tracked in; absent: all that is left. */
  readonly amount?: number;
  /** Instead of the amount: what all refunds together come to. */
  readonly total?: number;
}

export interface RefundAnswer {
  readonly saleId: string;
  /** In US cents: what this refund took back, and all of them together. */
  readonly amount: number;
  readonly refundedAmount: number;
}

export function createRefunds({ once, write, store, earnings, clock }: Recording) {
  async function getSale({ workspaceId, invoiceId }: RefundRequest): Promise<StoredSale> {
    const saleId = await store.findEventId(invoiceSlot(workspaceId, invoiceId));
    const sale = saleId === undefined ? undefined : await store.lockSale(saleId);
    if (!sale)
      throw new AppError('not_found', `There is no sale with the invoice ${invoiceId.slice(0, 50)}.`);
    return sale;
  }

  async function record(request: RefundRequest) {
    const sale = await getSale(request);
    const amount = centsOf(sale, request);
    const { id: saleId, customerId, linkId, invoiceId, amount: saleAmount } = sale;
    const refundedAmount = sale.refundedAmount + amount;
    const { workspaceId, refundId } = request;
    const atMs = clock.now();
    if (amount > 0) {
      await store.addRefund(saleId, amount, atMs);
      const whose = { workspaceId, refundId, saleId, invoiceId, customerId, linkId };
      await earnings.refund({ ...whose, amount, saleAmount, refundedAmount, atMs });
    }
    const answer: RefundAnswer = { saleId, amount, refundedAmount };
    return { customer: { id: customerId }, eventId: saleId, answer };
  }

  /** A refund that comes again changes nothing and is answered as the first time. */
  return (request: RefundRequest): Promise<RefundAnswer> => {
    const slot = { workspaceId: request.workspaceId, kind: 'refund', key: request.refundId } as const;
    return write(() => once.run(slot, () => record(request)));
  };
}

/** By the rate of the sale, and never more than is left of it. */
function centsOf(
  sale: StoredSale,
  { amount: given, total }: Pick<RefundRequest, 'amount' | 'total'>,
): number {
  const { amount, originalAmount, refundedAmount } = sale;
  const left = amount - refundedAmount;
  const inCents = (value: number) => Math.round((amount * value) / originalAmount);
  if (total !== undefined) return Math.min(left, Math.max(0, inCents(total) - refundedAmount));
  return given === undefined ? left : Math.min(left, inCents(given));
}
