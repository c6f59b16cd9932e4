// The one way in which commissions come to be and change. Whatever happens to one, the sum that its partner has
// earned and the payout it is in change with it, in the same transaction. The enrolment of a partner is the lock of
// its money: whoever changes any of it takes that first, then the payout, then the commissions.
import { present as presentCustomer } from '../customers/customer.api.ts';
import type { Customer } from '../customers/customer.ts';
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { type Link, shortLink } from '../links/link.ts';
import type { CommissionStore } from './commission.store.ts';
import { type Commission, type CommissionDraft, earnedBy } from './commission.ts';
import { type CommissionEvent, commissionAfter } from './commission-states.ts';
import { presentCommissionFields } from './commission-wire.ts';
import type { Enrolments } from './enrolments.ts';
import type { Enrolment } from './partner.ts';
import type { PayoutStore } from './payout.store.ts';
import { OPEN_PAYOUTS } from './payout-states.ts';

export interface CommissionLedgerParts {
  readonly db: Database;
  readonly store: CommissionStore;
  readonly payouts: PayoutStore;
  readonly enrolments: Enrolments;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What receivers are shown beside the commission. */
export interface CommissionContext {
  readonly customer?: Customer;
  readonly link?: Link;
}

/** Called with every new commission, in its transaction. */
export type OnCommission = (commission: Commission, enrolment: Enrolment) => Promise<void>;
/** Called with every change of one, in its transaction. */
export type OnCommissionChange = (before: Commission, after: Commission) => Promise<void>;
/** Whether something about the partner holds everything new. */
export type IsHeld = (enrolment: Enrolment) => Promise<boolean>;

export function createCommissionLedger(parts: CommissionLedgerParts) {
  const { db, store, payouts, enrolments, clock, ids } = parts;
  const listeners: OnCommission[] = [];
  const followers: OnCommissionChange[] = [];
  let isHeld: IsHeld = async () => false;

  async function tell(commission: Commission, { customer, link }: CommissionContext): Promise<void> {
    const { id, workspaceId, programId, partnerId, customerId, linkId, type, amount, earnings } = commission;
    const partner = await enrolments.findForWebhook(programId, partnerId);
    const webhook = {
      ...presentCommissionFields(commission),
      partner,
      customer: customer ? presentCustomer(customer) : null,
      link: link
        ? { id: link.id, shortLink: shortLink(link.domain, link.key), domain: link.domain, key: link.key }
        : null,
    };
    const payload = { id, programId, partnerId, customerId, linkId, type, amount, earnings };
    const event = { workspaceId, type: 'commission.created', payload, webhook };
    await appendOutbox(db.query, [event], clock.now());
  }

  /** Nobody pays what is in a payout that is on its way, and nobody takes it out of there. */
  async function lockPayout({ id, payoutId }: Commission): Promise<void> {
    const payout = payoutId === null ? undefined : await payouts.find(payoutId);
    if (payout && !OPEN_PAYOUTS.includes(payout.status)) throw lockedPayout(id, payout.status);
  }

  return {
    /** For what follows from new commissions; call it before anything runs. */
    onAdded: (listener: OnCommission): void => void listeners.push(listener),
    onChanged: (follower: OnCommissionChange): void => void followers.push(follower),
    /** Asked of new ones that say nothing of their state; what takes something back is never held. */
    holdWhen: (test: IsHeld): void => {
      isHeld = test;
    },

    /** Undefined when its event or its invoice has one already. Call it with the enrolment locked. */
    async add(
      enrolment: Enrolment,
      draft: CommissionDraft,
      context: CommissionContext = {},
    ): Promise<Commission | undefined> {
      const { programId, partnerId, workspaceId } = enrolment;
      const asked = draft.status === undefined && draft.earnings > 0;
      const state = asked && (await isHeld(enrolment)) ? ({ status: 'hold' } as const) : {};
      const whose = { id: ids('cm_'), programId, workspaceId, partnerId, payoutId: null };
      const commission: Commission = { ...EMPTY, ...draft, ...state, ...whose, updatedAt: clock.now() };
      if (!(await store.insert(commission))) return undefined;
      await enrolments.addTotals(programId, partnerId, { commissions: earnedBy(commission) });
      await tell(commission, context);
      for (const listener of listeners) await listener(commission, enrolment);
      return commission;
    },

    /** Refuses what was paid, is being paid, or cannot happen from the state it is in. */
    async change(
      commission: Commission,
      event: CommissionEvent | undefined,
      amounts: Partial<Pick<Commission, 'amount' | 'earnings'>> = {},
    ): Promise<Commission> {
      if (commission.status === 'paid') throw alreadyPaid(commission.id);
      const status = event ? commissionAfter(commission, event) : commission.status;
      await lockPayout(commission);
      const detached = status !== commission.status && commission.payoutId !== null;
      const changed: Commission = {
        ...commission,
        ...amounts,
        status,
        payoutId: detached ? null : commission.payoutId,
        updatedAt: clock.now(),
      };
      await store.update(commission.id, changed);
      if (commission.payoutId !== null) {
        const left = detached ? 0 : changed.earnings;
        await payouts.adjust(commission.payoutId, left - commission.earnings, changed.updatedAt);
      }
      const commissions = earnedBy(changed) - earnedBy(commission);
      await enrolments.addTotals(commission.programId, commission.partnerId, { commissions });
      for (const follower of followers) await follower(commission, changed);
      return changed;
    },

    /** Whether it may still change: it was not paid, and its payout is not on its way. */
    async isOpen({ status, payoutId }: Commission): Promise<boolean> {
      if (status === 'paid') return false;
      const payout = payoutId === null ? undefined : await payouts.find(payoutId);
      return !payout || OPEN_PAYOUTS.includes(payout.status);
    },
  };
}

export type CommissionLedger = ReturnType<typeof createCommissionLedger>;

const EMPTY = {
  customerId: null,
  linkId: null,
  rewardId: null,
  eventId: null,
  invoiceId: null,
  sourceCommissionId: null,
  amount: 0,
  currency: 'usd',
  quantity: 1,
  status: 'pending',
  description: null,
  userId: null,
  metadata: null,
} as const;

function alreadyPaid(id: string): AppError {
  return new AppError(
    'bad_request',
    `custom: status: the commission ${id} was paid and cannot be changed; a negative commission of the type custom takes it back`,
  );
}

function lockedPayout(id: string, status: string): AppError {
  return new AppError(
    'bad_request',
    `custom: status: the commission ${id} is in a payout that is ${status} and cannot be changed`,
  );
}
