// Stretches of time that rows lie in, by which engines skip most of a table.
import { clickTime } from '../events/click-id.ts';

/** Ids carry the time they were made at, which a clock set back can put after the click's own. */
const CLICK_TIME_SLACK_MS = 3_600_000;

/** The earliest and the latest; there must be at least one. */
export function timesOf(records: readonly { readonly timeMs: number }[]): [fromMs: number, toMs: number] {
  return bounds(records.map(({ timeMs }) => timeMs));
}

/** A further condition for clicks with these ids, empty where not all of them are our own. */
export function timeRange(clickIds: readonly string[]): string {
  const times = clickIds.flatMap((id) => clickTime(id) ?? []);
  if (times.length === 0 || times.length < clickIds.length) return '';
  const [fromMs, toMs] = bounds(times);
  return ` and time_ms between ${fromMs - CLICK_TIME_SLACK_MS} and ${toMs + CLICK_TIME_SLACK_MS}`;
}

function bounds(times: readonly number[]): [number, number] {
  return [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
}
