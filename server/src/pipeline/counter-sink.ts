// The sink of the counters in SQL: clicks of links and of partners, usage and totals of workspaces.
import { type ClickCounterParts, type CounterBatch, createClickCounter } from '../analytics/click-counter.ts';
import type { Database } from '../db/database.ts';
import type { SinkOffsets } from '../db/sink-offset.ts';
import { createSqlSink, type SqlSink } from './sql-sink.ts';

export const COUNTERS = 'counters';

export interface CounterSinkParts extends ClickCounterParts {
  readonly db: Database;
  readonly offsets: SinkOffsets;
  /** Names the journal too: other nodes count into the same tables from theirs. */
  readonly offsetName: string;
  readonly hearers?: NonNullable<ClickCounterParts['hearers']> & {
    findClickWorkspaces(): Promise<readonly string[]>;
  };
}

export function createCounterSink(parts: CounterSinkParts): SqlSink {
  const { db, offsets, offsetName, hearers } = parts;
  return createSqlSink<CounterBatch>({
    name: COUNTERS,
    db,
    offsets,
    offsetName,
    store: createClickCounter(parts),
    ...(hearers && { heardWorkspaces: hearers.findClickWorkspaces }),
  });
}
