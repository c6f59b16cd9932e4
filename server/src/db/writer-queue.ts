// Gives out the one right to write in the order it was asked for.
import { StoreBusyError } from './store-error.ts';

export interface WriterQueue {
  /** Resolves with the function that gives the right back; rejects with StoreBusyError after waitMs. */
  acquire(waitMs: number): Promise<() => void>;
  readonly waiting: number;
}

export function createWriterQueue(): WriterQueue {
  const queue = new Set<() => void>();
  let taken = false;

  function release(): void {
    const [next] = queue;
    if (next) next();
    else taken = false;
  }

  /** A right given back twice must not be given out twice. */
  function grant(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      release();
    };
  }

  return {
    get waiting() {
      return queue.size;
    },
    acquire(waitMs) {
      if (!taken) {
        taken = true;
        return Promise.resolve(grant());
      }
      return new Promise((resolve, reject) => {
        const enter = () => {
          clearTimeout(timer);
          queue.delete(enter);
          resolve(grant());
        };
        const timer = setTimeout(() => {
          queue.delete(enter);
          reject(new StoreBusyError(`No turn to write within ${waitMs} ms`));
        }, waitMs);
        queue.add(enter);
      });
    },
  };
}
