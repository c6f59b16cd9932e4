import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';

const folder = mkdtempSync(join(tmpdir(), 'linktrail-launcher-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// The watched process says "watching", then "gone" when told so and ends. Its first watch was not started by
// npm and, having the same interval, would speak up before the second. After five polls without news it says
// "left alone".
const server = join(folder, 'server.mts');
writeFileSync(
  server,
  `import { watchLauncher } from ${JSON.stringify(join(import.meta.dirname, 'launcher.ts'))};
const keepAlive = setInterval(() => {}, 60_000);
watchLauncher({ lifecycleEvent: undefined, intervalMs: 20, onGone() { process.stdout.write('not asked\\n'); } });
watchLauncher({
  lifecycleEvent: 'start',
  intervalMs: 20,
  onGone() { process.stdout.write('gone\\n'); clearInterval(keepAlive); clearInterval(poll); },
});
process.stdout.write('watching\\n');
let polls = 0;
const poll = setInterval(() => { if (++polls === 5) { clearInterval(poll); process.stdout.write('left alone\\n'); } }, 20);
`,
);

// Stands in for npm: carries its name in the command line and runs the script through a shell.
const npm = join(folder, 'npm');
writeFileSync(
  npm,
  `require('node:child_process').spawn('sh', ['-c', process.argv[2]], { stdio: 'inherit' });
setInterval(() => {}, 60_000);
`,
);

const needsProc = process.platform === 'linux' ? false : 'walking up the processes needs /proc';

interface Launched {
  launcher: ChildProcess;
  nextLine(): Promise<string | undefined>;
}

async function launch(command: string, args: string[]): Promise<Launched> {
  const env = { ...process.env, NODE: process.execPath, SERVER: server };
  const launcher = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  const lines = createInterface({ input: launcher.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string | undefined> => (await lines.next()).value;
  assert.equal(await nextLine(), 'watching');
  return { launcher, nextLine };
}

test('a server whose npm is killed with -9 is told once, and can end', async () => {
  const { launcher, nextLine } = await launch(process.execPath, [npm, 'exec "$NODE" "$SERVER"']);
  assert.equal(await nextLine(), 'left alone');
  launcher.kill('SIGKILL');
  assert.equal(await nextLine(), 'gone');
  assert.equal(await nextLine(), undefined, 'standard output closes because the server ended');
});

test('a shell between npm and the server does not hide the death of npm', { skip: needsProc }, async () => {
  const { launcher, nextLine } = await launch(process.execPath, [npm, '"$NODE" "$SERVER"; :']);
  assert.equal(await nextLine(), 'left alone');
  launcher.kill('SIGKILL');
  assert.equal(await nextLine(), 'gone');
});

test('a launcher that died before the server looked counts as gone', { skip: needsProc }, async () => {
  const orphan = '(while kill -0 $$ 2>/dev/null; do :; done; exec "$NODE" "$SERVER") &';
  const { nextLine } = await launch('sh', ['-c', orphan]);
  assert.equal(await nextLine(), 'gone');
  assert.equal(await nextLine(), undefined);
});
