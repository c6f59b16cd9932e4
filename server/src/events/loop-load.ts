// How busy the thread is that answers visits, told to other threads through shared memory: the share of the last
// tenth of a second that its event loop was not waiting. Hand `shared` to another thread and read it there.

export interface LoopLoad {
  readonly shared: SharedArrayBuffer;
  /** Measures the loop of the thread that calls, from now on. Returns how to stop. */
  measure(): () => void;
  /** From 0 to 1. */
  read(): number;
}

const EVERY_MS = 100;
const PARTS = 1_000;

export function createLoopLoad(shared: SharedArrayBuffer = new SharedArrayBuffer(4)): LoopLoad {
  const share = new Int32Array(shared);
  return {
    shared,
    measure() {
      let last = performance.eventLoopUtilization();
      const timer = setInterval(() => {
        const now = performance.eventLoopUtilization();
        Atomics.store(share, 0, Math.round(performance.eventLoopUtilization(now, last).utilization * PARTS));
        last = now;
      }, EVERY_MS).unref();
      return () => clearInterval(timer);
    },
    read: () => Atomics.load(share, 0) / PARTS,
  };
}
