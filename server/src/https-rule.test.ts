// The whole server on a real port, in both of its protocols: where credentials are read, what is told to come
// back over HTTPS, and which paths exist on which host.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connectRaw, type RawReply } from './testing/raw-http.ts';
import { openTestApp, type TestApp } from './testing/test-app.ts';

interface Ask {
  readonly tls?: boolean;
  readonly host?: string;
  readonly key?: string;
  /** What a proxy in front says the client used. */
  readonly proto?: string;
  readonly method?: string;
}

describe('HTTPS and hosts', () => {
  let t: TestApp;
  let port: number;
  let key: string;
  before(async () => {
    const env = {
      PORT: '0',
      LINKTRAIL_DEFAULT_DOMAIN: 'go.example.com',
      LINKTRAIL_PUBLIC_URL: 'https://links.example.com',
      LINKTRAIL_API_HOST: 'api.example.com',
    };
    t = await openTestApp({ env });
    port = (await t.app.listen()).address.port;
    key = (await t.workspace()).key;
  });
  after(() => t.close());

  function ask(
    path: string,
    { tls = false, host = 'go.example.com', key, proto, method = 'GET' }: Ask = {},
  ): Promise<RawReply> {
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: close',
      ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
      ...(proto === undefined ? [] : [`X-Forwarded-Proto: ${proto}`]),
    ];
    return connectRaw(port, [`${lines.join('\r\n')}\r\n\r\n`], { tls });
  }
  const header = (reply: RawReply, name: string) =>
    new RegExp(`^${name}: (.*)\r$`, 'im').exec(reply.text)?.[1];

  test('a key is read over TLS with the self-signed certificate, and on loopback', async () => {
    assert.equal((await ask('/api/tags', { key, tls: true })).status, 200);
    assert.equal((await ask('/api/tags', { key })).status, 200);
    assert.equal((await ask('/api/tags', { key, tls: true, proto: 'http' })).status, 200);
  });

  test('a proxy that says https is believed, one that says anything else gets 403', async () => {
    assert.equal((await ask('/api/tags', { key, proto: 'https' })).status, 200);
    for (const proto of ['http', 'https, http', 'ws', 'httpss']) {
      const reply = await ask('/api/tags', { key, proto });
      assert.equal(reply.status, 403, proto);
      assert.equal(JSON.parse(reply.body).error.code, 'forbidden');
    }
  });

  test('over plain HTTP the answer is the same whatever the key: it is not read', async () => {
    const replies = await Promise.all(
      [key, 'lt_unknown', undefined].map((each) =>
        ask('/api/tags', { ...(each && { key: each }), proto: 'http' }),
      ),
    );
    assert.equal(new Set(replies.map((reply) => reply.body)).size, 1);
    assert.ok(replies.every((reply) => header(reply, 'x-ratelimit-limit') === undefined));
    for (const path of ['/api', '/api/openapi.json', '/api/nope'])
      assert.equal((await ask(path, { proto: 'http' })).status, 403);
  });

  test('a visit over plain HTTP is sent to the same address over HTTPS', async () => {
    const reply = await ask('/Spring%20Sale?a=1&b=%2F', { proto: 'http' });
    assert.equal(reply.status, 308);
    assert.equal(header(reply, 'location'), 'https://go.example.com/Spring%20Sale?a=1&b=%2F');
    const other = await ask('//evil.example/x', { proto: 'http', host: 'other.example:8080' });
    assert.equal(header(other, 'location'), 'https://other.example:8080//evil.example/x');
    const nameless = await ask('/evil.example/x', { proto: 'http', host: '@' });
    assert.equal(header(nameless, 'location'), 'https://links.example.com/evil.example/x');
  });

  test('a visit over TLS or on loopback is answered itself', async () => {
    for (const options of [{ tls: true }, {}, { proto: 'https' }]) {
      const reply = await ask('/some-link', options);
      assert.equal(reply.status, 404);
      assert.match(reply.body, /^<!doctype html>/);
    }
  });

  test('health and metrics need no encryption', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      for (const options of [{ proto: 'http' }, { tls: true }, {}])
        assert.equal((await ask(path, options)).status, 200, path);
      assert.equal((await ask(path, { method: 'HEAD' })).body, '');
      const posted = await ask(path, { method: 'POST' });
      assert.equal(posted.status, 404);
      assert.equal(header(posted, 'allow'), 'GET, HEAD');
    }
    assert.match((await ask('/health/ready')).body, /"database":"ok"/);
  });

  test('the API is at the root of its own host too', async () => {
    for (const tls of [true, false]) {
      const host = 'API.example.com.';
      assert.equal((await ask('/tags', { host, key, tls })).status, 200);
      assert.equal((await ask('/tags?page=1', { host: `api.example.com:${port}`, key, tls })).status, 200);
      assert.equal((await ask('/api/tags', { host, key, tls })).status, 200);
      assert.equal((await ask('/tags', { host, tls })).status, 401);
      assert.equal((await ask('/some-link', { host, key, tls })).status, 404);
      assert.match((await ask('/some-link', { host, key, tls })).body, /"not_found"/);
      assert.match((await ask('/', { host, tls })).body, /"openapi":"3\.1\.0"/);
      assert.match((await ask('/errors', { host, tls })).body, /<!doctype html>/);
      assert.equal((await ask('/health/live', { host, tls })).status, 200);
    }
    assert.equal((await ask('/tags', { key })).status, 404);
    assert.equal((await ask('/tags', { host: 'api.example.com', key, proto: 'http' })).status, 403);
  });

  test('system paths do not exist on the hosts of short links', async () => {
    for (const tls of [true, false]) {
      for (const path of [
        '/api/tags',
        '/api',
        '/health/live',
        '/health/ready',
        '/metrics',
        '/api/openapi.json',
      ]) {
        const reply = await ask(path, { host: 'brand.example', key, tls });
        assert.equal(reply.status, 404, path);
        assert.match(reply.body, /^<!doctype html>/, path);
      }
    }
  });

  test('the service answers under its names and under addresses', async () => {
    for (const host of [
      'go.example.com',
      'GO.example.com:443',
      'links.example.com',
      'localhost',
      '127.0.0.1',
      `[::1]:${port}`,
    ]) {
      assert.equal((await ask('/api/tags', { host, key })).status, 200, host);
    }
  });

  test('addresses in answers follow the host and the scheme that the client used', async () => {
    const docUrl = async (options: Ask) => JSON.parse((await ask('/api/tags', options)).body).error.doc_url;
    assert.equal(await docUrl({ tls: true }), 'https://go.example.com/api/errors#unauthorized');
    assert.equal(await docUrl({ host: 'localhost:1234' }), 'http://localhost:1234/api/errors#unauthorized');
    assert.equal(
      await docUrl({ proto: 'https', host: 'links.example.com' }),
      'https://links.example.com/api/errors#unauthorized',
    );
  });
});
