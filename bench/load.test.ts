import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startBaseline } from './baseline.ts';
import { type Load, runLoad } from './load.ts';

const SHORT = {
  requests: new URL('./requests/echo.ts', import.meta.url),
  connections: 4,
  warmupSeconds: 0.05,
  seconds: 0.2,
};

async function loadOn(listener: RequestListener, load: Partial<Load> = {}) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    return await runLoad({ ...SHORT, ...load, port: (server.address() as AddressInfo).port });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('every request differs, each connection has one on its way, and all answers are counted', async () => {
  const seen = new Set<string>();
  let total = 0;
  let running = 0;
  let peak = 0;
  const result = await loadOn((request, response) => {
    peak = Math.max(peak, ++running);
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      seen.add(text);
      total += 1;
      running -= 1;
      response.end(text);
    });
  });
  assert.equal(seen.size, total);
  assert.ok(peak <= 4, `${peak} at once`);
  assert.ok(result.requests > 0 && result.requests <= total);
  assert.deepEqual(result.statuses, { 200: result.requests });
  assert.ok(result.p50Ms <= result.p99Ms);
});

test('an unexpected status fails the run and shows the answer', async () => {
  const broken: RequestListener = (_, response) => response.writeHead(503).end('overloaded');
  await assert.rejects(loadOn(broken), /status 503, not 200[\s\S]*overloaded/);
  assert.ok((await loadOn(broken, { expect: [503] })).requests > 0);
});

test('a connection that breaks during a request fails the run', async () => {
  await assert.rejects(
    loadOn((request) => request.socket.destroy()),
    /closed a connection without an answer|ECONNRESET|EPIPE/,
  );
});

test('a server that closes after each answer is connected to again', async () => {
  const result = await loadOn((_, response) => response.writeHead(200, { connection: 'close' }).end('x'));
  assert.ok(result.requests > 4);
});

test('the baselines answer what they stand for', async () => {
  const [echo, redirect] = [await startBaseline('echo'), await startBaseline('redirect')];
  try {
    const echoed = await fetch(`http://127.0.0.1:${echo.port}`, { method: 'POST', body: '{ "a": 1 }' });
    assert.equal(await echoed.text(), '{"a":1}');
    const redirected = await fetch(`http://127.0.0.1:${redirect.port}/x`, { redirect: 'manual' });
    assert.equal(redirected.status, 302);
  } finally {
    await Promise.all([echo.close(), redirect.close()]);
  }
});
