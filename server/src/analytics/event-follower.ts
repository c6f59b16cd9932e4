// Events in the order in which they were stored. By time, one that arrives late would stand before what a follower
// has seen already and be missed; in this order nothing ever comes before what was read.
import type { EventKind, EventRecords, Query } from './query.ts';

export interface FollowQuery<K extends EventKind = EventKind> extends Query {
  readonly kind: K;
  /** Cursors: what follows the one, up to the other. */
  readonly after: string;
  readonly upTo: string;
  readonly limit: number;
}

export interface Followed<K extends EventKind = EventKind> {
  readonly events: readonly { readonly cursor: string; readonly record: EventRecords[K] }[];
  /** Where to go on. */
  readonly cursor: string;
  /** There may be more before `upTo`. */
  readonly more: boolean;
}

export interface EventFollower {
  /** The cursor after all that is stored. */
  findEnd(signal?: AbortSignal): Promise<string>;
  follow<K extends EventKind>(query: FollowQuery<K>, signal?: AbortSignal): Promise<Followed<K>>;
}

/** A place in the order: a batch is stored as a whole, and its events are ordered by id. */
export interface FollowerPlace {
  /** Which store the numbers of batches belong to: one that was rebuilt counts anew. */
  readonly store: string;
  readonly batch: number;
  /** Empty: after the whole batch. */
  readonly id: string;
  /** The time of the last event, to go on by where the store is another one. */
  readonly timeMs: number;
}

export function formatCursor({ store, batch, id, timeMs }: FollowerPlace): string {
  return `${store}.${batch}.${timeMs}.${encodeURIComponent(id)}`;
}

/** Undefined when it is not one of our cursors. */
export function parseCursor(text: string): FollowerPlace | undefined {
  const [, store, batch, timeMs, id] = /^([\w-]{1,64})\.(\d{1,15})\.(\d{1,15})\.([^.].*|)$/.exec(text) ?? [];
  if (store === undefined || id === undefined) return undefined;
  try {
    return { store, batch: Number(batch), timeMs: Number(timeMs), id: decodeURIComponent(id) };
  } catch {
    return undefined;
  }
}
