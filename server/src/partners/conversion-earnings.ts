// What partners earn by leads and sales, and lose by refunds. Every call is made inside the transaction of what
// happened, so that a commission is there exactly when its lead or sale is.
import type { Customer } from '../customers/customer.ts';
import { isoTime } from '../kernel/clock.ts';
import type { Link } from '../links/link.ts';
import type { CommissionStore } from './commission.store.ts';
import type { Commission } from './commission.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { FraudWatch } from './fraud-watch.ts';
import { REWARD_FIELDS } from './group.ts';
import type { PartnerStore } from './partner.store.ts';
import type { Enrolment } from './partner.ts';
import type { ProgramStore } from './program.store.ts';
import type { RewardStore } from './reward.store.ts';
import type { Reward } from './reward.ts';
import {
  clampToLimit,
  earningsOf,
  isWithinDuration,
  monthsBetween,
  proportion,
  type RewardFacts,
  type RewardShare,
  shareOf,
  spendWindowStart,
} from './reward-engine.ts';

/** What leads and sales have in common, as those who record them tell it. */
export interface ConversionFacts {
  readonly workspaceId: string;
  readonly link: Link;
  /** As it was before this conversion. */
  readonly customer: Customer;
  readonly click: { readonly url: string; readonly referer: string; readonly refererUrl: string };
  readonly eventId: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly atMs: number;
  /** How it came here; tracked if absent. */
  readonly source?: string | undefined;
}

export interface LeadFacts extends ConversionFacts {
  readonly quantity: number;
  readonly isDirectSale: boolean;
}

export interface SaleFacts extends ConversionFacts {
  readonly amount: number;
  readonly invoiceId: string | null;
  readonly isFirst: boolean;
}

export interface RefundFacts {
  readonly saleId: string;
  readonly saleAmount: number;
  /** What all refunds of the sale have taken back. */
  readonly refundedAmount: number;
}

export interface ConversionEarningsParts {
  readonly store: CommissionStore;
  readonly ledger: CommissionLedger;
  readonly programs: ProgramStore;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: EnrolmentStore;
  readonly people: PartnerStore;
  readonly rewards: RewardStore;
  readonly fraud: FraudWatch;
}

/** A conversion of somebody who may earn by it. */
interface Earning {
  readonly event: 'lead' | 'sale';
  readonly enrolment: Enrolment;
  readonly facts: ConversionFacts;
  readonly amount: number;
  readonly quantity: number;
  readonly invoiceId: string | null;
}

