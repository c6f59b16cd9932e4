// What a line of the benchmark is made of. A scenario sets up what it needs, measures, cleans up after
// itself and gives one or more lines for the table.

/** A limit on the ratio of ours to the baseline. */
export type Bar = { atLeast: number } | { atMost: number };

export interface Line {
  name: string;
  /** What was measured, in words. */
  what: string;
  ours: number;
  baseline?: number;
  unit: string;
  ratio?: number;
  /** Without a bar a line is only reported. */
  bar?: Bar;
  p50Ms?: number;
  p99Ms?: number;
}

export interface ScenarioContext {
  /** How long each load is measured. */
  seconds: number;
  /** How often ours and the baseline take turns. */
  rounds: number;
  /** How many links to fill in, for scenarios that do. */
  links?: number | undefined;
  /** How many events to fill in, for scenarios that do. */
  events?: number | undefined;
  /** A line for the reader while the run goes on. */
  progress(text: string): void;
}

export interface Scenario {
  name: string;
  title: string;
  bar?: Bar;
  run(context: ScenarioContext): Promise<Line[]>;
}

export function meetsBar({ ratio, bar }: Pick<Line, 'ratio' | 'bar'>): boolean {
  if (!bar) return true;
  if (ratio === undefined || !Number.isFinite(ratio)) return false;
  return 'atLeast' in bar ? ratio >= bar.atLeast : ratio <= bar.atMost;
}
