// Dates as people write them: ISO forms and English phrases, read as UTC unless they say otherwise.
import { createRequire } from 'node:module';
import type * as Chrono from 'chrono-node/en';

type ParsedResult = ReturnType<typeof Chrono.parse>[number];

export interface CalendarDay {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
}

/** An instant, or a day for texts that name no time of day, such as `2027-01-15`, `yesterday`, `3 days ago`. */
export type Moment =
  | { readonly ms: number; readonly day?: undefined }
  | { readonly ms?: undefined; readonly day: CalendarDay };

const require = createRequire(import.meta.url);
/** Longer texts are no dates, and to look for one in them takes seconds. */
const MAX_LENGTH = 100;
const EXACT = /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:?\d{2})$/i;

/** Milliseconds since the epoch; undefined when no date can be read. A date without a time means noon. */
export function parseHumanDate(text: string, nowMs: number): number | undefined {
  return readExact(text) ?? instantOf(readPhrase(text, nowMs, 0));
}

/** Undefined when no date can be read. `offsetMinutes` from UTC decide which day `today` is, and nothing else. */
export function parseMoment(text: string, nowMs: number, offsetMinutes: number): Moment | undefined {
  const exact = readExact(text);
  if (exact !== undefined) return { ms: exact };
  const found = readPhrase(text, nowMs, 0);
  if (!found) return undefined;
  if (found.start.isCertain('hour')) {
    const ms = instantOf(found);
    return ms === undefined ? undefined : { ms };
  }
  const start = readPhrase(text, nowMs, offsetMinutes)?.start ?? found.start;
  const [year, month, day] = [start.get('year'), start.get('month'), start.get('day')];
  return year === null || month === null || day === null ? undefined : { day: { year, month, day } };
}

function readExact(text: string): number | undefined {
  const ms = EXACT.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** The package is loaded by the first phrase: every start would otherwise wait for its many files. */
function readPhrase(text: string, nowMs: number, offsetMinutes: number): ParsedResult | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const { parse } = require('chrono-node/en') as typeof Chrono;
  return parse(text, { instant: new Date(nowMs), timezone: offsetMinutes })[0];
}

function instantOf(found: ParsedResult | undefined): number | undefined {
  const ms = found?.date().getTime();
  return ms === undefined || Number.isNaN(ms) ? undefined : ms;
}
