// When the clicks of the demo happen: a year that grows, with busy and quiet hours, quiet weekends and a few days
// on which something was in the news. The n-th click is later than those before it.
import { createSeededRandom } from '../kernel/seeded-random.ts';
import { createWeights } from '../kernel/weighted-choice.ts';

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const HOURS_PER_DAY = 24;
export const DEMO_DAYS = 365;

/** From 0 to 23 hours, in UTC: people are awake in most of the places that visitors come from. */
const HOURS = [
  34, 28, 24, 22, 22, 26, 36, 50, 64, 74, 80, 84, 86, 92, 98, 100, 98, 94, 90, 86, 80, 70, 56, 44,
];
/** From Sunday. */
const WEEKDAYS = [0.62, 1.05, 1.14, 1.12, 1.08, 0.96, 0.66];
const NEWS_SHARE = 0.015;

export interface Traffic {
  readonly startMs: number;
  readonly endMs: number;
  /** `within` is from 0 up to and without 1: where between this click and the next. */
  timeOf(n: number, within: number): number;
}

export function createTraffic(plan: {
  readonly seed: number;
  readonly clicks: number;
  readonly endMs: number;
}): Traffic {
  const startMs = plan.endMs - DEMO_DAYS * DAY_MS;
  const hours = createWeights(hourWeights(plan.seed, startMs));
  const perClick = hours.total / plan.clicks;
  return {
    startMs,
    endMs: plan.endMs,
    timeOf(n, within) {
      const at = (n + within) * perClick;
      const hour = hours.indexAt(at);
      const weight = hours.before(hour + 1) - hours.before(hour);
      return Math.floor(startMs + (hour + (at - hours.before(hour)) / weight) * HOUR_MS);
    },
  };
}

function hourWeights(seed: number, startMs: number): number[] {
  const random = createSeededRandom(seed);
  const weights: number[] = [];
  let day = 1;
  for (let hour = 0; hour < DEMO_DAYS * HOURS_PER_DAY; hour++) {
    const date = new Date(startMs + hour * HOUR_MS);
    if (hour % HOURS_PER_DAY === 0) {
      const growth = 0.35 + (hour / (DEMO_DAYS * HOURS_PER_DAY)) ** 1.4;
      day = growth * (0.85 + 0.3 * random.next()) * (random.chance(NEWS_SHARE) ? 2.5 : 1);
    }
    weights.push(day * (HOURS[date.getUTCHours()] as number) * (WEEKDAYS[date.getUTCDay()] as number));
  }
  return weights;
}
