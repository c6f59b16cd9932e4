// Looks for webhooks with something to deliver and works on several at once. It is woken when something is
// queued here, and looks by itself for retries and for what other nodes have left behind.
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Deliver } from './deliver.ts';
import type { WebhookQueueStore } from './webhook-queue.store.ts';

export interface Dispatcher {
  start(): void;
  /** There may be something to do now. */
  wake(): void;
  /** Delivers all that is due, and resolves when that is done. */
  run(): Promise<void>;
  /** The same for one webhook. */
  deliverTo(webhookId: string): Promise<void>;
  state(): DispatcherState;
  /** Waits for what is under way, but not for ever: what is cut off is delivered again later. */
  stop(drainMs?: number): Promise<void>;
}

export interface DispatcherState {
  /** Webhooks that are worked on here. */
  readonly active: number;
  /** Deliveries that wait, on all nodes, as counted lately; not counted further than WAITING_COUNTED. */
  readonly waiting: number;
  /** Why nothing can be delivered at present. */
  readonly failure: string | undefined;
}

export interface DispatcherOptions {
  readonly store: Pick<WebhookQueueStore, 'findDue' | 'countWaiting'>;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly log: Log;
  /** Webhooks worked on at once. */
  readonly slots?: number;
  readonly everyMs?: number;
}

export const WAITING_COUNTED = 100_000;
const COUNT_EVERY_MS = 15_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, deliver, clock, log, slots = 32, everyMs = 1_000 } = options;
  const working = new Map<string, Promise<boolean>>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let failure: string | undefined;
  let waiting = 0;
  let countedAt = 0;

  function begin(id: string): Promise<boolean> {
    const work = deliver(id).catch((error: unknown) => {
      note(error);
      return false;
    });
    working.set(id, work);
    return work.finally(() => working.delete(id));
  }

  function note(error: unknown): void {
    if (failure === undefined) log.warn({ err: error }, 'Webhooks cannot be delivered; it is tried again.');
    failure = error instanceof Error ? error.message : String(error);
  }

  /** Fills the free slots; those that end look for more, unless they failed. */
  async function look(): Promise<void> {
    do {
      again = false;
      const free = slots - working.size;
      const due = free > 0 ? await store.findDue(clock.now(), free + working.size) : [];
      for (const id of due.filter((each) => !working.has(each)).slice(0, free)) {
        void begin(id).then((worked) => worked && wake());
      }
      failure = undefined;
    } while (again);
    await count();
  }

  async function count(): Promise<void> {
    if (clock.now() - countedAt < COUNT_EVERY_MS) return;
    waiting = await store.countWaiting(WAITING_COUNTED);
    countedAt = clock.now();
  }

  function wake(): void {
    // Before the start and after the end, whoever starts next finds it.
    if (stopped || timer === undefined) return;
    again = true;
    looking ??= look()
      .catch(note)
      .finally(() => {
        looking = undefined;
      });
  }

  return {
    start() {
      timer ??= setInterval(wake, everyMs).unref();
      wake();
    },
    wake,
    async run() {
      for (;;) {
        const due = await store.findDue(clock.now(), slots);
        const worked = await Promise.all(due.map((id) => working.get(id) ?? begin(id)));
        if (!worked.some(Boolean)) return;
      }
    },
    async deliverTo(webhookId) {
      // What is under way may have begun before the caller had something to deliver.
      await working.get(webhookId);
      await (working.get(webhookId) ?? begin(webhookId));
    },
    state: () => ({ active: working.size, waiting, failure }),
    async stop(drainMs = 5_000) {
      stopped = true;
      clearInterval(timer);
      await looking;
      let late: NodeJS.Timeout | undefined;
      const drained = new Promise((resolve) => {
        late = setTimeout(resolve, drainMs);
      });
      await Promise.race([Promise.all(working.values()), drained]);
      clearTimeout(late);
    },
  };
}
