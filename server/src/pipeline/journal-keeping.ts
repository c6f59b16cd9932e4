// Releases journal files where the event store is the keeper of events: some time after all sinks have passed them,
// since the visitor window is rebuilt from the journal at a start.
import type { Position } from '../events/journal.ts';
import type { Log } from '../kernel/log.ts';
import type { Archiving } from './archiving.ts';

export interface JournalKeepingOptions {
  readonly keepMs: number;
  readonly everyMs: number;
  readonly release: (upTo: Position) => Promise<void>;
  readonly log: Log;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

export function createJournalKeeping(options: JournalKeepingOptions): Archiving {
  const { keepMs, everyMs, release, log, now = () => performance.now() } = options;
  /** One mark a journal file is enough. */
  let passed: { upTo: Position; sinceMs: number }[] = [];

  async function releaseOld(): Promise<void> {
    const oldMs = now() - keepMs;
    const upTo = passed.findLast(({ sinceMs }) => sinceMs <= oldMs)?.upTo;
    if (!upTo) return;
    await release(upTo);
    passed = passed.filter(({ sinceMs }) => sinceMs > oldMs);
  }

  return {
    async passed(upTo) {
      if (upTo.segment !== passed.at(-1)?.upTo.segment) passed.push({ upTo, sinceMs: now() });
      await releaseOld();
    },
    start() {
      let last: Promise<unknown> = Promise.resolve();
      const timer = setInterval(() => {
        last = releaseOld().catch((error: unknown) =>
          log.warn({ error: String(error) }, 'Old journal files could not be released.'),
        );
      }, everyMs);
      return async () => {
        clearInterval(timer);
        await last;
      };
    },
  };
}
