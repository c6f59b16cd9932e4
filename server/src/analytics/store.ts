// The port of the event store: a view of clicks and of the links they belong to, which can be rebuilt from the
// archive and from SQL. A batch and the position after it are stored in one transaction.
import type { Position } from '../events/journal.ts';
import type { ClickRecord } from './click-record.ts';
import type { LinkRow } from './link-row.ts';

export interface EventBatch {
  readonly clicks: readonly ClickRecord[];
  /** At most one per link: its latest state. */
  readonly links: readonly LinkRow[];
}

export interface EventCounts {
  readonly clicks: number;
  readonly distinctClicks: number;
  /** Those that exist. */
  readonly links: number;
}

export interface EventStore {
  /** Up to where everything is stored; undefined when nothing is yet. */
  committed(): Promise<Position | undefined>;
  /** Stores the batch and `upTo` together; a batch that is stored already changes nothing. */
  append(batch: EventBatch, upTo: Position): Promise<void>;
  findClick(id: string): Promise<ClickRecord | undefined>;
  /** Reads everything: for checks, not for requests. */
  count(): Promise<EventCounts>;
  close(): Promise<void>;
}
