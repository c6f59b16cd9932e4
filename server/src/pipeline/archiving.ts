// Extends the archive when a journal file is passed, and after a while in any case. Journal files are released
// when all sinks have passed them and the archive has held what was in them for some time.
import { extendArchive } from '../analytics/archive.ts';
import type { DuckdbStore } from '../analytics/duckdb.ts';
import { comparePositions, type Position } from '../events/journal.ts';
import type { Log } from '../kernel/log.ts';
import type { OpenedStore } from './event-sink.ts';

export interface Archiving {
  /** Told by the consumer how far all sinks are. */
  passed(upTo: Position): Promise<void>;
  /** Looks now and then by itself. Returns what ends that and waits for what is under way. */
  start(): () => Promise<void>;
}

export interface ArchivingOptions {
  readonly store: OpenedStore<DuckdbStore>;
  readonly archivePath: string;
  readonly archiveAgeMs: number;
  readonly keepMs: number;
  readonly release: (upTo: Position) => Promise<void>;
  readonly log: Log;
}

export function createArchiving(options: ArchivingOptions): Archiving {
  const { store, archivePath, archiveAgeMs, keepMs, log } = options;
  let reached: Position | undefined;
  let extendedMs = performance.now();
  let marked: Position | undefined;
  let kept: { upTo: Position; sinceMs: number }[] = [];
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: two would write the same file. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  }

  async function extend(): Promise<void> {
    extendedMs = performance.now();
    keep(await extendArchive(await store.get(), archivePath));
    await releaseOld();
  }

  /** From now on the archive holds everything up to there; one mark a journal file is enough. */
  function keep(archived: Position | undefined): void {
    if (!archived || !reached) return;
    const upTo = comparePositions(archived, reached) < 0 ? archived : reached;
    if (marked && comparePositions(upTo, marked) <= 0) return;
    marked = upTo;
    kept.push({ upTo, sinceMs: performance.now() });
  }

  async function releaseOld(): Promise<void> {
    const oldMs = performance.now() - keepMs;
    const upTo = kept.findLast(({ sinceMs }) => sinceMs <= oldMs)?.upTo;
    if (!upTo) return;
    await options.release(upTo);
    kept = kept.filter(({ sinceMs }) => sinceMs > oldMs);
  }

  async function look(): Promise<void> {
    if (reached && performance.now() - extendedMs >= archiveAgeMs) await extend();
    await releaseOld();
  }

  return {
    passed: (upTo) =>
      inTurn(async () => {
        reached = upTo;
        const { from } = (await store.get()).unarchived();
        if (!from || from.segment < upTo.segment) return extend();
        // The store was ahead of the other sinks when it was archived: now they have followed.
        if (upTo.segment !== marked?.segment) keep(from);
        await releaseOld();
      }),
    start() {
      const timer = setInterval(() => {
        inTurn(look).catch((error: unknown) =>
          log.warn({ error: String(error) }, 'The archive could not be extended; it is tried again.'),
        );
      }, archiveAgeMs / 4);
      return async () => {
        clearInterval(timer);
        await last;
      };
    },
  };
}
