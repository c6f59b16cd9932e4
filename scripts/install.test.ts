// The installer as users meet it: a process in a folder of its own. A small program stands in for npm, so
// that installs are quick, countable and can be held open.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';

const NPM = `
const { appendFileSync, existsSync, mkdirSync, rmSync } = require('node:fs');
appendFileSync('npm-runs', 'run\\n');
process.stdout.write('npm is running\\n');
rmSync('node_modules', { recursive: true, force: true });
mkdirSync('node_modules');
if (existsSync('fail')) process.exit(7);
if (existsSync('hold')) setInterval(() => existsSync('hold') || process.exit(0), 10);
`;

interface Project {
  path(...parts: string[]): string;
  start(): ChildProcess;
  install(): Promise<{ code: number | null; said: string }>;
  npmRuns(): number;
}

function createProject(t: TestContext): Project {
  const folder = mkdtempSync(join(tmpdir(), 'linktrail-install-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = (...parts: string[]): string => join(folder, ...parts);
  mkdirSync(path('scripts'));
  copyFileSync(join(import.meta.dirname, 'install.mjs'), path('scripts', 'install.mjs'));
  writeFileSync(path('npm-cli.js'), NPM);
  writeFileSync(path('package-lock.json'), JSON.stringify({ packages: {} }));
  const env = { PATH: process.env.PATH, npm_execpath: path('npm-cli.js') };
  const start = (): ChildProcess =>
    spawn(process.execPath, [path('scripts', 'install.mjs')], { cwd: folder, env });
  return {
    path,
    start,
    async install() {
      const child = start();
      const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')]);
      return { code: code as number | null, said };
    },
    npmRuns: () =>
      existsSync(path('npm-runs')) ? readFileSync(path('npm-runs'), 'utf8').split('\n').length - 1 : 0,
  };
}

const STAMP = ['node_modules', '.linktrail-installed'];

test('the first run installs and says so, the second does nothing and says nothing', async (t) => {
  const project = createProject(t);
  const first = await project.install();
  assert.equal(first.code, 0);
  assert.match(first.said, /^Installing dependencies \(once\)…\nDependencies installed in \d+ s\.\n$/);
  assert.deepEqual(await project.install(), { code: 0, said: '' });
  assert.equal(project.npmRuns(), 1);
});

test('a changed lock file installs again', async (t) => {
  const project = createProject(t);
  await project.install();
  writeFileSync(project.path('package-lock.json'), JSON.stringify({ packages: {}, changed: true }));
  assert.equal((await project.install()).code, 0);
  assert.equal(project.npmRuns(), 2);
});

test('what npm was told to install by hand is not installed again', async (t) => {
  const project = createProject(t);
  const packages = { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' } };
  writeFileSync(project.path('package-lock.json'), JSON.stringify({ packages }));
  mkdirSync(project.path('node_modules'));
  writeFileSync(project.path('node_modules', '.package-lock.json'), JSON.stringify({ packages }));
  assert.deepEqual(await project.install(), { code: 0, said: '' });
  assert.equal(project.npmRuns(), 0);
  writeFileSync(project.path('node_modules', '.package-lock.json'), JSON.stringify({ packages: {} }));
  rmSync(project.path(...STAMP));
  await project.install();
  assert.equal(project.npmRuns(), 1);
});

test('a failed install is reported, leaves no mark and no lock, and is tried again', async (t) => {
  const project = createProject(t);
  writeFileSync(project.path('fail'), '');
  const failed = await project.install();
  assert.equal(failed.code, 1);
  assert.match(failed.said, /Installing the dependencies failed \(npm ci ended with exit code 7/);
  assert.equal(existsSync(project.path(...STAMP)), false);
  assert.equal(existsSync(project.path('.install-lock')), false);
  rmSync(project.path('fail'));
  assert.equal((await project.install()).code, 0);
});

test('an install that is interrupted ends npm, leaves no mark and no lock', async (t) => {
  const project = createProject(t);
  writeFileSync(project.path('hold'), '');
  const child = project.start();
  await once(child.stdout!, 'data');
  child.kill('SIGTERM');
  const [code] = await once(child, 'close');
  assert.equal(code, 1);
  assert.equal(existsSync(project.path(...STAMP)), false);
  assert.equal(existsSync(project.path('.install-lock')), false);
});

test('two runs at once install once, and both find everything ready', async (t) => {
  const project = createProject(t);
  writeFileSync(project.path('hold'), '');
  const first = project.start();
  await once(first.stdout!, 'data');
  const second = project.start();
  const [waiting] = await once(second.stderr!, 'data');
  assert.match(String(waiting), /Another run is installing/);
  rmSync(project.path('hold'));
  const codes = await Promise.all([once(first, 'exit'), once(second, 'exit')]);
  assert.deepEqual(
    codes.map(([code]) => code),
    [0, 0],
  );
  assert.equal(project.npmRuns(), 1);
});

test('the lock of a run that was killed does not stop the next ones', async (t) => {
  const project = createProject(t);
  const dead = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(dead, 'exit');
  mkdirSync(project.path('.install-lock'));
  const owner = { token: 'killed', host: hostname(), pids: [dead.pid] };
  writeFileSync(project.path('.install-lock', 'owner.json'), JSON.stringify(owner));
  const runs = await Promise.all([project.install(), project.install(), project.install()]);
  assert.deepEqual(
    runs.map(({ code }) => code),
    [0, 0, 0],
  );
  assert.equal(project.npmRuns(), 1);
  assert.equal(existsSync(project.path('.install-lock')), false);
  assert.equal(existsSync(project.path('.install-lock-broken')), false);
});
