// What comes of some clicks of the demo: a lead soon after, a first sale with some of them, and where something is
// paid by the month, more of them until it is cancelled. Nothing happens after the end.
import type { SeededRandom } from '../kernel/seeded-random.ts';
import { createChoice } from '../kernel/weighted-choice.ts';
import { DAY_MS } from './traffic.ts';

export const LEAD_SHARE = 0.02;
const BUYER_SHARE = 0.3;
const CANCELLED_EACH_MONTH = 0.09;
const LEAD_DELAY_MS = DAY_MS / 6;
const SALE_DELAY_MS = 3 * DAY_MS;
const MONTH_MS = 30 * DAY_MS;
const MINUTE_MS = 60_000;

interface Offer {
  readonly product: string;
  /** In US cents. */
  readonly amount: number;
  readonly monthly: boolean;
  readonly weight: number;
}

const chooseOffer = createChoice<Offer>([
  { product: 'Starter', amount: 900, monthly: true, weight: 44 },
  { product: 'Pro', amount: 2_900, monthly: true, weight: 30 },
  { product: 'Team', amount: 9_900, monthly: true, weight: 8 },
  { product: 'Pro, a year', amount: 29_000, monthly: false, weight: 12 },
  { product: 'Workshop', amount: 45_000, monthly: false, weight: 6 },
]);
const chooseLeadName = createChoice([
  { name: 'Sign up', weight: 80 },
  { name: 'Book a demo', weight: 12 },
  { name: 'Download', weight: 8 },
]);

export interface DemoSale {
  readonly timeMs: number;
  /** In US cents. */
  readonly amount: number;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface DemoConversion {
  readonly leadMs: number;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly sales: readonly DemoSale[];
  readonly cancelledMs: number | undefined;
}

/** Undefined where the lead would come after the end. */
export function drawConversion(
  random: SeededRandom,
  clickMs: number,
  endMs: number,
): DemoConversion | undefined {
  const leadMs = clickMs + later(random, LEAD_DELAY_MS);
  if (leadMs > endMs) return undefined;
  const eventName = chooseLeadName(random.next()).name;
  const metadata = { teamSize: 1 + Math.floor(random.next() ** 3 * 200), trial: random.chance(0.4) };
  const bought = random.chance(BUYER_SHARE)
    ? drawSales(random, leadMs, endMs)
    : { sales: [], cancelledMs: undefined };
  return { leadMs, eventName, metadata, ...bought };
}

function drawSales(
  random: SeededRandom,
  leadMs: number,
  endMs: number,
): Pick<DemoConversion, 'sales' | 'cancelledMs'> {
  const { product, amount, monthly } = chooseOffer(random.next());
  const sales: DemoSale[] = [];
  for (let timeMs = leadMs + later(random, SALE_DELAY_MS); timeMs <= endMs; timeMs += MONTH_MS) {
    const eventName = sales.length > 0 ? 'Renewal' : monthly ? 'Subscription' : 'Purchase';
    const month = sales.length + 1;
    sales.push({ timeMs, amount, eventName, metadata: monthly ? { product, month } : { product } });
    if (!monthly) break;
    if (random.chance(CANCELLED_EACH_MONTH)) return { sales, cancelledMs: timeMs };
  }
  return { sales, cancelledMs: undefined };
}

/** A while after: mostly less than the given one, sometimes several times as long. */
function later(random: SeededRandom, usualMs: number): number {
  return MINUTE_MS + Math.floor(-Math.log(1 - random.next()) * usualMs);
}
