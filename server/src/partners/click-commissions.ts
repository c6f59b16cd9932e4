// What partners earn by clicks: one commission per link and day, made once the day is over. A day can be gone over
// any number of times: what is there already stays as it is.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { isoTime } from '../kernel/clock.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { CommissionStore } from './commission.store.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { FraudWatch } from './fraud-watch.ts';
import type { Enrolment } from './partner.ts';
import type { ProgramStore } from './program.store.ts';
import { forEachProgram } from './program-walk.ts';
import type { RewardStore } from './reward.store.ts';
import type { Reward } from './reward.ts';
import { earningsOf, shareOf } from './reward-engine.ts';
import type { RewardReckoning } from './reward-reckoning.ts';

/** Clicks in a stretch of time, both ends inclusive. */
export interface ClickQuestion {
  readonly workspaceId: string;
  readonly partnerId: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** By link, of all links of the partner or of these; or of one link, by country. */
  readonly of: { readonly linkIds?: readonly string[] } | { readonly countriesOf: string };
}

export interface ClickCounts {
  /** By link or by country, whichever is asked for; clicks from nowhere known are in no country. */
  readonly counts: readonly { readonly value: string; readonly clicks: number }[];
  /** False when there may be more than one answer holds. */
  readonly isAll: boolean;
}

export type CountClicks = (question: ClickQuestion, signal: AbortSignal) => Promise<ClickCounts>;

export interface ClickCommissionsParts {
  readonly db: Database;
  readonly store: CommissionStore;
  readonly ledger: CommissionLedger;
  readonly programs: ProgramStore;
  readonly enrolmentStore: EnrolmentStore;
  readonly rewards: RewardStore;
  readonly reckoning: RewardReckoning;
  readonly fraud: Pick<FraudWatch, 'judge'>;
  readonly links: Pick<LinksOfPartners, 'findBest' | 'listAfter'>;
  readonly countClicks: CountClicks;
  /** Of those who have more links than an answer holds. */
  readonly linksPerQuestion?: number;
  readonly clock: Clock;
}

interface Day {
  readonly fromMs: number;
  readonly toMs: number;
  /** As in 2027-01-15. */
  readonly name: string;
}

const DAY_MS = 86_400_000;
/** A day is counted once its last clicks have had the time to reach the event store. */
const SETTLING_MS = 15 * 60_000;
/** A server that stood still for longer has lost the clicks of those days for its partners. */
const MOST_DAYS = 7;
const PER_LOOK = 100;
const LINKS_PER_QUESTION = 1_000;

interface ClickedLink {
  readonly linkId: string;
  readonly clicks: number;
}

