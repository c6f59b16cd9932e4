// Reads the journal from its directory alone, so it works in any thread or process. The newest segment is read
// up to the first record that is not whole yet; in an older one such a record is damage: it is skipped up to
// the next good record and reported once.
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  comparePositions,
  type Damage,
  type JournalReader,
  type JournalRecord,
  type Position,
  type ReadLimits,
  type ReadResult,
} from './journal.ts';
import {
  checkRecord,
  decodeHeader,
  findRecord,
  HEADER_BYTES,
  INVALID,
  listSegmentNumbers,
  RECORD_OVERHEAD_BYTES,
  type SearchBudget,
  type SegmentHeader,
  segmentName,
} from './segment.ts';
import { createWake, type Wake } from './wake.ts';

export interface FileReaderOptions {
  path: string;
  onDamage(damage: Damage): void;
  /** Shared with the writer's thread; without it the reader polls. */
  wake?: Wake;
  pollMs?: number;
  chunkBytes?: number;
}

/** What one call of `read` has gathered. */
interface Gathering {
  readonly records: JournalRecord[];
  readonly limits: ReadLimits;
  bytes: number;
  next: Position | undefined;
}

/** A segment open for reading, with how far it may be trusted. */
interface OpenSegment {
  readonly segment: number;
  readonly handle: FileHandle;
  readonly sizeBytes: number;
  /** A later segment exists: nothing more comes, and what is not whole never will be. */
  readonly sealed: boolean;
}

/** The rest of a damaged segment, kept so that much damage in one file costs one reading. */
interface Rest {
  readonly segment: number;
  readonly start: number;
  readonly bytes: Buffer;
  readonly budget: SearchBudget;
}

type Outcome = 'full' | 'end' | 'waiting';

const SEARCH_FACTOR = 16;
const KEPT_HEADERS = 64;
const KEPT_REPORTS = 10_000;

export function createFileReader(options: FileReaderOptions): JournalReader {
  const { path, wake = createWake(), pollMs = 100, chunkBytes = 256 * 1024 } = options;
  const report = onlyOnce(options.onDamage);
  const headers = createHeaderCache();
  const rests: { kept: Rest | undefined } = { kept: undefined };

  /** `passed` is the segment before this one, or the one the reader was in. */
  async function readSegment(segment: number, passed: number, sealed: boolean, into: Gathering) {
    const handle = await openIfThere(join(path, segmentName(segment)));
    if (!handle) return 'end';
    try {
      const file: OpenSegment = { segment, handle, sizeBytes: (await handle.stat()).size, sealed };
      const header = await headers.get(file);
      if (!header) return withoutHeader(file, report);
      if (header.previous > passed) {
        report({ segment: header.previous, offset: 0, bytes: 0, reason: 'missing' });
      }
      if (into.next?.segment !== segment) into.next = { segment, offset: HEADER_BYTES };
      return await readRecords(file, header.seed, into, { chunkBytes, rests, report });
    } finally {
      await handle.close();
    }
  }

  async function read(from: Position | undefined, limits: ReadLimits): Promise<ReadResult> {
    const into: Gathering = { records: [], limits, bytes: 0, next: from };
    // Listed before any is opened: a segment with a later one beside it was complete already.
    const numbers = listSegmentNumbers(await readdir(path));
    let ahead = numbers.filter((segment) => !from || segment >= from.segment);
    // A reader that begins with the oldest segment cannot miss what was deleted before.
    let passed = from?.segment ?? Number.MAX_SAFE_INTEGER;
    let outcome: Outcome = 'end';
    while (outcome === 'end' && ahead[0] !== undefined) {
      const segment = ahead[0];
      outcome = await readSegment(segment, passed, ahead.length > 1, into);
      passed = segment;
      ahead = ahead.slice(1);
    }
    return { records: into.records, next: into.next, atEnd: outcome !== 'full' };
  }

  return {
    read,
    end: () => findEnd(path),
    mark: wake.mark,
    changed: (mark) => wake.changed(mark, pollMs),
    wake: wake.notify,
  };
}

async function findEnd(path: string): Promise<Position | undefined> {
  const segment = listSegmentNumbers(await readdir(path)).at(-1);
  if (segment === undefined) return undefined;
  return { segment, offset: (await stat(join(path, segmentName(segment)))).size };
}

interface ReadTools {
  chunkBytes: number;
  rests: { kept: Rest | undefined };
  report(damage: Damage): void;
}

