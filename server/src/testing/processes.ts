// Real processes for tests: the server and the command line, each in a folder and an environment of its own,
// and none of them left behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, '..');
/** Starting is most of what these tests wait for; compiled code is kept from one process to the next. */
const COMPILE_CACHE = join(SOURCE, '..', '..', 'node_modules', '.cache', 'linktrail');
const OURS = /^(LINKTRAIL_|DATABASE_URL$|CLICKHOUSE_URL$|REDIS_URL$|PORT$|HOST$|npm_|NODE_)/;

export interface Place {
  /** The working directory: empty, and removed after the test. */
  readonly folder: string;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What was started in it; ended before the folder goes. */
  readonly children: Set<ChildProcess>;
}

interface Cleanup {
  after(work: () => Promise<void>): void;
}

export async function makePlace(t: Cleanup, env: Record<string, string> = {}): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'lt-'));
  const children = new Set<ChildProcess>();
  // A server that still runs would make files while they are removed.
  t.after(async () => {
    await Promise.all([...children].map(end));
    await rm(folder, { recursive: true, force: true });
  });
  const dataDir = env.LINKTRAIL_DATA_DIR ?? join(folder, 'data');
  const inherited = Object.entries(process.env).filter(([name]) => !OURS.test(name));
  return {
    folder,
    dataDir,
    env: {
      ...Object.fromEntries(inherited),
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      PORT: '0',
      LINKTRAIL_DATA_DIR: dataDir,
      ...env,
    },
    children,
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly banner: string;
  /** What was logged so far. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
  readonly finished: Promise<Finished>;
}

/** Resolves when the server has printed that it is ready; rejects with its last words when it ends before. */
export async function startServer(
  t: Cleanup,
  place: Place,
  env: Record<string, string> = {},
): Promise<RunningServer> {
  const child = spawnNode(['main.ts'], place, env);
  const finished = collect(child);
  t.after(async () => {
    child.kill('SIGKILL');
    await finished;
  });
  const text = { out: '', err: '' };
  child.stderr?.on('data', (chunk) => {
    text.err += chunk;
  });
  const ready = new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk) => {
      text.out += chunk;
      if (text.out.endsWith('\n\n') && text.out.includes('Try it')) resolve();
    });
  });
  const ended = finished.then(({ stderr }) => Promise.reject(new Error(`The server ended: ${stderr}`)));
  await Promise.race([ready, ended]);
  ended.catch(() => {});
  const [, url = '', pid = ''] = /ready at (\S+) \(pid (\d+)\)/.exec(text.out) ?? [];
  return {
    url,
    pid: Number(pid),
    banner: text.out,
    log: () => text.err,
    kill: (signal) => child.kill(signal),
    finished,
  };
}

/** A server that is expected to end by itself. */
export function runServer(place: Place, env: Record<string, string> = {}): Promise<Finished> {
  return collect(spawnNode(['main.ts'], place, env));
}

export function runCli(
  place: Place,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished> {
  return collect(spawnNode(['../bin/linktrail.mjs', ...args], place, env));
}

export interface RunningCli {
  /** Ends its input, or gives it more. */
  readonly stdin: NodeJS.WritableStream;
  kill(signal: NodeJS.Signals): void;
  readonly finished: Promise<Finished>;
}

/** A command that reads standard input, or that is going to be interrupted. */
export function startCli(t: Cleanup, place: Place, args: readonly string[]): RunningCli {
  const child = spawnNode(['../bin/linktrail.mjs', ...args], place, {}, 'pipe');
  const finished = collect(child);
  t.after(async () => {
    child.kill('SIGKILL');
    await finished;
  });
  const stdin = child.stdin as NodeJS.WritableStream;
  // A command that has failed reads no more.
  stdin.on('error', () => {});
  return { stdin, kill: (signal) => child.kill(signal), finished };
}

function spawnNode(
  [script = '', ...args]: readonly string[],
  place: Place,
  env: Record<string, string>,
  stdin: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  const child = spawn(process.execPath, [join(SOURCE, script), ...args], {
    cwd: place.folder,
    env: { ...place.env, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  place.children.add(child);
  return child;
}

async function collect(child: ChildProcess): Promise<Finished> {
  const text = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    text.stdout += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    text.stderr += chunk;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, ...text };
}

/** A command finds the data directory in use: another that works on it is under way. */
export async function untilLocked(place: Place): Promise<void> {
  for (;;) {
    const { stderr } = await runCli(place, ['workspace', 'list']);
    if (/is using/.test(stderr)) return;
  }
}

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}
