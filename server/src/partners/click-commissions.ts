// What partners earn by clicks: one commission per link and day, made once the day is over. A day can be gone over
// any number of times: what is there already stays as it is.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { isoTime } from '../kernel/clock.ts';
import type { CommissionStore } from './commission.store.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { FraudWatch } from './fraud-watch.ts';
import type { Enrolment } from './partner.ts';
import type { ProgramStore } from './program.store.ts';
import type { RewardStore } from './reward.store.ts';
import type { Reward } from './reward.ts';
import { clampToLimit, earningsOf, shareOf, spendWindowStart } from './reward-engine.ts';

/** Clicks in a stretch of time, both ends inclusive. */
export interface ClickCount {
  readonly workspaceId: string;
  readonly partnerId: string;
  /** Absent: of all links, by link; given: of this one, by country. */
  readonly linkId?: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** By link or by country, whichever is asked for; clicks from nowhere known are in no country. */
export type CountClicks = (
  question: ClickCount,
  signal: AbortSignal,
) => Promise<readonly { readonly value: string; readonly clicks: number }[]>;

export interface ClickCommissionsParts {
  readonly db: Database;
  readonly store: CommissionStore;
  readonly ledger: CommissionLedger;
  readonly programs: ProgramStore;
  readonly enrolmentStore: EnrolmentStore;
  readonly rewards: RewardStore;
  readonly fraud: FraudWatch;
  readonly countClicks: CountClicks;
  readonly clock: Clock;
}

interface Day {
  readonly fromMs: number;
  readonly toMs: number;
  /** As in 2027-01-15. */
  readonly name: string;
}

const DAY_MS = 86_400_000;
/** A server that stood still for longer has lost the clicks of those days for its partners. */
const MOST_DAYS = 7;
const PER_LOOK = 100;

export function createClickCommissions(parts: ClickCommissionsParts) {
  const { db, store, ledger, programs, enrolmentStore, rewards, fraud, countClicks, clock } = parts;

  /** From the last day that has any, for it may be incomplete, to yesterday. */
  async function daysOf(programId: string): Promise<Day[]> {
    const today = Math.floor(clock.now() / DAY_MS) * DAY_MS;
    const earliest = today - MOST_DAYS * DAY_MS;
    const last = await store.findLastClickTime(programId, earliest);
    const first = last === undefined ? today - DAY_MS : Math.floor(last / DAY_MS) * DAY_MS;
    const days: Day[] = [];
    for (let fromMs = first; fromMs < today; fromMs += DAY_MS) {
      days.push({ fromMs, toMs: fromMs + DAY_MS - 1, name: isoTime(fromMs).slice(0, 10) });
    }
    return days;
  }

  /** The countries only matter where a modifier looks at them. */
  async function earningsOfLink(
    enrolment: Enrolment,
    reward: Reward,
    day: Day,
    { linkId, clicks }: { linkId: string; clicks: number },
    signal: AbortSignal,
  ): Promise<number> {
    const each = (country: string | undefined, quantity: number) => {
      const share = shareOf(reward, { customer: { country } });
      return share ? earningsOf(share, { quantity }) : 0;
    };
    if (!reward.modifiers?.length) return each(undefined, clicks);
    const { workspaceId, partnerId } = enrolment;
    const { fromMs, toMs } = day;
    const countries = await countClicks({ workspaceId, partnerId, linkId, fromMs, toMs }, signal);
    const known = countries.reduce((sum, country) => sum + country.clicks, 0);
    const unknown = each(undefined, Math.max(0, clicks - known));
    return countries.reduce((sum, country) => sum + each(country.value, country.clicks), unknown);
  }

  /** With the money of the partner locked. */
  function add(
    { id }: Enrolment,
    reward: Reward,
    day: Day,
    link: { linkId: string; clicks: number; earnings: number },
  ): Promise<void> {
    return db.write(async () => {
      const enrolment = await enrolmentStore.find(id);
      if (!enrolment || !mayEarn(enrolment.status)) return;
      const { spendLimitAmount: limit, spendLimitInterval: interval } = reward;
      const sinceMs = interval === null ? 0 : spendWindowStart(interval, day.toMs);
      const spent = limit === null ? 0 : await store.sumSpent(enrolment, 'click', sinceMs, null);
      const earnings = clampToLimit(link.earnings, limit, spent);
      if (earnings === 0) return;
      const { holds } = await fraud.judge(enrolment);
      await ledger.add(enrolment, {
        type: 'click',
        earnings,
        quantity: link.clicks,
        linkId: link.linkId,
        rewardId: reward.id,
        invoiceId: `${link.linkId}-${day.name}`,
        status: holds ? 'hold' : 'pending',
        createdAt: day.toMs,
      });
    });
  }

  async function payPartner(enrolment: Enrolment, day: Day, signal: AbortSignal): Promise<void> {
    const reward = enrolment.clickRewardId && (await rewards.find(enrolment.clickRewardId));
    if (!reward || reward.createdAt > day.toMs || !mayEarn(enrolment.status)) return;
    const { workspaceId, partnerId, programId } = enrolment;
    const { fromMs, toMs } = day;
    const links = await countClicks({ workspaceId, partnerId, fromMs, toMs }, signal);
    for (const { value: linkId, clicks } of links) {
      if (signal.aborted) return;
      if (await store.hasInvoice(programId, `${linkId}-${day.name}`)) continue;
      const earnings = await earningsOfLink(enrolment, reward, day, { linkId, clicks }, signal);
      await add(enrolment, reward, day, { linkId, clicks, earnings });
    }
  }

  async function payProgram(programId: string, signal: AbortSignal): Promise<void> {
    const days = await daysOf(programId);
    for (let after = ''; !signal.aborted; ) {
      const some = await enrolmentStore.findWithClickReward(programId, after, PER_LOOK);
      for (const enrolment of some) {
        for (const day of days) await payPartner(enrolment, day, signal);
      }
      after = some.at(-1)?.id ?? '';
      if (some.length < PER_LOOK) return;
    }
  }

  return {
    /** For a job. */
    async run(signal: AbortSignal): Promise<void> {
      for (let after = ''; !signal.aborted; ) {
        const some = await programs.findWithClickRewards(after, PER_LOOK);
        for (const programId of some) await payProgram(programId, signal);
        after = some.at(-1) ?? '';
        if (some.length < PER_LOOK) return;
      }
    },
  };
}
