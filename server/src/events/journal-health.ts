// Whether the journal can write and sync at present, and what was lost. Logs when that changes, not for every
// record, so that a full disk does not fill the log as well.
import type { Log } from '../kernel/log.ts';

export interface JournalHealth {
  wrote(): void;
  writeFailed(error: unknown): void;
  lost(records: number): void;
  synced(): void;
  syncFailed(error: unknown, unsyncedBytes: number): void;
  readonly failing: boolean;
  readonly writeFailing: boolean;
  readonly lostRecords: number;
  readonly syncFailures: number;
  readonly lastError: string | undefined;
}

export function createJournalHealth(log: Log): JournalHealth {
  let [writeFailing, syncFailing] = [false, false];
  let [lostRecords, syncFailures] = [0, 0];
  let lastError: string | undefined;
  return {
    wrote() {
      if (writeFailing) log.info({ lostRecords }, 'The journal can be written again.');
      writeFailing = false;
    },
    writeFailed(error) {
      lastError = textOf(error);
      if (!writeFailing)
        log.error({ error: lastError }, 'The journal cannot be written: visits go on unrecorded.');
      writeFailing = true;
    },
    lost(records) {
      lostRecords += records;
    },
    synced() {
      if (syncFailing) log.info({ syncFailures }, 'The journal can be synced again.');
      syncFailing = false;
    },
    syncFailed(error, unsyncedBytes) {
      lastError = textOf(error);
      syncFailures += 1;
      if (!syncFailing || unsyncedBytes > 0) {
        log.error(
          { error: lastError, unsyncedBytes },
          'The journal could not be synced: it goes on in a new file.',
        );
      }
      syncFailing = true;
    },
    get failing() {
      return writeFailing || syncFailing;
    },
    get writeFailing() {
      return writeFailing;
    },
    get lostRecords() {
      return lostRecords;
    },
    get syncFailures() {
      return syncFailures;
    },
    get lastError() {
      return lastError;
    },
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
