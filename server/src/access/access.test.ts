import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { silentLog } from '../kernel/log.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { createAuthenticator } from './authenticate.ts';
import { createTokenStore } from './token.store.ts';

interface KeyItem {
  id: string;
  name: string;
  partialKey: string;
  scopes: string[];
  expires: string | null;
  lastUsed: string | null;
  createdAt: string;
  updatedAt: string;
  user: { id: string; name: string | null; image: string | null; isMachine: boolean };
}

eachDatabase('API keys', (databases) => {
  let t: TestApp;
  let ws: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    ws = await t.workspace();
  };
  const send = (method: string, path: string, body?: unknown) =>
    t.request(method, path, { key: ws.key, body });
  const list = async (query = ''): Promise<KeyItem[]> => (await send('GET', `/tokens${query}`)).json;
  const named = async (name: string) => (await list()).find((item) => item.name === name) as KeyItem;
  /** A key made over HTTP: its text and its item. */
  const make = async (body: { name: string; scopes?: string[]; expires?: string; isMachine?: boolean }) => {
    const reply = await send('POST', '/tokens', body);
    assert.equal(reply.status, 200, reply.text);
    return { key: reply.json.token as string, item: await named(body.name) };
  };
  const statusOf = async (key: string) => (await t.request('GET', '/tags', { key })).status;

  test('a new key is shown once, works, and is listed without its secret', async () => {
    await fresh();
    const scopes = ['tags.write', 'tags.read', 'tags.write'];
    const key = (await send('POST', '/tokens', { name: ' CI ', scopes })).json.token as string;
    const item = await named('CI');
    assert.match(key, /^lt_[0-9A-Za-z]{24}$/);
    assert.equal(await statusOf(key), 200);
    assert.deepEqual(item, {
      id: item.id,
      name: 'CI',
      partialKey: `lt_...${key.slice(-4)}`,
      scopes: ['tags.write', 'tags.read'],
      expires: null,
      lastUsed: null,
      createdAt: '2027-01-15T10:00:00.000Z',
      updatedAt: '2027-01-15T10:00:00.000Z',
      user: { id: ws.ownerId, name: 'Owner', image: null, isMachine: false },
    });
    assert.match(item.id, /^tok_/);
    assert.deepEqual((await send('GET', `/tokens/${item.id}`)).json, item);
  });

  test('only a hash of the key is stored', async () => {
    await fresh();
    const { key } = await make({ name: 'Stored' });
    const rows = await t.app.db.query.selectFrom('token').selectAll().execute();
    assert.ok(rows.some((row) => row.name === 'Stored'));
    assert.ok(!JSON.stringify(rows).includes(key.slice(3)));
  });

  test('a name has 1 to 50 characters, scopes are known ones', async () => {
    await fresh();
    for (const [body, status, start] of [
      [{}, 400, 'invalid_type: name: '],
      [{ name: '' }, 422, 'too_small: name: '],
      [{ name: 'n'.repeat(51) }, 422, 'too_big: name: '],
      [{ name: 'a', scopes: ['links.all'] }, 422, 'invalid_value: scopes[0]: '],
      [{ name: 'a', scopes: ['links.read', 5] }, 400, 'invalid_value: scopes[1]: '],
      [{ name: 'a', isMachine: 'yes' }, 400, 'invalid_type: isMachine: '],
      [{ name: 'a', expires: 'tomorrow' }, 422, 'invalid_format: expires: '],
      [{ name: 'a', expires: '2027-01-15T10:00:00Z' }, 422, 'custom: expires: '],
    ] as const) {
      const reply = await send('POST', '/tokens', body);
      assert.equal(reply.status, status, reply.text);
      assert.ok(reply.json.error.message.startsWith(start), reply.text);
    }
    assert.equal((await list()).length, 1);
    await make({ name: 'n'.repeat(50) });
  });

  test('a scope beyond the role of the key’s holder is 422', async () => {
    await fresh();
    await ws.newKey({ role: 'member' });
    await ws.newKey({ role: 'viewer' });
    const patch = async (name: string, scopes: string[]) =>
      send('PATCH', `/tokens/${(await named(name)).id}`, { name, scopes });
    assert.equal((await patch('member key', ['links.write', 'apis.all'])).status, 200);
    const refused = await patch('member key', ['domains.write']);
    assert.equal(refused.status, 422);
    assert.match(refused.json.error.message, /^custom: scopes: domains\.write is not for the role member/);
    assert.equal((await patch('viewer key', ['links.write'])).status, 422);
    assert.equal((await patch('owner key', ['domains.write'])).status, 200);
  });

  test('PATCH needs both name and scopes, and takes effect at once', async () => {
    await fresh();
    const { key, item } = await make({ name: 'Wide', scopes: ['tags.read'] });
    t.clock.advance(1000);
    for (const [body, field] of [
      [{ name: 'x' }, 'scopes'],
      [{ scopes: [] }, 'name'],
      [{}, 'name'],
    ] as const) {
      const reply = await send('PATCH', `/tokens/${item.id}`, body);
      assert.equal(reply.status, 400);
      assert.ok(reply.json.error.message.startsWith(`invalid_type: ${field}: `), reply.text);
    }
    assert.equal(await statusOf(key), 200);
    const changed = await send('PATCH', `/tokens/${item.id}`, { name: 'Narrow', scopes: ['links.read'] });
    assert.equal(changed.json.name, 'Narrow');
    assert.deepEqual(changed.json.scopes, ['links.read']);
    assert.ok(changed.json.updatedAt > item.updatedAt);
    assert.equal(await statusOf(key), 403);
  });

  test('a revoked key is refused at once', async () => {
    await fresh();
    const { key, item } = await make({ name: 'Short-lived' });
    assert.equal(await statusOf(key), 200);
    assert.deepEqual((await send('DELETE', `/tokens/${item.id}`)).json, { id: item.id });
    assert.equal(await statusOf(key), 401);
    assert.equal((await send('GET', `/tokens/${item.id}`)).status, 404);
  });

  test('a key works until it expires, to the millisecond', async () => {
    await fresh();
    const expires = new Date(t.clock.now() + 5000).toISOString();
    const { key, item } = await make({ name: 'Until', expires });
    assert.equal(item.expires, expires);
    t.clock.advance(4999);
    assert.equal(await statusOf(key), 200);
    t.clock.advance(1);
    assert.equal(await statusOf(key), 401);
  });

  test('a key of somebody who left the workspace is refused', async () => {
    await fresh();
    const key = await ws.newKey({ role: 'member' });
    assert.equal(await statusOf(key), 200);
    const { user } = await named('member key');
    await t.app.db.query.deleteFrom('member').where('user_id', '=', user.id).execute();
    assert.equal(await statusOf(key), 401);
  });

  test('a machine key has a user of its own, acts as owner, and takes its user with it', async () => {
    await fresh();
    const { key, item } = await make({ name: 'Robot', isMachine: true });
    assert.deepEqual({ ...item.user, id: '' }, { id: '', name: 'Robot', image: null, isMachine: true });
    assert.notEqual(item.user.id, ws.ownerId);
    const members = (await send('GET', `/workspaces/${ws.id}/users?search=robot`)).json;
    assert.deepEqual([members[0].role, members[0].isMachine], ['member', true]);
    assert.equal((await t.request('POST', '/tokens', { key, body: { name: 'By the robot' } })).status, 200);
    // Its own keys may be as wide as an owner's.
    const widened = await send('PATCH', `/tokens/${item.id}`, { name: 'Robot', scopes: ['domains.write'] });
    assert.equal(widened.status, 200);
    await send('DELETE', `/tokens/${item.id}`);
    assert.deepEqual((await send('GET', `/workspaces/${ws.id}/users?search=robot`)).json, []);
    const left = await t.app.db.query
      .selectFrom('user')
      .select('id')
      .where('id', '=', item.user.id)
      .execute();
    assert.deepEqual(left, []);
  });

  test('a workspace has at most 100 keys, exactly, also when many are made at once', async () => {
    await fresh();
    for (let i = 0; i < 90; i++) await ws.newKey();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => send('POST', '/tokens', { name: `k${i}` })),
    );
    assert.equal(replies.filter((reply) => reply.status === 200).length, 9);
    const refused = replies.filter((reply) => reply.status === 403);
    assert.equal(refused.length, 11);
    assert.match(refused[0]!.json.error.message, /at most 100 keys/);
    assert.equal((await list()).length, 100);
    const [newest] = await list('?sortBy=createdAt');
    await send('DELETE', `/tokens/${newest?.id}`);
    assert.equal((await send('POST', '/tokens', { name: 'room again' })).status, 200);
  });

  test('the list has the last used first, then the newest, and pages and filters', async () => {
    await fresh();
    const store = createTokenStore(t.app.db);
    const ids: Record<string, string> = {};
    for (const name of ['a', 'b', 'c', 'd']) {
      t.clock.advance(1);
      ids[name] = (await make({ name })).item.id;
    }
    await store.touch(
      new Map([
        [ids.a as string, t.clock.now() + 10],
        [ids.c as string, t.clock.now() + 5],
      ]),
    );
    const names = async (query: string) =>
      (await list(query)).map((item) => item.name).filter((name) => name !== 'owner key');
    assert.deepEqual(await names(''), ['a', 'c', 'd', 'b']);
    assert.deepEqual(await names('?sortBy=name&sortOrder=asc'), ['a', 'b', 'c', 'd']);
    assert.deepEqual(await names('?sortBy=createdAt'), ['d', 'c', 'b', 'a']);
    assert.deepEqual(await names('?sortBy=createdAt&pageSize=2&page=2'), ['b', 'a']);
    await ws.newKey({ role: 'member' });
    const { user } = await named('member key');
    assert.deepEqual(await names(`?userId=${user.id}`), ['member key']);
    assert.deepEqual(await names('?userId=nobody'), []);
  });

  test('last use is written at most once a minute per key, also by several nodes, and never back', async () => {
    await fresh();
    const { key, item } = await make({ name: 'Busy' });
    const store = createTokenStore(t.app.db);
    const node = () => createAuthenticator({ store, clock: t.clock, log: silentLog });
    const [one, two] = [node(), node()];
    const start = t.clock.now();
    const lastUsed = async () => (await send('GET', `/tokens/${item.id}`)).json.lastUsed;
    const use = async (authenticator: typeof one) => {
      await authenticator.authenticate(key);
      await authenticator.flush();
    };
    await use(one);
    assert.equal(await lastUsed(), new Date(start).toISOString());
    t.clock.advance(59_999);
    await use(one);
    await use(two);
    assert.equal(await lastUsed(), new Date(start).toISOString());
    t.clock.advance(1);
    await use(two);
    await use(one);
    assert.equal(await lastUsed(), new Date(start + 60_000).toISOString());
    await store.touch(new Map([[item.id, start]]));
    assert.equal(await lastUsed(), new Date(start + 60_000).toISOString());
  });
});
