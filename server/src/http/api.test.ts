// The pipeline and the routes around it, on operations made for the purpose.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import type { AnswerStore } from '../kernel/answer.ts';
import { manualClock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { createIds } from '../kernel/ids.ts';
import { createLog } from '../kernel/log.ts';
import { createApi } from './api.ts';
import { createIdempotency } from './idempotency.ts';
import { type Actor, type Operation, operation, PLANS, type Plan, ROLES, type Role } from './operation.ts';
import { createPipeline } from './pipeline.ts';
import { createRateLimit, memoryRateCounter } from './rate-limit.ts';

const KEY = 'lt_secretsecretsecretsecret';
const START = Date.UTC(2027, 0, 1, 0, 0, 46);
const response = { status: 200, description: 'Fine.', schema: z.unknown() } as const;
const base = { group: 'Test', summary: 'Test', response } as const;

const OPERATIONS: Operation[] = [
  operation({
    ...base,
    id: 'echo',
    method: 'POST',
    path: '/echo',
    access: { by: 'key' },
    body: z.object({ name: z.string() }),
    query: z.object({ pw: z.string().optional() }),
    run: async ({ body }) => body,
  }),
  operation({
    ...base,
    id: 'readEcho',
    method: 'GET',
    path: '/echo',
    access: { by: 'key' },
    run: async () => ({ ok: true }),
  }),
  operation({
    ...base,
    id: 'crash',
    method: 'GET',
    path: '/crash',
    access: { by: 'key' },
    run: async () => {
      throw new Error('the inner secret');
    },
  }),
  operation({
    ...base,
    id: 'storeFault',
    method: 'GET',
    path: '/store-fault',
    access: { by: 'key' },
    run: async () => {
      throw new TypeError('store');
    },
  }),
  operation({
    ...base,
    id: 'refuse',
    method: 'GET',
    path: '/refuse',
    access: { by: 'key' },
    run: async () => {
      throw new AppError('conflict', 'Taken.', { cause: new Error('the inner secret') });
    },
  }),
  operation({
    ...base,
    id: 'numbers',
    method: 'GET',
    path: '/numbers',
    rate: 'analytics',
    access: { by: 'key', plan: 'pro' },
    run: async () => 1,
  }),
  operation({
    ...base,
    id: 'editors',
    method: 'GET',
    path: '/editors',
    access: { by: 'key', roles: ['owner', 'member'], plan: 'business' },
    run: async () => 1,
  }),
  operation({
    ...base,
    id: 'track',
    method: 'POST',
    path: '/track',
    cors: 'POST',
    access: { by: 'key' },
    body: z.object({}),
    bodyOptional: true,
    run: async () => 'tracked',
  }),
  operation({
    ...base,
    id: 'open',
    method: 'GET',
    path: '/open',
    cors: 'GET',
    access: { by: 'nobody' },
    run: async () => 'open',
  }),
  operation({
    ...base,
    id: 'item',
    method: 'PATCH',
    aliases: ['PUT'],
    path: '/items/{id}',
    access: { by: 'key' },
    params: z.object({ id: z.string() }),
    body: z.object({}),
    bodyOptional: true,
    run: async ({ params }) => params,
  }),
  operation({
    ...base,
    id: 'first',
    method: 'GET',
    path: '/first',
    access: { by: 'key' },
    before: async () => {
      throw new AppError('forbidden', 'No room.');
    },
    query: z.object({ page: z.int() }),
    run: async () => 1,
  }),
  operation({
    ...base,
    id: 'drifts',
    method: 'GET',
    path: '/drifts',
    access: { by: 'key' },
    response: { ...response, schema: z.object({ id: z.string() }) },
    run: async () => ({ id: 5 }) as never,
  }),
];

interface Setup {
  plan?: Plan;
  role?: Role;
  limits?: Actor['limits'];
}

function setUp({ plan = 'enterprise', role = 'owner', limits = {} }: Setup = {}) {
  const clock = manualClock(START);
  const lines: Record<string, unknown>[] = [];
  const observed: [string, number][] = [];
  const actor: Actor = {
    tokenId: 'tok_1',
    userId: 'user_1',
    workspaceId: 'ws_1',
    role,
    plan,
    limits,
    permissions: new Set(),
  };
  const store: AnswerStore = {
    find: async () => undefined,
    once: (_slot, _waitMs, work) => work(),
    keep: async () => {},
  };
  const run = createPipeline({
    authenticate: async (key) => {
      if (key !== KEY) throw new AppError('unauthorized', 'This API key is not valid.');
      return actor;
    },
    take: createRateLimit({ counter: memoryRateCounter(), clock }),
    runOnce: createIdempotency({ store, waitMs: 1000 }),
    bodyLimitBytes: 1000,
    checkAnswers: true,
  });
  const api = createApi({
    operations: OPERATIONS,
    run,
    documents: [{ path: '/page', contentType: 'text/html', body: (origin) => `<p>${origin}</p>` }],
    clock,
    ids: createIds(clock),
    log: createLog('info', (line) => lines.push(JSON.parse(line))),
    describeFailure: (error) => (error instanceof TypeError ? 'The database is full.' : undefined),
    observe: (id, status) => observed.push([id, status]),
    maxInFlight: 100,
    onShed: () => {},
  });
  const send = (
    method: string,
    path: string,
    init: { body?: string; key?: string | null; headers?: Record<string, string>; secure?: boolean } = {},
  ) => {
    const { body, key = KEY, headers = {}, secure = true } = init;
    const origin = secure ? 'https://a.example' : 'http://a.example';
    const peer = { ip: '192.0.2.1', secure, host: 'a.example', origin };
    const all = { ...(key !== null && { Authorization: `Bearer ${key}` }), ...headers };
    return api.fetch(
      new Request(`https://a.example/api${path}`, {
        method,
        headers: all,
        ...(body !== undefined && { body }),
      }),
      { peer },
    );
  };
  return { send, clock, lines, observed, api };
}

describe('rate limits', () => {
  test('every authenticated answer tells its window, refusals and faults too', async () => {
    const { send } = setUp({ plan: 'pro' });
    const paths = ['/echo', '/refuse', '/crash', '/editors', '/first'];
    for (const [i, path] of paths.entries()) {
      const { headers } = await send('GET', path);
      assert.equal(headers.get('x-ratelimit-limit'), '600', path);
      assert.equal(headers.get('x-ratelimit-remaining'), String(599 - i), path);
      assert.equal(headers.get('x-ratelimit-reset'), String(Date.UTC(2027, 0, 1, 0, 1) / 1000), path);
    }
    const refused = await send('POST', '/echo', { body: '{' });
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '594');
    assert.equal((await send('GET', '/echo', { key: null })).headers.get('x-ratelimit-limit'), null);
  });

  test('one too many is 429 with the seconds to wait, before rights are looked at', async () => {
    const { send, clock } = setUp({ plan: 'free', limits: { requestsPerMinute: 2 } });
    assert.equal((await send('GET', '/echo')).status, 200);
    assert.equal((await send('GET', '/editors')).status, 403);
    for (const path of ['/echo', '/editors']) {
      const reply = await send('GET', path);
      assert.equal(reply.status, 429);
      assert.equal(reply.headers.get('retry-after'), '14');
      assert.equal(reply.headers.get('x-ratelimit-remaining'), '0');
      assert.equal(((await reply.json()) as { error: { code: string } }).error.code, 'rate_limit_exceeded');
    }
    clock.advance(14_000);
    assert.equal((await send('GET', '/echo')).status, 200);
  });

  test('analytics have windows of a second, where the plan has analytics', async () => {
    const { send, clock } = setUp({ plan: 'pro' });
    const statuses = async () =>
      [await send('GET', '/numbers'), await send('GET', '/numbers'), await send('GET', '/numbers')].map(
        (r) => r.status,
      );
    assert.deepEqual(await statuses(), [200, 200, 429]);
    assert.equal((await send('GET', '/numbers')).headers.get('retry-after'), '1');
    assert.equal((await send('GET', '/echo')).status, 200);
    clock.advance(1000);
    assert.deepEqual(await statuses(), [200, 200, 429]);
  });

  test('on the free plan analytics are 403 and never 429 for being analytics', async () => {
    const { send } = setUp({ plan: 'free' });
    for (let i = 0; i < 10; i++) {
      const reply = await send('GET', '/numbers');
      assert.equal(reply.status, 403);
      assert.match(await reply.text(), /needs the plan pro or higher/);
      assert.equal(reply.headers.get('x-ratelimit-limit'), '60');
    }
  });
});

