// The life of the server process: how it starts, what it tells, how it ends, and how it refuses to start.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { openDatabase } from './db/database.ts';
import { silentLog } from './kernel/log.ts';
import { makePlace, type Place, runServer, startServer } from './testing/processes.ts';

const KEY = /lt_[A-Za-z0-9]{24}/;

function get(url: string, key: string): Promise<Response> {
  return fetch(`${url}/api/tags`, { headers: { authorization: `Bearer ${key}` } });
}

const files = (place: Place) => ({
  pid: join(place.dataDir, 'linktrail.pid'),
  socket: join(place.dataDir, 'control.sock'),
});

/** A port that is taken for the length of the test. */
async function takenPort(t: TestContext): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe('a server that starts', () => {
  test('prints its process id and keeps it in a file', async (t) => {
    const place = await makePlace(t);
    const server = await startServer(t, place);
    assert.equal(readFileSync(files(place).pid, 'utf8').trim(), String(server.pid));
    assert.doesNotThrow(() => process.kill(server.pid, 0));
  });

  test('prints a curl line that works when pasted into a shell', async (t) => {
    const server = await startServer(t, await makePlace(t));
    const line = /^ +(curl .*)$/m.exec(server.banner)?.[1] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent --fail`]);
    assert.deepEqual(JSON.parse(stdout), []);
  });

  test('prints its first key at the first start only, and never logs it', async (t) => {
    const place = await makePlace(t, { LINKTRAIL_LOG_LEVEL: 'debug' });
    const first = await startServer(t, place);
    const key = KEY.exec(first.banner)?.[0] ?? '';
    assert.equal((await get(first.url, key)).status, 200);
    first.kill('SIGTERM');
    const { stderr } = await first.finished;
    assert.match(stderr, /"message":"started"/);
    assert.ok(!stderr.includes(key));
    const second = await startServer(t, place);
    assert.doesNotMatch(second.banner, KEY);
    assert.equal((await get(second.url, key)).status, 200);
  });

  test('takes its first key from LINKTRAIL_API_KEY without printing it, and ignores it later', async (t) => {
    const place = await makePlace(t);
    const chosen = 'chosen-by-the-operator-1';
    const first = await startServer(t, place, { LINKTRAIL_API_KEY: chosen });
    assert.equal((await get(first.url, chosen)).status, 200);
    first.kill('SIGTERM');
    const { stdout, stderr } = await first.finished;
    assert.ok(!`${stdout}${stderr}`.includes(chosen));
    const second = await startServer(t, place, { LINKTRAIL_API_KEY: 'another-key-of-the-operator' });
    assert.equal((await get(second.url, chosen)).status, 200);
    assert.equal((await get(second.url, 'another-key-of-the-operator')).status, 401);
  });

  test('reads the file .env of its working directory', async (t) => {
    const place = await makePlace(t);
    await writeFile(join(place.folder, '.env'), 'LINKTRAIL_API_KEY=from-the-file-dot-env\n');
    const server = await startServer(t, place);
    assert.equal((await get(server.url, 'from-the-file-dot-env')).status, 200);
  });
});

describe('a server that is told to stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`by ${signal} exits with 0 and takes its files with it`, async (t) => {
      const place = await makePlace(t);
      const server = await startServer(t, place);
      const { pid, socket } = files(place);
      assert.ok(existsSync(pid) && existsSync(socket));
      server.kill(signal);
      assert.equal((await server.finished).code, 0);
      assert.ok(!existsSync(pid) && !existsSync(socket));
    });
  }

  test('several times over stops once, in good order', async (t) => {
    const place = await makePlace(t);
    const server = await startServer(t, place);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const) server.kill(signal);
    const { code, stderr } = await server.finished;
    assert.equal(code, 0);
    assert.equal(stderr.match(/"message":"stopping"/g)?.length, 1);
    assert.ok(!existsSync(files(place).pid));
  });

  test('by SIGKILL starts again on the same data and serves it', async (t) => {
    const place = await makePlace(t);
    const first = await startServer(t, place);
    const key = KEY.exec(first.banner)?.[0] ?? '';
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const made = await fetch(`${first.url}/api/tags`, { method: 'POST', headers, body: '{"name":"kept"}' });
    assert.ok(made.ok);
    first.kill('SIGKILL');
    assert.equal((await first.finished).signal, 'SIGKILL');
    assert.ok(existsSync(files(place).pid) && existsSync(files(place).socket));
    const second = await startServer(t, place);
    assert.equal((await fetch(`${second.url}/health/ready`)).status, 200);
    const tags = (await (await get(second.url, key)).json()) as { name: string }[];
    assert.deepEqual(
      tags.map(({ name }) => name),
      ['kept'],
    );
    second.kill('SIGTERM');
    assert.equal((await second.finished).code, 0);
  });
});

describe('a server that cannot start', () => {
  test('because another one uses the data directory says so and leaves it alone', async (t) => {
    const place = await makePlace(t);
    const first = await startServer(t, place);
    const second = await runServer(place);
    assert.equal(second.code, 1);
    assert.equal(second.stderr.trim(), `Another Linktrail process is using ${place.dataDir}.`);
    assert.equal((await fetch(`${first.url}/health/ready`)).status, 200);
    assert.ok(existsSync(files(place).socket) && existsSync(files(place).pid));
  });

  test('because its port is taken names the port, leaves no files and does not use up the first key', async (t) => {
    const port = await takenPort(t);
    const place = await makePlace(t);
    const refused = await runServer(place, { PORT: String(port) });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, new RegExp(`^Port ${port} at 127\\.0\\.0\\.1 is in use\\. Set PORT`, 'm'));
    assert.ok(!existsSync(files(place).pid) && !existsSync(files(place).socket));
    const server = await startServer(t, place);
    assert.equal((await get(server.url, KEY.exec(server.banner)?.[0] ?? '')).status, 200);
  });

  const wrong: readonly [string, string, RegExp][] = [
    ['PORT', 'abc', /^PORT is "abc"\. It takes a number from 0 to 65535/],
    [
      'DATABASE_URL',
      'mysql://u:secret-word@h/d',
      /^DATABASE_URL is a value that does not fit\. It takes postgres:/,
    ],
    ['LINKTRAIL_TLS_CERT', '/nowhere.pem', /^LINKTRAIL_TLS_CERT is "\/nowhere\.pem"\. It takes a PEM file/],
  ];
  const unusable: readonly [Record<string, string>, RegExp][] = [
    [{ HOST: '192.0.2.1' }, /^HOST 192\.0\.2\.1 cannot be listened on \(EADDRNOTAVAIL\)\. Set HOST to/],
    [{ HOST: 'no such host' }, /^HOST no such host cannot be listened on \(\w+\)\. Set HOST to/],
    [
      { DATABASE_URL: 'postgres://u:secret-word@127.0.0.1:1/d' },
      /^DATABASE_URL names a database that cannot be used: .*ECONNREFUSED/,
    ],
    [
      { LINKTRAIL_DATA_DIR: '/proc/self/fd' },
      /^LINKTRAIL_DATA_DIR is "\/proc\/self\/fd", which cannot be used: .*lock cannot be opened\. It takes a folder/,
    ],
    [
      { LINKTRAIL_TLS_CERT: import.meta.filename, LINKTRAIL_TLS_KEY: import.meta.filename },
      /^LINKTRAIL_TLS_CERT and LINKTRAIL_TLS_KEY cannot be used: .*serve\.test\.ts holds no certificate in PEM form\./,
    ],
  ];
  for (const [env, message] of unusable) {
    test(`because ${Object.keys(env).join(' and ')} cannot be used names the setting`, async (t) => {
      const { code, stderr, stdout } = await runServer(await makePlace(t), env);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.equal(stdout, '');
      assert.doesNotMatch(stderr, /secret-word|\n.*at /);
    });
  }

  for (const [variable, value, message] of wrong) {
    test(`because ${variable}=${value} is wrong says what it takes`, async (t) => {
      const place = await makePlace(t);
      const { code, stderr, stdout } = await runServer(place, { [variable]: value });
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.equal(stdout, '');
      assert.doesNotMatch(stderr, /secret-word|\n.*at /);
      assert.ok(!existsSync(place.dataDir));
    });
  }

  test('because the data is of a newer release says so and does not touch it', async (t) => {
    const place = await makePlace(t);
    const server = await startServer(t, place);
    server.kill('SIGTERM');
    await server.finished;
    const db = await openDatabase({ url: join(place.dataDir, 'linktrail.db'), log: silentLog });
    await sql`insert into schema_migration (id, name, applied_at) values (9999, 'tomorrow', 0)`.execute(
      db.query,
    );
    await db.close();
    const { code, stderr } = await runServer(place);
    assert.equal(code, 1);
    assert.match(stderr, /9999-tomorrow.*newer release/);
    assert.ok(!existsSync(files(place).socket));
  });

  test('because the data directory is a file says which', async (t) => {
    const place = await makePlace(t);
    await writeFile(place.dataDir, '');
    const { code, stderr } = await runServer(place);
    assert.equal(code, 1);
    assert.ok(stderr.startsWith(`LINKTRAIL_DATA_DIR is "${place.dataDir}", which cannot be used: `), stderr);
    assert.doesNotMatch(stderr, /\n +at /);
  });

  test('because its control socket has no place that is its own says so', async (t) => {
    const place = await makePlace(t);
    const shared = join(place.folder, `linktrail-${process.getuid?.()}`);
    await mkdir(shared, { mode: 0o777 });
    const env = { TMPDIR: place.folder, LINKTRAIL_DATA_DIR: join(place.folder, 'd'.repeat(100)) };
    const { code, stderr } = await runServer(place, env);
    assert.equal(code, 1);
    assert.match(stderr, /belongs to another user or is open to others/);
  });
});
