// `npm run bench`: runs the scenarios (all, or those named after `--`) one after another and prints one
// table. Figures are ratios to a baseline measured in the same run; a missed bar fails the run.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { formatJson, formatTable } from './report.ts';
import { type Line, meetsBar, type Scenario } from './scenario.ts';
import { analytics } from './scenarios/analytics.ts';
import { dump } from './scenarios/dump.ts';
import { journal } from './scenarios/journal.ts';
import { links } from './scenarios/links.ts';
import { million } from './scenarios/million.ts';
import { pipeline } from './scenarios/pipeline.ts';
import { redirect, redirectMany } from './scenarios/redirect.ts';
import { selfCheck } from './scenarios/self-check.ts';
import { start } from './scenarios/start.ts';
import { tags } from './scenarios/tags.ts';

const SCENARIOS: readonly Scenario[] = [
  selfCheck,
  tags,
  start,
  journal,
  links,
  million,
  dump,
  redirect,
  redirectMany,
  pipeline,
  analytics,
];

const USAGE = `Usage: npm run bench -- [name…] [--seconds 3] [--rounds 3] [--links 100k] [--events 10m] [--json file]
${SCENARIOS.map(({ name, title }) => `  ${name.padEnd(12)} ${title}`).join('\n')}`;

process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  const options = readOptions(words);
  if (!options) {
    say(USAGE);
    return 2;
  }
  const lines: Line[] = [];
  let failed = false;
  for (const scenario of options.scenarios) {
    say(`${scenario.name}: ${scenario.title}…`);
    try {
      lines.push(...(await scenario.run({ ...options, progress: (text) => say(`  ${text}`) })));
    } catch (error) {
      failed = true;
      say(`${scenario.name} FAILED: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (lines.length > 0) say(`\n${formatTable(lines)}`);
  if (options.json) writeFileSync(options.json, formatJson(lines));
  return failed || !lines.every(meetsBar) ? 1 : 0;
}

interface Options {
  scenarios: Scenario[];
  seconds: number;
  rounds: number;
  links: number | undefined;
  events: number | undefined;
  json: string | undefined;
}

function readOptions(words: string[]): Options | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        seconds: { type: 'string', default: '3' },
        rounds: { type: 'string', default: '3' },
        links: { type: 'string' },
        events: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
    const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
    const unknown = positionals.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
    if (unknown.length > 0) throw new Error(`There is no scenario ${unknown.join(', ')}.`);
    if (!(seconds > 0) || !(rounds >= 1)) throw new Error('--seconds and --rounds must be above 0.');
    if (values.help) return undefined;
    const chosen = SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return {
      scenarios: chosen,
      seconds,
      rounds: Math.floor(rounds),
      links: readCount(values.links, '--links'),
      events: readCount(values.events, '--events'),
      json: values.json,
    };
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** `100k`, `1m` or plain digits. */
function readCount(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const [, digits, unit] = /^(\d+)([km]?)$/i.exec(text) ?? [];
  if (digits === undefined) throw new Error(`${option} takes a number such as 100k or 1m.`);
  return Number(digits) * { '': 1, k: 1000, m: 1_000_000 }[unit?.toLowerCase() as '' | 'k' | 'm'];
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