describe('rights', () => {
  for (const plan of PLANS) {
    for (const role of ROLES) {
      const allowed =
        ['owner', 'member'].includes(role) && ['business', 'advanced', 'enterprise'].includes(plan);
      test(`${role} on ${plan} ${allowed ? 'may' : 'may not'} do what needs an editor on business`, async () => {
        const { send } = setUp({ plan, role });
        assert.equal((await send('GET', '/editors')).status, allowed ? 200 : 403);
      });
    }
  }

  test('refusals that do not depend on the input go before its errors', async () => {
    const { send } = setUp();
    assert.equal((await send('GET', '/first?page=abc')).status, 403);
  });
});

describe('methods and paths', () => {
  test('HEAD mirrors GET without its body', async () => {
    const { send } = setUp();
    const [head, get] = [await send('HEAD', '/echo'), await send('GET', '/echo')];
    assert.equal(head.status, get.status);
    assert.equal(await head.text(), '');
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
    assert.equal((await send('HEAD', '/echo', { key: null })).status, 401);
    assert.equal((await send('HEAD', '/page')).status, 200);
  });

  for (const [path, allow] of [
    ['/echo', 'GET, HEAD, OPTIONS, POST'],
    ['/items/x', 'OPTIONS, PATCH, PUT'],
    ['/page', 'GET, HEAD, OPTIONS'],
  ] as const) {
    test(`OPTIONS ${path} needs no key and answers 204 with what is allowed`, async () => {
      const { send } = setUp();
      const reply = await send('OPTIONS', path, { key: null });
      assert.equal(reply.status, 204);
      assert.equal(reply.headers.get('allow')?.split(', ').sort().join(', '), allow);
      assert.equal(reply.headers.get('access-control-allow-origin'), null);
    });
  }

  test('a known path with another method is 404 with Allow', async () => {
    const { send } = setUp();
    for (const method of ['DELETE', 'PUT', 'PROPFIND']) {
      const reply = await send(method, '/echo');
      assert.equal(reply.status, 404);
      assert.ok(reply.headers.get('allow')?.includes('POST'));
      const { error } = (await reply.json()) as { error: { code: string; doc_url: string } };
      assert.equal(error.code, 'not_found');
      assert.equal(error.doc_url, 'https://a.example/api/errors#not-found');
    }
  });

  test('an unknown path is 404 with the envelope, with and without a key', async () => {
    const { send } = setUp();
    for (const path of ['/nope', '/echo/more', '/items', '/items/a/b', '', '/Echo', '/../x']) {
      const reply = await send('GET', path, { key: null });
      assert.equal(reply.status, 404, path);
      assert.match(await reply.text(), /"code":"not_found"/);
      assert.equal(reply.headers.get('allow'), null);
    }
  });

  test('an alias does the same, and a path parameter is decoded once', async () => {
    const { send } = setUp();
    for (const method of ['PATCH', 'PUT']) {
      const reply = await send(method, '/items/a%2Fb%2520c%C3%BC', { body: '{}' });
      assert.deepEqual(await reply.json(), { id: 'a/b%20cü' });
    }
  });

  test('a body that may be absent counts as an empty object, one that must not is 400', async () => {
    const { send } = setUp();
    assert.equal((await send('POST', '/track')).status, 200);
    assert.equal((await send('POST', '/track', { body: '' })).status, 200);
    assert.equal((await send('POST', '/track', { body: '{' })).status, 400);
    assert.equal((await send('POST', '/echo', { body: '' })).status, 400);
  });

  test('a body over the limit is 422, one at the limit is not', async () => {
    const { send } = setUp();
    const body = (length: number) => JSON.stringify({ name: 'n'.repeat(length - 11) });
    assert.equal(body(1000).length, 1000);
    assert.equal((await send('POST', '/echo', { body: body(1000) })).status, 200);
    assert.equal((await send('POST', '/echo', { body: body(1001) })).status, 422);
  });
});

