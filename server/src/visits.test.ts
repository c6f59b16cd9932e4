// Visits through the whole application on a real port: links made by the API, opened by browsers.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clickTime } from './events/click-id.ts';
import { eachDatabase, onPostgres } from './testing/databases.ts';
import { connectRaw } from './testing/raw-http.ts';
import { openTestApp, type TestApp, type TestWorkspace } from './testing/test-app.ts';
import { BROWSER, recordedClicks, type VisitReply, type VisitRequest, visit } from './testing/visitors.ts';

const GO = 'go.acme.example';
const EXACT = 'exact.acme.example';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1';
const ANDROID =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/138.0.0.0 Mobile Safari/537.36';
const HOUR_MS = 3_600_000;

async function openVisited(databaseUrl?: string, known?: TestWorkspace) {
  const t = await openTestApp({ env: { PORT: '0' }, ...(databaseUrl && { databaseUrl }) });
  const port = (await t.app.listen()).address.port;
  const workspace = known ?? (await t.workspace());
  return { t, port, workspace, ...callers(t, port, workspace) };
}

function callers(t: TestApp, port: number, workspace: TestWorkspace) {
  async function call(method: string, path: string, body?: object) {
    const reply = await t.request(method, path, { key: workspace.key, body });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.json;
  }
  return {
    call,
    link: (fields: object) => call('POST', '/links', { url: 'https://acme.example/', domain: GO, ...fields }),
    open: (path: string, options?: VisitRequest) => visit(port, path, { host: GO, ...options }),
  };
}

type Visited = Awaited<ReturnType<typeof openVisited>>;

eachDatabase('Visits', (databases) => {
  let v: Visited;
  before(async () => {
    v = await openVisited(databases.engine === 'postgres' ? await databases.place() : undefined);
    await v.call('POST', '/domains', { slug: GO });
  });
  after(() => v.t.close());

  test('a link opens as soon as it is made, changes with it, and is gone with it', async () => {
    assert.equal((await v.open('/life')).status, 404);
    const { id } = await v.link({ key: 'life', url: 'https://acme.example/1' });
    assert.equal((await v.open('/life')).location, 'https://acme.example/1');
    await v.call('PATCH', `/links/${id}`, { url: 'https://acme.example/2' });
    assert.equal((await v.open('/life')).location, 'https://acme.example/2');
    await v.call('PATCH', `/links/${id}`, { key: 'Afterlife' });
    assert.equal((await v.open('/life')).status, 404);
    assert.equal((await v.open('/afterlife')).location, 'https://acme.example/2');
    await v.call('DELETE', `/links/${id}`);
    assert.equal((await v.open('/afterlife')).status, 404);
  });

  test('calls on many links, upserts and folders are seen at once too', async () => {
    const made = await v.call(
      'POST',
      '/links/bulk',
      [1, 2].map((n) => ({ url: `https://acme.example/b${n}`, domain: GO, key: `bulk-${n}` })),
    );
    const ids = made.map((link: { id: string }) => link.id);
    for (const n of [1, 2]) assert.equal((await v.open(`/bulk-${n}`)).location, `https://acme.example/b${n}`);
    await v.call('PATCH', '/links/bulk', { linkIds: ids, data: { url: 'https://acme.example/all' } });
    for (const n of [1, 2]) assert.equal((await v.open(`/bulk-${n}`)).location, 'https://acme.example/all');
    await v.call('DELETE', `/links/bulk?linkIds=${ids.join()}`);
    for (const n of [1, 2]) assert.equal((await v.open(`/bulk-${n}`)).status, 404);
  });

  test('a domain is served, renamed and deleted together with its links', async () => {
    const host = 'old.acme.example';
    await v.call('POST', '/domains', { slug: host });
    await v.link({ domain: host, key: 'x' });
    assert.equal((await v.open('/x', { host })).status, 302);
    assert.equal((await v.open('/none', { host })).status, 404);
    await v.call('PATCH', `/domains/${host}`, { notFoundUrl: 'https://acme.example/404' });
    const missing = await v.open('/none', { host });
    assert.deepEqual([missing.status, missing.location], [307, 'https://acme.example/404']);
    assert.equal(missing.headers['x-powered-by'], undefined);
    await v.call('PATCH', `/domains/${host}`, { slug: 'new.acme.example' });
    assert.equal((await v.open('/x', { host })).status, 404);
    assert.equal((await v.open('/x', { host: 'new.acme.example' })).status, 302);
    await v.call('DELETE', '/domains/new.acme.example');
    assert.equal((await v.open('/x', { host: 'new.acme.example' })).status, 404);
  });
});

