import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PNG } from 'pngjs';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const URL_PARAMETER = `url=${encodeURIComponent('https://go.example/Spring?qr=1')}`;

let t: TestApp;
let calls = 0;
before(async () => {
  t = await openTestApp();
});
after(() => t.close());

/** From another address each time, so that only the test about windows sees one. */
function get(
  query: string,
  options: { method?: string; ip?: string; headers?: Record<string, string> } = {},
) {
  calls += 1;
  const { method = 'GET', ip = `198.51.100.${calls}`, headers = {} } = options;
  return t.request(method, `/qr?${query}`, { ip, headers });
}

describe('GET /qr', () => {
  test('needs no key and answers with a PNG of 600 pixels', async () => {
    const reply = await get(URL_PARAMETER);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'image/png');
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=3600');
    assert.equal(reply.headers.get('content-length'), String(reply.bytes.length));
    const { width, height } = PNG.sync.read(reply.bytes);
    assert.deepEqual([width, height], [600, 600]);
  });

  for (const query of [
    'size=300',
    'level=H',
    'fgColor=%23112233',
    'bgColor=%23fed',
    'margin=5',
    'format=svg',
  ]) {
    test(`${query} makes another picture`, async () => {
      const [plain, other] = [await get(URL_PARAMETER), await get(`${URL_PARAMETER}&${query}`)];
      assert.equal(other.status, 200);
      assert.notDeepEqual(other.bytes, plain.bytes);
    });
  }

  for (const query of [
    'includeMargin=false',
    'includeMargin=true',
    'logo=',
    'level=L',
    'size=600',
    'margin=2',
    'fgColor=%23000000',
    'bgColor=%23FFFFFF',
  ]) {
    test(`${query} makes the same picture`, async () => {
      const [plain, other] = [await get(URL_PARAMETER), await get(`${URL_PARAMETER}&${query}`)];
      assert.deepEqual(other.bytes, plain.bytes);
    });
  }

  test('the level is L where no logo raises it', async () => {
    const { key } = await t.workspace();
    const body = { url: 'https://example.com', key: 'level', domain: 'localhost:3000' };
    assert.equal((await t.request('POST', '/links', { key, body })).status, 200);
    const bare = 'url=https://localhost:3000/level&hideLogo=true';
    const [plain, low, medium] = [
      await get(bare),
      await get(`${bare}&level=L`),
      await get(`${bare}&level=M`),
    ];
    assert.deepEqual(plain.bytes, low.bytes);
    assert.notDeepEqual(plain.bytes, medium.bytes);
    assert.notDeepEqual(plain.bytes, (await get('url=https://localhost:3000/level&level=L')).bytes);
  });

  test('hideLogo and logo count for nothing where the address is no short link', async () => {
    const [plain, other] = [
      await get(URL_PARAMETER),
      await get(`${URL_PARAMETER}&hideLogo=true&logo=${encodeURIComponent('https://images.example/a.png')}`),
    ];
    assert.deepEqual(other.bytes, plain.bytes);
  });

  test('format=svg answers with an SVG that may run nothing', async () => {
    const reply = await get(`${URL_PARAMETER}&format=svg`);
    assert.equal(reply.headers.get('content-type'), 'image/svg+xml');
    assert.match(reply.headers.get('content-security-policy') ?? '', /sandbox/);
    assert.match(reply.text, /^<svg /);
  });

  for (const [query, status, field] of [
    ['', 400, 'url'],
    [`${URL_PARAMETER}&size=big`, 400, 'size'],
    [`${URL_PARAMETER}&margin=wide`, 400, 'margin'],
    [`${URL_PARAMETER}&hideLogo=maybe`, 400, 'hideLogo'],
    [`${URL_PARAMETER}&includeMargin=2`, 400, 'includeMargin'],
    ['url=', 422, 'url'],
    ['url=no%20address', 422, 'url'],
    [`url=https://go.example/${'x'.repeat(32_000)}`, 422, 'url'],
    [`url=https://go.example/${'x'.repeat(3_000)}`, 422, 'url'],
    [`${URL_PARAMETER}&size=15`, 422, 'size'],
    [`${URL_PARAMETER}&size=2001`, 422, 'size'],
    [`${URL_PARAMETER}&size=300.5`, 422, 'size'],
    [`${URL_PARAMETER}&size=-600`, 422, 'size'],
    [`${URL_PARAMETER}&level=X`, 422, 'level'],
    [`${URL_PARAMETER}&fgColor=red`, 422, 'fgColor'],
    [`${URL_PARAMETER}&bgColor=%2312345`, 422, 'bgColor'],
    [`${URL_PARAMETER}&fgColor=%23000"onload="x`, 422, 'fgColor'],
    [`${URL_PARAMETER}&margin=-1`, 422, 'margin'],
    [`${URL_PARAMETER}&margin=51`, 422, 'margin'],
    [`${URL_PARAMETER}&logo=nothing`, 422, 'logo'],
    [`${URL_PARAMETER}&format=pdf`, 422, 'format'],
  ] as const) {
    test(`"${query.slice(0, 90)}" is ${status} and names ${field}, also to other pages`, async () => {
      const reply = await get(query);
      assert.equal(reply.status, status, reply.text);
      assert.match(reply.json.error.message, new RegExp(`: ${field}: `));
      assert.equal(reply.headers.get('access-control-allow-origin'), '*');
      assert.equal(reply.headers.get('access-control-allow-methods'), 'GET, OPTIONS');
    });
  }

  test('answers OPTIONS, HEAD, and 304 to who has the picture', async () => {
    const options = await get(URL_PARAMETER, { method: 'OPTIONS' });
    assert.equal(options.status, 204);
    assert.equal(options.headers.get('access-control-allow-origin'), '*');
    const full = await get(URL_PARAMETER);
    const head = await get(URL_PARAMETER, { method: 'HEAD' });
    assert.deepEqual([head.status, head.bytes.length], [200, 0]);
    assert.equal(head.headers.get('content-length'), String(full.bytes.length));
    const again = await get(URL_PARAMETER, { headers: { 'If-None-Match': full.headers.get('etag') ?? '' } });
    assert.deepEqual([again.status, again.bytes.length], [304, 0]);
  });

  test('answers ten requests of an address in ten seconds', async () => {
    const ip = '203.0.113.9';
    const statuses = [];
    for (let i = 0; i < 11; i++) statuses.push((await get(URL_PARAMETER, { ip })).status);
    assert.deepEqual(statuses, [...Array(10).fill(200), 429]);
    const refused = await get(URL_PARAMETER, { ip });
    assert.equal(refused.headers.get('access-control-allow-origin'), '*');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    t.clock.advance(10_000);
    assert.equal((await get(URL_PARAMETER, { ip })).status, 200);
  });
});
