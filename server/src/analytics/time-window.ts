// Which time a question is about: a named interval up to now, or from `start` to `end`. Exact moments stay exact;
// a day counts from its first to its last millisecond in the time zone.
import { type CalendarDay, parseMoment } from '../kernel/dates.ts';
import { invalid } from '../kernel/errors.ts';
import type { Interval, TimeWindow } from './buckets.ts';
import type { TimeZone } from './time-zone.ts';

export interface TimeQuestion {
  readonly interval: Interval;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** There are no events before this and none after that, and lists of months must not become endless. */
const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(2100, 0, 1) - 1;

/** Both ends inclusive. */
export function readWindow(question: TimeQuestion, zone: TimeZone, nowMs: number): TimeWindow {
  const { start, end } = question;
  const last = end === undefined ? { fromMs: nowMs, toMs: nowMs } : readMoment('end', end, zone, nowMs);
  if (start === undefined) return intervalWindow(question.interval, zone, nowMs);
  const first = readMoment('start', start, zone, nowMs);
  return {
    fromMs: within(Math.min(first.fromMs, last.fromMs)),
    toMs: within(Math.max(first.toMs, last.toMs)),
  };
}

function within(ms: number): number {
  return Math.min(LATEST_MS, Math.max(EARLIEST_MS, ms));
}

function readMoment(name: string, text: string, zone: TimeZone, nowMs: number): TimeWindow {
  const moment = parseMoment(text, nowMs, zone.offsetMs(nowMs) / MINUTE_MS);
  if (!moment) throw invalid(name, 'must be a date, such as 2027-01-15, 2027-01-15T10:00:00Z or 2 hours ago');
  if (moment.ms !== undefined) return { fromMs: moment.ms, toMs: moment.ms };
  return dayWindow(noonOf(moment.day, zone), zone);
}

function noonOf({ year, month, day }: CalendarDay, zone: TimeZone): number {
  const noon = Date.UTC(year, month - 1, day, 12);
  return noon - zone.offsetMs(noon);
}

function dayWindow(timeMs: number, zone: TimeZone): TimeWindow {
  const fromMs = zone.startOf('day', timeMs);
  return { fromMs, toMs: zone.startOf('day', zone.add('day', 1, fromMs)) - 1 };
}

/** All but the last 24 hours end with today. */
function intervalWindow(interval: Interval, zone: TimeZone, nowMs: number): TimeWindow {
  if (interval === '24h') return { fromMs: nowMs - DAY_MS, toMs: nowMs };
  return { fromMs: intervalStart(interval, zone, nowMs), toMs: dayWindow(nowMs, zone).toMs };
}

function intervalStart(interval: Exclude<Interval, '24h'>, zone: TimeZone, nowMs: number): number {
  switch (interval) {
    case '7d':
      return zone.add('day', -7, nowMs);
    case '30d':
      return zone.add('day', -30, nowMs);
    case '90d':
      return zone.add('day', -90, nowMs);
    case '1y':
      return zone.add('month', -12, nowMs);
    case 'mtd':
      return zone.startOf('month', nowMs);
    case 'qtd':
      return zone.startOf('quarter', nowMs);
    case 'ytd':
      return zone.startOf('year', nowMs);
    case 'all':
      return EARLIEST_MS;
  }
}
