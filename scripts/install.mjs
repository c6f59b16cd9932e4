// Brings node_modules in line with package-lock.json before every npm script, and does nothing (a few
// milliseconds) when it already is. Runs on plain Node 20 without any package. An interrupted install is
// never taken for a finished one, and two runs in one folder wait for each other.
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const REQUIRED_NODE_MAJOR = 24;
const POLL_MS = 250;
const HEARTBEAT_MS = 1_000;
// A lock whose heartbeat stands still this long has no living owner, wherever that owner ran.
const STALE_AFTER_MS = 30_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const stampFile = join(modules, '.linktrail-installed');
const bundledNode = join(modules, '.bin', 'node');
const lockDir = join(root, '.install-lock');

class InstallError extends Error {}

try {
  const wanted = wantedState();
  if (readStamp() !== wanted) await installOnce(wanted);
  requireNode();
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

function wantedState() {
  const hash = createHash('sha256');
  hash.update(readLockFile());
  hash.update(`\n${process.platform} ${process.arch}`);
  return hash.digest('hex');
}

function readLockFile() {
  try {
    return readFileSync(join(root, 'package-lock.json'), 'utf8');
  } catch (error) {
    throw new InstallError(`package-lock.json cannot be read in ${root}: ${error.message}`);
  }
}

function readStamp() {
  try {
    return readFileSync(stampFile, 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function installOnce(wanted) {
  requireWritable();
  const lock = await takeLock(wanted);
  if (!lock) return;
  try {
    // Another run may have finished between our first look and the lock.
    if (readStamp() === wanted) return;
    if (!npmHasInstalled()) await runNpm(lock);
    keepOnlyWorkingNode();
    writeStamp(wanted);
  } finally {
    lock.release();
  }
}

function requireWritable() {
  try {
    accessSync(root, constants.W_OK);
    if (existsSync(modules)) accessSync(modules, constants.W_OK);
  } catch {
    throw new InstallError(
      `Dependencies must be installed, but this user may not write to ${root}. ` +
        'Run the command as the owner of the folder, or make a copy of your own.',
    );
  }
}

/** Waits for the lock; undefined when another run has done the install meanwhile. */
async function takeLock(wanted) {
  const token = randomUUID();
  const watch = { beat: undefined, sinceMs: 0, told: false };
  for (;;) {
    if (tryMakeLock()) return holdLock(token);
    if (isStale(watch)) {
      breakLock();
      continue;
    }
    if (!watch.told) say('Another run is installing the dependencies of this folder; waiting for it…');
    watch.told = true;
    await delay(POLL_MS);
    if (!existsSync(lockDir) && readStamp() === wanted) return undefined;
  }
}

function tryMakeLock() {
  try {
    mkdirSync(lockDir);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new InstallError(`Cannot write to ${root}: ${error.message}`);
  }
}

function holdLock(token) {
  const ownerFile = join(lockDir, 'owner.json');
  const write = (pids) => writeFileSync(ownerFile, JSON.stringify({ token, host: hostname(), pids }));
  write([process.pid]);
  const heartbeat = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(lockDir, now, now);
    } catch {
      // The lock was taken from us (after a long suspend, say); npm's own result decides.
    }
  }, HEARTBEAT_MS);
  return {
    // npm's process counts as an owner too: it may outlive this one.
    addPid: (pid) => write([process.pid, pid]),
    release() {
      clearInterval(heartbeat);
      if (readOwner()?.token === token) rmSync(lockDir, { recursive: true, force: true });
      rmSync(brokenLockDir(), { recursive: true, force: true });
    },
  };
}

function readOwner() {
  try {
    return JSON.parse(readFileSync(join(lockDir, 'owner.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

function isStale(watch) {
  const owner = readOwner();
  if (owner?.host === hostname() && !owner.pids.some(isAlive)) return true;
  const beat = lockBeat();
  if (beat !== watch.beat) {
    watch.beat = beat;
    watch.sinceMs = performance.now();
  }
  return performance.now() - watch.sinceMs > STALE_AFTER_MS;
}

function lockBeat() {
  try {
    return statSync(lockDir).mtimeMs;
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

// Of several runs that find one stale lock, rename lets a single one pass: its target then exists and is
// not empty until that run has finished its install.
function breakLock() {
  try {
    writeFileSync(join(lockDir, 'broken'), '');
    renameSync(lockDir, brokenLockDir());
  } catch {
    // Another run was faster, or a run that broke a lock died before tidying up.
    const left = brokenLockAgeMs();
    if (left > STALE_AFTER_MS) rmSync(brokenLockDir(), { recursive: true, force: true });
  }
}

function brokenLockDir() {
  return `${lockDir}-broken`;
}

function brokenLockAgeMs() {
  try {
    return Date.now() - statSync(brokenLockDir()).ctimeMs;
  } catch {
    return 0;
  }
}

/** True when somebody ran npm by hand and its own record agrees with the lock file. */
function npmHasInstalled() {
  let installed;
  try {
    installed = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')).packages;
  } catch {
    return false;
  }
  const wanted = Object.entries(JSON.parse(readLockFile()).packages);
  return wanted.every(([path, entry]) => {
    if (!path.includes('node_modules/') || entry.link) return true;
    const found = installed[path];
    if (!found) return entry.optional === true && !isForThisMachine(entry);
    return found.integrity === entry.integrity && found.version === entry.version;
  });
}

// Optional packages without a platform of their own come along with one that has.
function isForThisMachine(entry) {
  if (!entry.os && !entry.cpu) return false;
  const fits = (list, value) => list === undefined || [list].flat().includes(value);
  if (!fits(entry.os, process.platform) || !fits(entry.cpu, process.arch)) return false;
  return process.platform !== 'linux' || fits(entry.libc, linuxLibc());
}

function linuxLibc() {
  return process.report?.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
}

async function runNpm(lock) {
  say('Installing dependencies (once)…');
  rmSync(stampFile, { force: true });
  const startedMs = performance.now();
  const { code, signal, error } = await spawnNpm(
    // What is needed does not depend on NODE_ENV or on the user's npm settings.
    ['ci', '--include=dev', '--include=optional', '--loglevel=error', '--no-audit', '--no-fund'],
    lock,
  );
  if (error) throw new InstallError(`npm could not be started: ${error.message}`);
  if (code !== 0) {
    throw new InstallError(
      `Installing the dependencies failed (npm ci ended with ${signal ?? `exit code ${code}`}; its messages are above). ` +
        'Check the network connection and the free disk space, then run the command again.',
    );
  }
  say(`Dependencies installed in ${Math.ceil((performance.now() - startedMs) / 1000)} s.`);
}

function spawnNpm(args, lock) {
  const { npm_execpath: npmScript, npm_node_execpath: npmNode } = process.env;
  const viaNode = npmScript !== undefined && /npm-cli\.c?js$/.test(npmScript) && existsSync(npmScript);
  const node = npmNode && existsSync(npmNode) ? npmNode : process.execPath;
  const [command, argv] = viaNode ? [node, [npmScript, ...args]] : ['npm', args];
  const env = { ...process.env };
  // `npm --workspace x test` must not narrow the install to that workspace.
  for (const name of Object.keys(env)) if (/^npm_config_(workspaces?|dry_run)$/i.test(name)) delete env[name];
  return new Promise((resolve) => {
    const child = spawn(command, argv, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
    if (child.pid !== undefined) lock.addPid(child.pid);
    // The lock is only given back when npm has really ended.
    const forward = (signal) => child.kill(signal);
    const done = (result) => {
      for (const signal of SIGNALS) process.off(signal, forward);
      resolve(result);
    };
    for (const signal of SIGNALS) process.on(signal, forward);
    child.once('error', (error) => done({ error }));
    child.once('exit', (code, signal) => done({ code, signal }));
  });
}

// The bundled Node needs glibc. Where it does not run but the system's Node is new enough, npm scripts
// must find the system's.
function keepOnlyWorkingNode() {
  if (!existsSync(bundledNode)) return;
  const { status } = spawnSync(bundledNode, ['--version'], { stdio: 'ignore' });
  if (status !== 0) rmSync(bundledNode, { force: true });
}

function requireNode() {
  if (existsSync(bundledNode)) return;
  if (Number.parseInt(process.versions.node, 10) >= REQUIRED_NODE_MAJOR) return;
  throw new InstallError(
    `Node ${REQUIRED_NODE_MAJOR} or later is needed on this platform (${process.platform} ${process.arch}); ` +
      `this is Node ${process.versions.node}. Get a current one from https://nodejs.org and run the command again.`,
  );
}

function writeStamp(wanted) {
  const temporary = `${stampFile}.${process.pid}`;
  writeFileSync(temporary, `${wanted}\n`);
  renameSync(temporary, stampFile);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
