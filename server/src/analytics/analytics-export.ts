// All groupings of one question as tables in a file: each is read when the client has taken the one before.
import { type Actor, planIncludes, type Reply } from '../http/operation.ts';
import { type CsvValue, csvLine } from '../kernel/csv.ts';
import { type ZipEntry, zipFiles } from '../kernel/zip.ts';
import type { Analytics } from './analytics.ts';
import type { AnalyticsRow } from './analytics-rows.ts';
import type { FilterParams, TimeParams } from './event-params.ts';
import type { Question } from './event-questions.ts';
import { type AggregateQuery, GROUPINGS, type GroupBy } from './query.ts';

export const ZIP_TYPE = 'application/zip';

const GROUP_NAMES = (Object.keys(GROUPINGS) as GroupBy[]).filter((name) => name !== 'count');
const ROWS_PER_PIECE = 500;

export function createAnalyticsExport({ analytics }: { analytics: Pick<Analytics, 'open' | 'answer'> }) {
  async function* tables(
    question: Question,
    event: AggregateQuery['event'],
    signal: AbortSignal,
  ): AsyncGenerator<ZipEntry> {
    for (const groupBy of GROUP_NAMES.filter((name) => name !== 'top_links' || !isOneLink(question))) {
      if (signal.aborted) return;
      const rows = await analytics.answer(question, { event, groupBy }, signal);
      if (Array.isArray(rows) && rows.length > 0) yield { name: `${groupBy}.csv`, text: piecesOf(rows) };
    }
  }

  return async (actor: Actor, params: FilterParams & TimeParams, signal: AbortSignal): Promise<Reply> => {
    const question = await analytics.open(actor, params);
    // Only these plans record leads and sales.
    const event = planIncludes(actor.plan, 'business') ? 'composite' : 'clicks';
    return {
      contentType: ZIP_TYPE,
      headers: { 'Content-Disposition': 'attachment; filename=analytics_export.zip' },
      body: ReadableStream.from(zipFiles(tables(question, event, signal))),
    };
  };
}

export type ExportAnalytics = ReturnType<typeof createAnalyticsExport>;

function isOneLink({ query: { fixedLinkId, linkId } }: Question): boolean {
  return fixedLinkId !== undefined || (linkId !== undefined && !linkId.not && linkId.values.length === 1);
}

function* piecesOf(rows: readonly AnalyticsRow[]): Generator<string> {
  const flat = rows.map(flattened);
  const names = Object.keys(flat[0] as object);
  yield csvLine(names);
  for (let start = 0; start < flat.length; start += ROWS_PER_PIECE) {
    const part = flat.slice(start, start + ROWS_PER_PIECE);
    yield part.map((row) => csvLine(names.map((name) => row[name]))).join('');
  }
}

/** The fields of a thing within the row become fields of their own: `folder.name`. */
function flattened(row: Readonly<Record<string, unknown>>): Record<string, CsvValue> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([inner, field]) => [`${name}.${inner}`, field as CsvValue])
        : [[name, value as CsvValue]],
    ),
  );
}