describe('A visit', () => {
  let v: Visited;
  before(async () => {
    v = await openVisited();
    await v.call('POST', '/domains', { slug: GO });
    await v.call('POST', '/domains', { slug: EXACT, caseSensitive: true });
  });
  after(() => v.t.close());

  const clicksOf = async (key: string) =>
    (await recordedClicks(v.t.app)).filter((click) => click.key === key);

  test('to the default domain opens on any name of the service', async () => {
    await v.link({ domain: 'localhost', key: 'home-made', url: 'https://acme.example/home' });
    for (const host of ['localhost', `localhost:${v.port}`, '127.0.0.1', 'LOCALHOST']) {
      const reply = await v.open('/home-made', { host });
      assert.deepEqual([reply.status, reply.location], [302, 'https://acme.example/home'], host);
      assert.equal(reply.headers['x-robots-tag'], undefined, 'the shared domain may be indexed');
    }
  });

  test('is answered with headers that keep it out of caches and search engines', async () => {
    await v.link({ key: 'headers' });
    const { headers } = await v.open('/headers');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-robots-tag'], 'googlebot: noindex');
    assert.equal(headers['x-powered-by'], 'Linktrail');
    await v.link({ key: 'indexed', doIndex: true });
    assert.equal((await v.open('/indexed')).headers['x-robots-tag'], undefined);
    const page = await v.open('/nothing-here');
    assert.equal(page.headers['x-frame-options'], 'DENY');
    assert.equal(page.headers['referrer-policy'], 'no-referrer-when-downgrade');
    assert.equal(page.headers['x-robots-tag'], undefined);
    assert.match(String(page.headers['content-security-policy']), /^default-src 'none'/);
  });

  test('finds keys in any case, except on a domain that tells case apart', async () => {
    await v.link({ key: 'Spring' });
    for (const path of ['/Spring', '/spring', '/SPRING', '/%53pring'])
      assert.equal((await v.open(path)).status, 302, path);
    await v.link({ domain: EXACT, key: 'Case' });
    assert.equal((await v.open('/Case', { host: EXACT })).status, 302);
    assert.equal((await v.open('/case', { host: EXACT })).status, 404);
  });

  test('finds keys with slashes, accents and emoji', async () => {
    for (const key of ['a/b/c', 'café', '🚀', 'straße/ü']) {
      await v.link({ key, url: 'https://acme.example/u' });
      assert.equal((await v.open(`/${encodeURI(key)}`)).status, 302, key);
    }
    assert.equal((await v.open('/a/b')).status, 404);
  });

  test('reaches the domain without www. and in capitals, and no link on an unknown host', async () => {
    await v.link({ key: 'hosts' });
    assert.equal((await v.open('/hosts', { host: `www.${GO}` })).status, 302);
    assert.equal((await v.open('/hosts', { host: `${GO.toUpperCase()}:8080` })).status, 302);
    assert.equal((await v.open('/hosts', { host: 'unknown.example' })).status, 404);
  });

  test('is told to come back over HTTPS when it crossed a network in the clear', async () => {
    const reply = await v.open('/hosts?a=1', { headers: { 'x-forwarded-proto': 'http' } });
    assert.deepEqual([reply.status, reply.location], [308, `https://${GO}/hosts?a=1`]);
  });

  test('is one click an hour, with the id in a cookie, and a new id afterwards', async () => {
    await v.link({ key: 'Twice', trackConversion: true });
    const headers = { 'x-forwarded-for': '8.8.4.4', referer: 'https://news.example/a?b' };
    const first = await v.open('/twice?k=1', { headers });
    const [, id = ''] =
      /^dub_id_go\.acme\.example_twice=(\w{16}); Path=\/twice; Max-Age=3600$/.exec(first.cookies[0] ?? '') ??
      [];
    assert.equal(first.location, `https://acme.example/?dub_id=${id}&k=1`);
    assert.equal(clickTime(id), v.t.clock.now());
    v.t.clock.advance(HOUR_MS - 1);
    const again = await v.open('/twice', { headers });
    assert.equal(again.location, `https://acme.example/?dub_id=${id}`);
    const withCookie = await v.open('/twice', {
      headers: { ...headers, cookie: `dub_id_${GO}_twice=${id}` },
    });
    assert.match(withCookie.cookies[0] ?? '', new RegExp(id));
    v.t.clock.advance(1);
    const later = await v.open('/twice', { headers: { ...headers, cookie: `dub_id_${GO}_twice=${id}` } });
    const clicks = await clicksOf('Twice');
    assert.equal(clicks.length, 2);
    assert.notEqual(clicks[1]?.id, id);
    assert.match(later.location ?? '', new RegExp(`dub_id=${clicks[1]?.id}`));
    const { ip, userAgent, referer, url, domain, trigger, workspaceId } = clicks[0] ?? {};
    assert.deepEqual(
      { ip, userAgent, referer, url, domain, trigger, workspaceId },
      {
        ip: '8.8.4.4',
        userAgent: BROWSER,
        referer: 'https://news.example/a?b',
        url: first.location,
        domain: GO,
        trigger: 'link',
        workspaceId: v.workspace.id,
      },
    );
  });

  test('is no click for robots, previews, and those who ask not to be tracked', async () => {
    await v.link({ key: 'uncounted', trackConversion: true });
    const requests: [string, VisitRequest][] = [
      ['/uncounted', { method: 'HEAD' }],
      ['/uncounted', { headers: { 'user-agent': 'curl/8.5.0' } }],
      ['/uncounted', { headers: { 'sec-purpose': 'prefetch' } }],
      ['/uncounted?bot=1', {}],
      ['/uncounted?dub-no-track=1', {}],
      ['/uncounted', { headers: { 'dub-no-track': '1' } }],
      ['/uncounted+', {}],
      ['/uncounted/', {}],
    ];
    for (const [path, options] of requests) await v.open(path, options);
    assert.deepEqual(await clicksOf('uncounted'), []);
    assert.equal((await v.open('/uncounted', { method: 'HEAD' })).status, 302);
    await v.open('/uncounted?qr=1');
    assert.deepEqual(
      (await clicksOf('uncounted')).map(({ qr, trigger }) => [qr, trigger]),
      [[true, 'qr']],
    );
  });

  test('asks for a password, takes it from the form or the address, and remembers it', async () => {
    await v.link({ key: 'locked', password: 's3 & ü' });
    const asked = await v.open('/locked?k=1');
    assert.equal(asked.status, 200);
    assert.match(asked.body, /<form method="post">/);
    const form = (password: string) => ({
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ password }).toString(),
    });
    assert.match((await v.open('/locked', form('wrong'))).body, /That password is not right/);
    const right = await v.open('/locked?k=1', form('s3 & ü'));
    assert.deepEqual([right.status, right.location], [303, '/locked?k=1']);
    const cookie = right.cookies[0] ?? '';
    assert.match(cookie, /^dub_password_link_\w+=s3%20%26%20%C3%BC; Path=\/locked; HttpOnly$/);
    const opened = await v.open('/locked?k=1', { headers: { cookie: cookie.split(';')[0] as string } });
    assert.deepEqual([opened.status, opened.location], [302, 'https://acme.example/?k=1']);
    assert.equal(
      (await v.open(`/locked?pw=${encodeURIComponent('s3 & ü')}&k=2`)).location,
      'https://acme.example/?k=2',
    );
    const secure = await v.open('/locked', { ...form('s3 & ü'), headers: { 'x-forwarded-proto': 'https' } });
    assert.match(secure.cookies[0] ?? '', /; Secure$/);
    assert.match((await v.open('/locked+')).body, /Password required/);
    assert.equal((await clicksOf('locked')).length, 1);
  });

  test('answers a form and a call of the API that announce no body, on the same connection', async () => {
    await v.link({ key: 'bodiless', password: 'p' });
    const post = (path: string, host: string, more = '') =>
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
    const { text } = await connectRaw(v.port, [
      post('/bodiless', GO),
      post('/api/tags', 'localhost', `Authorization: Bearer ${v.workspace.key}\r\nConnection: close\r\n`),
    ]);
    assert.match(text, /^HTTP\/1\.1 200 OK.*That password is not right.*HTTP\/1\.1 400 Bad Request/s);
    assert.match(text, /the body is empty/);
  });

  test('takes thirty wrong passwords in ten minutes and no more, however they come', async () => {
    const { id } = await v.link({ key: 'guarded', password: 'right' });
    for (let i = 0; i < 15; i++) {
      await v.open('/guarded?pw=wrong');
      await v.open('/guarded', { method: 'POST', body: 'password=wrong' });
    }
    assert.equal((await v.open('/guarded?pw=right')).status, 429);
    assert.equal((await v.open('/guarded', { method: 'POST', body: 'password=right' })).status, 429);
    const cookie = `dub_password_${id}=right`;
    assert.equal((await v.open('/guarded', { headers: { cookie } })).status, 302, 'who is in stays in');
    v.t.clock.advance(600_000);
    assert.equal((await v.open('/guarded?pw=right')).status, 302);
  });

  test('with a form that is too large is not read', async () => {
    await v.link({ key: 'large', password: 'p' });
    const reply = await v.open('/large', { method: 'POST', body: `x=${'y'.repeat(9_000)}&password=p` });
    assert.deepEqual([reply.status, reply.cookies], [200, []]);
  });

  test('stays with its variant of a test', async () => {
    const urls = [1, 2].map((n) => `https://acme.example/v${n}`);
    const nowMs = v.t.clock.now();
    await v.link({
      key: 'ab',
      trackConversion: true,
      testVariants: urls.map((url) => ({ url, percentage: 50 })),
      testStartedAt: new Date(nowMs).toISOString(),
      testCompletedAt: new Date(nowMs + 7 * 24 * HOUR_MS).toISOString(),
    });
    const target = (reply: VisitReply) => (reply.location ?? '').split('?')[0] as string;
    const first = await v.open('/ab');
    const cookie = first.cookies.find((text) => text.startsWith('dub_test_url=')) ?? '';
    assert.match(cookie, /; Path=\/ab; Max-Age=604800$/);
    for (let i = 0; i < 20; i++) {
      const again = await v.open('/ab', { headers: { cookie: cookie.split(';')[0] as string } });
      assert.equal(target(again), target(first));
    }
    const seen = new Set<string>();
    for (let i = 0; i < 64 && seen.size < 2; i++) seen.add(target(await v.open('/ab')));
    assert.deepEqual([...seen].sort(), urls);
  });

  test('goes where its device or country is sent', async () => {
    const targets = {
      ios: 'https://apps.apple.com/app/1',
      android: 'https://acme.example/android',
      geo: { US: 'https://acme.example/us' },
    };
    await v.link({ key: 'target', ...targets });
    const from = (agent: string, ip: string) => ({ headers: { 'user-agent': agent, 'x-forwarded-for': ip } });
    assert.equal((await v.open('/target', from(IPHONE, '8.8.8.8'))).location, targets.ios);
    assert.equal((await v.open('/target', from(ANDROID, '8.8.8.8'))).location, targets.android);
    assert.equal((await v.open('/target', from(BROWSER, '8.8.8.8'))).location, targets.geo.US);
    assert.equal((await v.open('/target', from(BROWSER, '193.0.6.139'))).location, 'https://acme.example/');
    assert.equal(
      (await v.open('/target')).location,
      'https://acme.example/',
      'a private address has no country',
    );
  });

  test('ends on a page when the link is over, and goes on when an address is given for that', async () => {
    const { id } = await v.link({ key: 'over', expiresAt: new Date(v.t.clock.now() + 1_000).toISOString() });
    assert.equal((await v.open('/over')).status, 302);
    v.t.clock.advance(1_001);
    assert.deepEqual([(await v.open('/over')).status, (await v.open('/over')).location], [410, undefined]);
    await v.call('PATCH', `/links/${id}`, { expiredUrl: 'https://acme.example/gone' });
    const reply = await v.open('/over?k=1');
    assert.deepEqual([reply.status, reply.location], [302, 'https://acme.example/gone']);
  });

  test('to the root of a domain is a placeholder until it has a destination', async () => {
    const placeholder = await v.open('/');
    assert.deepEqual([placeholder.status, placeholder.cookies.length], [200, 1]);
    const { id } = await v.call('GET', `/links/info?domain=${GO}&key=_root`);
    await v.call('PATCH', `/links/${id}`, { url: 'https://acme.example' });
    const reply = await v.open('/');
    assert.deepEqual([reply.status, reply.location], [301, 'https://acme.example/']);
    assert.match(reply.cookies[0] ?? '', /; Path=\/; /);
    assert.equal((await v.open('/_root')).status, 404);
  });

  test('shows pages for previews, apps, cloaked links and those who look before they go', async () => {
    await v.link({ key: 'shown', title: 'Spring <sale>', proxy: true });
    const robot = { headers: { 'user-agent': 'Twitterbot/1.0' } };
    assert.match((await v.open('/shown', robot)).body, /"og:title" content="Spring &lt;sale&gt;"/);
    assert.equal((await v.open('/shown')).status, 302);
    assert.match((await v.open('/shown+')).body, /Where this link leads/);
    await v.link({ key: 'cloaked', rewrite: true });
    assert.match((await v.open('/cloaked?k=1')).body, /<iframe src="https:\/\/acme.example\/\?k=1"/);
    await v.link({ key: 'mail', url: 'mailto:a@acme.example' });
    assert.match((await v.open('/mail')).body, /http-equiv="refresh" content="0;url=mailto:a@acme.example"/);
  });

  test('finds the files that apps and robots look for, on any host', async () => {
    const files = {
      appleAppSiteAssociation: '{"applinks":{"details":[1]}}',
      assetLinks: '[{"relation":[]}]',
    };
    await v.call('PATCH', `/domains/${GO}`, files);
    const paths = ['/.well-known/apple-app-site-association', '/.well-known/assetlinks.json'];
    for (const [i, path] of paths.entries()) {
      const reply = await v.open(path);
      assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'application/json']);
      assert.equal(reply.body, Object.values(files)[i]);
      assert.deepEqual(
        JSON.parse((await v.open(path, { host: 'unknown.example' })).body),
        [{ applinks: { apps: [], details: [] } }, []][i],
      );
    }
    assert.match((await v.open('/robots.txt')).body, /^User-agent: \*\nAllow: \/\n$/);
    assert.equal((await v.open('/favicon.ico')).status, 404);
  });

  test('that is a probe, a slash too many or another method gets a short answer', async () => {
    for (const path of ['/wp-login.php', '/.well-known/security.txt']) {
      const probe = await v.open(path);
      assert.deepEqual([probe.status, probe.location], [302, '/?dub-no-track=1']);
    }
    const slash = await v.open('/spring/?a=1');
    assert.deepEqual([slash.status, slash.location], [308, '/spring?a=1']);
    assert.equal((await v.open('//evil.example/')).location, '/evil.example');
    assert.equal((await v.open('/%')).status, 404);
    assert.equal((await v.open('/stats/none')).location, '/');
    assert.equal((await v.open('/spring', { method: 'DELETE' })).status, 405);
    assert.deepEqual([(await v.open('//spring', { method: 'POST' })).location], ['/spring']);
  });

  test('is counted by what it got, and the journal is in the health report', async () => {
    const metrics = (await v.open('/metrics', { host: 'localhost' })).body;
    for (const outcome of [
      'redirected',
      'page',
      'not_found',
      'expired',
      'password',
      'inspected',
      'previewed',
      'file',
      'moved',
      'probe',
      'refused',
    ]) {
      const [, count] = new RegExp(`linktrail_visits_total{outcome="${outcome}"} (\\d+)`).exec(metrics) ?? [];
      assert.ok(Number(count) > 0, outcome);
    }
    assert.match(metrics, /linktrail_visits_total{outcome="failed"} 0/);
    assert.match(metrics, /linktrail_clicks_total{counted="repeated"} [1-9]/);
    const ready = await v.open('/health/ready', { host: 'localhost' });
    assert.deepEqual([ready.status, JSON.parse(ready.body).journal], [200, 'ok']);
  });
});

