// The journal on local files. All records of an event-loop turn go to the kernel in one write before any of
// their answers leaves; syncs to disk are grouped. Disk trouble never reaches a visit: it shows in `state`,
// what could not be written is counted, and writing resumes by itself.
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createGroupSync } from './group-sync.ts';
import type { Journal, Position } from './journal.ts';
import type { JournalDirectory } from './journal-files.ts';
import { createJournalHealth, type JournalHealth } from './journal-health.ts';
import { type RecoveryReport, recoverJournal } from './recovery.ts';
import { MAX_PAYLOAD_BYTES, putRecord, RECORD_OVERHEAD_BYTES } from './segment.ts';
import { createSegmentWriter, type SegmentWriter } from './segment-writer.ts';

export interface FileJournalOptions {
  directory: JournalDirectory;
  clock: Clock;
  log: Log;
  /** Called after each write with the place where it ended, to wake readers. */
  onWrite?: (end: Position | undefined) => void;
  segmentBytes?: number;
  /** A segment that holds records is closed after this time, so that raw visits can be deleted. */
  segmentAgeMs?: number;
  /** How long a record may wait for its sync; 0: it is synced before its answer leaves. */
  syncIntervalMs?: number;
  /** While writing fails, how often to try again. */
  retryMs?: number;
  /** Above this the journal takes no more, and leaves the rest of the disk to others. */
  maxBytes?: number;
  /** The furthest position a sink holds: numbering goes on after it even if the files are gone. */
  after?: Position | undefined;
}

export interface FileJournal extends Journal {
  /** What opening found. */
  readonly recovery: RecoveryReport;
  /** Where the records of this run begin; undefined when no file could be made yet. */
  readonly begin: Position | undefined;
}

interface Turn {
  readonly promise: Promise<boolean>;
  readonly resolve: (allStored: boolean) => void;
  lostRecords: number;
}

const MIB = 1024 * 1024;
/** A turn with more than this takes several writes. */
const BUFFER_BYTES = MIB;

export async function openFileJournal(options: FileJournalOptions): Promise<FileJournal> {
  const { directory, log, segmentAgeMs = 600_000, syncIntervalMs = 50 } = options;
  const recovery = await recoverJournal(directory);
  logRecovery(log, recovery);
  const health = createJournalHealth(log);
  const sync = createGroupSync({
    directory,
    intervalMs: syncIntervalMs,
    onSuccess: health.synced,
    onFailure(error, file, unsyncedBytes) {
      health.syncFailed(error, unsyncedBytes);
      if (file) writer.abandon(file);
    },
  });
  const writer = createSegmentWriter({
    directory,
    clock: options.clock,
    sync,
    segmentBytes: options.segmentBytes ?? 64 * MIB,
    maxBytes: options.maxBytes ?? 8 * 1024 * MIB,
    existing: recovery.sizes,
    lastNumber: Math.max(recovery.newestSegment, options.after?.segment ?? 0),
  });
  openFirst(writer, health);
  const retention = createRetention(writer, segmentAgeMs, log);
  const turns = createTurns({
    store: createStore(writer, health, options.retryMs ?? 250),
    lost: health.lost,
    settle(turn) {
      retention.wrote();
      options.onWrite?.(writer.end);
      const stored = turn.lostRecords === 0;
      if (syncIntervalMs > 0) turn.resolve(stored);
      else void sync.sync().then((synced) => turn.resolve(stored && synced));
    },
  });
  return {
    recovery,
    begin: writer.end,
    append: turns.append,
    written: turns.finish,
    sync: () => turns.finish().then((stored) => sync.sync().then((synced) => stored && synced)),
    state: () => stateOf(writer, health, sync.unsyncedBytes()),
    release: retention.release,
    async close() {
      await turns.close();
      retention.close();
      writer.close();
      await sync.sync();
    },
  };
}

function stateOf(writer: SegmentWriter, health: JournalHealth, unsyncedBytes: number) {
  const { failing, lostRecords, syncFailures, lastError } = health;
  return {
    failing,
    lostRecords,
    syncFailures,
    unsyncedBytes,
    segments: writer.segments,
    bytes: writer.bytes,
    lastError,
  };
}

