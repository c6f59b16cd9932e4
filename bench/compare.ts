// Measures two loads in turns (B A, A B, …), so that what else happens on the machine touches both alike.
import { type Load, type LoadResult, runLoad } from './load.ts';

export interface Comparison {
  /** The run with the median rate. */
  ours: LoadResult;
  baseline: LoadResult;
  /** The median of the ratios of each turn, ours to baseline. */
  ratio: number;
  p99Ratio: number;
}

/** `settle` is awaited after each of our loads, so that what it left to do does not slow the baseline down. */
export async function compareLoads(
  ours: Load,
  baseline: Load,
  rounds: number,
  settle: () => Promise<void> = async () => {},
): Promise<Comparison> {
  const runOurs = async () => {
    const result = await runLoad(ours);
    await settle();
    return result;
  };
  const turns: { ours: LoadResult; baseline: LoadResult }[] = [];
  for (let i = 0; i < rounds; i++) {
    if (i % 2 === 0) turns.push({ baseline: await runLoad(baseline), ours: await runOurs() });
    else turns.push({ ours: await runOurs(), baseline: await runLoad(baseline) });
  }
  return {
    ours: medianBy(
      turns.map((turn) => turn.ours),
      (result) => result.requestsPerSecond,
    ),
    baseline: medianBy(
      turns.map((turn) => turn.baseline),
      (result) => result.requestsPerSecond,
    ),
    ratio: median(turns.map((turn) => turn.ours.requestsPerSecond / turn.baseline.requestsPerSecond)),
    p99Ratio: median(turns.map((turn) => turn.ours.p99Ms / turn.baseline.p99Ms)),
  };
}

export function median(values: readonly number[]): number {
  return medianBy(values, (value) => value);
}

/** With an even number of items, the lower of the two in the middle: always one that was measured. */
function medianBy<T>(items: readonly T[], key: (item: T) => number): T {
  const sorted = items.toSorted((a, b) => key(a) - key(b));
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  if (middle === undefined) throw new Error('no median of nothing');
  return middle;
}
