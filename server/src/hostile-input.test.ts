// Hostile input for every operation, generated from the OpenAPI document: whatever comes in, the answer is a
// success that fits its schema (the test application checks that) or an error envelope with one of the nine codes.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openApiDocument } from './http/openapi.ts';
import type { Operation } from './http/operation.ts';
import { ERROR_STATUS, type ErrorCode } from './kernel/errors.ts';
import { allOperations } from './operations.ts';
import { eachDatabase } from './testing/databases.ts';
import {
  type Expected,
  hostileBodies,
  hostileBodyValues,
  hostileQueryValues,
  type JsonSchema,
  randomJson,
  seededRandom,
} from './testing/hostile-values.ts';
import { connectRaw, type RawReply } from './testing/raw-http.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from './testing/test-app.ts';
import {
  keyFor,
  NEVER_GRANTED,
  type ValidRequest,
  validBody,
  validRequest,
} from './testing/valid-requests.ts';

const SEED = 20270115;
const VALIDATION =
  /^(invalid_type|too_small|too_big|invalid_format|invalid_value|invalid_union|custom|unrecognized_keys): ([^:]*): ./;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

interface Described {
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
}

const tried = { cases: 0, refused: 0 };
const faults: string[] = [];
let t: TestApp;
let described: Described[];

/** Reads the document as a client would. */
function describeAll(operations: Operation[]): Described[] {
  const document = JSON.parse(JSON.stringify(openApiDocument(operations, 'http://localhost:3000/api')));
  return operations.map((operation) => {
    const described = document.paths[operation.path][operation.method.toLowerCase()];
    const body = described.requestBody?.content['application/json'].schema;
    return { operation, parameters: described.parameters, body };
  });
}

interface Case {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly expected?: Expected;
  /** The field that a refusal must name. */
  readonly field?: string | undefined;
}

/** Notes what is wrong with the answer and goes on, so that one run shows all there is. */
async function attempt(given: Case): Promise<void> {
  const { what, method, path, key, body, headers } = given;
  // A new window for operations that count by address.
  t.clock.advance(60_000);
  const reply = await t.request(method, path, { key, body, ...(headers && { headers }) });
  const label = `${method} ${path.slice(0, 80)} with ${what}: ${reply.status} ${reply.text.slice(0, 300)}`;
  tried.cases += 1;
  if (reply.status >= 400) tried.refused += 1;
  try {
    assertSound(reply, label);
    assertExpected(reply, given, label);
  } catch (error) {
    faults.push((error as Error).message.split('\n')[0] as string);
  }
}

function assertExpected(reply: TestReply, { expected, field }: Case, label: string): void {
  if (expected === 'accepted') assert.ok(isAcceptance(reply, field), label);
  else if (expected !== undefined) assert.equal(reply.status, expected, `${label}, not ${expected}`);
  if (expected === 'accepted' || isOfState(reply)) return;
  if (field !== undefined && (reply.status === 400 || reply.status === 422)) {
    assert.ok(names(reply, field), label);
  }
}

/** A success, or a refusal by a rule that no schema can say. */
function isAcceptance(reply: TestReply, field: string | undefined): boolean {
  if (reply.status < 300 || [403, 404, 409].includes(reply.status)) return true;
  if (reply.status === 422) return reply.json.error.message.startsWith('custom: ');
  return isOfState(reply) || (field !== undefined && isCustom(reply) && names(reply, field));
}

const isCustom = (reply: TestReply): boolean =>
  reply.status === 400 && reply.json.error.message.startsWith('custom: ');

function names(reply: TestReply, field: string): boolean {
  const named = VALIDATION.exec(reply.json.error.message)?.[2];
  return (
    named === field || named?.startsWith(`${field}[`) === true || named?.startsWith(`${field}.`) === true
  );
}

/**
 * What the first of several requests has done cannot be done again: such a refusal is about the thing and not about
 * the field that was tried. These are all there are; any other refusal must name the field.
 */
const STATE_RULES = [
  /^custom: (partnerId|status|submissionId): [a-z]+ needs a (partner|payout|submission) that is [a-z ]+; this one is [a-z]+$/,
  /^custom: status: the (group|commission cm_\w+) is [a-z]+ already$/,
  /^custom: linkId: the link has the code [\w-]+ already$/,
];

function isOfState(reply: TestReply): boolean {
  return reply.status === 400 && STATE_RULES.some((rule) => rule.test(reply.json.error.message));
}