describe('A visitor', () => {
  test('is known across a restart', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'linktrail-'));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const env = { PORT: '0', LINKTRAIL_DATA_DIR: dataDir };
    for (const round of [1, 2]) {
      const app = await openTestApp({ env });
      t.after(() => app.close());
      const port = (await app.app.listen()).address.port;
      if (round === 1) {
        const { key } = await app.workspace();
        await app.request('POST', '/links', { key, body: { url: 'https://acme.example', key: 'again' } });
      }
      assert.equal((await visit(port, '/again')).status, 302);
      assert.equal((await recordedClicks(app.app)).length, 1, `start ${round}`);
      await app.close();
    }
  });

  test('gets links that are in memory while the store is down, and is asked to wait for others', async (t) => {
    const v = await openVisited();
    t.after(() => v.t.close());
    await v.link({ domain: 'localhost', key: 'known-link' });
    const host = { host: 'localhost' };
    assert.equal((await v.open('/known-link', host)).status, 302);
    await v.t.app.db.close();
    assert.equal((await v.open('/known-link', host)).status, 302);
    const other = await v.open('/other-link', host);
    assert.deepEqual([other.status, other.headers['retry-after']], [503, '2']);
  });
});

onPostgres('Visits on two nodes', (databases) => {
  test('a change made on one is seen on the other as soon as it hears of it', async (t) => {
    const place = await databases.place();
    const one = await openVisited(place);
    t.after(() => one.t.close());
    const two = await openVisited(place, one.workspace);
    t.after(() => two.t.close());
    let heard = Promise.withResolvers<void>();
    const next = async (change: Promise<unknown>) => {
      await change;
      await heard.promise;
      heard = Promise.withResolvers<void>();
    };
    // Follows after the snapshot, and hears of the same changes right after it.
    await two.t.app.db.follow({
      name: 'visits',
      digest: () => undefined,
      receive: () => heard.resolve(),
      lost: () => {},
    });
    await next(one.call('POST', '/domains', { slug: GO }));
    assert.equal((await two.open('/x')).status, 404);
    const made = one.link({ key: 'x', url: 'https://acme.example/1' });
    await next(made);
    assert.equal((await two.open('/x')).location, 'https://acme.example/1');
    const { id } = await made;
    await next(one.call('PATCH', `/links/${id}`, { url: 'https://acme.example/2', key: 'y' }));
    assert.deepEqual(
      [(await two.open('/x')).status, (await two.open('/y')).location],
      [404, 'https://acme.example/2'],
    );
    await next(one.call('DELETE', `/links/${id}`));
    assert.equal((await two.open('/y')).status, 404);
  });
});
