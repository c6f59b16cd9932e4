// How much more fits on a disk.
import { statfs } from 'node:fs/promises';

/** What this user may still write where the path is, which must exist. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
