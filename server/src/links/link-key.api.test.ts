import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

eachDatabase('look-ups of keys', (databases) => {
  let t: TestApp;
  let client = 0;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  /** Without a key, each from an address of its own. */
  const ask = (path: string) => t.request('GET', path, { ip: `203.0.113.${++client}` });
  const exists = async (query: Record<string, string>) =>
    (await ask(`/links/exists?${new URLSearchParams(query)}`)).status;

  test('exists: a free key is no error, others are refused as a new link would be', async () => {
    const links = linkCalls(t, await t.workspace());
    const domain = await links.domain();
    await links.create({ domain, key: 'Taken' });
    const free = await ask(`/links/exists?domain=${domain}&key=free`);
    assert.deepEqual([free.status, free.json], [200, { error: null }]);
    for (const [status, query] of [
      [409, { domain, key: 'tAKEN' }],
      [409, { domain: domain.toUpperCase(), key: '/Taken/' }],
      [409, { domain, key: '_root' }],
      [200, { domain, key: 'login' }],
      [409, { domain: 'localhost:3000', key: 'login' }],
      [422, { domain, key: 'a b' }],
      [403, { domain, key: 'robots.txt' }],
      [200, { domain: 'unknown.example', key: 'taken' }],
      [422, { domain: 'no domain', key: 'x' }],
      [422, { domain, key: '' }],
    ] as const) {
      assert.equal(await exists(query), status, JSON.stringify(query));
    }
    for (const query of ['', `?domain=${domain}`, '?key=x'])
      assert.equal((await ask(`/links/exists${query}`)).status, 400, query);
  });

  test('exists: the plan of the workspace decides on short keys of the shared domain', async () => {
    const [pro, none] = [await t.workspace('pro'), await t.workspace('free')];
    const short = { domain: 'localhost:3000', key: 'abc' };
    assert.equal(await exists({ ...short, workspaceId: pro.id }), 200);
    for (const workspaceId of [none.id, pro.slug, 'ws_unknown'])
      assert.equal(await exists({ ...short, workspaceId }), 403);
    assert.equal(await exists(short), 403);
  });

  test('random: a free key of seven characters', async () => {
    const domain = await linkCalls(t, await t.workspace()).domain();
    for (const name of [domain, 'localhost:3000']) {
      const reply = await ask(`/links/random?domain=${name}`);
      assert.equal(reply.status, 200);
      assert.match(reply.json, /^[0-9A-Za-z]{7}$/);
    }
    assert.equal((await ask('/links/random')).status, 400);
    assert.equal((await ask('/links/random?domain=a%2Fb')).status, 422);
  });

  test('ten questions in ten seconds from one address, for each of the two', async () => {
    for (const path of ['/links/exists?domain=x.example&key=y', '/links/random?domain=x.example']) {
      const ip = '198.51.100.7';
      for (let i = 0; i < 10; i++) assert.equal((await t.request('GET', path, { ip })).status, 200);
      const refused = await t.request('GET', path, { ip });
      assert.equal(refused.status, 429);
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
      assert.equal((await ask(path)).status, 200);
      t.clock.advance(10_000);
      assert.equal((await t.request('GET', path, { ip })).status, 200);
    }
  });
});
