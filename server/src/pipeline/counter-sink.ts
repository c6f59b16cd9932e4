// The sink of the counters in SQL: clicks of links, usage and totals of workspaces.
import type { ClickCounts, WorkspaceCount } from '../analytics/click-counts.ts';
import type { Database } from '../db/database.ts';
import type { SinkOffsets } from '../db/sink-offset.ts';
import { createSqlSink, type SqlSink } from './sql-sink.ts';

export const COUNTERS = 'counters';

export interface CounterSinkParts {
  readonly db: Database;
  readonly offsets: SinkOffsets;
  /** Names the journal too: other nodes count into the same tables from theirs. */
  readonly offsetName: string;
  readonly links: { addClicks(rows: ClickCounts['links']): Promise<void> };
  readonly workspaces: { addClicks(month: number, rows: readonly WorkspaceCount[]): Promise<void> };
}

export function createCounterSink({ db, offsets, offsetName, links, workspaces }: CounterSinkParts): SqlSink {
  return createSqlSink<ClickCounts>({
    name: COUNTERS,
    db,
    offsets,
    offsetName,
    async store(counts) {
      await links.addClicks(counts.links);
      for (const { month, workspaces: rows } of counts.months) await workspaces.addClicks(month, rows);
    },
  });
}
