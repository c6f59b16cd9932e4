// Lets a few pieces of work run at once and some more wait; the rest is refused. So that costly work that
// anybody may ask for takes a bounded share of memory and of the thread.
import { AppError } from './errors.ts';

export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

export function createGate({ running, waiting }: { running: number; waiting: number }): Gate {
  const queue: (() => void)[] = [];
  let busy = 0;
  return async (work) => {
    if (busy < running) busy += 1;
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve));
    else {
      const text = 'Too much of this is going on already. Try again in a second.';
      throw new AppError('rate_limit_exceeded', text, { retryAfterSeconds: 1 });
    }
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
