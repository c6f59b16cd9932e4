// The sink of the counters in SQL: clicks of links and of partners, usage and totals of workspaces. Who hears of clicks is told in
// the same transaction, after they are counted.
import type { ClickCounts, WorkspaceCount } from '../analytics/click-counts.ts';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { Database } from '../db/database.ts';
import type { SinkOffsets } from '../db/sink-offset.ts';
import { createSqlSink, type SqlSink } from './sql-sink.ts';

export const COUNTERS = 'counters';

export interface CounterBatch extends ClickCounts {
  /** Clicks of workspaces where somebody hears of them. */
  readonly heard: readonly ClickRecord[];
}

export interface CounterSinkParts {
  readonly db: Database;
  readonly offsets: SinkOffsets;
  /** Names the journal too: other nodes count into the same tables from theirs. */
  readonly offsetName: string;
  readonly links: { addClicks(rows: ClickCounts['links']): Promise<void> };
  /** Those whose links were clicked. */
  readonly partners?: { addClicks(rows: ClickCounts['links']): Promise<void> };
  readonly workspaces: { addClicks(month: number, rows: readonly WorkspaceCount[]): Promise<void> };
  readonly hearers?: {
    findClickWorkspaces(): Promise<readonly string[]>;
    takeClicks(clicks: readonly ClickRecord[]): Promise<void>;
  };
}

export function createCounterSink(parts: CounterSinkParts): SqlSink {
  const { db, offsets, offsetName, links, partners, workspaces, hearers } = parts;
  return createSqlSink<CounterBatch>({
    name: COUNTERS,
    db,
    offsets,
    offsetName,
    async store(counts) {
      await links.addClicks(counts.links);
      await partners?.addClicks(counts.links);
      for (const { month, workspaces: rows } of counts.months) await workspaces.addClicks(month, rows);
      await hearers?.takeClicks(counts.heard);
    },
    ...(hearers && { heardWorkspaces: hearers.findClickWorkspaces }),
  });
}
