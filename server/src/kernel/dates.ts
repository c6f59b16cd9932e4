// Dates as people write them: ISO forms and English phrases, read as UTC unless they say otherwise.
import { parseDate } from 'chrono-node';

/** Milliseconds since the epoch; undefined when no date can be read. A date without a time means noon. */
export function parseHumanDate(text: string, nowMs: number): number | undefined {
  const exact = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(exact)) return exact;
  const date = parseDate(text, { instant: new Date(nowMs), timezone: 'UTC' });
  const ms = date?.getTime();
  return ms === undefined || Number.isNaN(ms) ? undefined : ms;
}
