// `npm run check`: everything that must hold before a change is merged, each step run to its end, one table
// at the close. `--no-tests` leaves the tests out.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { loadMeasured, reportSizes } from './size-report.ts';

interface Step {
  name: string;
  command: [program: string, ...words: string[]];
}

interface Result {
  name: string;
  passed: boolean;
  seconds: number;
}

const STEPS: Step[] = [
  { name: 'format and lint', command: ['biome', 'check', '--error-on-warnings'] },
  { name: 'types', command: ['tsc', '--noEmit', '-p', '.'] },
  { name: 'types of the script for pages', command: ['tsc', '--noEmit', '-p', 'server/browser'] },
  { name: 'unused code', command: ['knip'] },
  { name: 'generated files', command: ['node', 'scripts/generate.ts', '--check'] },
];
const TESTS: Step = { name: 'tests', command: ['node', 'scripts/test.ts'] };

process.chdir(join(import.meta.dirname, '..'));
process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  const unknown = words.filter((word) => word !== '--no-tests');
  if (unknown.length > 0) {
    say(`Unknown option ${unknown.join(' ')}. The only one is --no-tests.`);
    return 2;
  }
  const results: Result[] = [];
  for (const step of words.includes('--no-tests') ? STEPS : [...STEPS, TESTS]) {
    say(`\n== ${step.name}: ${step.command.join(' ')}`);
    results.push(await runStep(step));
  }
  say(`\n== sizes\n${reportSizes(loadMeasured())}`);
  say(`\n${summary(results)}`);
  return results.every((result) => result.passed) ? 0 : 1;
}

function runStep({ name, command: [program, ...words] }: Step): Promise<Result> {
  const startedMs = performance.now();
  const path = `${join(process.cwd(), 'node_modules', '.bin')}:${process.env.PATH ?? ''}`;
  const child = spawn(program, words, { stdio: 'inherit', env: { ...process.env, PATH: path } });
  return new Promise((resolve) => {
    const done = (passed: boolean) =>
      resolve({ name, passed, seconds: (performance.now() - startedMs) / 1000 });
    child.once('error', (error) => {
      say(error.message);
      done(false);
    });
    child.once('exit', (code) => done(code === 0));
  });
}

function summary(results: readonly Result[]): string {
  const width = Math.max(...results.map((result) => result.name.length));
  return results
    .map(
      ({ name, passed, seconds }) =>
        `${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(width)}  ${seconds.toFixed(1)} s`,
    )
    .join('\n');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