/** Of the nine codes with its own status and an address that explains it; never a fault of ours. */
function assertSound(reply: TestReply, label: string): void {
  assert.ok(reply.status < 500, label);
  assert.ok(reply.headers.get('x-request-id'), label);
  if (reply.status < 300) return;
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/, label);
  const { error, ...rest } = reply.json;
  assert.deepEqual(Object.keys(error).sort(), ['code', 'doc_url', 'message'], label);
  assert.deepEqual(rest, {}, label);
  assert.equal(ERROR_STATUS[error.code as ErrorCode], reply.status, label);
  assert.equal(error.doc_url, `http://localhost:3000/api/errors#${error.code.replaceAll('_', '-')}`, label);
  assert.ok(error.message.length > 0 && error.message.length < 2000, label);
  if (reply.status === 400 || reply.status === 422) assert.match(error.message, VALIDATION, label);
}

interface Target extends Described {
  readonly own: TestWorkspace;
  /** The same, with the key that the operation takes. */
  readonly workspace: TestWorkspace;
  readonly request: ValidRequest;
}

/** A workspace per operation, so that no limit of one hides the answers of another. */
async function forEachOperation(work: (target: Target) => Promise<void>): Promise<void> {
  faults.length = 0;
  for (const each of described) {
    const own = await t.workspace();
    const workspace = { ...own, key: await keyFor(t, own, each.operation) };
    await work({ ...each, own, workspace, request: await validRequest(t, own, each.operation) });
  }
  assert.deepEqual(faults, []);
}

