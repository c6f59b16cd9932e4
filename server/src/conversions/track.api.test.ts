// Clicks that pages and apps report, through the whole application, beside visits on a real port.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Click } from '../events/event.ts';
import { eachDatabase, onPostgres } from '../testing/databases.ts';
import { assertRefused, openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { BROWSER, recordedClicks, visit } from '../testing/visitors.ts';

const GO = 'go.acme.example';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1';
const STORE = 'https://apps.apple.com/app/id1';
const HOUR_MS = 3_600_000;
const CLICK_ID = /^[0-9A-Za-z]{16}$/;

interface Sent {
  readonly ip?: string;
  readonly headers?: Record<string, string>;
}

let visitors = 0;
/** Somebody who was never there before. */
const newIp = () => `9.${(++visitors >> 16) & 255}.${(visitors >> 8) & 255}.${visitors & 255}`;

async function openTracked(databaseUrl?: string, known?: TestWorkspace) {
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
  const send = (path: string, body: unknown, { ip = newIp(), headers }: Sent = {}) =>
    t.request('POST', `/track/${path}`, { body, ip, headers: { 'user-agent': BROWSER, ...headers } });
  return {
    call,
    send,
    allow: (...allowedHostnames: string[]) =>
      call('PATCH', `/workspaces/${workspace.id}`, { allowedHostnames }),
    link: (key: string, fields: object = {}) =>
      call('POST', '/links', { url: 'https://acme.example/', domain: GO, key, ...fields }),
    open: (path: string, ip: string, agent = BROWSER) =>
      visit(port, path, { host: GO, headers: { 'x-forwarded-for': ip, 'user-agent': agent } }),
    clicksOf: async (key: string): Promise<Click[]> =>
      (await recordedClicks(t.app)).filter((click) => click.key === key),
  };
}

type Tracked = Awaited<ReturnType<typeof openTracked>>;

const from = (page: string) => ({ headers: { referer: page } });

eachDatabase('Reported clicks', (databases) => {
  // A suite of its own: its application has to be closed before its tables are dropped around it.
  describe('in the stores', () => {
    let v: Tracked;
    before(async () => {
      v = await openTracked(databases.engine === 'postgres' ? await databases.place() : undefined);
      await v.call('POST', '/domains', { slug: GO });
    });
    after(() => v.t.close());

    test('of all three kinds show in the counters of the link and its workspace', async () => {
      const { id } = await v.link('counted');
      await v.send('click', { domain: GO, key: 'counted' });
      await v.send('visit', { domain: GO, url: 'https://acme.example/counted' });
      await v.send('open', { deepLink: `https://${GO}/counted` });
      await v.t.app.events.settle();
      const [link] = await v.call('GET', `/links?search=counted&domain=${GO}`);
      assert.deepEqual([link.id, link.clicks], [id, 3]);
      assert.equal(link.lastClicked, new Date(v.t.clock.now()).toISOString());
      assert.equal((await v.call('GET', `/workspaces/${v.workspace.id}`)).totalClicks, 3);
    });

    test('follow a change of the allowed hostnames, the plan or the link at once', async () => {
      const { id } = await v.link('followed');
      const report = () =>
        v.send('click', { domain: GO, key: 'followed' }, from('https://shop.example.com/'));
      assert.equal((await report()).status, 200);
      await v.allow('other.example');
      assert.equal((await report()).status, 403);
      await v.t.app.services.workspaces.setPlan(v.workspace.id, 'enterprise');
      assert.equal((await report()).status, 403);
      await v.allow('*.example.com');
      assert.equal((await report()).status, 200);
      await v.allow();
      await v.call('DELETE', `/links/${id}`);
      assert.equal((await report()).status, 404);
    });
  });
});

describe('Reported clicks', () => {
  let v: Tracked;
  before(async () => {
    v = await openTracked();
    await v.call('POST', '/domains', { slug: GO });
  });
  after(() => v.t.close());

  test('need nothing from the store when link and workspace are in memory', async (t) => {
    const own = await openTracked();
    t.after(() => own.t.close());
    const { domain } = await own.link('in-memory', { domain: undefined });
    await own.allow('acme.example');
    const page = from('https://www.acme.example/');
    const report = () => own.send('click', { domain, key: 'in-memory' }, page);
    assert.equal((await report()).status, 200);
    await own.t.app.db.close();
    assert.equal((await report()).status, 200);
    const reply = await own.send('visit', { domain, url: 'https://acme.example/in-memory' }, page);
    assert.equal(reply.status, 200);
    assert.equal((await own.clicksOf('in-memory')).length, 3);
  });

  test('may come from any page: every answer says so, and so does the question before it', async () => {
    await v.link('cors');
    await v.allow('allowed.example');
    const bodies = [
      { domain: GO, key: 'cors' },
      { domain: GO, key: 'no-such-key' },
      {},
      { domain: '', key: '' },
      '{',
    ];
    const replies = await Promise.all(
      bodies.map((body) => v.send('click', body, { headers: { origin: 'https://elsewhere.example' } })),
    );
    await v.allow();
    replies.push(await v.send('click', bodies[0]));
    for (const path of ['click', 'visit', 'open'])
      replies.push(await v.t.request('OPTIONS', `/track/${path}`));
    assert.deepEqual(
      replies.map(({ status }) => status),
      [403, 404, 400, 422, 400, 200, 204, 204, 204],
    );
    for (const { headers } of replies) {
      assert.equal(headers.get('access-control-allow-origin'), '*');
      assert.equal(headers.get('access-control-allow-methods'), 'POST, OPTIONS');
      assert.equal(headers.get('access-control-allow-headers'), 'Content-Type, Authorization');
    }
  });

  test('share the window of an hour with visits, whichever comes first', async () => {
    await v.link('shared');
    const ip = newIp();
    await v.open('/shared', ip);
    const [visited] = await v.clicksOf('shared');
    const body = { domain: GO, key: 'shared' };
    const { clickId } = (await v.send('click', body, { ip })).json;
    assert.equal(clickId, visited?.id);
    const page = { domain: GO, url: 'https://acme.example/shared' };
    assert.equal((await v.send('visit', page, { ip })).json.clickId, clickId);
    const opened = await v.send('open', { deepLink: `${GO}/shared` }, { ip });
    assert.equal(opened.json.clickId, clickId);
    v.t.clock.advance(HOUR_MS);
    const later = (await v.send('click', body, { ip })).json.clickId;
    assert.notEqual(later, clickId);
    assert.match((await v.open('/shared', ip)).cookies[0] ?? '', new RegExp(`=${later};`));
    assert.equal((await v.clicksOf('shared')).length, 2);
    const other = { ip, headers: { 'user-agent': `${BROWSER} Edg/138.0` } };
    assert.notEqual((await v.send('click', body, other)).json.clickId, later, 'another browser');
  });

  test('that come at the same moment from one visitor are one click', async () => {
    await v.link('burst');
    const ip = newIp();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2
          ? v.send('click', { domain: GO, key: 'burst' }, { ip })
          : v.send('open', { deepLink: `https://${GO}/burst` }, { ip }),
      ),
    );
    const ids = new Set(replies.map((reply) => reply.json.clickId));
    assert.equal(ids.size, 1);
    assert.deepEqual(
      (await v.clicksOf('burst')).map(({ id }) => id),
      [...ids],
    );
  });

  test('of a page name it as the destination, and the link’s own without a valid one', async () => {
    await v.link('destination');
    const base = { domain: GO, key: 'destination', referrer: 'https://news.example/a?b' };
    const urls = ['https://acme.example/?via=kim', undefined, '', 'nonsense', 'javascript:alert(1)'];
    const ids: string[] = [];
    for (const url of urls) ids.push((await v.send('click', { ...base, url })).json.clickId);
    const clicks = await v.clicksOf('destination');
    assert.deepEqual(
      clicks.map(({ id }) => id),
      ids,
    );
    assert.ok(ids.every((id) => CLICK_ID.test(id)));
    const own = 'https://acme.example/';
    assert.deepEqual(
      clicks.map(({ url }) => url),
      [urls[0], own, own, own, own],
    );
    const { trigger, referer, userAgent, workspaceId, domain, qr } = clicks[0] as Click;
    assert.deepEqual(
      { trigger, referer, userAgent, workspaceId, domain, qr },
      {
        trigger: 'link',
        referer: base.referrer,
        userAgent: BROWSER,
        workspaceId: v.workspace.id,
        domain: GO,
        qr: false,
      },
    );
  });

  test('of robots and of those who ask not to be tracked get an id and are not recorded', async () => {
    await v.link('untracked');
    const body = { domain: GO, key: 'untracked' };
    const page = { domain: GO, url: 'https://acme.example/untracked' };
    const quiet: [string, unknown, Sent][] = [
      ['click', body, { headers: { 'user-agent': 'curl/8.5.0' } }],
      ['click', body, { headers: { 'sec-purpose': 'prefetch;prerender' } }],
      ['click', body, { headers: { 'dub-no-track': '1' } }],
      ['click?dub-no-track', body, {}],
      ['click?dub-no-track=1', body, {}],
      ['visit?dub-no-track=1', page, {}],
      ['visit', page, { headers: { 'user-agent': 'Googlebot/2.1' } }],
    ];
    for (const [path, sent, options] of quiet) {
      const reply = await v.send(path, sent, options);
      assert.equal(reply.status, 200);
      assert.match(reply.json.clickId, CLICK_ID);
    }
    const opened = await v.send('open?dub-no-track=1', { deepLink: `https://${GO}/untracked` });
    assert.equal(opened.json.clickId, null);
    assert.equal(opened.json.link.key, 'untracked');
    assert.deepEqual(await v.clicksOf('untracked'), []);
  });

  test('of apps count whatever the app calls itself', async () => {
    const { id } = await v.link('app');
    const reply = await v.send(
      'open',
      { deepLink: `https://${GO}/app` },
      { headers: { 'user-agent': 'curl/8.5.0' } },
    );
    const [click] = await v.clicksOf('app');
    assert.deepEqual(reply.json, {
      clickId: click?.id,
      link: { id, domain: GO, key: 'app', url: 'https://acme.example/' },
    });
    assert.deepEqual([click?.trigger, click?.url], ['deeplink', 'https://acme.example/']);
  });

  test('find the link in every spelling of its domain, key and address', async () => {
    await v.link('Spell/Café');
    const [key, slug] = ['Spell/Café', 'exact.acme.example'];
    await v.call('POST', '/domains', { slug, caseSensitive: true });
    await v.link('Case', { domain: slug });
    const path = 'spell/caf%C3%A9';
    const requests: [string, object, number][] = [
      ['click', { domain: GO, key }, 200],
      ['click', { domain: `WWW.${GO.toUpperCase()}`, key: 'SPELL/CAFé' }, 200],
      ['click', { domain: `${GO}:8443`, key: '/spell/café/' }, 200],
      ['click', { domain: slug, key: 'Case' }, 200],
      ['click', { domain: slug, key: 'case' }, 404],
      ['click', { domain: 'unknown.example', key }, 404],
      ['click', { domain: GO, key: '_root' }, 200],
      ['visit', { domain: `www.${GO}`, url: `http://acme.example/${path}?a=b#c` }, 200],
      ['visit', { domain: GO, url: `https://acme.example/${path}/` }, 200],
      ['visit', { domain: GO, url: 'https://acme.example' }, 200],
      ['visit', { domain: GO, url: 'https://acme.example/_root' }, 404],
      ['visit', { domain: GO, url: 'https://acme.example/%ff' }, 404],
      ['open', { deepLink: `https://www.${GO}/${path}?a=b` }, 200],
      ['open', { deepLink: `${GO.toUpperCase()}/${path}` }, 200],
      ['open', { deepLink: `acme://${GO}/${path}` }, 200],
      ['open', { deepLink: GO }, 200],
      ['open', { deepLink: `https://${GO}/unknown-key`, dubDomain: GO }, 404],
      ['open', { deepLink: `https://${GO}/${'é'.repeat(5_000)}` }, 404],
    ];
    for (const [kind, body, status] of requests) {
      const reply = await v.send(kind, body);
      assert.equal(reply.status, status, `${kind} ${JSON.stringify(body).slice(0, 80)}: ${reply.text}`);
    }
    const { url, trigger } = (await v.clicksOf('_root')).at(1) as Click;
    assert.deepEqual([url, trigger], ['https://acme.example/', 'pageview']);
  });

  test('find links of the default domain by any name of the service', async () => {
    await v.link('at-home', { domain: 'localhost' });
    for (const name of ['localhost', `localhost:${v.port}`, '127.0.0.1', 'www.localhost'])
      assert.equal((await v.send('click', { domain: name, key: 'at-home' })).status, 200, name);
  });

  test('of a link that was switched off are refused as those of an unknown one', async () => {
    for (const column of ['disabled_at', 'banned_at'] as const) {
      const { id } = await v.link(`off-${column}`);
      await v.t.app.db.query
        .updateTable('link')
        .set({ [column]: 1 })
        .where('id', '=', id)
        .execute();
      assertRefused(await v.send('click', { domain: GO, key: `off-${column}` }), 404, /no such link/);
    }
  });

  test('do not tell the destination of a link with a password', async () => {
    await v.link('locked', { url: 'https://secret.example/', password: 'pw' });
    const { json, text } = await v.send('open', { deepLink: `https://${GO}/locked` });
    assert.equal(json.link.url, `https://${GO}/locked`);
    assert.ok(!text.includes('secret.example'));
  });

  for (const [kind, body, status, text] of [
    ['click', {}, 400, /: domain: /],
    ['click', { domain: GO }, 400, /: key: /],
    ['click', { domain: 7, key: 'k' }, 400, /: domain: /],
    ['click', { domain: GO, key: null }, 400, /: key: /],
    ['click', { domain: GO, key: 'k', url: 7 }, 400, /: url: /],
    ['click', { domain: GO, key: 'k', referrer: {} }, 400, /: referrer: /],
    ['click', { domain: ' ', key: 'k' }, 422, /: domain: /],
    ['click', { domain: GO, key: '' }, 422, /: key: /],
    ['click', { domain: GO, key: 'k'.repeat(601) }, 422, /: key: /],
    ['click', { domain: GO, key: 'k', url: 'u'.repeat(32_001) }, 422, /: url: /],
    ['visit', {}, 400, /: domain: /],
    ['visit', { domain: GO }, 400, /: url: /],
    ['visit', { url: 'https://acme.example/' }, 400, /: domain: /],
    ['visit', { domain: GO, url: ['https://acme.example/'] }, 400, /: url: /],
    ['visit', { domain: GO, url: 'nonsense' }, 422, /: url: /],
    ['visit', { domain: GO, url: 'ftp://acme.example/x' }, 422, /: url: /],
    ['open', {}, 422, /: deepLink: /],
    ['open', { deepLink: 7 }, 400, /: deepLink: /],
    ['open', { deepLink: '' }, 422, /: deepLink: /],
    ['open', { deepLink: 'https://' }, 422, /: deepLink: /],
    ['open', { deepLink: `https://${GO}/${'a'.repeat(32_000)}` }, 422, /: deepLink: /],
    ['open', { dubDomain: true }, 400, /: dubDomain: /],
  ] as const) {
    test(`${kind} with ${JSON.stringify(body).slice(0, 60)} is ${status}`, async () =>
      assertRefused(await v.send(kind, body), status, text));
  }

  test('of an app that was just installed belong to the visit that led to the app store', async () => {
    const { id } = await v.link('install', { ios: STORE });
    await v.link('plain');
    const ip = newIp();
    const nothing = { clickId: null, link: null };
    const ask = async (from = ip, domain = GO) =>
      (await v.send('open', { dubDomain: domain }, { ip: from, headers: { 'user-agent': 'AcmeApp/1' } }))
        .json;
    await v.open('/plain', ip, IPHONE);
    await v.open('/install', ip);
    assert.deepEqual(await ask(), nothing, 'visits that went elsewhere');
    assert.match((await v.open('/install', ip, IPHONE)).location ?? '', /^https:\/\/apps\.apple\.com\//);
    const click = (await v.clicksOf('install')).at(-1);
    const found = {
      clickId: click?.id,
      link: { id, domain: GO, key: 'install', url: 'https://acme.example/' },
    };
    assert.deepEqual(await ask(), found);
    assert.deepEqual(await ask(ip, `www.${GO.toUpperCase()}`), found);
    assert.deepEqual(await ask(newIp()), nothing);
    assert.deepEqual(await ask(ip, 'exact.acme.example'), nothing);
    v.t.clock.advance(HOUR_MS - 1);
    assert.deepEqual(await ask(), found);
    v.t.clock.advance(1);
    assert.deepEqual(await ask(), nothing);
    assert.equal((await v.clicksOf('install')).length, 2, 'asking is no click');
  });

  test('of an app that was just installed find nothing once the link is gone or another', async () => {
    const { id } = await v.link('gone', { ios: STORE });
    const ip = newIp();
    await v.open('/gone', ip, IPHONE);
    const ask = async () => (await v.send('open', { dubDomain: GO }, { ip })).json;
    assert.equal((await ask()).link.id, id);
    await v.call('DELETE', `/links/${id}`);
    assert.deepEqual(await ask(), { clickId: null, link: null });
    await v.link('gone');
    assert.deepEqual(await ask(), { clickId: null, link: null });
  });
});

