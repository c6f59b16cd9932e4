// Answers that are not JSON, and the windows of operations that need no key.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { manualClock } from '../kernel/clock.ts';
import { createIds } from '../kernel/ids.ts';
import { silentLog } from '../kernel/log.ts';
import { createApi } from './api.ts';
import { openApiDocument } from './openapi.ts';
import { type Operation, operation, type Reply, repliesWith } from './operation.ts';
import { createPipeline } from './pipeline.ts';
import { createRateLimit, memoryRateCounter } from './rate-limit.ts';

const THROTTLE = { limit: 2, windowMs: 10_000, by: 'ip' } as const;

function picture(run: () => Reply): Operation {
  return operation({
    id: 'getPicture',
    method: 'GET',
    path: '/picture',
    group: 'Pictures',
    summary: 'A picture',
    access: { by: 'nobody' },
    cors: 'GET',
    throttle: THROTTLE,
    response: { status: 200, description: 'The picture.', ...repliesWith('image/png', 'text/csv') },
    run: async () => run(),
  });
}

const other = operation({
  id: 'getOther',
  method: 'GET',
  path: '/other',
  group: 'Pictures',
  summary: 'Something else',
  access: { by: 'nobody' },
  throttle: THROTTLE,
  response: { status: 200, description: 'A word.', schema: z.string() },
  run: async () => 'word',
});

function open(...operations: Operation[]) {
  const clock = manualClock(Date.UTC(2027, 0, 1));
  const run = createPipeline({
    authenticate: () => Promise.reject(new Error('nobody asks')),
    take: createRateLimit({ counter: memoryRateCounter(), clock }),
    runOnce: () => Promise.reject(new Error('nobody writes')),
    bodyLimitBytes: 1_000,
    checkAnswers: true,
  });
  const api = createApi({
    operations,
    run,
    documents: [],
    clock,
    ids: createIds(clock),
    log: silentLog,
    describeFailure: () => undefined,
    observe: () => {},
    maxInFlight: 10,
    onShed: () => {},
  });
  const origin = 'http://localhost:3000';
  const ask = (path: string, { ip = '192.0.2.1', ...init }: RequestInit & { ip?: string } = {}) =>
    api.fetch(new Request(`${origin}/api${path}`, init), {
      peer: { ip, secure: true, host: 'localhost:3000', origin },
    });
  return { clock, ask };
}

const PIXELS = new Uint8Array([1, 2, 250]);
const png = (headers = {}): Reply => ({ contentType: 'image/png', body: PIXELS, headers });

