// What a reward comes to for one event: which of its modifiers applies, how much is earned, and for how long. Pure,
// and in whole numbers only: cents, and hundredths of a percent.
import type { Reward, RewardCondition, RewardModifier, SpendInterval } from './reward.ts';

/** What conditions look at: by entity, then by attribute. What is not known is absent. */
export type RewardFacts = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

/** The terms that hold for this event. */
export interface RewardShare {
  readonly rewardId: string;
  readonly type: Reward['type'];
  readonly amountCents: number | null;
  readonly amountBasisPoints: number | null;
  /** In months after the first sale; null: for ever. */
  readonly maxDuration: number | null;
}

const BASIS_POINTS = 10_000;

/** Undefined when nothing is earned. Of the modifiers that apply the one with the largest number counts. */
export function shareOf(reward: Reward, facts: RewardFacts): RewardShare | undefined {
  const applying = (reward.modifiers ?? []).filter((modifier) => applies(modifier, facts));
  const best = applying.toSorted((a, b) => numberOf(b) - numberOf(a))[0];
  const { type, amountCents, amountBasisPoints } = best ?? reward;
  if (!amountCents && !amountBasisPoints) return undefined;
  const maxDuration = best?.maxDuration === undefined ? reward.maxDuration : best.maxDuration;
  return { rewardId: reward.id, type, amountCents, amountBasisPoints, maxDuration };
}

/** Cents and percent are compared as bare numbers. */
function numberOf({ amountCents, amountBasisPoints }: RewardModifier): number {
  return amountCents ?? (amountBasisPoints ?? 0) / 100;
}

function applies({ operator, conditions }: RewardModifier, facts: RewardFacts): boolean {
  const holdsHere = (condition: RewardCondition) => holds(condition, facts);
  return operator === 'OR' ? conditions.some(holdsHere) : conditions.every(holdsHere);
}

/** In cents. A flat amount counts once per piece, a percentage of the whole amount; half a cent counts as one. */
export function earningsOf(share: RewardShare, { amount = 0, quantity = 1 }): number {
  if (share.type === 'flat') return (share.amountCents ?? 0) * quantity;
  return roundedShare(amount, share.amountBasisPoints ?? 0);
}

function roundedShare(amount: number, basisPoints: number): number {
  return proportion(amount, basisPoints, BASIS_POINTS);
}

/** `amount * part / whole`, exact for whole numbers that are not negative; half a cent counts as one. */
export function proportion(amount: number, part: number, whole: number): number {
  if (whole === 0) return 0;
  return Number((2n * BigInt(amount) * BigInt(part) + BigInt(whole)) / (2n * BigInt(whole)));
}

/** Referrals give away the whole cents of a share, and never more. */
export function floorShare(amount: number, basisPoints: number): number {
  return floorPart(amount, basisPoints, BASIS_POINTS);
}

/** The whole cents of `amount * part / whole`, for numbers that are not negative. */
export function floorPart(amount: number, part: number, whole: number): number {
  return whole <= 0 ? 0 : Number((BigInt(amount) * BigInt(part)) / BigInt(whole));
}

/**
 * Whether earnings were a flat amount and no percentage. A modifier may be of the other type than its reward: then
 * the amount tells, which is the only trace of who made it.
 */
export function isFlatShare({ modifiers, ...base }: Reward, earnings: number, quantity: number): boolean {
  const terms = [base, ...(modifiers ?? [])];
  const flat = terms.filter(({ type }) => type === 'flat');
  if (flat.length === 0 || flat.length === terms.length) return flat.length > 0;
  return flat.some(({ amountCents }) => (amountCents ?? 0) * quantity === earnings);
}

/** Whether a sale is still rewarded when the first commission for this customer was made at `firstMs`. */
export function isWithinDuration(
  maxDuration: number | null,
  firstMs: number | undefined,
  nowMs: number,
): boolean {
  if (firstMs === undefined || maxDuration === null) return true;
  // What was entered for a time before the first one is not the first for that.
  return Math.max(0, monthsBetween(firstMs, nowMs)) < maxDuration;
}

