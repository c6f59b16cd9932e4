// What the doctor checks on the machine itself: Node, folder, disk, certificate, port and limits.
import { readFileSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { fileCertificate } from '../http/certificate.ts';
import { freeBytes } from '../kernel/disk.ts';
import type { Check } from './check.ts';
import type { ServerStatus } from './commands.ts';

const NEEDED_NODE = 24;
const GIB = 1024 ** 3;
const LITTLE_SPACE_BYTES = GIB;
const NO_SPACE_BYTES = GIB / 16;
/** Files, database connections and the like, on top of client connections. */
const OTHER_DESCRIPTORS = 500;
const PROBE_TIMEOUT_MS = 2_000;

export function checkNode(): Check[] {
  const { node } = process.versions;
  const place = `${process.platform} ${process.arch}`;
  const fits = Number.parseInt(node, 10) >= NEEDED_NODE;
  const nodeCheck: Check = fits
    ? { name: 'node', state: 'ok', text: `${node} on ${place}` }
    : {
        name: 'node',
        state: 'fail',
        text: `${node} is too old`,
        advice: `Use Node ${NEEDED_NODE} or later.`,
      };
  return [nodeCheck, checkNativeParts(place)];
}

/** Packages that bring a program of their own: the Node that npm scripts use. */
function checkNativeParts(place: string): Check {
  const name = 'native parts';
  const bundled = findBundledNode();
  if (bundled === undefined) {
    return { name, state: 'ok', text: `no bundled Node for ${place}: the Node of the system is used` };
  }
  const glibc = findGlibc();
  if (glibc === undefined) {
    const advice = `npm scripts need the Node of the system here, version ${NEEDED_NODE} or later.`;
    return {
      name,
      state: 'warn',
      text: `the bundled Node ${bundled} needs glibc, which is not here`,
      advice,
    };
  }
  return { name, state: 'ok', text: `the bundled Node ${bundled} fits ${place}` };
}

function findBundledNode(): string | undefined {
  try {
    const file = createRequire(import.meta.url).resolve(
      `node-${process.platform}-${process.arch}/package.json`,
    );
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    return undefined;
  }
}

function findGlibc(): string | undefined {
  // Names of network neighbours are not needed and slow to find.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}

export async function checkDataDir(dataDir: string): Promise<Check> {
  const name = 'data directory';
  try {
    const stats = await stat(dataDir).catch(missing);
    if (!stats) return await checkPlaceFor(dataDir);
    if (!stats.isDirectory()) {
      const advice = 'Move it away, or set LINKTRAIL_DATA_DIR to another folder.';
      return { name, state: 'fail', text: `${dataDir} is not a folder`, advice };
    }
    await probe(dataDir);
    if ((stats.mode & 0o077) !== 0) {
      const mode = (stats.mode & 0o777).toString(8);
      return {
        name,
        state: 'warn',
        text: `${dataDir} is open to other users (${mode})`,
        advice: `chmod 700 ${dataDir}`,
      };
    }
    return { name, state: 'ok', text: dataDir };
  } catch (error) {
    const advice = `Give the user ${userInfo().username} the right to write there, or set LINKTRAIL_DATA_DIR to another folder.`;
    return { name, state: 'fail', text: `cannot be used: ${(error as Error).message}`, advice };
  }
}

async function checkPlaceFor(dataDir: string): Promise<Check> {
  await probe(await existingFolder(dataDir));
  return {
    name: 'data directory',
    state: 'ok',
    text: `${dataDir} does not exist yet: the first start makes it`,
  };
}

async function probe(folder: string): Promise<void> {
  const file = join(folder, `.linktrail-doctor-${process.pid}`);
  await writeFile(file, 'ok');
  await rm(file, { force: true });
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

/** The folder itself, or the nearest one above it that exists. */
async function existingFolder(path: string): Promise<string> {
  const stats = await stat(path).catch(missing);
  return stats || dirname(path) === path ? path : existingFolder(dirname(path));
}

export async function checkDisk(dataDir: string): Promise<Check> {
  const name = 'disk';
  try {
    const free = await freeBytes(await existingFolder(dataDir));
    const text = `${(free / GIB).toFixed(1)} GiB free`;
    const advice = 'Free some space: without it nothing can be stored.';
    if (free < NO_SPACE_BYTES) return { name, state: 'fail', text, advice };
    if (free < LITTLE_SPACE_BYTES) return { name, state: 'warn', text, advice };
    return { name, state: 'ok', text };
  } catch (error) {
    const advice = 'Set LINKTRAIL_DATA_DIR to a folder that can be reached.';
    return { name, state: 'fail', text: `the free space is not known: ${(error as Error).message}`, advice };
  }
}

/** The operator's own files; without them a self-signed certificate is made when it is needed. */
export async function checkCertificate({ tlsCert, tlsKey }: Config): Promise<Check> {
  const name = 'certificate';
  if (tlsCert === undefined || tlsKey === undefined) return { name, state: 'ok', text: 'self-signed' };
  try {
    await fileCertificate(tlsCert, tlsKey)();
    return { name, state: 'ok', text: tlsCert };
  } catch (error) {
    const text = `LINKTRAIL_TLS_CERT and LINKTRAIL_TLS_KEY cannot be used: ${(error as Error).message}.`;
    const advice = 'They take a certificate and its private key, each as a PEM file.';
    return { name, state: 'fail', text, advice };
  }
}

export async function checkPort(config: Config, server: ServerStatus | undefined): Promise<Check> {
  const name = 'port';
  const { host, port } = config;
  if (port === 0) return { name, state: 'ok', text: 'any free one' };
  const failure = await tryPort(host, port);
  if (failure === undefined) {
    if (!server) return { name, state: 'ok', text: `${port} at ${host} is free` };
    const advice = 'Run the doctor with the settings of the server.';
    return {
      name,
      state: 'warn',
      text: `${port} at ${host} is free: the running server has another one`,
      advice,
    };
  }
  if (failure === 'EADDRINUSE' && server?.port === port && (await isLinktrail(host, port))) {
    return { name, state: 'ok', text: `${port} at ${host} is used by the running server` };
  }
  return { name, state: 'fail', ...portFailure(failure, host, port) };
}

export function portFailure(code: string, host: string, port: number): { text: string; advice: string } {
  if (code === 'EADDRINUSE') {
    return { text: `${port} at ${host} is in use`, advice: 'Set PORT to another one, or stop what uses it.' };
  }
  if (code === 'EACCES') {
    return { text: `${port} may not be opened by this user`, advice: 'Set PORT to 1024 or higher.' };
  }
  const advice = 'Set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0.';
  return { text: `${host} cannot be listened on (${code})`, advice };
}

/** Opens the port for a moment; the code of the failure when that does not work. */
function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

function isLinktrail(host: string, port: number): Promise<boolean> {
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return new Promise((resolve) => {
    const request = get(
      { host: address, port, path: '/health/live', timeout: PROBE_TIMEOUT_MS },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

/** Of the running server, or of this process, which was started in the same place. */
export function checkDescriptors(maxConnections: number, pid: number | undefined): Check {
  const name = 'open files';
  const limit = readDescriptorLimit(pid ?? process.pid);
  if (limit === undefined) return { name, state: 'ok', text: 'the limit is not known on this system' };
  const text = `at most ${limit}`;
  if (limit >= maxConnections + OTHER_DESCRIPTORS) return { name, state: 'ok', text };
  const advice =
    `Raise it (ulimit -n ${maxConnections + OTHER_DESCRIPTORS}, or LimitNOFILE of the service), ` +
    `or lower LINKTRAIL_MAX_CONNECTIONS from ${maxConnections}.`;
  return { name, state: 'warn', text: `${text}, fewer than connections allowed`, advice };
}

function readDescriptorLimit(pid: number): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
