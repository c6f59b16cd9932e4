// The SQL of a list, for any engine: one statement finds the first event, one counts what matches per stretch of
// time, one reads the rows of a stretch.
import { createValues, eventConditions, type Statement, type Values, whole } from './conditions.ts';
import type { Dialect } from './dialect.ts';
import { EVENT_COLUMNS, EVENT_TABLES } from './event-columns.ts';
import type { EventKind, ListQuery } from './query.ts';

/** Rows of `slot`, the number of the stretch of `slotMs` since 1970, and `events`. */
export function countSlotsStatement(query: ListQuery, slotMs: number, dialect: Dialect): Statement {
  const { from, values } = matching(query, dialect);
  const slot = dialect.divide('time_ms', slotMs);
  return { sql: `select ${slot} as slot, count(*) as events ${from} group by slot`, texts: values.texts };
}

/** At most one row, of `time_ms`. Rows lie in order of time: engines stop where they find one. */
export function firstStatement(query: ListQuery, dialect: Dialect): Statement {
  const { from, values } = matching(query, dialect);
  return { sql: `select time_ms ${from} order by time_ms limit 1`, texts: values.texts };
}

export function listStatement(query: ListQuery, dialect: Dialect): Statement {
  const { from, values } = matching(query, dialect);
  const page = `limit ${whole(query.limit)} offset ${whole(query.offset)}`;
  return {
    sql: `select ${columnsOf(query.kind)} ${from} ${orderOf(query)} ${page}`,
    texts: values.texts,
    columns: EVENT_COLUMNS[query.kind].map(({ name }) => name),
  };
}

/** Everything that matches, with no page. */
export function wholeListStatement(query: ListQuery, dialect: Dialect): Statement {
  const { after: _, ...all } = query;
  const { from, values } = matching(all, dialect);
  return { sql: `select ${columnsOf(query.kind)} ${from} ${orderOf(query)}`, texts: values.texts };
}

function matching(query: ListQuery, dialect: Dialect): { from: string; values: Values } {
  const { kind } = query;
  const values = createValues(dialect);
  const where = [eventConditions({ query, kind, values, dialect }), ...following(query, values)];
  return { from: `from ${dialect.table(EVENT_TABLES[kind])} where ${where.join(' and ')}`, values };
}

function following({ after, order }: ListQuery, values: Values): string[] {
  if (!after) return [];
  const beyond = order === 'asc' ? '>' : '<';
  const time = whole(after.timeMs);
  return [`(time_ms ${beyond} ${time} or (time_ms = ${time} and id ${beyond} ${values.bind(after.id)}))`];
}

function columnsOf(kind: EventKind): string {
  return EVENT_COLUMNS[kind].map(({ name }) => `"${name}"`).join(', ');
}

function orderOf({ order }: ListQuery): string {
  return `order by time_ms ${order}, id ${order}`;
}