function logRecovery(log: Log, { cut, damages, newestSegment, records }: RecoveryReport): void {
  if (cut) log.warn({ ...cut, records }, 'The journal ended in an incomplete record, which was cut off.');
  for (const damage of damages) log.error({ ...damage }, 'The journal has unreadable bytes.');
  log.debug({ segment: newestSegment, records }, 'The journal was checked.');
}

function openFirst(writer: SegmentWriter, health: JournalHealth): void {
  try {
    writer.open();
  } catch (error) {
    health.writeFailed(error);
  }
}

/** Writes a buffer of records and returns how many were lost; while writing fails, tries only now and then. */
function createStore(writer: SegmentWriter, health: JournalHealth, retryMs: number) {
  let retryAtMs = 0;
  return (buffer: Buffer, end: number, records: number): number => {
    if (health.writeFailing && performance.now() < retryAtMs) return records;
    const { storedRecords, error } = writer.write(buffer, end);
    if (error !== undefined) health.writeFailed(error);
    if (storedRecords === records) {
      health.wrote();
      return 0;
    }
    retryAtMs = performance.now() + retryMs;
    return records - storedRecords;
  };
}

interface TurnsOptions {
  store(buffer: Buffer, end: number, records: number): number;
  lost(records: number): void;
  settle(turn: Turn): void;
}

/** Gathers the records of one event-loop turn; the check phase comes right after the requests were read. */
function createTurns({ store, lost, settle }: TurnsOptions) {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let used = 0;
  let records = 0;
  let turn: Turn | undefined;
  let closed = false;

  function write(): void {
    if (records === 0 || !turn) return;
    countLost(store(buffer, used, records), turn);
    used = 0;
    records = 0;
  }

  function countLost(count: number, of: Turn): void {
    of.lostRecords += count;
    if (count > 0) lost(count);
  }

  function end(): void {
    const ended = turn;
    if (!ended) return;
    write();
    turn = undefined;
    settle(ended);
  }

  function begin(): Turn {
    setImmediate(end);
    return { ...Promise.withResolvers<boolean>(), lostRecords: 0 };
  }

  /** A record that no buffer holds is written alone, after those before it. */
  function writeAlone(payload: Uint8Array, of: Turn): void {
    const own = Buffer.allocUnsafeSlow(payload.length + RECORD_OVERHEAD_BYTES);
    countLost(store(own, putRecord(own, 0, payload), 1), of);
  }

  return {
    append(payload: Uint8Array): Promise<boolean> {
      if (payload.length > MAX_PAYLOAD_BYTES)
        throw new RangeError('The record is too large for the journal.');
      if (closed) {
        lost(1);
        return Promise.resolve(false);
      }
      turn ??= begin();
      const bytes = payload.length + RECORD_OVERHEAD_BYTES;
      if (used + bytes > BUFFER_BYTES) write();
      if (bytes > BUFFER_BYTES) writeAlone(payload, turn);
      else {
        used = putRecord(buffer, used, payload);
        records += 1;
      }
      return turn.promise;
    },
    /** Resolves when the present turn, if any, is written. */
    finish: (): Promise<boolean> => turn?.promise ?? Promise.resolve(true),
    async close(): Promise<void> {
      closed = true;
      const last = turn?.promise;
      end();
      await last;
    },
  };
}

/** Deletes what all sinks have passed, also when the last of it is passed only by closing an old segment. */
function createRetention(writer: SegmentWriter, segmentAgeMs: number, log: Log) {
  let released: Position | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function release(upTo: Position): Promise<void> {
    released = upTo;
    await writer.release(upTo);
  }

  function closeOld(): void {
    timer = undefined;
    writer.rotate();
    if (!released) return;
    release(released).catch((error: unknown) =>
      log.warn({ error: String(error) }, 'Old journal files stay for now.'),
    );
  }

  return {
    release,
    wrote(): void {
      timer ??= setTimeout(closeOld, segmentAgeMs).unref();
    },
    close: () => clearTimeout(timer),
  };
}
