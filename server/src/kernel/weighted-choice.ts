// Choosing by weight, in a few steps however many there are to choose from.

export interface Weights {
  readonly total: number;
  /** Where the sum of the weights passes a value from 0 up to and without the total. */
  indexAt(value: number): number;
  /** The sum of the weights before an index. */
  before(index: number): number;
}

export function createWeights(weights: readonly number[]): Weights {
  const ends = new Float64Array(weights.length);
  let total = 0;
  for (const [i, weight] of weights.entries()) {
    total += weight;
    ends[i] = total;
  }
  return {
    total,
    before: (index) => (index === 0 ? 0 : (ends[index - 1] as number)),
    indexAt(value) {
      let [low, high] = [0, ends.length - 1];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((ends[middle] as number) > value) high = middle;
        else low = middle + 1;
      }
      return low;
    },
  };
}

/** `share` is from 0 up to and without 1. */
export function createChoice<T extends { readonly weight: number }>(
  items: readonly T[],
): (share: number) => T {
  const weights = createWeights(items.map(({ weight }) => weight));
  return (share) => items[weights.indexAt(share * weights.total)] as T;
}
