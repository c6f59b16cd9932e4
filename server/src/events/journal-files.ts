// The journal's way to the disk: a port small enough that every fault can be injected, and its implementation
// on the file system.
import { closeSync, fdatasync, fsync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { mkdir, open, readdir, readFile, stat, truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A segment being written. Writing is synchronous: handing some KB to the kernel is cheaper than a thread. */
export interface JournalFile {
  /** Returns how many bytes were taken, which may be fewer. */
  write(buffer: Buffer, offset: number, length: number, position: number): number;
  truncate(length: number): void;
  /** Data to the disk, without blocking the event loop. */
  sync(): Promise<void>;
  close(): void;
}

export interface JournalDirectory {
  /** Fails when the name is taken. */
  create(name: string): JournalFile;
  list(): Promise<string[]>;
  size(name: string): Promise<number>;
  read(name: string): Promise<Buffer>;
  truncate(name: string, length: number): Promise<void>;
  remove(name: string): Promise<void>;
  /** Makes created and removed names last. */
  sync(): Promise<void>;
}

const syncData = promisify(fdatasync);
const syncAll = promisify(fsync);

export async function openJournalDirectory(path: string): Promise<JournalDirectory> {
  // Raw visits hold addresses: nobody else on the machine may read them.
  await mkdir(path, { recursive: true, mode: 0o700 });
  return {
    create: (name) => createFile(join(path, name)),
    list: () => readdir(path),
    size: async (name) => (await stat(join(path, name))).size,
    read: (name) => readFile(join(path, name)),
    truncate: (name, length) => truncate(join(path, name), length),
    remove: (name) => unlink(join(path, name)),
    sync: () => syncDirectory(path),
  };
}

function createFile(path: string): JournalFile {
  const fd = openSync(path, 'wx', 0o600);
  return {
    write: (buffer, offset, length, position) => writeSync(fd, buffer, offset, length, position),
    truncate: (length) => ftruncateSync(fd, length),
    sync: () => syncData(fd),
    close: () => closeSync(fd),
  };
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await syncAll(handle.fd);
  } finally {
    await handle.close();
  }
}
