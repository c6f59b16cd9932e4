// Waits until every sink has what was in the journal at the call, also while more and more comes in.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Consumer } from '../events/consumer.ts';
import { comparePositions, type Position } from '../events/journal.ts';
import { listSegmentNumbers, segmentName } from '../events/segment.ts';

const LOOK_EVERY_MS = 20;

export async function settled(consumer: Consumer, journalPath: string): Promise<void> {
  const end = await findEnd(journalPath);
  const stop = new AbortController();
  // The first tells when nothing more comes, also where unreadable bytes keep the position from the end.
  await Promise.race([consumer.idle(), reached(consumer, end, stop.signal)]);
  stop.abort();
}

async function reached(consumer: Consumer, end: Position | undefined, signal: AbortSignal): Promise<void> {
  const isThere = (position: Position | undefined) =>
    !end || (position !== undefined && comparePositions(position, end) >= 0);
  while (!signal.aborted && !consumer.state().every(({ position }) => isThere(position))) {
    await pause(LOOK_EVERY_MS);
  }
}

async function findEnd(journalPath: string): Promise<Position | undefined> {
  const segment = listSegmentNumbers(await readdir(journalPath)).at(-1);
  if (segment === undefined) return undefined;
  return { segment, offset: (await stat(join(journalPath, segmentName(segment)))).size };
}