describe('calls from other pages', () => {
  const corsOf = (reply: Response) =>
    ['origin', 'methods', 'headers'].map((name) => reply.headers.get(`access-control-allow-${name}`));

  test('are allowed where the operation says so, errors and preflights included', async () => {
    const { send } = setUp();
    const expected = ['*', 'POST, OPTIONS', 'Content-Type, Authorization'];
    assert.deepEqual(corsOf(await send('POST', '/track')), expected);
    assert.deepEqual(corsOf(await send('POST', '/track', { key: null })), expected);
    assert.deepEqual(corsOf(await send('POST', '/track', { body: '{' })), expected);
    const preflight = await send('OPTIONS', '/track', {
      key: null,
      headers: { 'Access-Control-Request-Method': 'POST' },
    });
    assert.equal(preflight.status, 204);
    assert.deepEqual(corsOf(preflight), expected);
    assert.deepEqual(corsOf(await send('GET', '/open', { key: null })), [
      '*',
      'GET, OPTIONS',
      'Content-Type, Authorization',
    ]);
  });

  test('are not allowed elsewhere', async () => {
    const { send } = setUp();
    for (const [method, path] of [
      ['GET', '/echo'],
      ['OPTIONS', '/echo'],
      ['GET', '/nope'],
      ['GET', '/page'],
    ] as const) {
      assert.deepEqual(corsOf(await send(method, path)), [null, null, null], path);
    }
  });
});

