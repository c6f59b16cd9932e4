// Where the control socket of a data directory is: in the directory itself, or, when that path is too long
// for a socket, in a private folder under the system's temporary one. Both sides derive it from the
// directory alone.
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '../kernel/ids.ts';

/** The shortest limit among the systems in use: 104 bytes with the closing zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The path, and the folder to make first where the socket is not in the data directory. */
export async function controlSocketPath(
  dataDir: string,
): Promise<{ path: string; folder: string | undefined }> {
  const real = await realpath(dataDir);
  const direct = join(real, 'control.sock');
  if (fits(direct)) return { path: direct, folder: undefined };
  const folder = join(tmpdir(), `linktrail-${userInfo().uid}`);
  const path = join(folder, `${sha256Hex(real).slice(0, 24)}.sock`);
  if (!fits(path)) throw new Error(`${path} is too long for a socket. Set TMPDIR to a shorter path.`);
  return { path, folder };
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES;
}

export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!(await isPrivateFolder(folder))) {
    throw new Error(
      `${folder} belongs to another user or is open to others. Remove it, or set TMPDIR to another folder.`,
    );
  }
}

/** Anybody may make a folder of that name under a shared one: only our own, closed to others, is used. */
export async function isPrivateFolder(folder: string): Promise<boolean> {
  const stats = await lstat(folder);
  return stats.isDirectory() && stats.uid === userInfo().uid && (stats.mode & 0o077) === 0;
}
