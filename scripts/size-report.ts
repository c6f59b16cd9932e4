// How long functions and files are: a compass and not a fence. Tests are left out; physical lines count.
import { globSync, readFileSync } from 'node:fs';
import { isTest } from './architecture.ts';
import { parseSource, type Source } from './source-model.ts';

const LONG_FUNCTION_LINES = 60;
const LONG_FILE_LINES = 400;
const MANY_PARAMETERS = 5;
const GOAL_P95_LINES = 40;

export function loadMeasured(): Source[] {
  return globSync('{server/src,scripts,bench}/**/*.ts')
    .filter((path) => !isTest(path.replace(/^server\/src\//, '')))
    .sort()
    .map((path) => parseSource({ path, text: readFileSync(path, 'utf8') }));
}

export function reportSizes(sources: readonly Source[]): string {
  const functions = sources.flatMap((source) =>
    source.functions.map((size) => ({ ...size, path: source.path })),
  );
  const lengths = functions.map((size) => size.lines).sort((a, b) => a - b);
  const p95 = quantile(lengths, 0.95);
  const place = ({ path, line, name }: (typeof functions)[number]): string => `${path}:${line} ${name}`;
  return [
    `${sources.length} files, ${sources.reduce((sum, source) => sum + source.lines, 0)} lines, ${lengths.length} functions`,
    `function lines: p50 ${quantile(lengths, 0.5)}, p95 ${p95} (goal ${GOAL_P95_LINES}), max ${lengths.at(-1) ?? 0}`,
    ...listing(
      `functions over ${LONG_FUNCTION_LINES} lines`,
      functions
        .filter((size) => size.lines > LONG_FUNCTION_LINES)
        .map((size) => `${place(size)} (${size.lines})`),
    ),
    ...listing(
      `functions with more than ${MANY_PARAMETERS} parameters`,
      functions
        .filter((size) => size.parameters > MANY_PARAMETERS)
        .map((size) => `${place(size)} (${size.parameters})`),
    ),
    ...listing(
      `files over ${LONG_FILE_LINES} lines`,
      sources
        .filter((source) => source.lines > LONG_FILE_LINES)
        .map(({ path, lines }) => `${path} (${lines})`),
    ),
  ].join('\n');
}

export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0;
}

function listing(title: string, entries: string[]): string[] {
  return [`${title}: ${entries.length}`, ...entries.map((entry) => `  ${entry}`)];
}
