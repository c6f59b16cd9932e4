// The archive: Parquet files that hold every click that has left the journal, enriched and filtered for privacy.
// A file is named after the stretch of the journal it covers. Small ones are merged into the next, so their
// number grows with the data and not with time.
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  comparePositions,
  compareStarts,
  formatPosition,
  type Position,
  parsePosition,
} from '../events/journal.ts';
import type { DuckdbStore } from './duckdb.ts';

export interface ArchiveFile {
  readonly path: string;
  /** Undefined: from the beginning. */
  readonly from: Position | undefined;
  readonly upTo: Position;
}

const NAME = /^clicks-(start|\d{16}-\d{12})-(\d{16}-\d{12})\.parquet$/;
const PART = '.part';
const MERGED_BELOW_BYTES = 32 * 1024 * 1024;

/** In order; of files that begin at the same place only the longest, which holds what the others do. */
export async function listArchive(folder: string): Promise<ArchiveFile[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const files = names.flatMap((name) => readName(folder, name) ?? []);
  files.sort((a, b) => compareStarts(a.from, b.from) || comparePositions(b.upTo, a.upTo));
  return files.filter((file, i) => i === 0 || compareStarts(file.from, files[i - 1]?.from) !== 0);
}

/**
 * Puts what the store has and the archive has not yet into a file, and tells the store only when that file is
 * safe on disk: from then on the journal may forget it. Returns up to where the archive goes.
 */
export async function extendArchive(
  store: DuckdbStore,
  folder: string,
  mergedBelowBytes: number = MERGED_BELOW_BYTES,
): Promise<Position | undefined> {
  const stretch = store.unarchived();
  const { from, upTo } = stretch;
  if (!upTo || (from && comparePositions(upTo, from) <= 0)) return from;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Before the archive reaches past the erasure: the journal would not tell of it again.
  await blankErased(store, folder);
  const earlier = await findMergeable(folder, from, mergedBelowBytes);
  const start = earlier ? earlier.from : from;
  const path = join(folder, nameOf(start, upTo));
  await store.writeArchive(`${path}${PART}`, stretch, earlier?.path);
  await putInPlace(path, folder);
  await store.setArchived(stretch);
  await removeOthers(folder, path, start);
  return upTo;
}

/** Takes the addresses of erased clicks out of the files that hold them; what failed is done again by the next call. */
async function blankErased(store: DuckdbStore, folder: string): Promise<void> {
  const clicks = await store.findErased();
  if (!clicks) return;
  for (const { path } of await listArchive(folder)) {
    if (!(await store.holdsErased(path, clicks))) continue;
    await store.writeBlanked(path, `${path}${PART}`, clicks);
    await putInPlace(path, folder);
  }
  await store.setErased(clicks);
}

async function putInPlace(path: string, folder: string): Promise<void> {
  await sync(`${path}${PART}`);
  await rename(`${path}${PART}`, path);
  await sync(folder);
}

async function findMergeable(
  folder: string,
  end: Position | undefined,
  belowBytes: number,
): Promise<ArchiveFile | undefined> {
  if (!end) return undefined;
  const files = await listArchive(folder);
  const last = files.find((file) => comparePositions(file.upTo, end) === 0);
  return last && (await stat(last.path)).size < belowBytes ? last : undefined;
}

/** Files that the new one replaces, and what a process that was killed left half written. */
async function removeOthers(folder: string, path: string, from: Position | undefined): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = readName(folder, name);
    const replaced = file && file.path !== path && compareStarts(file.from, from) === 0;
    if (replaced || name.endsWith(PART)) await rm(join(folder, name), { force: true });
  }
}

function nameOf(from: Position | undefined, upTo: Position): string {
  const part = (position: Position) => formatPosition(position).replace(':', '-');
  return `clicks-${from ? part(from) : 'start'}-${part(upTo)}.parquet`;
}

function readName(folder: string, name: string): ArchiveFile | undefined {
  const match = NAME.exec(name);
  if (!match) return undefined;
  const [, start = '', end = ''] = match;
  const position = (part: string) => parsePosition(part.replace('-', ':'));
  return {
    path: join(folder, name),
    from: start === 'start' ? undefined : position(start),
    upTo: position(end),
  };
}

async function sync(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
