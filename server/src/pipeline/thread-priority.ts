// Lets this thread step back behind the one that serves visits. Linux gives every thread a priority of its own;
// elsewhere nothing happens.
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

const NICE = 10;

/** True when the priority was lowered. */
export function lowerThreadPriority(nice: number = NICE): boolean {
  const threadId = findThreadId();
  if (threadId === undefined) return false;
  try {
    setPriority(threadId, nice);
    return true;
  } catch {
    return false;
  }
}

function findThreadId(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const match = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self'));
    return match ? Number(match[1]) : undefined;
  } catch {
    return undefined;
  }
}