test('An app that was installed across a restart still finds the visit that led to it', async (context) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'linktrail-'));
  context.after(() => rm(dataDir, { recursive: true, force: true }));
  const env = { PORT: '0', LINKTRAIL_DATA_DIR: dataDir };
  const ip = newIp();
  const ids: string[] = [];
  for (const round of [1, 2]) {
    const t = await openTestApp({ env });
    context.after(() => t.close());
    const port = (await t.app.listen()).address.port;
    if (round === 1) {
      const { key } = await t.workspace();
      const body = { url: 'https://acme.example', key: 'restart', ios: STORE };
      await t.request('POST', '/links', { key, body });
      await visit(port, '/restart', { headers: { 'x-forwarded-for': ip, 'user-agent': IPHONE } });
    }
    const { json } = await t.request('POST', '/track/open', { body: { dubDomain: 'localhost' }, ip });
    ids.push(json.clickId);
    await t.close();
  }
  assert.match(ids[0] ?? '', CLICK_ID);
  assert.equal(ids[1], ids[0]);
});

describe('Allowed hostnames', () => {
  let v: Tracked;
  before(async () => {
    v = await openTracked();
    await v.call('POST', '/domains', { slug: GO });
    await v.link('hosts');
    await v.allow('acme.example', '*.shop.example');
  });
  after(() => v.t.close());

  const PAGES: [Record<string, string>, boolean][] = [
    [{ referer: 'https://acme.example/a' }, true],
    [{ referer: 'https://www.acme.example/a' }, true],
    [{ origin: 'https://eu.shop.example' }, true],
    [{ referer: 'https://shop.example/' }, false],
    [{ referer: 'https://evil.example/', origin: 'https://acme.example' }, false],
    [{ origin: 'null' }, false],
    [{}, false],
  ];
  for (const [headers, isAllowed] of PAGES) {
    const page = JSON.stringify(headers);

    test(`a click from ${page} is ${isAllowed ? 'recorded' : 'refused'}`, async () => {
      const earlier = (await v.clicksOf('hosts')).length;
      const reply = await v.send('click', { domain: GO, key: 'hosts' }, { headers });
      if (isAllowed) assert.equal(reply.status, 200, reply.text);
      else assertRefused(reply, 403, /allowed hostnames/);
      assert.equal((await v.clicksOf('hosts')).length, earlier + Number(isAllowed));
    });

    test(`a visit from ${page} is answered and ${isAllowed ? '' : 'not '}recorded`, async () => {
      const earlier = (await v.clicksOf('hosts')).length;
      const body = { domain: GO, url: 'https://acme.example/hosts' };
      const reply = await v.send('visit', body, { headers });
      assert.equal(reply.status, 200, reply.text);
      assert.match(reply.json.clickId, CLICK_ID);
      assert.equal((await v.clicksOf('hosts')).length, earlier + Number(isAllowed));
    });
  }

  test('an app needs no hostname, and a robot does', async () => {
    const opened = await v.send('open', { deepLink: `https://${GO}/hosts` });
    assert.match(opened.json.clickId, CLICK_ID);
    const robot = { headers: { 'user-agent': 'curl/8.5.0' } };
    assert.equal((await v.send('click', { domain: GO, key: 'hosts' }, robot)).status, 403);
  });

  test('who was counted within the hour gets the same id from any page', async () => {
    const ip = newIp();
    const body = { domain: GO, key: 'hosts' };
    const first = await v.send('click', body, { ip, ...from('https://acme.example/') });
    const again = await v.send('click', body, { ip, ...from('https://evil.example/') });
    assert.deepEqual([again.status, again.json], [200, first.json]);
  });

  test('a click that was refused leaves the visitor uncounted', async () => {
    const ip = newIp();
    const body = { domain: GO, key: 'hosts' };
    assert.equal((await v.send('click', body, { ip })).status, 403);
    const earlier = (await v.clicksOf('hosts')).length;
    await v.send('click', body, { ip, ...from('https://acme.example/') });
    assert.equal((await v.clicksOf('hosts')).length, earlier + 1);
  });
});

onPostgres('Allowed hostnames on two nodes', (databases) => {
  test('a change on one counts on the other as soon as it hears of it', async (t) => {
    const place = await databases.place();
    const one = await openTracked(place);
    t.after(() => one.t.close());
    const two = await openTracked(place, one.workspace);
    t.after(() => two.t.close());
    const { domain } = await one.link('far-away', { domain: undefined });
    const heard = Promise.withResolvers<void>();
    // Follows after the cache, and hears of the same changes right after it.
    await two.t.app.db.follow({
      name: 'hostnames',
      digest: () => undefined,
      receive: () => heard.resolve(),
      lost: () => {},
    });
    const report = () => two.send('click', { domain, key: 'far-away' });
    assert.equal((await report()).status, 200);
    await one.allow('acme.example');
    await heard.promise;
    assert.equal((await report()).status, 403);
  });
});