async function readRecords(
  file: OpenSegment,
  seed: number,
  into: Gathering,
  { chunkBytes, rests, report }: ReadTools,
): Promise<Outcome> {
  let at = into.next?.offset ?? HEADER_BYTES;
  let wanted = chunkBytes;
  while (at < file.sizeBytes) {
    const left = file.sizeBytes - at;
    const asked = Math.min(wanted, left);
    const chunk = keptBytes(rests.kept, file, at) ?? (await readBytes(file.handle, at, asked));
    // Cut shorter since its size was taken: look again later.
    if (chunk.length < asked) return 'waiting';
    const taken = takeRecords(chunk, at, seed, file.segment, into);
    if (taken === 'full') return 'full';
    at += taken.end;
    if (taken.needs > 0 && taken.needs <= left - taken.end) {
      wanted = Math.max(chunkBytes, taken.needs);
    } else if (at < file.sizeBytes) {
      if (!file.sealed) return 'waiting';
      rests.kept = keepRest(rests.kept, file, at, await restBytes(rests.kept, file, at));
      at = skipDamage(rests.kept, at, seed, taken.needs > 0, report);
    }
  }
  if (rests.kept?.segment === file.segment) rests.kept = undefined;
  return file.sealed ? 'end' : 'waiting';
}

/** Takes whole records from the chunk; says where it stopped and how many bytes the next one needs. */
function takeRecords(
  chunk: Buffer,
  start: number,
  seed: number,
  segment: number,
  into: Gathering,
): 'full' | { end: number; needs: number } {
  const { maxRecords, maxBytes, until } = into.limits;
  let at = 0;
  for (;;) {
    if (into.records.length >= maxRecords || into.bytes >= maxBytes) return 'full';
    const end = checkRecord(chunk, at, seed);
    if (end <= INVALID) return { end: at, needs: -end };
    const position = { segment, offset: start + end };
    if (until && comparePositions(position, until) > 0) return 'full';
    const payload = chunk.subarray(at + RECORD_OVERHEAD_BYTES, end);
    into.records.push({ payload, position });
    into.bytes += payload.length;
    into.next = position;
    at = end;
  }
}

function skipDamage(
  rest: Rest,
  at: number,
  seed: number,
  incomplete: boolean,
  report: (damage: Damage) => void,
): number {
  const found = rest.start + findRecord(rest.bytes, at - rest.start + 1, seed, rest.budget);
  const atEnd = found === rest.start + rest.bytes.length;
  report({
    segment: rest.segment,
    offset: at,
    bytes: found - at,
    reason: atEnd && incomplete ? 'torn' : 'checksum',
  });
  return found;
}

function keptBytes(rest: Rest | undefined, file: OpenSegment, at: number): Buffer | undefined {
  if (rest?.segment !== file.segment || at < rest.start) return undefined;
  return rest.bytes.subarray(at - rest.start);
}

async function restBytes(rest: Rest | undefined, file: OpenSegment, at: number): Promise<Buffer | undefined> {
  if (keptBytes(rest, file, at)) return undefined;
  return readBytes(file.handle, at, file.sizeBytes - at);
}

function keepRest(rest: Rest | undefined, file: OpenSegment, at: number, bytes: Buffer | undefined): Rest {
  if (rest && !bytes) return rest;
  const all = bytes ?? Buffer.alloc(0);
  return { segment: file.segment, start: at, bytes: all, budget: { bytes: all.length * SEARCH_FACTOR } };
}

function withoutHeader(file: OpenSegment, report: (damage: Damage) => void): Outcome {
  if (!file.sealed) return 'waiting';
  // An empty file was cut to nothing when the journal was opened, and reported then.
  if (file.sizeBytes > 0) {
    report({ segment: file.segment, offset: 0, bytes: file.sizeBytes, reason: 'header' });
  }
  return 'end';
}

function createHeaderCache() {
  const kept = new Map<number, SegmentHeader>();
  return {
    async get(file: OpenSegment): Promise<SegmentHeader | undefined> {
      const known = kept.get(file.segment);
      if (known || file.sizeBytes === 0) return known;
      const header = decodeHeader(await readBytes(file.handle, 0, Math.min(HEADER_BYTES, file.sizeBytes)));
      if (!header) return undefined;
      if (kept.size >= KEPT_HEADERS) kept.clear();
      kept.set(file.segment, header);
      return header;
    },
  };
}

async function readBytes(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Several sinks pass the same place; the place is reported once. */
function onlyOnce(onDamage: (damage: Damage) => void): (damage: Damage) => void {
  const reported = new Set<string>();
  return (damage) => {
    const place = `${damage.segment}:${damage.offset}`;
    if (reported.has(place)) return;
    if (reported.size >= KEPT_REPORTS) reported.clear();
    reported.add(place);
    onDamage(damage);
  };
}
