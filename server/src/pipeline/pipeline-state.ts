// What the pipeline tells of itself: how far each sink is, how far behind the journal's end, what it left out.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Consumer, SinkState } from '../events/consumer.ts';
import type { DropReason } from '../events/enrich.ts';
import { compareStarts, type Position } from '../events/journal.ts';
import { HEADER_BYTES, listSegmentNumbers, segmentName } from '../events/segment.ts';
import { systemClock } from '../kernel/clock.ts';

export interface PipelineState {
  readonly running: boolean;
  /** How often the thread had to be started again. */
  readonly restarts: number;
  readonly sinks: readonly SinkState[];
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
  /** Journal bytes that the slowest sink has not stored. */
  readonly lagBytes: number;
  /** How long ago the newest event that it has stored happened; 0 when it has all. */
  readonly lagSeconds: number;
  readonly priorityLowered: boolean;
}

/** What comes from the thread. */
export type ThreadState = Omit<PipelineState, 'running' | 'restarts'>;

export const NO_STATE: ThreadState = {
  sinks: [],
  dropped: {},
  lagBytes: 0,
  lagSeconds: 0,
  priorityLowered: false,
};

export async function readThreadState(
  consumer: Consumer,
  journalPath: string,
  known: { drops: ReadonlyMap<DropReason, number>; newestMs: number; priorityLowered: boolean },
): Promise<ThreadState> {
  const sinks = consumer.state();
  const [slowest] = sinks.map(({ position }) => position).sort(compareStarts);
  const lagBytes = await bytesAfter(journalPath, slowest);
  const behindMs = known.newestMs === 0 ? 0 : Math.max(0, systemClock.now() - known.newestMs);
  return {
    sinks,
    dropped: Object.fromEntries(known.drops),
    lagBytes,
    lagSeconds: lagBytes === 0 ? 0 : behindMs / 1_000,
    priorityLowered: known.priorityLowered,
  };
}

/** Bytes of the journal after a position. */
async function bytesAfter(journalPath: string, position: Position | undefined): Promise<number> {
  let total = 0;
  for (const segment of listSegmentNumbers(await readdir(journalPath))) {
    if (position && segment < position.segment) continue;
    // One that was deleted meanwhile is not behind anybody.
    const size = await stat(join(journalPath, segmentName(segment))).then(
      (found) => found.size,
      () => 0,
    );
    const from = segment === position?.segment ? position.offset : Math.min(size, HEADER_BYTES);
    total += Math.max(0, size - from);
  }
  return total;
}