/** Whole months: from the 31st to the last day of a shorter month is not one yet. */
export function monthsBetween(fromMs: number, toMs: number): number {
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  const months = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
  const sinceMonthStart = (date: Date) =>
    date.getTime() - Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  return sinceMonthStart(to) < sinceMonthStart(from) ? months - 1 : months;
}

/** A stretch of time; the end is not in it. */
export interface SpendWindow {
  readonly fromMs: number;
  readonly beforeMs: number;
}

/** The window of a spend limit that this moment is in: the day, the week from Sunday, the month, or all time. */
export function spendWindow(interval: SpendInterval, atMs: number): SpendWindow {
  const at = new Date(atMs);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const sunday = day - at.getUTCDay();
  const between = (fromMs: number, beforeMs: number): SpendWindow => ({ fromMs, beforeMs });
  return {
    day: between(Date.UTC(year, month, day), Date.UTC(year, month, day + 1)),
    week: between(Date.UTC(year, month, sunday), Date.UTC(year, month, sunday + 7)),
    month: between(Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)),
    allTime: between(0, Number.MAX_SAFE_INTEGER),
  }[interval];
}

/** What is left of a spend limit. */
export function clampToLimit(earnings: number, limit: number | null, spent: number): number {
  return limit === null ? earnings : Math.max(0, Math.min(earnings, limit - spent));
}

type Plain = string | number | boolean;
type Test = (found: Plain, wanted: RewardCondition['value']) => boolean;

/** As text, unless one of them is a number: the products 7 and 007 are two. */
function isEqual(found: Plain, wanted: unknown): boolean {
  if (String(found) === String(wanted)) return true;
  if (typeof found !== 'number' && typeof wanted !== 'number') return false;
  return String(found).trim() !== '' && String(wanted).trim() !== '' && Number(found) === Number(wanted);
}
const among: Test = (found, wanted) => [wanted].flat().some((item) => isEqual(found, item));
const compared =
  (test: (found: number, wanted: number) => boolean): Test =>
  (found, wanted) => {
    const [a, b] = [magnitude(String(found)), magnitude(String(wanted))];
    return Number.isFinite(a) && Number.isFinite(b) && test(a, b);
  };

const DATE = /^\d{4}-\d{2}-\d{2}/;

/** A number, or the moment that a date names. Date.parse alone would find one in "plan 9" as well. */
function magnitude(text: string): number {
  if (DATE.test(text)) return Date.parse(text);
  return text.trim() === '' ? Number.NaN : Number(text);
}

const TESTS: Readonly<Record<RewardCondition['operator'], Test>> = {
  equals_to: isEqual,
  not_equals: (found, wanted) => !isEqual(found, wanted),
  starts_with: (found, wanted) => String(found).startsWith(String(wanted)),
  ends_with: (found, wanted) => String(found).endsWith(String(wanted)),
  contains: (found, wanted) => String(found).includes(String(wanted)),
  not_contains: (found, wanted) => !String(found).includes(String(wanted)),
  in: among,
  not_in: (found, wanted) => !among(found, wanted),
  greater_than: compared((a, b) => a > b),
  greater_than_or_equal: compared((a, b) => a >= b),
  less_than: compared((a, b) => a < b),
  less_than_or_equal: compared((a, b) => a <= b),
};

/** Nothing holds of what is not known. */
function holds(
  { entity, attribute, operator, value, metadataField }: RewardCondition,
  facts: RewardFacts,
): boolean {
  const found = facts[entity]?.[attribute];
  const read = attribute === 'metadata' ? fieldOf(found, metadataField ?? '') : found;
  if (!['string', 'number', 'boolean'].includes(typeof read)) return false;
  return TESTS[operator](read as Plain, value);
}

function fieldOf(metadata: unknown, name: string): unknown {
  const isObject = typeof metadata === 'object' && metadata !== null;
  return isObject && Object.hasOwn(metadata, name) ? (metadata as Record<string, unknown>)[name] : undefined;
}
