// The command line as people run it: the real program, beside a running server and without one, on each
// engine.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { lockFile } from './db/sqlite-file.ts';
import { eachDatabase, type TestDatabases } from './testing/databases.ts';
import { type Finished, makePlace, type Place, runCli, startServer } from './testing/processes.ts';

const KEY = /lt_[A-Za-z0-9]{24}/;

interface Created {
  id: string;
  slug: string;
  plan: string;
  key: string;
}

/** What the command printed, as JSON; it must have gone well and printed nothing else. */
async function json<T>(place: Place, ...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli(place, [...args, '--json']);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  return JSON.parse(stdout) as T;
}

function assertRefused({ code, stdout, stderr }: Finished, message: RegExp): void {
  assert.equal(code, 1);
  assert.match(stderr, message);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.equal(stdout, '');
}

async function statusWith(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/api/tags`, { headers: { authorization: `Bearer ${key}` } })).status;
}

async function placeOn(t: TestContext, databases: TestDatabases): Promise<Place> {
  const place = await makePlace(
    t,
    databases.engine === 'postgres' ? { DATABASE_URL: await databases.place() } : {},
  );
  await mkdir(place.dataDir, { mode: 0o700 });
  return place;
}

eachDatabase('the command line', (databases) => {
  test('beside a server, a key works as soon as it is printed and is refused as soon as it is revoked', async (t) => {
    const place = await placeOn(t, databases);
    const server = await startServer(t, place);
    const made = await json<Created>(place, 'workspace', 'create', 'Acme Inc');
    assert.equal(made.slug, 'acme-inc');
    assert.equal(made.plan, 'enterprise');
    assert.equal(await statusWith(server.url, made.key), 200);

    const key = await json<{ id: string; key: string; expires: string | null }>(
      place,
      'key',
      'create',
      made.id,
    );
    assert.equal(await statusWith(server.url, key.key), 200);
    assert.equal(key.expires, null);
    assert.deepEqual(await json(place, 'key', 'revoke', 'acme-inc', key.id), {
      id: key.id,
      workspace: 'acme-inc',
    });
    assert.equal(await statusWith(server.url, key.key), 401);

    const limited = await json<{ limits: object }>(place, 'workspace', 'set-limit', 'acme-inc', 'tags', '0');
    assert.deepEqual(limited.limits, { tags: 0 });
    const headers = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' };
    const tag = await fetch(`${server.url}/api/tags`, { method: 'POST', headers, body: '{"name":"one"}' });
    assert.equal(tag.status, 403);
    const freed = await json<{ limits: object }>(place, 'workspace', 'set-limit', 'acme-inc', 'tags', 'none');
    assert.deepEqual(freed.limits, {});
    assert.match(server.log(), /"command":"workspace create"/);
    assert.ok(![made.key, key.key].some((secret) => server.log().includes(secret)));
  });

  test('without a server it does the same by itself, and a server finds what it made', async (t) => {
    const place = await placeOn(t, databases);
    const made = await json<Created>(
      place,
      'workspace',
      'create',
      'Alone',
      '--plan',
      'pro',
      '--owner',
      'Ada',
    );
    const key = await json<{ id: string; key: string; scopes: string[] }>(
      place,
      'key',
      'create',
      'alone',
      '--scopes',
      'tags.read,links.write',
      '--machine',
      '--name',
      'Robot',
      '--expires',
      '30d',
    );
    assert.deepEqual(key.scopes, ['tags.read', 'links.write']);
    await json(place, 'workspace', 'set-plan', 'alone', 'business');
    await json(place, 'workspace', 'set-limit', 'alone', 'links', '7');
    const [workspace, ...others] = await json<object[]>(place, 'workspace', 'list');
    assert.deepEqual(others, []);
    assert.partialDeepStrictEqual(workspace, {
      id: made.id,
      slug: 'alone',
      plan: 'business',
      limits: { links: 7 },
    });

    const listed = await runCli(place, ['key', 'list', 'alone', '--json']);
    const keys = JSON.parse(listed.stdout) as object[];
    assert.partialDeepStrictEqual(keys, [
      { name: 'First key', user: 'Ada', machine: false, expires: null },
      { id: key.id, name: 'Robot', user: 'Robot', machine: true, scopes: ['tags.read', 'links.write'] },
    ]);
    assert.ok(![made.key, key.key].some((secret) => listed.stdout.includes(secret)));

    const server = await startServer(t, place);
    assert.doesNotMatch(server.banner, KEY);
    assert.equal(await statusWith(server.url, made.key), 200);
    assert.equal(await statusWith(server.url, key.key), 200);
  });

  test('the doctor finds nothing wrong, with a server and without one', async (t) => {
    const place = await placeOn(t, databases);
    const server = await startServer(t, place);
    const beside = await json<{ ok: boolean; checks: { name: string; state: string; text: string }[] }>(
      place,
      'doctor',
    );
    const find = (checks: typeof beside.checks, name: string) => checks.find((check) => check.name === name);
    assert.match(find(beside.checks, 'server')?.text ?? '', new RegExp(`running, pid ${server.pid}`));
    assert.match(
      find(beside.checks, 'database')?.text ?? '',
      /(SQLite|PostgreSQL) answers and is at version \d+/,
    );
    server.kill('SIGTERM');
    await server.finished;
    const alone = await json<typeof beside>(place, 'doctor');
    assert.equal(find(alone.checks, 'server')?.text, 'not running');
    assert.equal(find(alone.checks, 'database')?.text, find(beside.checks, 'database')?.text);
  });
});

describe('what it prints', () => {
  test('for people: a table of workspaces and one of keys, and a key only where it is made', async (t) => {
    const place = await makePlace(t);
    await mkdir(place.dataDir, { mode: 0o700 });
    const made = await runCli(place, ['workspace', 'create', 'Acme']);
    assert.match(
      made.stdout,
      /Workspace Acme is made\.[\s\S]*slug {2}acme[\s\S]*key {3}lt_\w{24} {3}\(shown this once/,
    );
    const list = await runCli(place, ['workspace', 'list']);
    assert.match(list.stdout, /^ID +SLUG +PLAN +LIMITS +NAME\nws_\w{26} +acme +enterprise +none +Acme\n$/);
    const keys = await runCli(place, ['key', 'list', 'acme']);
    assert.match(
      keys.stdout,
      /^ID +KEY +NAME.*\ntok_\w{26} +lt_\.\.\.\w{4} +First key +all +Owner +never +never\n$/,
    );
  });

  test('for programs: all pages of a list as one array', async (t) => {
    const place = await makePlace(t);
    const server = await startServer(t, place);
    assert.deepEqual(
      (await json<Created[]>(place, 'workspace', 'list')).map(({ slug }) => slug),
      ['main'],
    );
    const key = KEY.exec(server.banner)?.[0] ?? '';
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const make = (name: string) =>
      fetch(`${server.url}/api/tokens`, { method: 'POST', headers, body: JSON.stringify({ name }) });
    // With the first key that is a full page and no more: the end must be found without losing it.
    for (let i = 0; i < 99; i += 11) {
      await Promise.all(Array.from({ length: 11 }, (_, n) => make(`Key ${i + n}`)));
    }
    const keys = await json<{ id: string }[]>(place, 'key', 'list', 'main');
    assert.equal(new Set(keys.map(({ id }) => id)).size, 100);
    assertRefused(await runCli(place, ['key', 'create', 'main']), /at most 100 keys/);
  });

  test('help, version and configuration need no data and make none', async (t) => {
    const place = await makePlace(t, { LINKTRAIL_API_KEY: 'a-secret-of-the-operator' });
    for (const args of [['help'], ['help', 'key', 'create'], ['version'], ['config']]) {
      const text = await runCli(place, args);
      assert.equal(text.code, 0, text.stderr);
      assert.equal(text.stderr, '');
      assert.notEqual(text.stdout, '');
      assert.ok(await json<object>(place, ...args));
    }
    const { settings } = await json<{ settings: { variable: string; value: string; set: boolean }[] }>(
      place,
      'config',
    );
    assert.deepEqual(
      settings.find(({ variable }) => variable === 'LINKTRAIL_API_KEY'),
      {
        variable: 'LINKTRAIL_API_KEY',
        value: '(set, hidden)',
        set: true,
      },
    );
    assert.equal(settings.find(({ variable }) => variable === 'HOST')?.set, false);
    assert.ok(!existsSync(place.dataDir));
  });

  test('settings come from .env as for the server', async (t) => {
    const place = await makePlace(t);
    await writeFile(join(place.folder, '.env'), 'LINKTRAIL_LOG_LEVEL=debug\n');
    const { settings } = await json<{ settings: object[] }>(place, 'config');
    assert.ok(settings.some((line) => JSON.stringify(line).includes('"debug"')));
  });
});

describe('when something is wrong', () => {
  test('a command line that is not understood exits with 2 and says how it should read', async (t) => {
    const place = await makePlace(t);
    const { code, stdout, stderr } = await runCli(place, [
      'workspace',
      'set-limit',
      'main',
      'wheels',
      '4',
      '--json',
    ]);
    assert.equal(code, 2);
    assert.equal(JSON.parse(stdout).error.code, 'usage');
    assert.match(
      stderr,
      /^linktrail: <limit>: takes one of links, .*\nUsage: linktrail workspace set-limit <workspace>/,
    );
    const unknown = await runCli(place, ['frobnicate']);
    assert.equal(unknown.code, 2);
    assert.equal(unknown.stdout, '');
    assert.match(unknown.stderr, /There is no command frobnicate\.\nUsage: linktrail/);
  });

  test('a refused command exits with 1 and one line, and as JSON with its code, beside a server and without', async (t) => {
    const place = await makePlace(t);
    const check = async () => {
      assertRefused(
        await runCli(place, ['key', 'create', 'nobody']),
        /^linktrail: There is no workspace nobody\.$/m,
      );
      const { code, stdout, stderr } = await runCli(place, ['workspace', 'create', 'Main', '--json']);
      assert.equal(code, 1);
      assert.equal(JSON.parse(stdout).error.code, 'conflict');
      assert.match(stderr, /Another workspace has the slug main\./);
    };
    const server = await startServer(t, place);
    await check();
    server.kill('SIGTERM');
    await server.finished;
    await check();
  });

  test('a killed server does not stand in the way', async (t) => {
    const place = await makePlace(t);
    const server = await startServer(t, place);
    server.kill('SIGKILL');
    await server.finished;
    assert.ok(existsSync(join(place.dataDir, 'control.sock')));
    const workspaces = await json<Created[]>(place, 'workspace', 'list');
    assert.deepEqual(
      workspaces.map(({ slug }) => slug),
      ['main'],
    );
  });

  test('a data directory with a very long path works beside a server', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'lt-'));
    const place = await makePlace(t, { LINKTRAIL_DATA_DIR: join(folder, 'd'.repeat(100)), TMPDIR: folder });
    const server = await startServer(t, place);
    // Last, since clean-ups run in order: the server must have ended before its data is removed.
    t.after(() => rm(folder, { recursive: true, force: true }));
    const { key } = await json<Created>(place, 'key', 'create', 'main');
    assert.equal(await statusWith(server.url, key), 200);
  });

  test('a data directory that another process uses is left alone', async (t) => {
    const place = await makePlace(t);
    await mkdir(place.dataDir, { mode: 0o700 });
    const lock = lockFile(join(place.dataDir, 'lock'));
    t.after(() => lock?.release());
    assertRefused(
      await runCli(place, ['workspace', 'list']),
      /Another Linktrail process is using .* Wait until it is done/,
    );
  });

  test('a data directory that is not there is not made by a command', async (t) => {
    const place = await makePlace(t);
    assertRefused(
      await runCli(place, ['workspace', 'list']),
      /There is no data directory .*Start the server once/,
    );
    assert.ok(!existsSync(place.dataDir));
  });

  test('wrong settings are named, and a database that is not there', async (t) => {
    const place = await makePlace(t);
    assertRefused(
      await runCli(place, ['workspace', 'list'], { PORT: 'x' }),
      /PORT is "x"\. It takes a number/,
    );
    const url = 'postgres://user:secret-word@127.0.0.1:1/nowhere';
    const refused = await runCli(place, ['workspace', 'list'], { DATABASE_URL: url });
    assertRefused(refused, /ECONNREFUSED/);
    assert.ok(!refused.stderr.includes('secret-word'));
  });
});