eachDatabase('hostile input', (databases) => {
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    t.app.events.pipeline.start();
    described = describeAll(allOperations(t.app.services).filter(({ id }) => !NEVER_GRANTED.has(id)));
    Object.assign(tried, { cases: 0, refused: 0 });
  });
  after(() => t.close());

  test('every field of every body refuses what is beyond its bounds and names the field', async () => {
    await forEachOperation(async ({ operation, body: schema, workspace, request }) => {
      if (!schema) return;
      const common = { method: operation.method, path: request.path, key: workspace.key };
      for (const [field, fieldSchema] of Object.entries(schema.properties ?? {})) {
        for (const { what, value, expected } of hostileBodyValues(fieldSchema)) {
          const body = infinite({ ...(request.body as object), [field]: value });
          await attempt({ ...common, what: `${field}: ${what}`, body, expected, field });
        }
        const { [field]: _, ...without } = request.body as Record<string, unknown>;
        const expected = schema.required?.includes(field) ? 400 : undefined;
        await attempt({ ...common, what: `no ${field}`, body: without, expected, field: expected && field });
      }
    });
  });

  test('every query parameter refuses what is beyond its bounds and names itself', async () => {
    // Several operations may share a parameter: it is read by the same code, and tried at the first of them.
    const done = new Set<unknown>();
    await forEachOperation(async ({ operation, parameters, workspace, request }) => {
      const mark = request.path.includes('?') ? '&' : '?';
      for (const { name, schema, required } of parameters.filter((parameter) => parameter.in === 'query')) {
        const definition = operation.query?.shape[name];
        if (done.has(definition)) continue;
        done.add(definition);
        const common = { method: operation.method, key: workspace.key, body: request.body };
        for (const { what, value, expected } of hostileQueryValues(schema)) {
          const path = `${request.path}${mark}${name}=${value}`;
          await attempt({ ...common, path, what: `${name}: ${what}`, expected, field: name });
        }
        assert.ok(!required || request.path.includes(`${name}=`), `${operation.id} needs ${name}`);
      }
    });
  });

  test('the query as a whole may be long, repeated, malformed or strange', async () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `p${i}=${i}`).join('&');
    const queries = {
      'thousands of parameters': many,
      'one parameter thousands of times': 'page=1&'.repeat(5_000),
      'a megabyte': `x=${'y'.repeat(1_000_000)}`,
      'only separators': '&&&==&=',
      'names like properties': '__proto__=1&constructor=1&toString=1&hasOwnProperty=1',
      brackets: 'page[]=1&page[a]=1&ids[0]=a',
      'half escapes': '%=%&%zz=%zz',
      'question marks': '???',
    };
    await forEachOperation(async ({ operation, own, workspace, request }) => {
      const mark = request.path.includes('?') ? '&' : '?';
      for (const [what, query] of Object.entries(queries)) {
        const path = `${request.path}${mark}${query}`;
        const body = await validBody(t, operation, own);
        await attempt({
          what,
          method: operation.method,
          path,
          key: workspace.key,
          body,
          expected: 'accepted',
        });
      }
    });
  });

  test('a path parameter may be anything', async () => {
    const names = [
      '%00',
      'a%00b',
      '%',
      '%zz',
      '%ff',
      '%c0%af',
      '%2e%2e',
      '..%2f..',
      '%2F',
      '%5c',
      '%20',
      "'",
      '%22',
      '%3Cscript%3E',
      'x'.repeat(10_000),
      '__proto__',
      'constructor',
      '*',
      ':id',
      '{id}',
      '%F0%9F%91%A9',
      '%ed%a0%80',
      ';a=b',
      '@',
      '+',
      '%0d%0a',
    ];
    await forEachOperation(async ({ operation, workspace, request }) => {
      if (!operation.path.includes('{')) return;
      for (const name of names) {
        const path = operation.path.replace(/\{\w+\}/, () => name);
        await attempt({
          what: name.slice(0, 20),
          method: operation.method,
          path,
          key: workspace.key,
          body: request.body,
        });
      }
    });
  });

  // Refused before a store is asked: once is enough.
  if (databases.engine === 'sqlite') {
    test('a body that is no JSON is 400, one that is too large or too deep 422', async () => {
      const bodies = hostileBodies();
      await forEachOperation(async ({ operation, body: schema, workspace, request }) => {
        if (!schema) return;
        for (const { what, body, expected, headers } of bodies) {
          const fits =
            schema.type === 'array' ? LISTS.has(what) : operation.bodyOptional && what === 'an empty body';
          const right = fits ? undefined : expected;
          const common = {
            what,
            method: operation.method,
            path: request.path,
            key: workspace.key,
            body,
            expected: right,
          };
          await attempt({ ...common, ...(headers && { headers }) });
        }
      });
      assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
    });
  }

  test('a duplicate name counts once and another content type does not matter', async () => {
    const { key } = await t.workspace();
    const twice = await t.request('POST', '/tags', { key, body: '{"name":"first","name":"second"}' });
    assert.equal(twice.json.name, 'second');
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x', '*', '']) {
      const headers = { 'Content-Type': type };
      const reply = await t.request('POST', '/tags', { key, headers, body: { name: `as ${type}` } });
      assert.equal(reply.status, 201, type);
    }
  });

  test('random JSON and random headers never end in a fault', async () => {
    const random = seededRandom(SEED);
    await forEachOperation(async ({ operation, body: schema, workspace, request }) => {
      if (!schema) return;
      const names = Object.keys(schema.properties ?? {});
      for (let i = 0; i < 30; i++) {
        const given = randomJson(random, names);
        const body = JSON.stringify(i % 2 ? given : { ...(request.body as object), ...(given as object) });
        const headers = i % 3 ? {} : { 'Idempotency-Key': `k${i % 9}` };
        await attempt({
          what: `${body.slice(0, 200)} (${i})`,
          method: operation.method,
          path: request.path,
          key: workspace.key,
          body,
          headers,
        });
      }
    });
  });

  test('most of it is refused, and the server still works', async (context) => {
    const { key } = await t.workspace();
    assert.equal((await t.request('POST', '/tags', { key, body: { name: 'still here' } })).status, 201);
    context.diagnostic(
      `${described.length} operations, ${tried.cases} requests tried, ${tried.refused} refused, no fault`,
    );
    assert.ok(tried.refused > tried.cases / 3);
  });
});

/** JSON cannot say Infinity, but a client can write 1e309. */
function infinite(body: object): string {
  return JSON.stringify(body, (_, value) => {
    if (value === Number.POSITIVE_INFINITY) return '@1e309@';
    return value === Number.NEGATIVE_INFINITY ? '@-1e309@' : value;
  }).replaceAll(/"@(-?1e309)@"/g, '$1');
}

/** Bodies that are right where a list is asked for. */
const LISTS: ReadonlySet<string> = new Set(['an array', '500,000 items']);

