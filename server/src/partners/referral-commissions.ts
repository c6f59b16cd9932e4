// What partners earn by partners they have brought: a share of their sales or earnings, or a sum when they join or
// have earned enough. Each is made once, however often it is looked at.
import type { Clock } from '../kernel/clock.ts';
import type { Commission } from './commission.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { FraudWatch } from './fraud-watch.ts';
import type { Enrolment } from './partner.ts';
import type { RewardStore } from './reward.store.ts';
import type { ReferralConfig, Reward } from './reward.ts';
import { floorShare, isWithinDuration, shareOf } from './reward-engine.ts';

export interface ReferralCommissionsParts {
  readonly ledger: CommissionLedger;
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

export function createReferralCommissions(parts: ReferralCommissionsParts) {
  const { ledger, enrolmentStore, rewards, fraud, clock } = parts;

  async function find(referred: Enrolment): Promise<Referral | undefined> {
    const { programId, partnerId, referredByPartnerId } = referred;
    if (referredByPartnerId === null || referredByPartnerId === partnerId) return undefined;
    const referrer = await enrolmentStore.findByPartner(programId, referredByPartnerId);
    if (!referrer?.referralRewardId || !mayEarn(referrer.status)) return undefined;
    const reward = await rewards.find(referrer.referralRewardId);
    return reward && { referrer, referred, reward };
  }

  async function add(
    { referrer, reward }: Referral,
    trigger: ReferralConfig['trigger'],
    source: string,
    earnings: number,
    sourceCommissionId: string | null,
  ): Promise<void> {
    if (earnings <= 0) return;
    const { holds } = await fraud.judge(referrer);
    await ledger.add(referrer, {
      type: 'referral',
      earnings,
      rewardId: reward.id,
      invoiceId: `referral:${trigger}:${source}`,
      sourceCommissionId,
      status: holds ? 'hold' : 'pending',
      createdAt: clock.now(),
    });
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
    await add(referral, trigger, maxDuration === 0 ? referred.partnerId : source.id, earnings, source.id);
  }

  return {
    /** After every new commission. */
    async onCommission(source: Commission, referred: Enrolment): Promise<void> {
      if (source.type === 'referral' || source.earnings <= 0) return;
      const referral = await find(referred);
      if (!referral) return;
      const { trigger, threshold = 0 } = referral.reward.config ?? {};
      if (trigger !== 'commissionThreshold') return addShare(referral, source);
      const earned = referred.totalCommissions + source.earnings;
      if (earned < threshold) return;
      await add(referral, trigger, referred.partnerId, referral.reward.amountCents ?? 0, source.id);
    },

    async onEnrol(referred: Enrolment): Promise<void> {
      const referral = await find(referred);
      if (referral?.reward.config?.trigger !== 'partnerApproved') return;
      await add(referral, 'partnerApproved', referred.partnerId, referral.reward.amountCents ?? 0, null);
    },
  };
}
