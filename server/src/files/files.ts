// Images that users hand in, kept in the data directory under the hash of their content: the same image is
// one file, a file never changes, and its address can be cached for ever. Images of people are each a file of
// its own, so that one can be removed with whom it shows.
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { randomText, sha256Hex } from '../kernel/ids.ts';
import { IMAGE_TYPES, type ImageKind, readImage } from './image.ts';

/** The hash of the content, the mark of an image that is one owner's alone, the kind. */
const NAME = /^([0-9a-f]{64})(-[0-9A-Za-z]{16})?\.(png|jpg|gif|webp)$/;
const MARK_LENGTH = 16;
const PATH = '/api/files/';

export interface StoredFile {
  readonly contentType: string;
  readonly etag: string;
  readonly sizeBytes: number;
  readonly body: ReadableStream<Uint8Array>;
}

export interface FilesParts {
  readonly dataDir: string;
  /** Where people reach the service; addresses of files begin with it. */
  readonly publicUrl: string;
}

export function createFiles({ dataDir, publicUrl }: FilesParts) {
  const folder = join(dataDir, 'files');
  const base = publicUrl + PATH;

  /** Keeps an image that came as a data URL and returns its address. The field is named in refusals. */
  async function saveImage(dataUrl: string, field: string, mark = ''): Promise<string> {
    const { bytes, kind } = readImage(dataUrl, field);
    const name = `${sha256Hex(bytes)}${mark && `-${mark}`}.${kind}`;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeWhole(join(folder, name), bytes);
    return base + name;
  }

  return {
    saveImage,

    /** The same for an image of a person, which `remove` takes away again. */
    savePersonalImage: (dataUrl: string, field: string): Promise<string> =>
      saveImage(dataUrl, field, randomText(MARK_LENGTH)),

    /** Takes away an image of a person. Others stay: who else shows them is not known. */
    async remove(url: string): Promise<void> {
      const name = url.startsWith(base) ? url.slice(base.length) : '';
      if (NAME.exec(name)?.[2] !== undefined) await rm(join(folder, name), { force: true });
    },

    /** Opens a file for reading; whoever gets it must read or cancel its body. */
    async find(name: string): Promise<StoredFile | undefined> {
      const [, hash, , kind] = NAME.exec(name) ?? [];
      if (!hash || !kind) return undefined;
      const handle = await open(join(folder, name)).catch(ignoreMissing);
      if (!handle) return undefined;
      const { size } = await handle.stat();
      return {
        contentType: IMAGE_TYPES[kind as ImageKind],
        etag: `"${hash}"`,
        sizeBytes: size,
        body: Readable.toWeb(handle.createReadStream()) as ReadableStream<Uint8Array>,
      };
    },

    /** Whether an address is one that `saveImage` gave out. */
    isOwn: (url: string): boolean => url.startsWith(base) && NAME.test(url.slice(base.length)),

    /** The address of a file by its name; undefined when it is no name that `saveImage` gives. */
    addressOf: (name: string): string | undefined => (NAME.test(name) ? base + name : undefined),

    /** The content behind one of our own addresses. */
    async findContent(url: string): Promise<Buffer | undefined> {
      const name = url.startsWith(base) ? url.slice(base.length) : '';
      return NAME.test(name) ? readFile(join(folder, name)).catch(ignoreMissing) : undefined;
    },
  };
}

export type Files = ReturnType<typeof createFiles>;

/** Nobody ever sees half a file, and one that is there survives a crash. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const draft = `${path}.${randomText(8)}.tmp`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
