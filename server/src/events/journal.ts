// The journal's port: an append-only sequence of records, each written before the answer that it belongs to
// leaves. Positions only grow and are never used twice, whatever was cut, lost or deleted, so a sink can keep
// one in its own store and go on from there.

/** The place just after a record. */
export interface Position {
  readonly segment: number;
  readonly offset: number;
}

export interface JournalRecord {
  readonly payload: Uint8Array;
  readonly position: Position;
}

export interface Journal {
  /**
   * Copies the record and writes it together with all others of this event-loop turn. Resolves after that
   * write (with `syncIntervalMs: 0` after the sync): true when every record of the turn is in the journal,
   * false when some could not be written and are counted as lost. Never rejects: a visit goes on.
   */
  append(payload: Uint8Array): Promise<boolean>;
  /** Resolves when all that was appended before can be read: true; false when some of it is lost. */
  written(): Promise<boolean>;
  /** Resolves when all that was appended before is safe on disk: true; false when it may not be. */
  sync(): Promise<boolean>;
  state(): JournalState;
  /** What `upTo` has passed may be deleted; the caller says so only when every sink is at least there. */
  release(upTo: Position): Promise<void>;
  /** Writes and syncs what is left. Later records count as lost. */
  close(): Promise<void>;
}

export interface JournalState {
  /** The last write or sync failed, and none has succeeded since. */
  readonly failing: boolean;
  readonly lostRecords: number;
  readonly syncFailures: number;
  /** Written but not yet known to be on disk: what a power failure now could take. */
  readonly unsyncedBytes: number;
  readonly segments: number;
  readonly bytes: number;
  readonly lastError: string | undefined;
}

export interface JournalReader {
  /** The records after `from` (undefined: from the oldest) that are there now; none at the end. */
  read(from: Position | undefined, limits: ReadLimits): Promise<ReadResult>;
  /** The place after all that is there now; undefined when there is nothing. */
  end(): Promise<Position | undefined>;
  /** A mark to take before a read; `changed` then cannot miss what was appended after it. */
  mark(): number;
  /** Resolves when the journal may have grown since the mark, at the latest after the poll interval. */
  changed(mark: number): Promise<void>;
  /** Wakes everyone who waits in `changed`. */
  wake(): void;
}

export interface ReadLimits {
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Reads no record that ends after this. */
  readonly until?: Position | undefined;
}

export interface ReadResult {
  readonly records: readonly JournalRecord[];
  /** Where to go on; can be past the last record when a segment ended. */
  readonly next: Position | undefined;
  /** There was nothing more at that moment: no limit ended the reading. */
  readonly atEnd: boolean;
}

/** Bytes that could not be read as records; every one is reported, none is passed over in silence. */
export interface Damage {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
  readonly reason: DamageReason;
}

/**
 * torn: the segment ends in an incomplete record. checksum: unreadable bytes, with or without good records
 * after them. header: the segment cannot be read at all. missing: a segment is gone (bytes unknown, 0).
 */
export type DamageReason = 'torn' | 'checksum' | 'header' | 'missing';

export function comparePositions(a: Position, b: Position): number {
  return a.segment - b.segment || a.offset - b.offset;
}

/** The same where no position stands for the beginning. */
export function compareStarts(a: Position | undefined, b: Position | undefined): number {
  if (!a || !b) return Number(a !== undefined) - Number(b !== undefined);
  return comparePositions(a, b);
}

/** Text whose order is the order of positions. */
export function formatPosition({ segment, offset }: Position): string {
  return `${String(segment).padStart(16, '0')}:${String(offset).padStart(12, '0')}`;
}

export function parsePosition(text: string): Position {
  const match = /^(\d{16}):(\d{12})$/.exec(text);
  if (!match) throw new Error(`Not a journal position: ${text}`);
  return { segment: Number(match[1]), offset: Number(match[2]) };
}
