// The files that a command reads and writes, on the caller's side: they are opened here, also when the work is
// done in the server. A file that is written gets its name when it is complete; names that end in .gz are
// compressed.
import { createReadStream, createWriteStream, type ReadStream, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { AppError } from '../kernel/errors.ts';
import type { Command, Field, Row } from './command.ts';

export interface Streams {
  /** Undefined where the command reads nothing. */
  readonly upload: AsyncIterable<Uint8Array> | undefined;
  data(text: string): Promise<void>;
  /** Present where rows go to a file. */
  readonly row: ((row: Row) => Promise<void>) | undefined;
  /** Standard output belongs to the data: the result goes elsewhere. */
  readonly takesStdout: boolean;
  /** How much of the command's work is read, from 0 to 1. */
  readonly fraction: (() => number | undefined) | undefined;
  /** The command is done: what was written is complete. */
  finish(): Promise<void>;
  /** The command failed: half a file is no file. */
  abandon(): Promise<void>;
}

const CHUNK_BYTES = 262_144;

type Fields = Pick<Command, 'args' | 'options'>;

export function openStreams(command: Fields, input: Readonly<Record<string, unknown>>): Streams {
  const named = (kind: Field['stream']): string | undefined => {
    const found = Object.entries({ ...command.args, ...command.options }).find(
      ([, field]) => field.stream === kind,
    );
    return found && (found[1].schema.parse(input[found[0]]) as string | undefined);
  };
  const [from, to, rowsTo] = [named('in'), named('out'), named('rows')];
  const source = from === undefined ? undefined : openInput(from);
  const output = to === undefined ? undefined : openOutput(to);
  const rows = rowsTo === undefined ? undefined : openOutput(rowsTo);
  return {
    upload: source?.bytes,
    data: async (text) => output?.write(text),
    row: rows && ((row) => rows.write(`${JSON.stringify(row)}\n`)),
    takesStdout: to === '-',
    // What an option names is read beside the work and says nothing about it.
    fraction: Object.values(command.args).some(({ stream }) => stream === 'in')
      ? source?.fraction
      : undefined,
    async finish() {
      await output?.finish();
      await rows?.finish();
    },
    async abandon() {
      await output?.abandon();
      // Lines that were passed over before the failure are worth reading.
      await rows?.finish();
    },
  };
}

function openInput(path: string): { bytes: AsyncIterable<Uint8Array>; fraction: () => number | undefined } {
  if (path === '-') return { bytes: process.stdin, fraction: () => undefined };
  const sizeBytes = sizeOf(path);
  let file: ReadStream | undefined;

  /** Opened when it is read: an error before that would reach nobody. */
  async function* read(): AsyncGenerator<Uint8Array> {
    file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
    yield* path.endsWith('.gz') ? unzipped(file, path) : (file as AsyncIterable<Uint8Array>);
  }

  return { bytes: read(), fraction: () => (file && sizeBytes > 0 ? file.bytesRead / sizeBytes : undefined) };
}

async function* unzipped(file: Readable, path: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  // What goes wrong reaches the reader through the stream it reads.
  pipeline(file, gunzip).catch((error: unknown) => gunzip.destroy(error as Error));
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!code.startsWith('Z_')) throw error;
    throw new AppError('unprocessable_entity', `${path} is not a whole gzip file: ${message}.`, {
      cause: error,
    });
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new AppError('not_found', `There is no file ${path}.`, { cause: error });
  }
}

interface OutputFile {
  write(text: string): Promise<void>;
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

function openOutput(path: string): OutputFile {
  if (path === '-') {
    return {
      write: (text) => writeTo(process.stdout, text),
      finish: async () => {},
      abandon: async () => {},
    };
  }
  const draft = `${path}.part`;
  // It may hold hashes of keys: for its owner only.
  const file = createWriteStream(draft, { mode: 0o600 });
  const target: Writable = path.endsWith('.gz') ? createGzip() : file;
  const done = target === file ? closed(file) : pipeline(target as ReturnType<typeof createGzip>, file);
  done.catch(() => {});
  return {
    write: (text) => writeTo(target, text),
    async finish() {
      target.end();
      await done;
      await rename(draft, path);
    },
    async abandon() {
      target.destroy();
      file.destroy();
      await rm(draft, { force: true });
    },
  };
}

function closed(file: Writable): Promise<void> {
  return new Promise((resolve, reject) => file.once('close', resolve).once('error', reject));
}

function writeTo(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => stream.write(text, (error) => (error ? reject(error) : resolve())));
}
