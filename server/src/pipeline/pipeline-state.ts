// What the pipeline tells of itself: how far each sink is, how far behind the journal's end, what it left out.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SinkState } from '../events/consumer.ts';
import type { DropReason } from '../events/enrich.ts';
import type { Position } from '../events/journal.ts';
import { HEADER_BYTES, listSegmentNumbers, segmentName } from '../events/segment.ts';

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

/** Bytes of the journal after a position. */
export async function bytesAfter(journalPath: string, position: Position | undefined): Promise<number> {
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
