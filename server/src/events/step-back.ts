// Lets the pipeline step back while visits come as fast as they can be answered: what it would do for them then, it
// does a few seconds later, when there is time. How far behind it may fall by this is bounded, whatever the load does.

export interface StepBackOptions {
  /** How busy the thread is that answers visits, from 0 to 1. */
  readonly load: () => number;
  readonly nowMs?: () => number;
  /** From this load on, work that can wait does. */
  readonly busyLoad?: number;
  readonly maxBehindMs?: number;
  readonly lookEveryMs?: number;
}

/**
 * Resolves when work may begin. `caughtUpMs` is when nothing was left to do; undefined when that has never been so, as
 * after a restart: then nothing waits. The signal ends the waiting.
 */
export type StepBack = (caughtUpMs: number | undefined, signal: AbortSignal) => Promise<void>;

const BUSY_LOAD = 0.7;
/** What comes in that time at most is stored within as much time again. */
const MAX_BEHIND_MS = 5_000;
const LOOK_EVERY_MS = 50;

export function createStepBack({
  load,
  nowMs = () => performance.now(),
  busyLoad = BUSY_LOAD,
  maxBehindMs = MAX_BEHIND_MS,
  lookEveryMs = LOOK_EVERY_MS,
}: StepBackOptions): StepBack {
  return async (caughtUpMs, signal) => {
    if (caughtUpMs === undefined) return;
    while (!signal.aborted && load() >= busyLoad && nowMs() - caughtUpMs < maxBehindMs)
      await pause(lookEveryMs, signal);
  };
}

/** Ends early when the signal comes. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
