// All clicks of a store, or of one workspace, in order of time, page by page: for exports. A statement looks at a
// stretch of time about as long as the pages before needed, so that going through a hundred million clicks reads
// each of them about once.
import type { ClickRecord } from './click-record.ts';
import { createValues, type Statement, whole } from './conditions.ts';
import type { Dialect } from './dialect.ts';
import type { RunStatement } from './engine-reader.ts';
import { EVENT_COLUMNS, EVENT_TABLES, toRecord } from './event-columns.ts';

export interface ClickPageRequest {
  readonly workspaceId?: string | undefined;
  /** What the page before gave as `next`. */
  readonly after?: ClickPlace | undefined;
  readonly limit: number;
}

/** The last click of a page, and how long a stretch of time to look at next. */
export interface ClickPlace {
  readonly timeMs: number;
  readonly id: string;
  readonly spanMs: number;
  /** When the last click was, as the first page found it: later ones are not waited for. */
  readonly lastMs: number;
}

export interface ClickPage {
  /** As many as were asked for, but at the end. */
  readonly clicks: readonly ClickRecord[];
  readonly next: ClickPlace | undefined;
}

export interface ClickPages {
  listClicks(request: ClickPageRequest, signal?: AbortSignal): Promise<ClickPage>;
  countClicks(workspaceId: string | undefined, signal?: AbortSignal): Promise<number>;
}

const FIRST_SPAN_MS = 60_000;
const TABLE = EVENT_TABLES.clicks;

export function createClickPages(run: RunStatement, dialect: Dialect): ClickPages {
  async function findRange(workspaceId: string | undefined, signal?: AbortSignal) {
    const values = createValues(dialect);
    const sql = `select count(*) as clicks, min(time_ms) as first, max(time_ms) as last from ${dialect.table(TABLE)}
      where ${ofWorkspace(workspaceId, values.bind)}`;
    const [row] = await run({ sql, texts: values.texts }, signal);
    return { clicks: Number(row?.clicks), firstMs: Number(row?.first), lastMs: Number(row?.last) };
  }

  async function findStart(workspaceId: string | undefined, signal?: AbortSignal): Promise<ClickPlace> {
    const { clicks, firstMs, lastMs } = await findRange(workspaceId, signal);
    if (clicks === 0) return { timeMs: 0, id: '', spanMs: 1, lastMs: 0 };
    // Up to the end of the last millisecond.
    return { timeMs: firstMs - 1, id: LAST_ID, spanMs: FIRST_SPAN_MS, lastMs: lastMs + 1 };
  }

  return {
    async listClicks({ workspaceId, after, limit }, signal) {
      const clicks: ClickRecord[] = [];
      let place = after ?? (await findStart(workspaceId, signal));
      while (clicks.length < limit && place.timeMs < place.lastMs) {
        const wanted = limit - clicks.length;
        const statement = pageStatement({ workspaceId, after: place, limit: wanted }, dialect);
        const found = (await run(statement, signal)).map((row) => toRecord('clicks', row));
        clicks.push(...found);
        place = followingPlace(place, found.length < wanted ? undefined : found.at(-1));
      }
      return { clicks, next: clicks.length < limit ? undefined : place };
    },

    countClicks: async (workspaceId, signal) => (await findRange(workspaceId, signal)).clicks,
  };
}

/** A stretch that was read whole was short: the next is twice as long. */
function followingPlace(place: ClickPlace, last: ClickRecord | undefined): ClickPlace {
  const { timeMs, spanMs } = place;
  if (!last) return { ...place, timeMs: timeMs + spanMs, id: LAST_ID, spanMs: spanMs * 2 };
  return { ...place, timeMs: last.timeMs, id: last.id, spanMs: Math.ceil(spanMs / 2) };
}

/** Sorts after every id. */
const LAST_ID = '\u{10ffff}';

function ofWorkspace(workspaceId: string | undefined, bind: (text: string) => string): string {
  return workspaceId === undefined ? '1 = 1' : `workspace_id = ${bind(workspaceId)}`;
}

function pageStatement(
  request: ClickPageRequest & { readonly after: ClickPlace },
  dialect: Dialect,
): Statement {
  const { workspaceId, after, limit } = request;
  const values = createValues(dialect);
  const from = whole(after.timeMs);
  const columns = EVENT_COLUMNS.clicks.map(({ name }) => `"${name}"`).join(', ');
  const sql = `select ${columns} from ${dialect.table(TABLE)} where ${ofWorkspace(workspaceId, values.bind)}
    and time_ms between ${from} and ${whole(after.timeMs + after.spanMs)} and (time_ms > ${from} or id > ${values.bind(after.id)})
    order by time_ms, id limit ${whole(limit)}`;
  return { sql, texts: values.texts };
}
