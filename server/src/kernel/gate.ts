// Lets a few pieces of work run at once and some more wait, not for ever; the rest is refused. So that costly work that
// anybody may ask for takes a bounded share of memory and of the thread.
import { AppError } from './errors.ts';

export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

export interface GateOptions {
  readonly running: number;
  readonly waiting: number;
  /** Who has waited so long is refused too. */
  readonly waitMs?: number;
}

export function createGate({ running, waiting, waitMs }: GateOptions): Gate {
  const queue: (() => void)[] = [];
  let busy = 0;

  function wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        queue.splice(queue.indexOf(enter), 1);
        reject(tooMuch());
      };
      const timer = waitMs === undefined ? undefined : setTimeout(giveUp, waitMs);
      const enter = () => {
        clearTimeout(timer);
        resolve();
      };
      queue.push(enter);
    });
  }

  return async (work) => {
    if (busy < running) busy += 1;
    else if (queue.length < waiting) await wait();
    else throw tooMuch();
    try {
      return await work();
    } finally {
      // The place is handed over, not given back, so that nobody slips in between.
      const next = queue.shift();
      if (next) next();
      else busy -= 1;
    }
  };
}

function tooMuch(): AppError {
  const text = 'Too much of this is going on already. Try again in a second.';
  return new AppError('rate_limit_exceeded', text, { retryAfterSeconds: 1 });
}
