// What a reward comes to for a lead or a sale of a partner: gathers what its conditions look at, and keeps what it may
// spend. Used when a conversion is recorded, and again when its commission is corrected.
import type { Customer } from '../customers/customer.ts';
import { isoTime } from '../kernel/clock.ts';
import type { CommissionStore } from './commission.store.ts';
import type { PartnerStore } from './partner.store.ts';
import type { Enrolment } from './partner.ts';
import type { Reward } from './reward.ts';
import { clampToLimit, monthsBetween, type RewardFacts, spendWindow } from './reward-engine.ts';

/** A lead or a sale that is rewarded. */
export interface Rewarded {
  readonly event: 'lead' | 'sale';
  readonly enrolment: Enrolment;
  /** Undefined where it is not known any more. */
  readonly customer: Customer | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly amount: number;
  readonly atMs: number;
  /** How it came here; tracked if absent. */
  readonly source?: string | undefined;
  /** Whether the partner had a commission for a sale to this customer before. */
  readonly isRecurring: boolean;
}

export interface RewardReckoningParts {
  readonly store: Pick<CommissionStore, 'sumSpent'>;
  readonly people: Pick<PartnerStore, 'find'>;
}

export function createRewardReckoning({ store, people }: RewardReckoningParts) {
  return {
    async factsOf(rewarded: Rewarded): Promise<RewardFacts> {
      const { event, enrolment, customer, metadata, amount, isRecurring } = rewarded;
      const partner = await people.find(enrolment.partnerId);
      const { totalClicks, totalLeads, totalConversions, totalSaleAmount, totalCommissions } = enrolment;
      const totals = { totalClicks, totalLeads, totalConversions, totalSaleAmount, totalCommissions };
      const type = isRecurring ? 'recurring' : 'new';
      const sale = { productId: metadata?.productId, amount, type, metadata };
      return {
        customer: customer && customerFacts(customer, rewarded),
        partner: { country: partner?.country, ...totals },
        [event]: event === 'sale' ? sale : { metadata },
      };
    },

    /**
     * No more than the reward may still spend in the window of `atMs`: on a sale per customer, otherwise in all.
     * `own` is what the commission itself has spent already.
     */
    async withinLimit(
      { spendLimitAmount, spendLimitInterval }: Reward,
      spender: {
        readonly event: 'click' | 'lead' | 'sale';
        readonly enrolment: Enrolment;
        readonly customerId: string | null;
        readonly atMs: number;
      },
      earnings: number,
      own = 0,
    ): Promise<number> {
      if (spendLimitAmount === null || spendLimitInterval === null) return earnings;
      const { event, enrolment, atMs } = spender;
      const window = spendWindow(spendLimitInterval, atMs);
      const customerId = event === 'sale' ? spender.customerId : null;
      const spent = await store.sumSpent(enrolment, event, window, customerId);
      return clampToLimit(earnings, spendLimitAmount, spent - own);
    },
  };
}

export type RewardReckoning = ReturnType<typeof createRewardReckoning>;

function customerFacts(customer: Customer, { atMs, source = 'tracked' }: Rewarded) {
  const startMs = customer.firstSaleAt ?? atMs;
  return {
    country: customer.country,
    source,
    subscriptionDurationMonths: Math.max(0, monthsBetween(startMs, atMs)),
    subscriptionStartDate: isoTime(startMs),
    signupDate: isoTime(customer.createdAt),
  };
}
