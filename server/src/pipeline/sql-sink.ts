// Sinks that write SQL. The pipeline thread adds a batch up and sends the sum; the main side stores it together
// with the position, from the place the sender began at and no other, so nothing is counted twice even when a
// thread that died left a batch under way.
import type { Database } from '../db/database.ts';
import type { SinkOffsets } from '../db/sink-offset.ts';
import type { Sink } from '../events/consumer.ts';
import { formatPosition, type Position, parsePosition } from '../events/journal.ts';
import type { Calls } from './thread-calls.ts';

/** The main side of a sink. */
export interface SqlSink {
  readonly name: string;
  committed(): Promise<Position | undefined>;
  append(step: SqlStep): Promise<void>;
  /** Workspaces whose clicks it wants as they are, not only added up. */
  heardWorkspaces?(): Promise<readonly string[]>;
}

export interface SqlStep {
  readonly from: Position | undefined;
  readonly upTo: Position;
  readonly batch: unknown;
}

export function createSqlSink<B>(parts: {
  name: string;
  db: Database;
  offsets: SinkOffsets;
  offsetName: string;
  /** Runs in the transaction that stores the position. */
  store(batch: B): Promise<void>;
  heardWorkspaces?: () => Promise<readonly string[]>;
}): SqlSink {
  const { name, db, offsets, offsetName, store, heardWorkspaces } = parts;
  return {
    name,
    ...(heardWorkspaces && { heardWorkspaces }),
    async committed() {
      const text = await offsets.find(offsetName);
      return text === undefined ? undefined : parsePosition(text);
    },
    append: ({ from, upTo, batch }) =>
      db.write(async () => {
        await offsets.advance(offsetName, from && formatPosition(from), formatPosition(upTo));
        await store(batch as B);
      }),
  };
}

/** Asked for every batch that has clicks: few are heard of, and who hears may change at any time. */
export type HeardWorkspaces = () => Promise<ReadonlySet<string>>;

/** The pipeline's side: adds up and sends. */
export function remoteSink<E>(
  name: string,
  calls: Calls,
  sum: (events: readonly E[], heard: HeardWorkspaces) => unknown,
): Sink<E> {
  const heard: HeardWorkspaces = async () =>
    new Set(await calls.call<readonly string[]>('sinkHeardWorkspaces', name));
  let last: Position | undefined;
  return {
    name,
    async committed() {
      last = await calls.call<Position | undefined>('sinkCommitted', name);
      return last;
    },
    async append(events, upTo) {
      const batch = await sum(events, heard);
      await calls.call('sinkAppend', { name, step: { from: last, upTo, batch } });
      last = upTo;
    },
  };
}