export function createConversionEarnings(parts: ConversionEarningsParts) {
  const { store, ledger, programs, enrolments, enrolmentStore, people, rewards, fraud } = parts;

  /** Undefined for links without a partner; locked until the transaction ends. */
  async function findEnrolment({ programId, partnerId }: Link): Promise<Enrolment | undefined> {
    return programId && partnerId ? enrolmentStore.findByPartner(programId, partnerId) : undefined;
  }

  async function earn(earning: Earning): Promise<void> {
    const { event, enrolment, facts } = earning;
    const rewardId = enrolment[REWARD_FIELDS[event]];
    if (rewardId === null || !mayEarn(enrolment.status)) return;
    const first = await store.findFirst(facts.customer.id, enrolment.partnerId, event);
    if (first && (event === 'lead' || first.status === 'fraud' || first.status === 'canceled')) return;
    const reward = await rewards.find(rewardId);
    const program = await programs.find(enrolment.programId);
    if (!reward || program?.deactivatedAt !== null) return;
    const share = shareOf(reward, await rewardFacts(earning, first));
    if (!share || !(await isStillRewarded(share, first, facts.atMs))) return;
    const earnings = await withinLimit(earning, reward, earningsOf(share, earning));
    if (earnings !== 0) await addCommission(earning, reward, earnings);
  }

  async function addCommission(earning: Earning, reward: Reward, earnings: number): Promise<void> {
    const { event, enrolment, facts, amount, quantity, invoiceId } = earning;
    const { customer, link, click, eventId, metadata, atMs } = facts;
    const findings = await fraud.judge(enrolment, { customer, click });
    const draft = {
      type: event,
      earnings,
      amount,
      quantity,
      invoiceId,
      customerId: customer.id,
      linkId: link.id,
      rewardId: reward.id,
      eventId,
      metadata,
      status: findings.holds ? ('hold' as const) : ('pending' as const),
      createdAt: atMs,
    };
    const commission = await ledger.add(enrolment, draft, { customer, link });
    if (commission) await fraud.record(enrolment, findings, commission);
  }

  async function rewardFacts(earning: Earning, first: Commission | undefined): Promise<RewardFacts> {
    const { event, enrolment, facts, amount } = earning;
    const { customer, metadata, atMs } = facts;
    const partner = await people.find(enrolment.partnerId);
    const startMs = customer.firstSaleAt ?? atMs;
    const { totalClicks, totalLeads, totalConversions, totalSaleAmount, totalCommissions } = enrolment;
    const totals = { totalClicks, totalLeads, totalConversions, totalSaleAmount, totalCommissions };
    const sale = { productId: metadata?.productId, amount, type: first ? 'recurring' : 'new', metadata };
    return {
      customer: {
        country: customer.country,
        source: facts.source ?? 'tracked',
        subscriptionDurationMonths: Math.max(0, monthsBetween(startMs, atMs)),
        subscriptionStartDate: isoTime(startMs),
        signupDate: isoTime(customer.createdAt),
      },
      partner: { country: partner?.country, ...totals },
      [event]: event === 'sale' ? sale : { metadata },
    };
  }

  /** Sales of a customer are rewarded for as long as the reward says, counted from the first commission. */
  async function isStillRewarded(share: RewardShare, first: Commission | undefined, atMs: number) {
    if (!first) return true;
    if (first.rewardId !== null && first.rewardId !== share.rewardId) {
      const earlier = await rewards.find(first.rewardId);
      if (earlier?.maxDuration === 0) return false;
    }
    return isWithinDuration(share.maxDuration, first.createdAt, atMs);
  }

  async function withinLimit({ event, enrolment, facts }: Earning, reward: Reward, earnings: number) {
    const { spendLimitAmount, spendLimitInterval } = reward;
    if (spendLimitAmount === null || spendLimitInterval === null) return earnings;
    const sinceMs = spendWindowStart(spendLimitInterval, facts.atMs);
    const customerId = event === 'sale' ? facts.customer.id : null;
    return clampToLimit(
      earnings,
      spendLimitAmount,
      await store.sumSpent(enrolment, event, sinceMs, customerId),
    );
  }

  return {
    async lead(facts: LeadFacts): Promise<void> {
      const { link, quantity, atMs } = facts;
      const enrolment = await findEnrolment(link);
      if (!enrolment) return;
      await enrolments.addTotals(enrolment.programId, enrolment.partnerId, { leads: quantity }, atMs);
      if (facts.isDirectSale) return;
      const now = { ...enrolment, totalLeads: enrolment.totalLeads + quantity };
      await earn({ event: 'lead', enrolment: now, facts, amount: 0, quantity, invoiceId: null });
    },

    async sale(facts: SaleFacts): Promise<void> {
      const { link, amount, isFirst, invoiceId, atMs } = facts;
      const enrolment = await findEnrolment(link);
      if (!enrolment) return;
      const conversions = isFirst ? 1 : 0;
      const added = { sales: 1, saleAmount: amount, conversions };
      await enrolments.addTotals(enrolment.programId, enrolment.partnerId, added, atMs);
      const now = {
        ...enrolment,
        totalSales: enrolment.totalSales + 1,
        totalSaleAmount: enrolment.totalSaleAmount + amount,
        totalConversions: enrolment.totalConversions + conversions,
      };
      await earn({ event: 'sale', enrolment: now, facts, amount, quantity: 1, invoiceId });
    },

    /** What is paid, or on its way, stays; it takes a clawback. A part given back takes its part of a percentage. */
    async refund({ saleId, saleAmount, refundedAmount }: RefundFacts): Promise<void> {
      const found = await store.findByEvent(saleId);
      if (!found) return;
      await enrolmentStore.findByPartner(found.programId, found.partnerId);
      const [commission] = await store.findByIds([found.id]);
      if (!commission || !REFUNDABLE.includes(commission.status) || !(await ledger.isOpen(commission)))
        return;
      if (refundedAmount >= saleAmount) {
        await ledger.change(commission, 'refund');
        return;
      }
      const amount = saleAmount - refundedAmount;
      const reward = commission.rewardId === null ? undefined : await rewards.find(commission.rewardId);
      const earnings =
        reward?.type === 'flat'
          ? commission.earnings
          : proportion(commission.earnings, amount, commission.amount);
      await ledger.change(
        commission,
        earnings === 0 ? 'refund' : undefined,
        earnings ? { amount, earnings } : {},
      );
    },

    async findPartner({ programId, partnerId }: Link): Promise<object | null> {
      return programId && partnerId ? enrolments.findForWebhook(programId, partnerId) : null;
    },
  };
}

const REFUNDABLE: readonly string[] = ['pending', 'hold', 'processed'];