describe('hostile bytes on the wire', () => {
  let port: number;
  let key: string;
  before(async () => {
    t = await openTestApp({ env: { PORT: '0', LINKTRAIL_DEFAULT_DOMAIN: 'localhost' } });
    port = (await t.app.listen()).address.port;
    key = (await t.workspace()).key;
  });
  after(() => t.close());

  const head = (line: string, ...headers: string[]) =>
    `${[line, 'Host: localhost', `Authorization: Bearer ${key}`, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;

  function assertEnvelope(reply: RawReply, status: number | undefined, label: string): void {
    assert.ok(reply.status >= 400 && reply.status < 500, `${label}: ${reply.text.slice(0, 300)}`);
    if (status !== undefined) assert.equal(reply.status, status, `${label}: ${reply.text.slice(0, 300)}`);
    const { error } = JSON.parse(reply.body);
    assert.equal(ERROR_STATUS[error.code as ErrorCode], reply.status, label);
    assert.match(error.doc_url, /\/api\/errors#/, label);
  }

  const TEN_MB = 10_000_000;
  const big = Buffer.alloc(TEN_MB, 0x61);
  const asChunks = () =>
    Buffer.concat([Buffer.from(`${TEN_MB.toString(16)}\r\n`), big, Buffer.from('\r\n0\r\n\r\n')]);

  for (const [what, line, status] of [
    ['an operation', 'POST /api/tags HTTP/1.1', 422],
    ['an operation that takes no body', 'DELETE /api/tags/x HTTP/1.1', 404],
    ['a path that does not exist', 'POST /api/nope HTTP/1.1', 404],
    ['a method that does not exist there', 'PUT /api/tags HTTP/1.1', 404],
  ] as const) {
    test(`10 MB to ${what} are answered with ${status} and not with a reset`, async () => {
      const declared = await connectRaw(port, [head(line, `Content-Length: ${TEN_MB}`), big]);
      assertEnvelope(declared, status, 'with Content-Length');
      const chunked = await connectRaw(port, [head(line, 'Transfer-Encoding: chunked'), asChunks()]);
      assertEnvelope(chunked, status, 'in chunks');
    });
  }

  test('10 MB without a key are answered with 401', async () => {
    const text = `POST /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${TEN_MB}\r\n\r\n`;
    assertEnvelope(await connectRaw(port, [text, big]), 401, 'no key');
  });

  test('a connection goes on after a body that was too large', async () => {
    const first = head('POST /api/tags HTTP/1.1', `Content-Length: ${TEN_MB}`).replace(
      'Connection: close\r\n',
      '',
    );
    const reply = await connectRaw(port, [first, big, head('GET /api/tags HTTP/1.1')]);
    assert.match(reply.text, /^HTTP\/1\.1 422 [\s\S]*HTTP\/1\.1 200 /);
  });

  const strange: [string, string | Buffer, number | undefined][] = [
    ['TRACE', 'TRACE /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', undefined],
    ['an unknown method', 'FOO /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 400],
    [
      'another known method',
      'PROPFIND /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'raw bytes in the path',
      Buffer.from(
        'GET /api/tags/\xff\xfe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
        'latin1',
      ),
      undefined,
    ],
    ['a NUL in the path', 'GET /api/\0 HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a NUL in a header', 'GET /api/tags HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n', 400],
    ['no Host', 'GET /api/tags HTTP/1.1\r\n\r\n', 400],
    [
      'a backslash in the path',
      'GET /api\\tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'dots in the path',
      'GET /api/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'an address as the path',
      'GET http://localhost/api/nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      404,
    ],
    ['a query of 100 KB', `GET /api/tags?x=${'y'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 400],
    [
      'two lengths',
      'POST /api/tags HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
    ],
    [
      'length and chunks',
      'POST /api/tags HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a negative length', 'POST /api/tags HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n', 400],
    [
      'a bad chunk',
      'POST /api/tags HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      undefined,
    ],
    ['HTTP/2 by force', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    [
      'an upgrade',
      'GET /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
      401,
    ],
    [
      'an Authorization header that is not ASCII',
      Buffer.from(
        'GET /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer \xe9\xff\r\n\r\n',
        'latin1',
      ),
      401,
    ],
  ];
  for (const [what, bytes, status] of strange) {
    test(`${what} gets an error envelope`, async () => {
      const reply = await connectRaw(port, [bytes]);
      if (reply.body.startsWith('<!doctype html>')) assert.equal(reply.status, 404);
      else assertEnvelope(reply, status, what);
    });
  }

  test('a body that ends early and a Host that is none harm nobody', async () => {
    const early = await connectRaw(
      port,
      [head('POST /api/tags HTTP/1.1', 'Content-Length: 100'), '{"name"'],
      { end: true },
    );
    assert.ok(early.text === '' || early.status === 400, early.text);
    for (const host of [
      '',
      ' ',
      'a b',
      '[::',
      'localhost:99999',
      'local\thost',
      '%00',
      'a'.repeat(1000),
      '@evil',
      'x/y?z',
    ]) {
      const reply = await connectRaw(port, [
        `GET /api/tags HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ]);
      assert.ok(reply.status >= 400 && reply.status < 500, `${host}: ${reply.text}`);
    }
    const good = await connectRaw(port, [head('GET /api/tags HTTP/1.1')]);
    assert.equal(good.status, 200);
  });
});
