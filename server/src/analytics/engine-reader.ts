// Answers queries on any engine: compiles them, lets the engine run the statement, and gives the rows the form that
// query.ts promises.
import { aggregateStatement } from './aggregate-sql.ts';
import type { Statement } from './conditions.ts';
import type { Dialect } from './dialect.ts';
import { toRecord } from './event-columns.ts';
import { findPlace } from './list-place.ts';
import { countSlotsStatement, firstStatement, listStatement } from './list-sql.ts';
import { type AggregateQuery, type AggregateRow, type EventReader, GROUPINGS } from './query.ts';
import { slotOf, sumSlots } from './slots.ts';

type Row = Readonly<Record<string, unknown>>;
/** Rows by the names of their columns. Fails when the signal is aborted. */
export type RunStatement = (statement: Statement, signal?: AbortSignal) => Promise<readonly Row[]>;

export function createEngineReader(run: RunStatement, dialect: Dialect): EventReader {
  return {
    async list(query, signal) {
      const place = await findPlace(query, {
        async countSlots(stretch, slotMs) {
          const rows = await run(countSlotsStatement({ ...query, ...stretch }, slotMs, dialect), signal);
          return rows.map(({ slot, events }) => ({ slot: Number(slot), events: Number(events) }));
        },
        async findFirst(stretch) {
          const [row] = await run(firstStatement({ ...query, ...stretch }, dialect), signal);
          return row && Number(row.time_ms);
        },
      });
      if (!place) return [];
      const rows = await run(listStatement({ ...query, ...place }, dialect), signal);
      return rows.map((row) => toRecord(query.kind, row));
    },
    async aggregate(query, signal) {
      const { groupBy, buckets = [] } = query;
      const slotMs = slotOf(buckets);
      const rows = await run(aggregateStatement(query, dialect, slotMs), signal);
      if (groupBy === 'timeseries') return sumSlots(buckets, slotMs, rows.map(toSlot));
      return rows.map((row) => toAggregate(row, query));
    },
  };
}

function toAggregate(row: Row, { groupBy }: AggregateQuery): AggregateRow {
  const group = GROUPINGS[groupBy].map((name, i) => [name, String(row[`g${i + 1}`])]);
  return { group: Object.fromEntries(group), ...toNumbers(row) };
}

function toSlot(row: Row) {
  return { slot: Number(row.g1), ...toNumbers(row) };
}

function toNumbers({ clicks, leads, sales, sale_amount }: Row) {
  return {
    clicks: Number(clicks),
    leads: Number(leads),
    sales: Number(sales),
    saleAmount: Number(sale_amount),
  };
}
