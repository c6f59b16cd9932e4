// Looks at the journal's files before writing goes on: cuts an incomplete end off the newest segment and says
// precisely what was unreadable. Older segments are checked by the reader as it passes them.
import type { Damage } from './journal.ts';
import type { JournalDirectory } from './journal-files.ts';
import {
  checkRecord,
  decodeHeader,
  findRecord,
  HEADER_BYTES,
  INVALID,
  listSegmentNumbers,
  type SearchBudget,
  segmentName,
} from './segment.ts';

export interface RecoveryReport {
  /** Sizes after the cut, by number. */
  readonly sizes: ReadonlyMap<number, number>;
  readonly newestSegment: number;
  /** Good records in the newest segment. */
  readonly records: number;
  /** The incomplete end that was cut off. */
  readonly cut: Damage | undefined;
  /** Unreadable bytes that stay where they are, with good records after them or without a readable header. */
  readonly damages: readonly Damage[];
}

interface Scan {
  records: number;
  cut: Damage | undefined;
  damages: Damage[];
}

const SEARCH_FACTOR = 16;

export async function recoverJournal(directory: JournalDirectory): Promise<RecoveryReport> {
  const sizes = new Map<number, number>();
  const numbers = listSegmentNumbers(await directory.list());
  for (const segment of numbers) sizes.set(segment, await directory.size(segmentName(segment)));
  const newestSegment = numbers.at(-1) ?? 0;
  if (newestSegment === 0) return { sizes, newestSegment, records: 0, cut: undefined, damages: [] };
  const name = segmentName(newestSegment);
  const scan = scanSegment(newestSegment, await directory.read(name));
  if (scan.cut) {
    await directory.truncate(name, scan.cut.offset);
    sizes.set(newestSegment, scan.cut.offset);
  }
  return { sizes, newestSegment, ...scan };
}

function scanSegment(segment: number, bytes: Buffer): Scan {
  const header = decodeHeader(bytes);
  if (header) return scanRecords(segment, bytes, header.seed);
  const damage = (reason: Damage['reason']): Damage => ({ segment, offset: 0, bytes: bytes.length, reason });
  if (bytes.length === 0) return { records: 0, cut: undefined, damages: [] };
  // Shorter than a header: the process ended while it made the segment, and nothing was in it.
  if (bytes.length < HEADER_BYTES) return { records: 0, cut: damage('torn'), damages: [] };
  return { records: 0, cut: undefined, damages: [damage('header')] };
}

function scanRecords(segment: number, bytes: Buffer, seed: number): Scan {
  const budget: SearchBudget = { bytes: bytes.length * SEARCH_FACTOR };
  const scan: Scan = { records: 0, cut: undefined, damages: [] };
  // A file cut inside the second copy of its header has no record.
  let at = Math.min(HEADER_BYTES, bytes.length);
  while (at < bytes.length) {
    const end = checkRecord(bytes, at, seed);
    if (end > 0) {
      scan.records += 1;
      at = end;
      continue;
    }
    const next = findRecord(bytes, at + 1, seed, budget);
    const reason = next === bytes.length && end !== INVALID ? 'torn' : 'checksum';
    const damage: Damage = { segment, offset: at, bytes: next - at, reason };
    if (next < bytes.length) scan.damages.push(damage);
    else scan.cut = damage;
    at = next;
  }
  return scan;
}
