// Numbers that look like chance and are the same for the same seed, for data that can be made again. Any place
// in them can be gone to at once, so that the n-th thing is made without those before it. Not for secrets.

export interface SeededRandom {
  /** From 0 up to and without 1. */
  next(): number;
  /** From 0 up to and without `below`. */
  whole(below: number): number;
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** Goes to the numbers that belong to `n`; with another stream, to others of the same `n`. */
  seek(n: number, stream?: number): void;
}

/** The seed has 32 bits. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number) => Math.floor(next() * below);
  return {
    next,
    whole,
    chance: (share) => next() < share,
    pick: (items) => items[whole(items.length)] as (typeof items)[number],
    seek(n, stream = 0) {
      state = scatter(scatter(seed + Math.imul(stream, 0x632be5ab)) ^ Math.imul(n + 1, 0x9e3779b9));
    },
  };
}

/** Neighbours end far from each other. */
function scatter(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
