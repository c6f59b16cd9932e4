// Buckets of a time series without any engine knowing time zones: engines count per slot, a stretch of time of one
// length in which every bucket begins and ends at a border, and the slots of a bucket are added up here.
import type { AggregateRow } from './query.ts';

const MAX_SLOT_MS = 86_400_000;

/** The longest such stretch: a day in UTC, mostly an hour elsewhere, a quarter of one where zones have such. */
export function slotOf(buckets: readonly number[]): number {
  return buckets.reduce(commonDivisor, MAX_SLOT_MS);
}

export interface SlotCounts {
  readonly slot: number;
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  readonly saleAmount: number;
}

/** One row per bucket, also for those without events. */
export function sumSlots(
  buckets: readonly number[],
  slotMs: number,
  counts: readonly SlotCounts[],
): AggregateRow[] {
  const rows = buckets.map(() => ({ group: {}, clicks: 0, leads: 0, sales: 0, saleAmount: 0 }));
  for (const { slot, clicks, leads, sales, saleAmount } of counts) {
    const row = rows[bucketOf(buckets, slot * slotMs)];
    if (!row) continue;
    row.clicks += clicks;
    row.leads += leads;
    row.sales += sales;
    row.saleAmount += saleAmount;
  }
  return rows;
}

/** The last bucket that begins at that time or before; -1 before the first. */
export function bucketOf(buckets: readonly number[], timeMs: number): number {
  let low = 0;
  let high = buckets.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((buckets[middle] ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? Math.abs(a) : commonDivisor(b, a % b);
}
