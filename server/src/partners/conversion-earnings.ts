// What partners earn by leads and sales, and lose by refunds. Every call is made inside the transaction of what
// happened, so that a commission is there exactly when its lead or sale is.
import type { Customer } from '../customers/customer.ts';
import type { Link } from '../links/link.ts';
import type { CommissionStore } from './commission.store.ts';
import type { Commission } from './commission.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import { OPEN_STATUSES } from './commission-states.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { FraudWatch } from './fraud-watch.ts';
import { REWARD_FIELDS } from './group.ts';
import type { Enrolment } from './partner.ts';
import type { ProgramStore } from './program.store.ts';
import type { RewardStore } from './reward.store.ts';
import type { Reward } from './reward.ts';
import {
  earningsOf,
  isFlatShare,
  isWithinDuration,
  proportion,
  type RewardShare,
  shareOf,
} from './reward-engine.ts';
import type { RewardReckoning } from './reward-reckoning.ts';

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
  /** What this refund takes back. */
  readonly amount: number;
  /** What all refunds of the sale have taken back, this one included. */
  readonly refundedAmount: number;
}

export interface ConversionEarningsParts {
  readonly store: CommissionStore;
  readonly ledger: CommissionLedger;
  readonly programs: ProgramStore;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: EnrolmentStore;
  readonly rewards: RewardStore;
  readonly reckoning: RewardReckoning;
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
  const { store, ledger, programs, enrolments, enrolmentStore, rewards, reckoning, fraud } = parts;

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
    const { customer, metadata, atMs, source } = facts;
    const rewarded = { ...earning, customer, metadata, atMs, source, isRecurring: first !== undefined };
    const share = shareOf(reward, await reckoning.factsOf(rewarded));
    if (!share || !(await isStillRewarded(share, first, atMs))) return;
    const spender = { event, enrolment, customerId: customer.id, atMs };
    const earnings = await reckoning.withinLimit(reward, spender, earningsOf(share, earning));
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

  /** Sales of a customer are rewarded for as long as the reward says, counted from the first commission. */
  async function isStillRewarded(share: RewardShare, first: Commission | undefined, atMs: number) {
    if (!first) return true;
    if (first.rewardId !== null && first.rewardId !== share.rewardId) {
      const earlier = await rewards.find(first.rewardId);
      if (earlier?.maxDuration === 0) return false;
    }
    return isWithinDuration(share.maxDuration, first.createdAt, atMs);
  }

  /** After a refund that leaves a part of the sale. */
  async function earningsLeft(commission: Commission, part: number, whole: number): Promise<number> {
    const { earnings, quantity, rewardId } = commission;
    const reward = rewardId === null ? undefined : await rewards.find(rewardId);
    if (reward && isFlatShare(reward, earnings, quantity)) return earnings;
    return proportion(earnings, Math.max(0, part), whole);
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
    async refund({ saleId, saleAmount, amount: given, refundedAmount }: RefundFacts): Promise<void> {
      const found = await store.findByEvent(saleId);
      if (!found) return;
      await enrolmentStore.findByPartner(found.programId, found.partnerId);
      const [commission] = await store.findByIds([found.id]);
      if (!commission || !OPEN_STATUSES.includes(commission.status) || !(await ledger.isOpen(commission)))
        return;
      // The commission may have been corrected: it loses the same part as the sale does.
      const left = saleAmount - refundedAmount;
      const amount = proportion(commission.amount, Math.max(0, left), left + given);
      const earnings = await earningsLeft(commission, left, left + given);
      const isGone = amount === 0 || earnings === 0;
      await ledger.change(commission, isGone ? 'refund' : undefined, isGone ? {} : { amount, earnings });
    },

    async findPartner({ programId, partnerId }: Link): Promise<object | null> {
      return programId && partnerId ? enrolments.findForWebhook(programId, partnerId) : null;
    },
  };
}