export function createClickCommissions(parts: ClickCommissionsParts) {
  const { db, store, ledger, programs, enrolmentStore, rewards, reckoning, fraud, links, clock } = parts;

  /** From the last day that has any, for it may be incomplete, to yesterday. */
  async function daysOf(programId: string): Promise<Day[]> {
    const today = Math.floor((clock.now() - SETTLING_MS) / DAY_MS) * DAY_MS;
    const earliest = today - MOST_DAYS * DAY_MS;
    const last = await store.findLastClickTime(programId, earliest);
    const first = last === undefined ? today - DAY_MS : Math.floor(last / DAY_MS) * DAY_MS;
    const days: Day[] = [];
    for (let fromMs = first; fromMs < today; fromMs += DAY_MS) {
      days.push({ fromMs, toMs: fromMs + DAY_MS - 1, name: isoTime(fromMs).slice(0, 10) });
    }
    return days;
  }

  function count(
    { workspaceId, partnerId }: Enrolment,
    day: Day,
    of: ClickQuestion['of'],
    signal: AbortSignal,
  ) {
    const { fromMs, toMs } = day;
    return parts.countClicks({ workspaceId, partnerId, fromMs, toMs, of }, signal);
  }

  /** The countries only matter where a modifier looks at them. */
  async function earningsOfLink(
    enrolment: Enrolment,
    reward: Reward,
    day: Day,
    { linkId, clicks }: ClickedLink,
    signal: AbortSignal,
  ): Promise<number> {
    const each = (country: string | undefined, quantity: number) => {
      const share = shareOf(reward, { customer: { country } });
      return share ? earningsOf(share, { quantity }) : 0;
    };
    if (!reward.modifiers?.length) return each(undefined, clicks);
    const { counts } = await count(enrolment, day, { countriesOf: linkId }, signal);
    const known = counts.reduce((sum, country) => sum + country.clicks, 0);
    const unknown = each(undefined, Math.max(0, clicks - known));
    return counts.reduce((sum, country) => sum + each(country.value, country.clicks), unknown);
  }

  /** With the money of the partner locked. */
  function add(
    { id }: Enrolment,
    reward: Reward,
    day: Day,
    { linkId, clicks, earnings: earned }: ClickedLink & { readonly earnings: number },
  ): Promise<void> {
    return db.write(async () => {
      const enrolment = await enrolmentStore.find(id);
      if (!enrolment || !mayEarn(enrolment.status)) return;
      const spender = { event: 'click', enrolment, customerId: null, atMs: day.toMs } as const;
      const earnings = await reckoning.withinLimit(reward, spender, earned);
      if (earnings === 0) return;
      const { holds } = await fraud.judge(enrolment);
      const link = await links.findBest(enrolment, linkId);
      const draft = {
        type: 'click',
        earnings,
        quantity: clicks,
        linkId,
        rewardId: reward.id,
        invoiceId: `${linkId}-${day.name}`,
        status: holds ? 'hold' : 'pending',
        createdAt: day.toMs,
      } as const;
      await ledger.add(enrolment, draft, link ? { link } : {});
    });
  }

  /** In one answer for nearly everybody; whoever has more links that were clicked is asked about link by link. */
  async function* clickedLinks(
    enrolment: Enrolment,
    day: Day,
    signal: AbortSignal,
  ): AsyncGenerator<ClickCounts['counts']> {
    const { counts, isAll } = await count(enrolment, day, {}, signal);
    if (isAll) {
      yield counts;
      return;
    }
    const limit = parts.linksPerQuestion ?? LINKS_PER_QUESTION;
    for (let last: { createdAt: number; id: string } | undefined; !signal.aborted; ) {
      const some = await links.listAfter(enrolment, last, limit);
      const linkIds = some.map(({ id }) => id);
      if (linkIds.length > 0) yield (await count(enrolment, day, { linkIds }, signal)).counts;
      if (some.length < limit) return;
      last = some.at(-1);
    }
  }

  async function payPartner(enrolment: Enrolment, day: Day, signal: AbortSignal): Promise<void> {
    const reward = enrolment.clickRewardId && (await rewards.find(enrolment.clickRewardId));
    if (!reward || reward.createdAt > day.toMs || !mayEarn(enrolment.status)) return;
    for await (const counts of clickedLinks(enrolment, day, signal)) {
      for (const { value: linkId, clicks } of counts) {
        if (signal.aborted) return;
        if (await store.hasInvoice(enrolment.programId, `${linkId}-${day.name}`)) continue;
        const earnings = await earningsOfLink(enrolment, reward, day, { linkId, clicks }, signal);
        await add(enrolment, reward, day, { linkId, clicks, earnings });
      }
    }
  }

  async function payDay(programId: string, day: Day, signal: AbortSignal): Promise<void> {
    for (let after = ''; !signal.aborted; ) {
      const some = await enrolmentStore.findWithClickReward(programId, after, PER_LOOK);
      for (const enrolment of some) await payPartner(enrolment, day, signal);
      after = some.at(-1)?.id ?? '';
      if (some.length < PER_LOOK) return;
    }
  }

  /** A day for all partners before the next: the last day that has any is then the only one that can be incomplete. */
  async function payProgram(programId: string, signal: AbortSignal): Promise<void> {
    for (const day of await daysOf(programId)) await payDay(programId, day, signal);
  }

  return {
    /** For a job. */
    run: (signal: AbortSignal): Promise<void> =>
      forEachProgram(programs.findWithClickRewards, (programId) => payProgram(programId, signal), signal),
  };
}
