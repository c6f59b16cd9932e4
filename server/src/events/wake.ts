// Wakes readers of the journal in any thread: a counter in shared memory that the writer raises once per
// write. Hand `shared` to another thread and build the other end from it there.

export interface Wake {
  readonly shared: SharedArrayBuffer;
  mark(): number;
  notify(): void;
  /** Resolves when the counter is no longer at the mark, or after the time-out. */
  changed(mark: number, timeoutMs: number): Promise<void>;
}

export function createWake(shared: SharedArrayBuffer = new SharedArrayBuffer(4)): Wake {
  const counter = new Int32Array(shared);
  return {
    shared,
    mark: () => Atomics.load(counter, 0),
    notify() {
      Atomics.add(counter, 0, 1);
      Atomics.notify(counter, 0);
    },
    async changed(mark, timeoutMs) {
      // A pending waitAsync does not keep a thread alive; the timer does.
      const alive = setTimeout(() => {}, timeoutMs + 1_000);
      await Atomics.waitAsync(counter, 0, mark, timeoutMs).value;
      clearTimeout(alive);
    },
  };
}
