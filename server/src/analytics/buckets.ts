// The stretches of time of a time series: how long they are, where they begin, and how that is written.
import type { TimeZone } from './time-zone.ts';

export type Granularity = 'hour' | 'day' | 'month';

export const INTERVALS = ['24h', '7d', '30d', '90d', '1y', 'mtd', 'qtd', 'ytd', 'all'] as const;
export type Interval = (typeof INTERVALS)[number];

const GRANULARITY: Readonly<Partial<Record<Interval, Granularity>>> = {
  '24h': 'hour',
  '7d': 'day',
  '30d': 'day',
  '90d': 'day',
  mtd: 'day',
  qtd: 'day',
  '1y': 'month',
  ytd: 'month',
};
const MAX_DAYS_BY_HOUR = 2;
const MAX_DAYS_BY_DAY = 180;

export interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `interval` is undefined where the caller named start and end. */
export function granularityOf(
  { fromMs, toMs }: TimeWindow,
  interval: Interval | undefined,
  zone: TimeZone,
): Granularity {
  const fixed = interval && GRANULARITY[interval];
  if (fixed) return fixed;
  const days = zone.daysBetween(fromMs, toMs);
  if (days <= MAX_DAYS_BY_HOUR) return 'hour';
  return days > MAX_DAYS_BY_DAY ? 'month' : 'day';
}

/** From the one that the window begins in to the one it ends in. */
export function listBuckets(
  { fromMs, toMs }: TimeWindow,
  granularity: Granularity,
  zone: TimeZone,
): number[] {
  const buckets: number[] = [];
  const first = zone.startOf(granularity, fromMs);
  let start = first;
  for (let n = 1; start <= toMs; n++) {
    if (start > (buckets.at(-1) ?? Number.NEGATIVE_INFINITY)) buckets.push(start);
    // Each is reached from the first: where a day begins late, the ones after it do not.
    start = zone.startOf(granularity, zone.add(granularity, n, first));
  }
  return buckets;
}

/** Hours in UTC; days and months at their local beginning, with the offset it has there. */
export function formatBucket(startMs: number, granularity: Granularity, zone: TimeZone): string {
  const offsetMs = granularity === 'hour' ? 0 : zone.offsetMs(startMs);
  const minutes = Math.abs(Math.trunc(offsetMs / 60_000));
  const two = (value: number) => String(value).padStart(2, '0');
  const offset = `${offsetMs < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}${two(minutes % 60)}`;
  return new Date(startMs + offsetMs).toISOString().replace('Z', offset);
}
