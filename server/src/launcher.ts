// Notices that the launcher which started this process (npm, or a tool that runs npm scripts) is gone
// without having passed on a signal: killed with -9, or its terminal closed. Calls `onGone` at most once
// and never keeps the process alive.
import { readFileSync } from 'node:fs';

const LAUNCHER = /(^|[\s/\\\0])(npm|npx|pnpm|pnpx|yarn|bun|bunx)([\s\0.-]|$)/;
const DEFAULT_INTERVAL_MS = 500;
const MAX_DEPTH = 32;

interface LauncherWatchOptions {
  /** Set by npm for the scripts it runs (`npm_lifecycle_event`); without it nothing is watched. */
  lifecycleEvent: string | undefined;
  onGone: () => void;
  intervalMs?: number;
}

export function watchLauncher(options: LauncherWatchOptions): { stop(): void } {
  if (!options.lifecycleEvent) return { stop() {} };
  const isPresent = process.platform === 'linux' ? linuxLauncher() : directParent();
  const timer = setInterval(() => {
    if (isPresent()) return;
    clearInterval(timer);
    options.onGone();
  }, options.intervalMs ?? DEFAULT_INTERVAL_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

function directParent(): () => boolean {
  const parent = process.ppid;
  return () => process.ppid === parent;
}

// The chain holds every process from the parent up to the launcher. A launcher that cannot be found was
// gone before we looked; one that may not be read (a hardened /proc) leaves the parent to go by.
function linuxLauncher(): () => boolean {
  const chain: ProcessState[] = [];
  let pid = process.ppid;
  while (pid > 0 && chain.length < MAX_DEPTH) {
    const state = readProcess(pid);
    const command = readCommand(pid);
    if (!state || command === undefined) return directParent();
    chain.push(state);
    if (LAUNCHER.test(command)) return () => chainHolds(chain);
    pid = state.parentPid;
  }
  return () => false;
}

function chainHolds(chain: readonly ProcessState[]): boolean {
  let expectedPid = process.ppid;
  for (const known of chain) {
    if (known.pid !== expectedPid) return false;
    const now = readProcess(known.pid);
    if (!now || now.startedAt !== known.startedAt || now.isDead) return false;
    expectedPid = now.parentPid;
  }
  return true;
}

interface ProcessState {
  pid: number;
  parentPid: number;
  /** Clock ticks since boot; tells a reused process id from the first. */
  startedAt: string;
  isDead: boolean;
}

function readProcess(pid: number): ProcessState | undefined {
  const text = readProc(pid, 'stat');
  if (text === undefined) return undefined;
  // The command name stands in brackets and may hold spaces and brackets of its own.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parentPid = '0'] = fields;
  return { pid, parentPid: Number(parentPid), startedAt: fields[19] ?? '', isDead: /[ZXx]/.test(state) };
}

function readCommand(pid: number): string | undefined {
  return readProc(pid, 'cmdline');
}

function readProc(pid: number, file: 'stat' | 'cmdline'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