describe('faults', () => {
  test('a crash is 500 with a general text, and logged once with the id that the answer shows', async () => {
    const { send, lines } = setUp();
    const reply = await send('GET', '/crash');
    const text = await reply.text();
    assert.equal(reply.status, 500);
    assert.match(text, /"code":"internal_server_error"/);
    assert.ok(!text.includes('secret'), text);
    const errors = lines.filter((line) => line.level === 50);
    assert.equal(errors.length, 1);
    assert.equal(errors[0]?.requestId, reply.headers.get('x-request-id'));
    assert.match(String(errors[0]?.error), /the inner secret[\s\S]* at /);
  });

  test('a fault of the store is 500 with its public text', async () => {
    const { send } = setUp();
    const reply = await send('GET', '/store-fault');
    assert.equal(reply.status, 500);
    assert.match(await reply.text(), /"message":"The database is full\."/);
  });

  test('the cause of a refusal does not leave, and a refusal is no error in the log', async () => {
    const { send, lines } = setUp();
    const reply = await send('GET', '/refuse');
    assert.equal(reply.status, 409);
    assert.ok(!(await reply.text()).includes('secret'));
    assert.deepEqual(
      lines.map((line) => line.level),
      [30],
    );
  });

  test('an answer that does not fit its schema is noticed where answers are checked', async () => {
    const { send } = setUp();
    assert.equal((await send('GET', '/drifts')).status, 500);
  });
});

describe('the log', () => {
  test('has one line per request, with neither key nor query nor body', async () => {
    const { send, lines, observed } = setUp();
    const reply = await send('POST', '/echo?pw=hunter2', {
      body: '{"name":"private words"}',
      headers: { 'Idempotency-Key': 'k-k-k' },
    });
    assert.equal(reply.status, 200);
    assert.equal(lines.length, 1);
    const { durationMs, time, ...line } = lines[0] as Record<string, unknown>;
    assert.deepEqual(line, {
      level: 30,
      requestId: reply.headers.get('x-request-id'),
      method: 'POST',
      path: '/api/echo',
      operation: 'echo',
      status: 200,
      ip: '192.0.2.1',
      workspaceId: 'ws_1',
      keyId: 'tok_1',
      message: 'request',
    });
    assert.equal(typeof durationMs, 'number');
    assert.ok(time);
    assert.deepEqual(observed, [['echo', 200]]);
  });

  test('has one line for refusals of every kind, and no secret in any', async () => {
    const { send, lines, observed } = setUp({ limits: { requestsPerMinute: 4 } });
    await send('GET', '/echo?pw=hunter2', { key: 'lt_wrong-key' });
    await send('GET', '/nope?pw=hunter2');
    await send('DELETE', '/echo?pw=hunter2');
    await send('POST', '/echo?pw=hunter2', { body: '{"name":5,"x":"hunter2"}' });
    for (let i = 0; i < 5; i++) await send('GET', '/refuse?pw=hunter2');
    assert.equal(lines.length, 9);
    assert.equal(observed.length, 9);
    assert.deepEqual(
      lines.map((line) => line.status),
      [401, 404, 404, 400, 409, 409, 409, 429, 429],
    );
    const text = JSON.stringify(lines);
    for (const secret of [KEY, 'lt_wrong-key', 'hunter2', 'pw=']) assert.ok(!text.includes(secret), secret);
    assert.equal(new Set(lines.map((line) => line.requestId)).size, 9);
  });

  test('has a line for documents and preflights too', async () => {
    const { send, lines, observed } = setUp();
    const replies = [await send('GET', '/page'), await send('OPTIONS', '/track')];
    assert.deepEqual(
      replies.map(({ headers }) => headers.get('x-request-id')),
      lines.map(({ requestId }) => requestId),
    );
    assert.deepEqual(
      lines.map((line) => [line.method, line.path, line.status]),
      [
        ['GET', '/api/page', 200],
        ['OPTIONS', '/api/track', 204],
      ],
    );
    assert.equal(observed.length, 2);
  });

  test('has a line for what is refused for coming over plain HTTP', async () => {
    const { send, lines, observed } = setUp();
    const paths = ['/echo', '/page', '/nope', ''];
    for (const path of paths) {
      const reply = await send('GET', path, { secure: false });
      const { error } = (await reply.json()) as { error: { code: string; doc_url: string } };
      assert.equal(reply.status, 403, path);
      assert.equal(error.code, 'forbidden');
      assert.equal(error.doc_url, 'https://a.example/api/errors#forbidden', 'where it can be read');
      assert.equal(reply.headers.get('x-request-id'), lines.at(-1)?.requestId);
    }
    assert.deepEqual(
      lines.map((line) => [line.path, line.status, line.keyId]),
      paths.map((path) => [`/api${path}`, 403, undefined]),
    );
    assert.equal(observed.length, paths.length);
  });
});
