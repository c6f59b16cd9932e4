// What partners earn by partners they have brought: a share of their sales or earnings, or a sum when they join or
// have earned enough. Each is made once, however often it is looked at, and goes the way of what it came from: held
// with it, smaller with it, taken back with it.
import type { Clock } from '../kernel/clock.ts';
import type { CommissionStore, Earner } from './commission.store.ts';
import { type Commission, earnedBy } from './commission.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import {
  type CommissionStatus,
  OPEN_STATUSES,
  REVERSED_STATUSES,
  SET_EVENTS,
  type SettableStatus,
} from './commission-states.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { FraudWatch } from './fraud-watch.ts';
import type { Enrolment } from './partner.ts';
import type { PayoutStore } from './payout.store.ts';
import type { RewardStore } from './reward.store.ts';
import type { ReferralConfig, Reward } from './reward.ts';
import { floorPart, floorShare, isWithinDuration, shareOf } from './reward-engine.ts';

export interface ReferralCommissionsParts {
  readonly store: CommissionStore;
  readonly ledger: CommissionLedger;
  readonly payoutStore: PayoutStore;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: EnrolmentStore;
  readonly rewards: RewardStore;
  readonly fraud: FraudWatch;
  readonly clock: Clock;
}

interface Referral {
  readonly referrer: Enrolment;
  readonly referred: Enrolment;
  readonly reward: Reward;
}

/** What it came from, and is held with. */
interface Source {
  readonly id: string | null;
  readonly status: CommissionStatus;
}

type Trigger = ReferralConfig['trigger'];
const nameOf = (trigger: Trigger, source: string) => `referral:${trigger}:${source}`;
const isReversed = (status: CommissionStatus): status is SettableStatus =>
  (REVERSED_STATUSES as readonly CommissionStatus[]).includes(status);

