// Where clicks are counted in SQL: on links, for partners and workspaces. Who hears of clicks is told in the same
// transaction, after they are counted.
import type { ClickCounts, WorkspaceCount } from './click-counts.ts';
import type { ClickRecord } from './click-record.ts';

export interface CounterBatch extends ClickCounts {
  /** Clicks of workspaces where somebody hears of them. */
  readonly heard: readonly ClickRecord[];
}

export interface ClickCounterParts {
  readonly links: { addClicks(rows: ClickCounts['links']): Promise<void> };
  /** Those whose links were clicked. */
  readonly partners?: { addClicks(rows: ClickCounts['links']): Promise<void> };
  readonly workspaces: { addClicks(month: number, rows: readonly WorkspaceCount[]): Promise<void> };
  readonly hearers?: { takeClicks(clicks: readonly ClickRecord[]): Promise<void> };
}

/** In the caller's transaction, and in the order in which everybody locks these rows. */
export function createClickCounter({ links, partners, workspaces, hearers }: ClickCounterParts) {
  return async (counts: CounterBatch): Promise<void> => {
    await links.addClicks(counts.links);
    await partners?.addClicks(counts.links);
    for (const { month, workspaces: rows } of counts.months) await workspaces.addClicks(month, rows);
    await hearers?.takeClicks(counts.heard);
  };
}
