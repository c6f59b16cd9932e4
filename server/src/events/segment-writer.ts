// Writes records into numbered segment files. A segment in which a write or sync failed is cut after its last
// whole record and never written again, so that no position is ever used for two records.
import type { Clock } from '../kernel/clock.ts';
import { randomText } from '../kernel/ids.ts';
import type { GroupSync } from './group-sync.ts';
import type { Position } from './journal.ts';
import type { JournalDirectory, JournalFile } from './journal-files.ts';
import { encodeHeader, HEADER_BYTES, sealRecords, seedFrom, segmentName, wholeRecords } from './segment.ts';

export interface WriteResult {
  readonly storedRecords: number;
  /** Set when a write failed, even if a second attempt stored everything. */
  readonly error?: unknown;
}

export interface SegmentWriter {
  /** Writes the records laid out in [0, end) of the buffer; a failing segment is replaced once. */
  write(buffer: Buffer, end: number): WriteResult;
  /** Makes the first segment ahead of its first record; throws when it cannot. */
  open(): void;
  /** Goes on in a new segment if the present one holds records; keeps it when no new one can be made. */
  rotate(): void;
  /** Stops using the segment with this file. */
  abandon(file: JournalFile): void;
  /** Deletes the segments that the position has passed, never the newest one. */
  release(upTo: Position): Promise<void>;
  /** The place after what was written last; undefined before the first segment is made. */
  readonly end: Position | undefined;
  readonly segments: number;
  readonly bytes: number;
  close(): void;
}

export interface SegmentWriterOptions {
  directory: JournalDirectory;
  clock: Clock;
  sync: Pick<GroupSync, 'add' | 'wrote' | 'retire'>;
  segmentBytes: number;
  maxBytes: number;
  /** Sizes of the segments that are there, by number. */
  existing: ReadonlyMap<number, number>;
  /** Numbers go on after this one. */
  lastNumber: number;
}

interface Active {
  readonly segment: number;
  readonly file: JournalFile;
  readonly seed: number;
  offset: number;
}

export function createSegmentWriter(options: SegmentWriterOptions): SegmentWriter {
  const { sync } = options;
  const sizes = new Map(options.existing);
  const maker = createSegmentMaker(options, sizes);
  let active: Active | undefined;

  function begin(): Active {
    active = maker.make();
    return active;
  }

  function rotate(): void {
    const old = active;
    if (!old || old.offset === HEADER_BYTES) return;
    try {
      begin();
    } catch {
      return; // The old one still takes records; if it does not, its own write says so.
    }
    sync.retire(old.file);
  }

  function abandon(file: JournalFile): void {
    if (active?.file === file) active = undefined;
    sync.retire(file);
  }

  /** One attempt at [from, end): how far whole records got, and what stopped it. */
  function attempt(
    buffer: Buffer,
    from: number,
    end: number,
  ): { end: number; count: number; error?: unknown } {
    try {
      if (totalBytes(sizes) + end - from > options.maxBytes)
        throw new Error('The journal has reached its size limit.');
      if (active && active.offset >= options.segmentBytes) rotate();
      const segment = active ?? begin();
      sealRecords(buffer, from, end, segment.seed);
      const { taken, error } = pour(segment.file, buffer, from, end, segment.offset);
      const whole = wholeRecords(buffer, from, from + taken);
      segment.offset += whole.end - from;
      sizes.set(segment.segment, segment.offset);
      sync.wrote(segment.file, whole.end - from);
      if (error === undefined) return whole;
      cut(segment);
      abandon(segment.file);
      return { ...whole, error };
    } catch (error) {
      return { end: from, count: 0, error };
    }
  }

  return {
    write(buffer, end) {
      const first = attempt(buffer, 0, end);
      if (first.error === undefined) return { storedRecords: first.count };
      const second = attempt(buffer, first.end, end);
      return { storedRecords: first.count + second.count, error: second.error ?? first.error };
    },
    open: () => void begin(),
    rotate,
    abandon,
    release: (upTo) => removePassed(options.directory, sizes, upTo),
    get end() {
      return active && { segment: active.segment, offset: active.offset };
    },
    get segments() {
      return sizes.size;
    },
    get bytes() {
      return totalBytes(sizes);
    },
    close() {
      if (active) sync.retire(active.file);
      active = undefined;
    },
  };
}

function createSegmentMaker(options: SegmentWriterOptions, sizes: Map<number, number>): { make(): Active } {
  let number = options.lastNumber;
  let previous = Math.max(0, ...sizes.keys());
  return {
    make() {
      // A number is used once, also when making the segment fails: a reader may have seen the file.
      number += 1;
      const name = segmentName(number);
      const file = options.directory.create(name);
      const seed = seedFrom(randomText(24));
      const header = encodeHeader({
        segment: number,
        previous,
        createdMs: Math.max(0, options.clock.now()),
        seed,
      });
      const { error } = pour(file, header, 0, header.length, 0);
      if (error !== undefined) {
        file.close();
        options.directory.remove(name).catch(() => {});
        throw error;
      }
      previous = number;
      sizes.set(number, HEADER_BYTES);
      options.sync.add(file);
      options.sync.wrote(file, HEADER_BYTES);
      return { segment: number, file, seed, offset: HEADER_BYTES };
    },
  };
}

/** Writes all of [from, end), through short writes; says how much was taken when it cannot. */
function pour(
  file: JournalFile,
  buffer: Buffer,
  from: number,
  end: number,
  position: number,
): { taken: number; error?: unknown } {
  let taken = 0;
  try {
    while (from + taken < end) {
      const count = file.write(buffer, from + taken, end - from - taken, position + taken);
      if (count <= 0) throw new Error('The disk took no bytes.');
      taken += count;
    }
    return { taken };
  } catch (error) {
    return { taken, error };
  }
}

function cut(segment: Active): void {
  try {
    segment.file.truncate(segment.offset);
  } catch {
    // Then the torn end stays; the reader recognises it and reports it.
  }
}

async function removePassed(
  directory: JournalDirectory,
  sizes: Map<number, number>,
  upTo: Position,
): Promise<void> {
  // The newest stays: it may be in use, and it carries the numbering over a restart.
  const newest = Math.max(...sizes.keys());
  const passed = [...sizes].filter(
    ([segment, bytes]) =>
      segment < newest && (segment < upTo.segment || (segment === upTo.segment && upTo.offset >= bytes)),
  );
  for (const [segment] of passed) {
    await directory.remove(segmentName(segment)).catch(ignoreMissing);
    sizes.delete(segment);
  }
  if (passed.length > 0) await directory.sync();
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

function totalBytes(sizes: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const bytes of sizes.values()) total += bytes;
  return total;
}
