// Reads the words after `npm test --`: options go to Node's runner as they are, anything else selects test
// files, by path or by a part of the path.
import { existsSync, statSync } from 'node:fs';

const OPTIONS_WITH_VALUE = new Set([
  '--test-name-pattern',
  '--test-skip-pattern',
  '--test-concurrency',
  '--test-timeout',
  '--test-reporter',
  '--test-reporter-destination',
  '--test-shard',
]);

export interface TestSelection {
  options: string[];
  files: string[];
  unmatched: string[];
}

export function selectTests(words: readonly string[], allFiles: readonly string[]): TestSelection {
  const options: string[] = [];
  const wanted: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (!word.startsWith('-')) {
      wanted.push(word);
      continue;
    }
    options.push(word);
    const value = words[i + 1];
    if (OPTIONS_WITH_VALUE.has(word) && value !== undefined) {
      options.push(value);
      i++;
    }
  }
  if (wanted.length === 0) return { options, files: [...allFiles], unmatched: [] };
  const matches = wanted.map((word) => matchFiles(word, allFiles));
  return {
    options,
    files: [...new Set(matches.flat())],
    unmatched: wanted.filter((_, i) => matches[i]?.length === 0),
  };
}

function matchFiles(word: string, allFiles: readonly string[]): string[] {
  const path = word.replace(/^\.\//, '');
  if (allFiles.includes(path)) return [path];
  // A file outside the usual places was named on purpose.
  if (existsSync(path) && statSync(path).isFile()) return [path];
  return allFiles.filter((file) => file.includes(path));
}
