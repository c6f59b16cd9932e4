// The clicks that the newest part of a journal holds, oldest first: for what is rebuilt at a start.
import { type Click, decodeEvent } from './event.ts';
import { createFileReader } from './file-reader.ts';
import type { Position } from './journal.ts';
import { HEADER_BYTES } from './segment.ts';

const LIMITS = { maxRecords: 5_000, maxBytes: 4 * 1024 * 1024 };

/**
 * Reads whole segments, about `maxBytes` of them, up to what is there now. `sizes`: the segments, by number.
 * What cannot be read is passed over: those who store events report it.
 */
export async function* readRecentClicks(
  path: string,
  sizes: ReadonlyMap<number, number>,
  maxBytes: number,
): AsyncGenerator<Click> {
  const reader = createFileReader({ path, onDamage: () => {} });
  let from = startOf(sizes, maxBytes);
  for (;;) {
    const { records, next } = await reader.read(from, LIMITS);
    if (records.length === 0) return;
    for (const { payload } of records) {
      const decoded = decodeEvent(payload);
      if ('event' in decoded && decoded.event.kind === 'click') yield decoded.event.click;
    }
    from = next;
  }
}

function startOf(sizes: ReadonlyMap<number, number>, maxBytes: number): Position | undefined {
  let left = maxBytes;
  let first: number | undefined;
  for (const segment of [...sizes.keys()].sort((a, b) => b - a)) {
    left -= sizes.get(segment) as number;
    if (left < 0 && first !== undefined) break;
    first = segment;
  }
  return first === undefined ? undefined : { segment: first, offset: HEADER_BYTES };
}
