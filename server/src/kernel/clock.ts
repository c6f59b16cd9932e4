// Time as a dependency: nothing outside kernel reads the system clock.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export interface ManualClock extends Clock {
  set(ms: number): void;
  advance(ms: number): void;
}

export function manualClock(startMs: number): ManualClock {
  let ms = startMs;
  return {
    now: () => ms,
    set(to) {
      ms = to;
    },
    advance(by) {
      ms += by;
    },
  };
}

let lastIso = { ms: 0, text: new Date(0).toISOString() };

/** What is made together has the same time: the last one is remembered. */
export function isoTime(ms: number): string {
  if (ms !== lastIso.ms) lastIso = { ms, text: new Date(ms).toISOString() };
  return lastIso.text;
}
