// Brings written segments to the disk in groups, off the event loop, one pass at a time. A file whose sync
// failed is never trusted again: the kernel may have dropped its pages and would report the next sync as fine.
import type { JournalDirectory, JournalFile } from './journal-files.ts';

export interface GroupSync {
  /** A new file; its name needs a sync of the directory. */
  add(file: JournalFile): void;
  wrote(file: JournalFile, bytes: number): void;
  /** No more writes: the file is closed after its last sync. */
  retire(file: JournalFile): void;
  /** Everything written before the call is on disk: true; or a sync failed: false. */
  sync(): Promise<boolean>;
  unsyncedBytes(): number;
}

export interface GroupSyncOptions {
  directory: JournalDirectory;
  /** How long writes may wait for company; 0 leaves it to the caller. */
  intervalMs: number;
  /** The file is undefined when it was the directory that failed. */
  onFailure(error: unknown, file: JournalFile | undefined, unsyncedBytes: number): void;
  onSuccess(): void;
}

interface Entry {
  unsyncedBytes: number;
  retired: boolean;
}

export function createGroupSync(options: GroupSyncOptions): GroupSync {
  const entries = new Map<JournalFile, Entry>();
  const names = { dirty: false };
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<boolean> | undefined;
  let queued: Promise<boolean> | undefined;

  function sync(): Promise<boolean> {
    clearTimeout(timer);
    timer = undefined;
    if (!running) {
      running = pass(options, entries, names).finally(() => {
        running = undefined;
      });
      return running;
    }
    // What was written since the running pass began needs another one; all who ask meanwhile share it.
    queued ??= running.then(() => {
      queued = undefined;
      return sync();
    });
    return queued;
  }

  return {
    sync,
    add(file) {
      entries.set(file, { unsyncedBytes: 0, retired: false });
      names.dirty = true;
    },
    wrote(file, bytes) {
      const entry = entries.get(file);
      if (entry) entry.unsyncedBytes += bytes;
      if (options.intervalMs > 0) timer ??= setTimeout(sync, options.intervalMs).unref();
    },
    retire(file) {
      const entry = entries.get(file);
      if (!entry) return;
      entry.retired = true;
      if (options.intervalMs > 0) timer ??= setTimeout(sync, options.intervalMs).unref();
    },
    unsyncedBytes: () => [...entries.values()].reduce((sum, entry) => sum + entry.unsyncedBytes, 0),
  };
}

async function pass(
  options: GroupSyncOptions,
  entries: Map<JournalFile, Entry>,
  names: { dirty: boolean },
): Promise<boolean> {
  let ok = await syncNames(options, names);
  for (const [file, entry] of [...entries]) {
    if (entry.unsyncedBytes > 0) ok = (await syncFile(options, entries, file, entry)) && ok;
    if (entry.retired && entry.unsyncedBytes === 0) {
      entries.delete(file);
      close(file);
    }
  }
  if (ok) options.onSuccess();
  return ok;
}

async function syncNames(options: GroupSyncOptions, names: { dirty: boolean }): Promise<boolean> {
  if (!names.dirty) return true;
  names.dirty = false;
  try {
    await options.directory.sync();
    return true;
  } catch (error) {
    names.dirty = true;
    options.onFailure(error, undefined, 0);
    return false;
  }
}

async function syncFile(
  options: GroupSyncOptions,
  entries: Map<JournalFile, Entry>,
  file: JournalFile,
  entry: Entry,
): Promise<boolean> {
  const bytes = entry.unsyncedBytes;
  try {
    await file.sync();
    entry.unsyncedBytes -= bytes;
    return true;
  } catch (error) {
    options.onFailure(error, file, entry.unsyncedBytes);
    entries.delete(file);
    close(file);
    return false;
  }
}

function close(file: JournalFile): void {
  try {
    file.close();
  } catch {
    // Its data is synced, or reported as doubtful: closing adds nothing to either.
  }
}
