// Writes the files that are made from the code: openapi.json, .env.example, docs/configuration.md and the script
// that pages load.
// With --check it only compares, and fails when one of them is not what the code says.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { SETTINGS } from '../server/src/config.ts';
import { openApiDocument } from '../server/src/http/openapi.ts';
import { allOperations, type Services } from '../server/src/operations.ts';

const ROOT = join(import.meta.dirname, '..');

const FILES: Record<string, () => string> = {
  'openapi.json': openApi,
  '.env.example': envExample,
  'docs/configuration.md': configurationPage,
  'server/browser/script.min.js': browserScript,
};

/** Operations call the services when they run, and here none runs: whatever they are named will do. */
const unused: unknown = new Proxy(() => {}, { get: () => unused });

function openApi(): string {
  const operations = allOperations(unused as Services);
  return `${JSON.stringify(openApiDocument(operations, '/api'), null, 2)}\n`;
}

/** One file without dependencies, small enough to be loaded by every page. */
function browserScript(): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, 'server/browser/script.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2019',
    write: false,
  });
  const text = outputFiles[0]?.text ?? '';
  process.stdout.write(`The script for pages: ${text.length} bytes, ${gzipSync(text).length} compressed.\n`);
  return text;
}

function envExample(): string {
  const entries = SETTINGS.map(
    ({ env, description, takes, default: value }) =>
      `# ${description}\n# Takes ${takes}. Default: ${value || 'not set'}.\n#${env}=\n`,
  );
  return `# Copy to .env and set what you need; everything has a default.\n\n${entries.join('\n')}`;
}

function configurationPage(): string {
  const rows = SETTINGS.map(({ env, description, takes, default: value }) => {
    const cells = [`\`${env}\``, value ? `\`${value}\`` : '', takes, description];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return [
    '# Configuration',
    '',
    'Linktrail reads environment variables, and a file `.env` in the working directory where there is one. An empty',
    'variable counts as not set. A value that does not fit stops the start with a message that names the variable.',
    '`npx linktrail config` shows what is in effect, `npx linktrail doctor` whether it works.',
    '',
    '| variable | default | takes | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
    'This page is made from the code by `node scripts/generate.ts`.',
    '',
  ].join('\n');
}

async function main(): Promise<void> {
  const check = process.argv.includes('--check');
  const stale: string[] = [];
  for (const [name, make] of Object.entries(FILES)) {
    const path = join(ROOT, name);
    const before = await readFile(path, 'utf8').catch(() => '');
    const now = make();
    if (before === now) continue;
    stale.push(name);
    if (check) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, now);
  }
  if (check && stale.length > 0) {
    process.stderr.write(`Not what the code says: ${stale.join(', ')}. Run: node scripts/generate.ts\n`);
    process.exit(1);
  }
  process.stdout.write(
    stale.length > 0 ? `Written: ${stale.join(', ')}\n` : 'Generated files are up to date.\n',
  );
}

await main();
