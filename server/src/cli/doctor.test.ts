// What the doctor finds in setups that are broken in one way each.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from '../db/database.ts';
import { silentLog } from '../kernel/log.ts';
import { freePort, makePlace, type Place, runCli, startServer } from '../testing/processes.ts';
import type { Check } from './check.ts';

async function examine(place: Place, env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runCli(place, ['doctor', '--json'], env);
  assert.equal(stderr, '');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  const wrong = checks.filter(({ state }) => state !== 'ok');
  for (const { name, advice } of wrong) assert.ok(advice, `${name} says what to do`);
  assert.equal(code, wrong.some(({ state }) => state === 'fail') ? 1 : 0);
  assert.equal(ok, code === 0);
  return { checks, find: (name: string) => checks.filter((check) => check.name === name) };
}

async function takenPort(t: TestContext): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return String((server.address() as AddressInfo).port);
}

describe('the doctor', () => {
  test('is content with a machine that was never started on, and leaves nothing there', async (t) => {
    const place = await makePlace(t);
    const { find } = await examine(place);
    for (const name of [
      'configuration',
      'node',
      'native parts',
      'data directory',
      'disk',
      'server',
      'database',
      'port',
      'clock',
    ]) {
      assert.equal(find(name)[0]?.state, 'ok', name);
    }
    assert.deepEqual(await readdir(place.folder), []);
  });

  test('names a wrong setting', async (t) => {
    const { find } = await examine(await makePlace(t), { PORT: 'abc' });
    assert.equal(find('configuration')[0]?.state, 'fail');
    assert.match(find('configuration')[0]?.text ?? '', /PORT is "abc"/);
  });

  test('warns of an open address without a public one, and of settings without effect', async (t) => {
    const { find } = await examine(await makePlace(t), { HOST: '0.0.0.0', REDIS_URL: 'redis://h' });
    assert.deepEqual(
      find('configuration').map(({ state }) => state),
      ['warn', 'warn'],
    );
    assert.match(find('configuration')[0]?.text ?? '', /LINKTRAIL_PUBLIC_URL/);
    assert.match(find('configuration')[1]?.text ?? '', /REDIS_URL/);
  });

  test('fails when the data directory cannot be one', async (t) => {
    const place = await makePlace(t);
    await writeFile(place.dataDir, '');
    assert.match((await examine(place)).find('data directory')[0]?.text ?? '', /is not a folder/);
    const below = { LINKTRAIL_DATA_DIR: join(place.dataDir, 'data') };
    assert.equal((await examine(place, below)).find('data directory')[0]?.state, 'fail');
  });

  test('fails when the data directory cannot be written to', {
    skip: process.getuid?.() === 0 && 'root may write anywhere',
  }, async (t) => {
    const place = await makePlace(t);
    await mkdir(place.dataDir, { mode: 0o500 });
    assert.equal((await examine(place)).find('data directory')[0]?.state, 'fail');
  });

  test('fails when the file system under the data directory takes no files', {
    skip: process.platform !== 'linux' && 'needs /proc',
  }, async (t) => {
    const place = await makePlace(t);
    assert.equal(
      (await examine(place, { LINKTRAIL_DATA_DIR: '/proc/self/fd' })).find('data directory')[0]?.state,
      'fail',
    );
  });

  test('warns when others can read the data directory', async (t) => {
    const place = await makePlace(t);
    await mkdir(place.dataDir);
    await chmod(place.dataDir, 0o755);
    const [check] = (await examine(place)).find('data directory');
    assert.equal(check?.state, 'warn');
    assert.equal(check?.advice, `chmod 700 ${place.dataDir}`);
  });

  test('fails when something else has the port, and when the address is not of this machine', async (t) => {
    const place = await makePlace(t);
    const PORT = await takenPort(t);
    assert.match((await examine(place, { PORT })).find('port')[0]?.text ?? '', /is in use/);
    const [elsewhere] = (await examine(place, { PORT, HOST: '192.0.2.1' })).find('port');
    assert.equal(elsewhere?.state, 'fail');
    assert.match(elsewhere?.advice ?? '', /HOST/);
  });

  test('knows its own server on the port', async (t) => {
    const place = await makePlace(t);
    const port = await freePort();
    await startServer(t, place, { PORT: port });
    const [check] = (await examine(place, { PORT: port })).find('port');
    assert.deepEqual(check, {
      name: 'port',
      state: 'ok',
      text: `${port} at 127.0.0.1 is used by the running server`,
    });
    const [other] = (await examine(place, { PORT: await freePort() })).find('port');
    assert.equal(other?.state, 'warn');
  });

  test('fails when the files of the certificate hold none', async (t) => {
    const place = await makePlace(t);
    const file = join(place.folder, 'empty.pem');
    await writeFile(file, '');
    const { find } = await examine(place, { LINKTRAIL_TLS_CERT: file, LINKTRAIL_TLS_KEY: file });
    assert.match(find('certificate')[0]?.text ?? '', /empty\.pem holds no certificate in PEM form/);
  });

  test('fails when PostgreSQL cannot be reached, without showing the password', async (t) => {
    const place = await makePlace(t);
    const { checks, find } = await examine(place, {
      DATABASE_URL: 'postgres://user:secret-word@127.0.0.1:1/nowhere',
    });
    assert.equal(find('database')[0]?.state, 'fail');
    assert.match(find('database')[0]?.text ?? '', /ECONNREFUSED/);
    assert.ok(!JSON.stringify(checks).includes('secret-word'));
  });

  test('fails when the database is no database', async (t) => {
    const place = await makePlace(t);
    await mkdir(place.dataDir, { mode: 0o700 });
    await writeFile(
      join(place.dataDir, 'linktrail.db'),
      'this is not a database, whatever its name says'.repeat(100),
    );
    assert.equal((await examine(place)).find('database')[0]?.state, 'fail');
  });

  test('fails when the data is of a newer release, and when it is newer than the clock', async (t) => {
    const place = await makePlace(t);
    const server = await startServer(t, place);
    server.kill('SIGTERM');
    await server.finished;
    const db = await openDatabase({ url: join(place.dataDir, 'linktrail.db'), log: silentLog });
    await sql`update workspace set created_at = ${Date.UTC(2100, 0, 1)}`.execute(db.query);
    assert.match((await examine(place)).find('clock')[0]?.text ?? '', /holds rows of 2100-01-01/);
    await sql`insert into schema_migration (id, name, applied_at) values (9999, 'tomorrow', 0)`.execute(
      db.query,
    );
    await db.close();
    assert.match(
      (await examine(place)).find('database')[0]?.text ?? '',
      /at version 9999, this program knows/,
    );
  });

  test('warns when more connections are allowed than files', {
    skip: process.platform !== 'linux' && 'needs /proc',
  }, async (t) => {
    const { find } = await examine(await makePlace(t), { LINKTRAIL_MAX_CONNECTIONS: '1000000' });
    assert.match(find('open files')[0]?.advice ?? '', /ulimit -n 1000500/);
  });

  test('prints a line per check for people', async (t) => {
    const place = await makePlace(t);
    const { code, stdout } = await runCli(place, ['doctor'], {
      DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x',
    });
    assert.equal(code, 1);
    assert.match(stdout, /^ok {4}configuration +valid/m);
    assert.match(stdout, /^fail {2}database .*\n +→ Check that DATABASE_URL is right/m);
    assert.match(stdout, /\d+ ok, \d+ to look at, 1 failed\n$/);
  });
});
