import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

let t: TestApp;
let server: Server;
let page: string;
let handler: RequestListener;
let calls = 0;
before(async () => {
  server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  page = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t = await openTestApp({ env: { LINKTRAIL_ALLOW_PRIVATE: '127.0.0.1' } });
});
after(async () => {
  await t.close();
  server.closeAllConnections();
  server.close();
});

function get(path: string, url: string, more = '', ip = `198.51.100.${++calls}`) {
  return t.request('GET', `/links/${path}?url=${encodeURIComponent(url)}${more}`, { ip });
}

function html(body: string | Buffer, type = 'text/html; charset=utf-8'): RequestListener {
  return (_request, response) => response.writeHead(200, { 'Content-Type': type }).end(body);
}

describe('GET /links/metatags', () => {
  test('reads the page, after redirects, without a key', async () => {
    handler = (request, response) => {
      if (request.url === '/old') response.writeHead(301, { Location: '/new/page' }).end();
      else
        html('<title>Hello</title><meta property="og:image" content="https://cdn.example/a.png">')(
          request,
          response,
        );
    };
    const reply = await get('metatags', `${page}/old`);
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.json, {
      title: 'Hello',
      description: 'No description',
      image: 'https://cdn.example/a.png',
      poweredBy: 'Linktrail',
    });
  });

  test('reads the head of a page that is too long to read whole', async () => {
    handler = html(`<title>Long</title></head><body>${'x'.repeat(3_000_000)}`);
    assert.equal((await get('metatags', page)).json.title, 'Long');
  });

  test('reads other charsets', async () => {
    handler = html(Buffer.from('<title>Gr\xfc\xdfe</title>', 'latin1'), 'text/html; charset=iso-8859-1');
    assert.equal((await get('metatags', page)).json.title, 'Grüße');
  });

  for (const [what, path, serve, title] of [
    [
      'an error',
      '/posts/my%20post',
      (_request, response) => response.writeHead(500).end('<title>Oops</title>'),
      'my post',
    ],
    ['no page', '/files/report.pdf?x=1', html('%PDF', 'application/pdf'), 'report.pdf'],
    ['cut off', '/a/b/', (request) => request.socket.destroy(), 'b'],
    [
      'an endless redirect',
      '/loop',
      (_request, response) => response.writeHead(302, { Location: '/loop' }).end(),
      'loop',
    ],
  ] as [string, string, RequestListener, string][]) {
    test(`takes the title from the address when the answer is ${what}`, async () => {
      handler = serve;
      const { json } = await get('metatags', page + path);
      assert.deepEqual([json.title, json.image], [title, null]);
    });
  }

  test('reaches nothing private, by whatever name', async () => {
    let reached = 0;
    handler = (_request, response) => {
      reached += 1;
      response.end('<title>secret</title>');
    };
    const port = new URL(page).port;
    for (const host of ['127.0.0.2', '[::1]', '0x7f000002', '[::ffff:127.0.0.2]', '169.254.169.254']) {
      const reply = await get('metatags', `http://${host}:${port}/latest/data`);
      assert.deepEqual([reply.status, reply.json.title], [200, 'data'], host);
    }
    assert.equal(reached, 0);
  });

  for (const [url, status] of [
    ['javascript:alert(1)', 422],
    ['ftp://example.com/a', 422],
    ['no address', 422],
    ['', 422],
  ] as const) {
    test(`"${url}" is ${status}`, async () => assert.equal((await get('metatags', url)).status, status));
  }

  test('without an address is 400', async () => {
    assert.equal((await t.request('GET', '/links/metatags', { ip: '203.0.113.1' })).status, 400);
  });
});

describe('GET /links/iframeable', () => {
  for (const [headers, iframeable] of [
    [{}, true],
    [{ 'X-Frame-Options': 'SAMEORIGIN' }, false],
    [{ 'Content-Security-Policy': 'frame-ancestors go.example' }, true],
    [{ 'Content-Security-Policy': ["default-src 'self'", "frame-ancestors 'none'"] }, false],
  ] as const) {
    test(`is ${iframeable} for ${JSON.stringify(headers)}`, async () => {
      handler = (_request, response) =>
        response.writeHead(200, headers as Record<string, string>).end('page');
      const reply = await get('iframeable', page, '&domain=go.example');
      assert.equal(reply.status, 200);
      assert.deepEqual(reply.json, { iframeable });
    });
  }

  test('is false for a page that cannot be had', async () => {
    handler = (request) => request.socket.destroy();
    assert.deepEqual((await get('iframeable', page, '&domain=go.example')).json, { iframeable: false });
  });

  for (const [domain, status] of [
    ['', 422],
    ['a b', 422],
    ['go.example/x', 422],
  ] as const) {
    test(`"${domain}" as a domain is ${status}`, async () => {
      assert.equal((await get('iframeable', page, `&domain=${encodeURIComponent(domain)}`)).status, status);
    });
  }
});

describe('the helpers', () => {
  test('answer ten requests of an address in ten seconds, each', async () => {
    handler = html('<title>T</title>');
    const ip = '203.0.113.7';
    const statuses = [];
    for (let i = 0; i < 11; i++) statuses.push((await get('metatags', page, '', ip)).status);
    assert.deepEqual(statuses, [...Array(10).fill(200), 429]);
    assert.equal((await get('iframeable', page, '&domain=go.example', ip)).status, 200);
  });
});
