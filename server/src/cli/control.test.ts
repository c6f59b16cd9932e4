// The socket between the command line and the server: who can open it, where it is, and what goes over it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { z } from 'zod';
import { type App, openApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { AppError } from '../kernel/errors.ts';
import { createLog } from '../kernel/log.ts';
import { type Command, type Context, command } from './command.ts';
import { type Control, connectControl, RemoteError, serveControl } from './control.ts';
import { controlSocketPath } from './control-socket.ts';

const quiet = { row() {}, progress() {} };

const echo = command({
  path: ['test', 'echo'],
  summary: 'Answers with its input',
  args: { text: { schema: z.string().max(10), description: '' } },
  run: async (_context: Context, { text }) => ({ text }),
});

function define(path: string, run: (context: Context) => Promise<unknown>): Command {
  return command({ path: [path], summary: '', run: (context: Context) => run(context) });
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lt-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Served {
  app: App;
  control: Control;
  close(): Promise<void>;
  logged(): string;
}

async function serve(t: TestContext, commands: readonly Command[], dataDir?: string): Promise<Served> {
  const lines: string[] = [];
  const folder = dataDir ?? (await makeFolder(t));
  const config = readConfig({ LINKTRAIL_DATA_DIR: folder, LINKTRAIL_DRAIN_MS: '100' });
  const app = await openApp({ config, log: createLog('debug', (line) => lines.push(line)) });
  t.after(() => app.close());
  const server = await serveControl(app, commands);
  t.after(() => server.close());
  const control = await connectControl(folder);
  assert.ok(control);
  return { app, control, close: () => server.close(), logged: () => lines.join('') };
}

describe('what goes over the socket', () => {
  test('a command runs in the server and its result comes back', async (t) => {
    const { control } = await serve(t, [echo]);
    assert.deepEqual(await control.run(echo, { text: 'hello' }, quiet), { text: 'hello' });
  });

  test('the server checks the input again', async (t) => {
    const { control } = await serve(t, [echo]);
    for (const input of [{ text: 'much too long for it' }, { text: 1 }, {}, { text: 'a', more: 1 }, null]) {
      await assert.rejects(control.run(echo, input, quiet), (error) => {
        assert.ok(error instanceof RemoteError);
        assert.equal(error.code, 'unprocessable_entity');
        return true;
      });
    }
  });

  test('rows and progress come before the result, in order', async (t) => {
    const list = define('list', async ({ row, progress }) => {
      await row({ n: 1 });
      await progress({ done: 1, unit: 'rows' });
      await row({ n: 2 });
      return { rows: 2 };
    });
    const { control } = await serve(t, [list]);
    const seen: object[] = [];
    const note = (value: object) => void seen.push(value);
    assert.deepEqual(await control.run(list, {}, { row: note, progress: note }), { rows: 2 });
    assert.deepEqual(seen, [{ n: 1 }, { done: 1, unit: 'rows' }, { n: 2 }]);
  });

  test('errors keep their code and text; unexpected ones are logged', async (t) => {
    const refuse = define('refuse', () => Promise.reject(new AppError('conflict', 'Taken.')));
    const fail = define('fail', () => Promise.reject(new Error('Broken.')));
    const { control, logged } = await serve(t, [refuse, fail]);
    await assert.rejects(control.run(refuse, {}, quiet), { code: 'conflict', message: 'Taken.' });
    await assert.rejects(control.run(fail, {}, quiet), { code: 'internal_server_error', message: 'Broken.' });
    assert.match(logged(), /Broken/);
    assert.doesNotMatch(logged(), /Taken/);
  });

  test('neither input nor result is logged', async (t) => {
    const { control, logged } = await serve(t, [echo]);
    await control.run(echo, { text: 'lt_secret' }, quiet);
    assert.match(logged(), /test echo/);
    assert.doesNotMatch(logged(), /lt_secret/);
  });

  test('a command the server does not have is refused with the likely reason', async (t) => {
    const { control } = await serve(t, []);
    await assert.rejects(control.run(echo, { text: 'a' }, quiet), {
      code: 'not_found',
      message: /another release/,
    });
  });

  test('what is no such request is refused and does no harm', async (t) => {
    const { app, control } = await serve(t, [echo]);
    const { path } = await controlSocketPath(app.config.dataDir);
    const odd: readonly [string, string, string | Buffer, RegExp][] = [
      ['GET', '/run', '', /not_found/],
      ['POST', '/other', '{}', /not_found/],
      ['POST', '/run', 'not json', /bad_request/],
      ['POST', '/run', 'null', /bad_request/],
      ['POST', '/run', '[]', /not_found/],
      ['POST', '/run', Buffer.alloc(1_100_000, 'x'), /bad_request/],
    ];
    for (const [method, url, body, expected] of odd)
      assert.match(await raw(path, method, url, body), expected);
    assert.deepEqual(await control.run(echo, { text: 'alive' }, quiet), { text: 'alive' });
  });
});

async function raw(socketPath: string, method: string, path: string, body: string | Buffer): Promise<string> {
  const outgoing = request({ socketPath, method, path });
  // The server may answer and close before it has read a body that is too long.
  outgoing.on('error', () => {});
  outgoing.end(body);
  const [response] = await once(outgoing, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

describe('ends that come early', () => {
  test('a caller that goes away aborts its command', async (t) => {
    const started = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const long = define('long', async ({ signal }) => {
      started.resolve();
      await once(signal, 'abort');
      aborted.resolve();
    });
    const { control } = await serve(t, [long]);
    const leave = new AbortController();
    const running = control.run(long, {}, { ...quiet, signal: leave.signal });
    await started.promise;
    leave.abort();
    await assert.rejects(running, { name: 'AbortError' });
    await aborted.promise;
  });

  test('a caller that reads slowly holds the command back', async (t) => {
    const text = 'x'.repeat(100_000);
    let sent = 0;
    const flood = define('flood', async ({ row, signal }) => {
      while (!signal.aborted) {
        await row({ text });
        sent++;
      }
    });
    const { app } = await serve(t, [flood]);
    const { path } = await controlSocketPath(app.config.dataDir);
    const outgoing = request({ socketPath: path, method: 'POST', path: '/run' });
    outgoing.end('{"command":"flood","input":{}}');
    const [response] = await once(outgoing, 'response');
    // Unread, it fills the buffers between the two and then stands still: the count settles.
    let before = -1;
    while (sent !== before || sent === 0) {
      before = sent;
      await app.db.ping();
    }
    assert.ok(sent < 1_000, `${sent} rows sent to a reader that reads none`);
    response.destroy();
  });

  test('a server that stops tells its callers, aborts what runs and removes the socket', async (t) => {
    const started = Promise.withResolvers<void>();
    const stubborn = define('stubborn', async () => {
      started.resolve();
      await new Promise(() => {});
    });
    const { app, control, close } = await serve(t, [stubborn]);
    const running = control.run(stubborn, {}, quiet);
    const refused = assert.rejects(running);
    await started.promise;
    await close();
    await refused;
    assert.ok(!existsSync((await controlSocketPath(app.config.dataDir)).path));
    assert.equal(await connectControl(app.config.dataDir), undefined);
  });

  test('a command that is nearly done still answers when the server stops', async (t) => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const short = define('short', async () => {
      started.resolve();
      await finish.promise;
      return 'done';
    });
    const { control, close } = await serve(t, [short]);
    const running = control.run(short, {}, quiet);
    await started.promise;
    const closed = close();
    finish.resolve();
    assert.equal(await running, 'done');
    await closed;
  });
});

describe('where the socket is', () => {
  test('in the data directory, for its owner only', async (t) => {
    const { app } = await serve(t, [echo]);
    const stats = statSync(join(app.config.dataDir, 'control.sock'));
    assert.ok(stats.isSocket());
    assert.equal(stats.mode & 0o777, 0o600);
  });

  test('in a private folder when the path would be too long', async (t) => {
    const dataDir = join(await makeFolder(t), 'd'.repeat(60), 'e'.repeat(60));
    await mkdir(dataDir, { recursive: true });
    const { control } = await serve(t, [echo], dataDir);
    const { path } = await controlSocketPath(dataDir);
    assert.ok(!path.startsWith(dataDir));
    assert.ok(Buffer.byteLength(path) <= 103);
    assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(await control.run(echo, { text: 'far' }, quiet), { text: 'far' });
  });

  test('never in a folder that others can write to: neither served nor trusted', async (t) => {
    const folder = await makeFolder(t);
    const dataDir = join(folder, 'd'.repeat(100));
    await mkdir(dataDir, { recursive: true });
    const before = process.env.TMPDIR;
    process.env.TMPDIR = folder;
    t.after(async () => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    });
    const { path } = await controlSocketPath(dataDir);
    await mkdir(dirname(path));
    chmodSync(dirname(path), 0o777);
    const stranger = createServer().listen(path);
    await once(stranger, 'listening');
    t.after(() => stranger.close());
    assert.equal(await connectControl(dataDir), undefined);
    await assert.rejects(serve(t, [echo], dataDir), /open to others/);
  });

  test('a leftover of a killed server is no server, and is replaced', async (t) => {
    const dataDir = await makeFolder(t);
    writeFileSync(join(dataDir, 'control.sock'), '');
    assert.equal(await connectControl(dataDir), undefined);
    const { control } = await serve(t, [echo], dataDir);
    assert.deepEqual(await control.run(echo, { text: 'new' }, quiet), { text: 'new' });
  });

  test('no data directory, no server', async (t) => {
    assert.equal(await connectControl(join(await makeFolder(t), 'nowhere')), undefined);
  });
});
