// Click ids: 16 letters and digits, 8 of time and 8 of chance. Text order is order of making, also within a
// millisecond and when the clock is set back; chance keeps the ids of several nodes and restarts apart.
import type { Clock } from '../kernel/clock.ts';
import { randomText } from '../kernel/ids.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const HALF = 8;
const HALF_END = 62 ** HALF;
const QUARTER_END = 62 ** 4;
const PAIRS = Array.from({ length: 62 * 62 }, (_, n) => DIGITS.charAt(n / 62) + DIGITS.charAt(n % 62));
const VALUES = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, DIGITS.indexOf(String.fromCharCode(code))),
);
const STEP_DIGITS = 4;
const POOL_CHARACTERS = 4_096;
const FORM = /^[0-9A-Za-z]{16}$/;
/** 2015 to 2100: a foreign id of the same form mostly falls outside. */
const EARLIEST_MS = 1_420_070_400_000;
const LATEST_MS = 4_102_444_800_000;

export type ClickIds = () => string;

/** `random` gives that many random letters and digits. */
export function createClickIds(clock: Clock, random: (length: number) => string = randomText): ClickIds {
  let lastMs = 0;
  let timeText = '';
  let chance = 0;
  const take = pooled(random);
  return () => {
    const now = clock.now();
    if (now > lastMs) {
      lastMs = now;
      timeText = toText(lastMs);
      chance = toNumber(take(HALF));
    } else {
      // Same millisecond or a clock set back: a step up from the last id keeps order and uniqueness.
      chance += 1 + toNumber(take(STEP_DIGITS));
      if (chance >= HALF_END) {
        lastMs += 1;
        timeText = toText(lastMs);
        chance -= HALF_END;
      }
    }
    return timeText + toText(chance);
  };
}

/**
 * The time in an id that has our form. A hint for where to look first: an imported id may have the same form
 * by chance, and while a clock that was set back catches up, ids carry the later time.
 */
export function clickTime(id: string): number | undefined {
  if (!FORM.test(id)) return undefined;
  const ms = toNumber(id.slice(0, HALF));
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : undefined;
}

/** The smallest id that could carry this time: every id made from then on sorts at or after it. */
export function clickIdFloor(timeMs: number): string {
  return toText(timeMs) + '0'.repeat(HALF);
}

/** The id with this time and, in place of chance, a number below 62^8: for events that are made up. */
export function clickIdAt(timeMs: number, number: number): string {
  return toText(timeMs) + toText(number);
}

/** Draws from a larger text, so that one call for randomness serves many ids. */
function pooled(random: (length: number) => string): (length: number) => string {
  let pool = '';
  let used = 0;
  return (length) => {
    if (used + length > pool.length) {
      pool = random(POOL_CHARACTERS);
      used = 0;
    }
    used += length;
    return pool.slice(used - length, used);
  };
}

// Two digits at a time from a table: ids are made on the way of every visit.
function toText(value: number): string {
  const high = Math.floor(value / QUARTER_END);
  const low = value - high * QUARTER_END;
  return fourDigits(high) + fourDigits(low);
}

function fourDigits(value: number): string {
  const high = Math.floor(value / PAIRS.length);
  return `${PAIRS[high]}${PAIRS[value - high * PAIRS.length]}`;
}

function toNumber(text: string): number {
  let value = 0;
  for (let i = 0; i < text.length; i++) value = value * 62 + (VALUES[text.charCodeAt(i)] ?? 0);
  return value;
}