export function createReferralCommissions(parts: ReferralCommissionsParts) {
  const { store, ledger, payoutStore, enrolments, enrolmentStore, rewards, fraud, clock } = parts;

  async function find(referred: Enrolment): Promise<Referral | undefined> {
    const { programId, partnerId, referredByPartnerId } = referred;
    if (referredByPartnerId === null || referredByPartnerId === partnerId) return undefined;
    const referrer = await enrolmentStore.findByPartner(programId, referredByPartnerId);
    if (!referrer?.referralRewardId || !mayEarn(referrer.status)) return undefined;
    const reward = await rewards.find(referrer.referralRewardId);
    return reward && { referrer, referred, reward };
  }

  /** False when there is one of this name already. */
  async function add(
    { referrer, reward }: Referral,
    trigger: Trigger,
    named: string,
    earnings: number,
    source: Source | null,
  ): Promise<boolean> {
    if (earnings <= 0) return true;
    const { holds } = await fraud.judge(referrer);
    const made = await ledger.add(referrer, {
      type: 'referral',
      earnings,
      rewardId: reward.id,
      invoiceId: nameOf(trigger, named),
      sourceCommissionId: source?.id ?? null,
      status: holds || source?.status === 'hold' ? 'hold' : 'pending',
      createdAt: clock.now(),
    });
    return made !== undefined;
  }

  /** A share of what the referred partner sold or earned, for as long after it joined as the reward says. */
  async function addShare(referral: Referral, source: Commission): Promise<void> {
    const { reward, referred } = referral;
    const trigger = reward.config?.trigger;
    if (trigger !== 'commissionEarned' && !(trigger === 'saleRecorded' && source.type === 'sale')) return;
    const share = shareOf(reward, {});
    if (!share) return;
    const { maxDuration } = share;
    if (maxDuration !== 0 && !isWithinDuration(maxDuration, referred.createdAt, source.createdAt)) return;
    const base = trigger === 'saleRecorded' ? source.amount : source.earnings;
    const earnings = floorShare(base, share.amountBasisPoints ?? 0);
    // Only the first of the partner: all others would have the same name.
    await add(referral, trigger, maxDuration === 0 ? referred.partnerId : source.id, earnings, source);
  }

  /** The sum for having earned enough; one that was taken back comes back when enough is earned again. */
  async function addForThreshold(referral: Referral, earned: number, source: Commission | null) {
    const { reward, referred } = referral;
    const { threshold = 0 } = reward.config ?? {};
    if (earned < threshold) return;
    const trigger = 'commissionThreshold';
    if (await add(referral, trigger, referred.partnerId, reward.amountCents ?? 0, source)) return;
    const [known] = await store.findByInvoices(referred.programId, [nameOf(trigger, referred.partnerId)]);
    const origin = known?.sourceCommissionId ? await store.find(known.sourceCommissionId) : undefined;
    if (known && origin && isReversed(known.status) && origin.status === known.status) {
      await ledger.change(known, 'setPending');
    }
  }

  /** With the money of whoever earned it locked. */
  async function lock({ id, programId, partnerId }: Commission): Promise<Commission | undefined> {
    await enrolmentStore.findByPartner(programId, partnerId);
    return (await store.findByIds([id]))[0];
  }

  /** All that came from one commission. */
  async function findSharesOf({ id, programId, partnerId }: Commission): Promise<Commission[]> {
    const names = (['saleRecorded', 'commissionEarned'] as const).flatMap((trigger) => [
      nameOf(trigger, id),
      nameOf(trigger, partnerId),
    ]);
    const known = await store.findByInvoices(programId, [...names, nameOf('commissionThreshold', partnerId)]);
    return known.filter(({ sourceCommissionId }) => sourceCommissionId === id);
  }

  /** Enough may be left without the one that was taken back. */
  async function isStillEarned(share: Commission, { programId, partnerId }: Earner): Promise<boolean> {
    if (!share.invoiceId?.startsWith(nameOf('commissionThreshold', ''))) return false;
    const reward = share.rewardId === null ? undefined : await rewards.find(share.rewardId);
    const referred = await enrolmentStore.findByPartner(programId, partnerId);
    return (referred?.totalCommissions ?? 0) >= (reward?.config?.threshold ?? Number.POSITIVE_INFINITY);
  }

  /** By as much as what it is a share of. */
  function resized(share: Commission, before: Commission, after: Commission): number {
    if (share.invoiceId?.startsWith(nameOf('saleRecorded', ''))) {
      return floorPart(share.earnings, after.amount, before.amount);
    }
    if (!share.invoiceId?.startsWith(nameOf('commissionEarned', ''))) return share.earnings;
    return floorPart(share.earnings, after.earnings, before.earnings);
  }

  async function followOne(share: Commission, before: Commission, after: Commission): Promise<void> {
    if (isReversed(after.status) && after.status !== before.status) {
      const goes = OPEN_STATUSES.includes(share.status) || share.status === before.status;
      if (goes && !(await isStillEarned(share, before))) {
        await ledger.change(share, SET_EVENTS[after.status]);
      }
    } else if (isReversed(before.status) && after.status === 'pending') {
      if (share.status === before.status) await ledger.change(share, 'setPending');
    } else if (OPEN_STATUSES.includes(after.status)) {
      const earnings = resized(share, before, after);
      if (earnings <= 0 && OPEN_STATUSES.includes(share.status)) await ledger.change(share, 'setRefunded');
      else if (earnings > 0 && earnings !== share.earnings) {
        await ledger.change(share, undefined, { earnings });
      }
    }
  }

  return {
    /** After every new commission. */
    async onCommission(source: Commission, referred: Enrolment): Promise<void> {
      if (source.type === 'referral' || source.earnings <= 0) return;
      const referral = await find(referred);
      if (!referral) return;
      if (referral.reward.config?.trigger !== 'commissionThreshold') return addShare(referral, source);
      await addForThreshold(referral, referred.totalCommissions + earnedBy(source), source);
    },

    /** After every change of one. What is paid, or on its way, stays. */
    async onChange(before: Commission, after: Commission): Promise<void> {
      if (before.type === 'referral') return;
      for (const found of await findSharesOf(before)) {
        const share = await lock(found);
        if (!share || !(await ledger.isOpen(share))) continue;
        await followOne(share, before, after);
        if (before.status === 'hold' && after.status !== 'hold') await fraud.releaseShares(share);
      }
    },

    /** Commissions of this partner are not held any more. */
    async onReleased({ programId, partnerId }: Earner): Promise<void> {
      const referred = await enrolmentStore.findByPartner(programId, partnerId);
      const referrerId = referred?.referredByPartnerId ?? null;
      if (!referred || referrerId === null) return;
      await enrolmentStore.findByPartner(programId, referrerId);
      await fraud.releaseShares({ programId, partnerId: referrerId });
      const referral = await find(referred);
      if (referral?.reward.config?.trigger !== 'commissionThreshold') return;
      await addForThreshold(referral, referred.totalCommissions, null);
    },

    /** All that this partner has earned and was not paid for is canceled: so are shares of it. */
    async onCanceled({ programId, partnerId, referredByPartnerId }: Enrolment): Promise<void> {
      if (referredByPartnerId === null || referredByPartnerId === partnerId) return;
      const referrer = { programId, partnerId: referredByPartnerId };
      await enrolmentStore.findByPartner(programId, referredByPartnerId);
      const payout = await payoutStore.findPending(referrer);
      const nowMs = clock.now();
      const lost = await store.cancelShares(referrer, partnerId, payout?.id ?? null, nowMs);
      if (payout) await payoutStore.adjust(payout.id, -lost.inPayout, nowMs);
      await enrolments.addTotals(programId, referredByPartnerId, { commissions: -lost.earned });
    },

    async onEnrol(referred: Enrolment): Promise<void> {
      const referral = await find(referred);
      if (referral?.reward.config?.trigger !== 'partnerApproved') return;
      // Whoever joined may be the one who brought them, under another address.
      const { holds } = await fraud.judge(referred);
      const source: Source = { id: null, status: holds ? 'hold' : 'pending' };
      await add(referral, 'partnerApproved', referred.partnerId, referral.reward.amountCents ?? 0, source);
    },
  };
}

export type ReferralCommissions = ReturnType<typeof createReferralCommissions>;
