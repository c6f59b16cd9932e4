// Our own server as a process for the bench: everything on, in a data directory of its own, with a rate limit
// that does not stand in the way.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SERVER = join(import.meta.dirname, '..', 'server');
const KEY = 'lt_bench_0123456789abcdef';

export interface Linktrail {
  readonly port: number;
  readonly key: string;
  readonly pid: number;
  readonly dataDir: string;
  /** From the start of the process to its being ready. */
  readonly startMs: number;
  residentBytes(): Promise<number>;
  /** The most it ever held. */
  peakBytes(): Promise<number>;
  /** Stops the process; the data stays for another start. */
  stop(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

export async function startLinktrail(
  options: { dataDir?: string; env?: Record<string, string> } = {},
): Promise<Linktrail> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'linktrail-bench-')));
  const { flags, settings } = await readStart();
  const env = {
    ...process.env,
    ...settings,
    PORT: '0',
    LINKTRAIL_DATA_DIR: dataDir,
    LINKTRAIL_API_KEY: KEY,
    ...options.env,
  };
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...flags, join(SERVER, 'src', 'main.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const port = await readPort(child.stdout, ended);
  const startMs = performance.now() - startedMs;
  await promisify(execFile)(
    process.execPath,
    [
      join(SERVER, 'bin', 'linktrail.mjs'),
      'workspace',
      'set-limit',
      'main',
      'requestsPerMinute',
      '1000000000',
    ],
    { env },
  );
  const pid = child.pid as number;
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return {
    port,
    key: KEY,
    pid,
    dataDir,
    startMs,
    residentBytes: () => readBytes(pid, 'VmRSS'),
    peakBytes: () => readBytes(pid, 'VmHWM'),
    stop,
    async close() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** What `npm start` gives to Node: flags and settings of the environment. */
async function readStart(): Promise<{ flags: string[]; settings: Record<string, string> }> {
  const text = await readFile(join(SERVER, '..', 'package.json'), 'utf8');
  const { start } = (JSON.parse(text) as { scripts: { start: string } }).scripts;
  const settings = start.matchAll(/ (MALLOC_[A-Z_]+)=(\S+)/g);
  return {
    flags: start.match(/--[a-z-]+(=\S+)?(?= )/g) ?? [],
    settings: Object.fromEntries([...settings].map(([, name, value]) => [name, value])),
  };
}

async function readPort(stdout: NodeJS.ReadableStream, ended: Promise<unknown>): Promise<number> {
  let text = '';
  const ready = new Promise<number>((resolve) => {
    stdout.on('data', (chunk) => {
      text += chunk;
      const match = /ready at \S+:(\d+) /.exec(text);
      if (match) resolve(Number(match[1]));
    });
  });
  const failed = ended.then(() => Promise.reject(new Error(`the server did not start: ${text}`)));
  failed.catch(() => {});
  return Promise.race([ready, failed]);
}

async function readBytes(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const match = new RegExp(`${field}:\\s+(\\d+) kB`).exec(await readFile(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) * 1024;
}
