// Keeps quick sinks in step with a slow one, so that all are fed from the same batches: one that ran ahead
// would have everything read and enriched twice. A leader that fails holds nobody.
import type { Sink } from '../events/consumer.ts';
import { comparePositions, type Position } from '../events/journal.ts';

export interface Pace<E> {
  /** The sink whose pace counts. */
  lead(sink: Sink<E>): Sink<E>;
  /** A sink that stores a batch only once the leader has begun with it. */
  follow(sink: Sink<E>): Sink<E>;
  /** Nobody waits any more: the leader is about to stop. */
  end(): void;
}

export function createPace<E>(): Pace<E> {
  let begun: Position | undefined;
  let failing = false;
  let ended = false;
  let waiting: (() => void)[] = [];

  function wake(): void {
    for (const go of waiting) go();
    waiting = [];
  }

  function mayGo(upTo: Position): boolean {
    return ended || failing || (begun !== undefined && comparePositions(upTo, begun) <= 0);
  }

  async function watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      failing = false;
      return result;
    } catch (error) {
      failing = true;
      wake();
      throw error;
    }
  }

  return {
    lead: (sink) => ({
      name: sink.name,
      committed: () =>
        watch(async () => {
          begun = await sink.committed();
          wake();
          return begun;
        }),
      ...(sink.begun && { begun: () => watch(async () => sink.begun?.()) }),
      append: (events, upTo) =>
        watch(() => {
          begun = upTo;
          wake();
          return sink.append(events, upTo);
        }),
    }),
    follow: (sink) => ({
      name: sink.name,
      committed: () => sink.committed(),
      async append(events, upTo) {
        while (!mayGo(upTo)) await new Promise<void>((resolve) => waiting.push(resolve));
        await sink.append(events, upTo);
      },
    }),
    end() {
      ended = true;
      wake();
    },
  };
}
