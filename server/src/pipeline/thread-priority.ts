// Lets threads step back behind the one that serves visits. Linux gives every thread a priority of its own;
// elsewhere nothing happens.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

const NICE = 10;
const POOL_THREAD = 'libuv-worker';

/** The thread that asks. True when the priority was lowered. */
export function lowerThreadPriority(nice: number = NICE): boolean {
  const threadId = findThreadId();
  return threadId !== undefined && lower(threadId, nice);
}

/**
 * The threads that Node and the event store's engine run their work in: storing events, reading and syncing files,
 * analytics. A visit waits for none of them. Returns how many; they exist from the first use of any.
 */
export function lowerPoolPriority(nice: number = NICE): number {
  return listPoolThreads().filter((threadId) => lower(threadId, nice)).length;
}

function lower(threadId: number, nice: number): boolean {
  try {
    setPriority(threadId, nice);
    return true;
  } catch {
    return false;
  }
}

function listPoolThreads(): number[] {
  if (process.platform !== 'linux') return [];
  try {
    const names = readdirSync('/proc/self/task').map((id) => ({ id, name: `/proc/self/task/${id}/comm` }));
    return names
      .filter(({ name }) => readFileSync(name, 'utf8').trim() === POOL_THREAD)
      .map(({ id }) => Number(id));
  } catch {
    return [];
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
