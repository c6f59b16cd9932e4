// What a batch of clicks adds to the counters in SQL: one row per link, and one per workspace and month. Pure.
import { usageMonth } from '../workspaces/workspace.ts';

const DAY_MS = 86_400_000;

export interface CountedClick {
  readonly linkId: string;
  readonly workspaceId: string;
  readonly timeMs: number;
  readonly url: string;
}

export interface ClickCounts {
  /** In the order of their ids. */
  readonly links: { linkId: string; clicks: number; lastMs: number }[];
  /** The earliest month first, workspaces in the order of their ids. */
  readonly months: { month: number; workspaces: WorkspaceCount[] }[];
}

export interface WorkspaceCount {
  workspaceId: string;
  clicks: number;
  /** Those that count towards the month: a click that led nowhere does not. */
  usage: number;
}

export function countClicks(clicks: readonly CountedClick[]): ClickCounts {
  const links = new Map<string, { linkId: string; clicks: number; lastMs: number }>();
  const months = new Map<number, Map<string, WorkspaceCount>>();
  const monthOf = createMonths();
  for (const { linkId, workspaceId, timeMs, url } of clicks) {
    const link = entry(links, linkId, () => ({ linkId, clicks: 0, lastMs: 0 }));
    link.clicks += 1;
    link.lastMs = Math.max(link.lastMs, timeMs);
    const month = entry(months, monthOf(timeMs), () => new Map<string, WorkspaceCount>());
    const workspace = entry(month, workspaceId, () => ({ workspaceId, clicks: 0, usage: 0 }));
    workspace.clicks += 1;
    if (url !== '') workspace.usage += 1;
  }
  return {
    links: ordered(links),
    months: [...months]
      .sort(([a], [b]) => a - b)
      .map(([month, workspaces]) => ({ month, workspaces: ordered(workspaces) })),
  };
}

/** Clicks of a batch are mostly of one day: looking at the calendar once a day is enough. */
function createMonths(): (timeMs: number) => number {
  const months = new Map<number, number>();
  return (timeMs) => entry(months, Math.floor(timeMs / DAY_MS), () => usageMonth(timeMs));
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

function ordered<V>(map: ReadonlyMap<string, V>): V[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}
