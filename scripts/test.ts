// `npm test`: runs every test file with Node's runner and says at the end which engines were left out.
// Words after `--` select files (by path or part of it) or are options of the runner.
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { ENGINES, listMissingEngines } from './engines.ts';
import { selectTests } from './test-arguments.ts';

const TEST_FILES = ['server/src/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts'];
// No test may hang a run; the longest (crash tests) need minutes.
const TEST_TIMEOUT_MS = 300_000;

process.chdir(join(import.meta.dirname, '..'));
process.exitCode = await main();

async function main(): Promise<number> {
  const { options, files, unmatched } = selectTests(process.argv.slice(2), globSync(TEST_FILES).sort());
  if (unmatched.length > 0 || files.length === 0) {
    say(`No test file matches ${unmatched.join(', ') || TEST_FILES.join(', ')}.`);
    return 1;
  }
  const status = await runTests(options, files);
  const enginesOk = reportEngines();
  return status === 0 && !enginesOk ? 1 : status;
}

function runTests(options: string[], files: string[]): Promise<number> {
  const defaults = [
    '--test',
    '--disable-warning=ExperimentalWarning',
    '--test-reporter=spec',
    `--test-concurrency=${Math.min(Math.max(availableParallelism(), 2), 8)}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
  ].filter((option) => !options.some((given) => given.split('=')[0] === option.split('=')[0]));
  // Tests that start `node` themselves must get this one.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}` };
  const child = spawn(process.execPath, [...defaults, ...options, ...files], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('error', (error) => {
      say(`The test runner could not be started: ${error.message}`);
      resolve(1);
    });
    child.once('exit', (code, signal) => {
      if (signal) say(`The test runner was ended by ${signal}.`);
      resolve(code ?? 1);
    });
  });
}

function reportEngines(): boolean {
  const missing = listMissingEngines(process.env);
  const required = process.env.LINKTRAIL_REQUIRE_ENGINES === '1';
  if (missing.length === 0) {
    say(`\nEngines tested: embedded stores, ${ENGINES.map((engine) => engine.name).join(', ')}.`);
    return true;
  }
  say(`\n${required ? 'FAILED: ENGINES MISSING' : 'SKIPPED ENGINES'} (the embedded stores were tested)`);
  for (const { name, reason } of missing) say(`  ${name}: ${reason}`);
  if (required) say('  LINKTRAIL_REQUIRE_ENGINES=1 asks for all of them.');
  return !required;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
