// Lets the pipeline step back while visits come as fast as they can be answered: what it would do for them then, it
// does a few seconds later, when there is time. Its patience is bounded, so under a load that lasts it goes on.

export interface StepBackOptions {
  /** How busy the thread is that answers visits, from 0 to 1. */
  readonly load: () => number;
  readonly nowMs?: () => number;
  /** From this load on, work that can wait does. */
  readonly busyLoad?: number;
  readonly maxWaitMs?: number;
  readonly lookEveryMs?: number;
}

/** Resolves when work may begin. The signal ends the waiting. */
export type StepBack = (signal: AbortSignal) => Promise<void>;

const BUSY_LOAD = 0.7;
/** What comes in that time at most is stored within as much time again. */
const MAX_WAIT_MS = 5_000;
const LOOK_EVERY_MS = 50;

export function createStepBack({
  load,
  nowMs = () => performance.now(),
  busyLoad = BUSY_LOAD,
  maxWaitMs = MAX_WAIT_MS,
  lookEveryMs = LOOK_EVERY_MS,
}: StepBackOptions): StepBack {
  /** Since when it has been busy all the time. */
  let busySinceMs: number | undefined;
  return async (signal) => {
    while (!signal.aborted && load() >= busyLoad) {
      busySinceMs ??= nowMs();
      if (nowMs() - busySinceMs >= maxWaitMs) return;
      await pause(lookEveryMs, signal);
    }
    busySinceMs = undefined;
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
