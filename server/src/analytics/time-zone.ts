// Calendar arithmetic in a time zone, with the zone data that Node carries. Days and months begin at the first
// instant that has their date there, also where clocks are set at midnight.
import { createBoundedMap } from '../kernel/bounded-map.ts';

export type CalendarUnit = 'hour' | 'day' | 'month' | 'quarter' | 'year';

export interface TimeZone {
  readonly name: string;
  /** What is added to UTC to get the local time. */
  offsetMs(timeMs: number): number;
  /** When the hour, day, month … begins that this time is in. */
  startOf(unit: CalendarUnit, timeMs: number): number;
  /** The same time of the clock so many units later, or earlier; the last day of a month where it has no such day. */
  add(unit: CalendarUnit, count: number, timeMs: number): number;
  /** Days from the date of the one to the date of the other. */
  daysBetween(fromMs: number, toMs: number): number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MONTHS = { month: 1, quarter: 3, year: 12 } as const;

/** Names that differ in case are kept apart: not too many of them. */
const MAX_ZONES = 1_000;
const MAX_OFFSETS = 256;
const zones = createBoundedMap<string, TimeZone>(MAX_ZONES);

/** Undefined when it is no name of a zone. */
export function findTimeZone(name: string): TimeZone | undefined {
  const known = zones.get(name);
  if (known) return known;
  const offsetMs = /^[A-Za-z]/.test(name) ? readOffsets(name) : undefined;
  if (!offsetMs) return undefined;
  const zone = createTimeZone(name, offsetMs);
  zones.set(name, zone);
  return zone;
}

type OffsetAt = (timeMs: number) => number;

function readOffsets(name: string): OffsetAt | undefined {
  if (name === 'UTC') return () => 0;
  const format = createFormat(name);
  if (!format) return undefined;
  return remember((timeMs) => {
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
    for (const { type, value } of format.formatToParts(timeMs)) part[type] = value;
    const year = part.era === 'BC' ? 1 - Number(part.year) : Number(part.year);
    const local = utcMs(year, Number(part.month) - 1, Number(part.day));
    const time = Number(part.hour) * 3600 + Number(part.minute) * 60 + Number(part.second);
    return local + time * 1_000 - floorTo(timeMs, 1_000);
  });
}

/** Going from day to day asks for the same times again and again, and each answer takes microseconds. */
function remember(offsetMs: OffsetAt): OffsetAt {
  const known = createBoundedMap<number, number>(MAX_OFFSETS);
  return (timeMs) => {
    const kept = known.get(timeMs);
    if (kept !== undefined) return kept;
    const offset = offsetMs(timeMs);
    known.set(timeMs, offset);
    return offset;
  };
}

function createFormat(name: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}

function createTimeZone(name: string, offsetMs: OffsetAt): TimeZone {
  const localOf = (timeMs: number) => timeMs + offsetMs(timeMs);
  return {
    name,
    offsetMs,
    startOf(unit, timeMs) {
      const local = localOf(timeMs);
      if (unit === 'hour') return timeMs - (local - floorTo(local, HOUR_MS));
      return instantOf(startOfLocal(unit, local), offsetMs);
    },
    add(unit, count, timeMs) {
      if (unit === 'hour') return timeMs + count * HOUR_MS;
      const local = localOf(timeMs);
      const moved = unit === 'day' ? local + count * DAY_MS : addMonths(local, count * MONTHS[unit]);
      return instantOf(moved, offsetMs);
    },
    daysBetween: (fromMs, toMs) =>
      (floorTo(localOf(toMs), DAY_MS) - floorTo(localOf(fromMs), DAY_MS)) / DAY_MS,
  };
}

/** Local times are held as if they were UTC. */
function startOfLocal(unit: Exclude<CalendarUnit, 'hour'>, local: number): number {
  if (unit === 'day') return floorTo(local, DAY_MS);
  const date = new Date(local);
  const month = date.getUTCMonth();
  return utcMs(date.getUTCFullYear(), month - (month % MONTHS[unit]), 1);
}

function addMonths(local: number, count: number): number {
  const date = new Date(local);
  const first = utcMs(date.getUTCFullYear(), date.getUTCMonth() + count, 1);
  const target = new Date(first);
  const days = new Date(utcMs(target.getUTCFullYear(), target.getUTCMonth() + 1, 0)).getUTCDate();
  return first + (Math.min(date.getUTCDate(), days) - 1) * DAY_MS + (local - floorTo(local, DAY_MS));
}

/** The first instant with that local time; where clocks skip it, the one at which they do. */
function instantOf(local: number, offsetMs: OffsetAt): number {
  const earlier = offsetMs(local - DAY_MS);
  const later = offsetMs(local + DAY_MS);
  if (earlier === later) return local - earlier;
  const candidates = [local - Math.max(earlier, later), local - Math.min(earlier, later)] as const;
  const exact = candidates.find((timeMs) => timeMs + offsetMs(timeMs) === local);
  if (exact !== undefined) return exact;
  let [low, high] = candidates;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (middle + offsetMs(middle) >= local) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Unlike Date.UTC, takes the years before 100 as they are. */
function utcMs(year: number, month: number, day: number): number {
  const date = new Date(0);
  return date.setUTCFullYear(year, month, day);
}

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}
