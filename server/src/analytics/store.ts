// The port of the event store: a view of clicks, leads, sales, and of the links and partners they belong to, which
// can be rebuilt from the archive and from SQL. A batch and the position after it are stored in one transaction.
import type { Position } from '../events/journal.ts';
import type { ClickPages } from './click-pages.ts';
import type { ClickRecord } from './click-record.ts';
import type { LeadRecord, SaleRecord } from './conversion-record.ts';
import type { EventFollower } from './event-follower.ts';
import type { LinkRow } from './link-row.ts';
import type { PartnerRow } from './partner-row.ts';
import type { EventReader, ListQuery } from './query.ts';

export interface EventBatch {
  readonly clicks: readonly ClickRecord[];
  /** Clicks of another instance; at most one of an id, and one whose id is stored already changes nothing. */
  readonly importedClicks?: readonly ClickRecord[];
  /** At most one per link: its latest state. */
  readonly links: readonly LinkRow[];
  /** At most one of an id; one whose id is stored already changes nothing, as for sales. */
  readonly leads?: readonly LeadRecord[];
  readonly sales?: readonly SaleRecord[];
  /** At most one per partner: its latest state. */
  readonly partners?: readonly PartnerRow[];
  /** Done after everything else of the batch is stored. */
  readonly erasures?: readonly Erasure[];
}

/** Metadata of the customer's leads and sales is blanked, and the address of these clicks wherever it is. */
export interface Erasure {
  readonly workspaceId: string;
  readonly customerId: string;
  readonly clickIds: readonly string[];
}

export interface EventCounts {
  readonly clicks: number;
  readonly distinctClicks: number;
  /** Those that exist. */
  readonly links: number;
  readonly leads: number;
  readonly sales: number;
}

/** What can be asked of events, and what the main side is given of a store that another thread has. */
export interface EventSource extends EventReader, EventFollower, ClickPages {
  /** Writes all that match, in the order of the query, into a new file; `limit`, `offset` and `after` do not count. */
  writeParquet(query: ListQuery, path: string, signal?: AbortSignal): Promise<void>;
}

export interface EventStore extends EventSource {
  /** Up to where everything is stored; undefined when nothing is yet. */
  committed(): Promise<Position | undefined>;
  /**
   * Where a batch ends that was begun after that and whose fate is unknown: the next one must end there too. Only
   * stores without transactions have such.
   */
  begun?(): Promise<Position | undefined>;
  /** Stores the batch and `upTo` together; a batch that is stored already changes nothing. */
  append(batch: EventBatch, upTo: Position): Promise<void>;
  findClick(id: string): Promise<ClickRecord | undefined>;
  /** Reads everything: for checks, not for requests. */
  count(): Promise<EventCounts>;
  close(): Promise<void>;
}
