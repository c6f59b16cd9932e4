// Follows the tables of an event store by the number of the batch that rows came with. The engine says up to which
// number all batches can be seen: none with that or a lower number will ever follow.
import { createValues, eventConditions, type Statement, whole } from './conditions.ts';
import type { Dialect } from './dialect.ts';
import type { RunStatement } from './engine-reader.ts';
import { EVENT_COLUMNS, EVENT_TABLES, toRecord } from './event-columns.ts';
import {
  type EventFollower,
  type Followed,
  type FollowerPlace,
  type FollowQuery,
  formatCursor,
  parseCursor,
} from './event-follower.ts';
import type { EventKind } from './query.ts';

/** How far a follower of an earlier store goes back: what it saw last may have been overtaken by so much. */
const OVERTAKEN_MS = 3_600_000;

export interface BatchFollowerParts {
  readonly run: RunStatement;
  readonly dialect: Dialect;
  /** Gives a row of `store`, which says what the numbers belong to, and `batch`, the last that can be followed to. */
  readonly endSql: string;
}

export function createBatchFollower({ run, dialect, endSql }: BatchFollowerParts): EventFollower {
  return {
    async findEnd(signal) {
      const [row] = await run({ sql: endSql, texts: [] }, signal);
      return formatCursor({ store: String(row?.store), batch: Number(row?.batch), id: '', timeMs: 0 });
    },
    async follow<K extends EventKind>(query: FollowQuery<K>, signal?: AbortSignal): Promise<Followed<K>> {
      const { kind, limit } = query;
      const upTo = placeOf(query.upTo);
      const after = sameStore(placeOf(query.after), upTo);
      // An answer about the end that was overtaken by a later one.
      if (after.batch > upTo.batch) return { events: [], cursor: query.after, more: false };
      const fromMs = Math.max(query.fromMs, after.fromMs);
      const rows = await run(followStatement({ ...query, fromMs }, after, upTo.batch, dialect), signal);
      const events = rows.map((row) => {
        const record = toRecord(kind, row);
        const { id, timeMs } = record;
        return {
          record,
          cursor: formatCursor({ store: upTo.store, batch: Number(row.batch), id, timeMs }),
        };
      });
      const last = events.at(-1);
      if (last && events.length === limit) return { events, cursor: last.cursor, more: true };
      const timeMs = last?.record.timeMs ?? after.timeMs;
      return { events, cursor: formatCursor({ ...upTo, timeMs }), more: false };
    },
  };
}

function followStatement(
  query: FollowQuery,
  after: FollowerPlace,
  upToBatch: number,
  dialect: Dialect,
): Statement {
  const { kind, limit } = query;
  const values = createValues(dialect);
  const batch = whole(after.batch);
  const rest = after.id === '' ? '' : ` or (batch = ${batch} and id > ${values.bind(after.id)})`;
  const where = [
    `batch between ${batch} and ${whole(upToBatch)}`,
    `(batch > ${batch}${rest})`,
    eventConditions({ query, kind, values, dialect }),
  ].join(' and ');
  const columns = [...EVENT_COLUMNS[kind].map(({ name }) => `"${name}"`), 'batch'].join(', ');
  const sql = `select ${columns} from ${dialect.table(EVENT_TABLES[kind])} where ${where} order by batch, id limit ${whole(limit)}`;
  return { sql, texts: values.texts };
}

function placeOf(cursor: string): FollowerPlace {
  const place = parseCursor(cursor);
  if (!place) throw new Error(`${cursor} is no cursor`);
  return place;
}

/** In a store that was rebuilt meanwhile, a place is found again by time: rather something twice than something lost. */
function sameStore(after: FollowerPlace, upTo: FollowerPlace): FollowerPlace & { fromMs: number } {
  if (after.store === upTo.store) return { ...after, fromMs: 0 };
  return { ...after, batch: 0, id: '', fromMs: Math.max(0, after.timeMs - OVERTAKEN_MS) };
}