describe('an answer that is not JSON', () => {
  test('has the type, the bytes and the headers of its reply', async () => {
    const { ask } = open(picture(() => png({ 'Cache-Control': 'public', 'X-More': 'yes' })));
    const response = await ask('/picture');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(response.headers.get('content-length'), '3');
    assert.equal(response.headers.get('cache-control'), 'public');
    assert.equal(response.headers.get('x-more'), 'yes');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.deepEqual(new Uint8Array(await response.arrayBuffer()), PIXELS);
  });

  test('may be text', async () => {
    const { ask } = open(picture(() => ({ contentType: 'text/csv', body: 'ä,b\n' })));
    const response = await ask('/picture');
    assert.equal(response.headers.get('content-type'), 'text/csv');
    assert.equal(response.headers.get('content-length'), '5');
    assert.equal(await response.text(), 'ä,b\n');
  });

  test('may be a stream, which is let go when nobody will read it', async () => {
    const cancelled: string[] = [];
    let method = 'GET';
    const stream = () =>
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            controller.enqueue(PIXELS);
            controller.close();
          },
          cancel: () => void cancelled.push(method),
        },
        { highWaterMark: 0 },
      );
    const { ask } = open(
      picture(() => ({
        contentType: 'image/png',
        body: stream(),
        headers: { ETag: '"a"', 'Content-Length': '3' },
      })),
    );
    assert.deepEqual(new Uint8Array(await (await ask('/picture')).arrayBuffer()), PIXELS);
    assert.deepEqual(cancelled, []);
    method = 'HEAD';
    const head = await ask('/picture', { method, ip: '192.0.2.2' });
    assert.equal(head.headers.get('content-length'), '3');
    method = '304';
    await ask('/picture', { headers: { 'If-None-Match': '"a"' }, ip: '192.0.2.3' });
    assert.deepEqual(cancelled, ['HEAD', '304']);
  });

  test('answers HEAD with the same headers and no body', async () => {
    const { ask } = open(picture(() => png({ ETag: '"a"' })));
    const response = await ask('/picture', { method: 'HEAD' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(response.headers.get('content-length'), '3');
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    assert.equal((await response.arrayBuffer()).byteLength, 0);
  });

  for (const [sent, status] of [
    ['"a"', 304],
    ['W/"a"', 304],
    ['"x", "a"', 304],
    ['*', 304],
    ['"b"', 200],
    ['a', 200],
  ] as const) {
    test(`is ${status} where its ETag is "a" and If-None-Match is ${sent}`, async () => {
      const { ask } = open(picture(() => png({ ETag: '"a"' })));
      const response = await ask('/picture', { headers: { 'If-None-Match': sent } });
      assert.equal(response.status, status);
      assert.equal(response.headers.get('etag'), '"a"');
      assert.equal((await response.arrayBuffer()).byteLength, status === 200 ? 3 : 0);
    });
  }

  test('of a type that the operation does not list is found by the check of answers', async () => {
    const { ask } = open(picture(() => ({ contentType: 'text/html', body: '' })));
    assert.equal((await ask('/picture')).status, 500);
  });

  test('is described with its types', () => {
    const document = openApiDocument([picture(() => png())], 'http://localhost') as {
      paths: Record<string, { get: { responses: Record<string, { content: object }> } }>;
    };
    const content = document.paths['/picture']?.get.responses['200']?.content;
    assert.deepEqual(Object.keys(content ?? {}), ['image/png', 'text/csv']);
  });
});

describe('an operation with a window per address', () => {
  test('answers 429 with Retry-After after its limit, and again in the next window', async () => {
    const { ask, clock } = open(picture(() => png()));
    clock.advance(4_000);
    assert.equal((await ask('/picture')).headers.get('x-ratelimit-remaining'), '1');
    assert.equal((await ask('/picture', { method: 'HEAD' })).status, 200);
    const refused = await ask('/picture');
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '6');
    assert.equal(refused.headers.get('content-type'), 'application/json');
    assert.equal(refused.headers.get('access-control-allow-origin'), '*');
    assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'rate_limit_exceeded');
    clock.advance(6_000);
    assert.equal((await ask('/picture')).status, 200);
  });

  test('counts each address and each operation for itself, and an IPv6 network as one', async () => {
    const { ask } = open(
      picture(() => png()),
      other,
    );
    const statuses = async (path: string, ...ips: string[]) => {
      const all = [];
      for (const ip of ips) all.push((await ask(path, { ip })).status);
      return all;
    };
    assert.deepEqual(
      await statuses('/picture', '192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'),
      [200, 200, 429, 200],
    );
    assert.deepEqual(await statuses('/other', '192.0.2.1'), [200]);
    assert.deepEqual(
      await statuses('/other', '2001:db8::1', '2001:db8:0:0:7::2', '2001:db8::9:0:0:3', '2001:db8:0:1::1'),
      [200, 200, 429, 200],
    );
  });

  test('keeps a bounded number of counts, whatever the number of addresses', () => {
    const counter = memoryRateCounter(100);
    assert.equal(counter.count('first', 1, 10_000), 1);
    let shared = 0;
    for (let i = 0; i < 5_000; i++)
      shared = Math.max(shared, counter.count(`address ${i}`, 1, 10_000) as number);
    // Five thousand addresses in a hundred exact and a hundred common counts.
    assert.ok(shared >= 49);
    assert.equal(counter.count('first', 1, 10_000), 2);
    assert.equal(counter.count('address 4999', 2, 10_000), 1);
  });
});
