// A link is as open as the folder it is in: what a member may do with it follows from the member's right there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const LEVELS = ['write', 'read', null] as const;

eachDatabase('links in folders', (databases) => {
  let t: TestApp;
  let owner: LinkCalls;
  let member: LinkCalls;
  /** By access level; `loose` is in no folder. */
  let folders: Map<string | null, string>;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  async function fresh(plan: 'business' | 'pro' = 'business'): Promise<void> {
    owner = linkCalls(t, await t.workspace('business'));
    member = { ...linkCalls(t, { ...owner.ws, key: await owner.ws.newKey({ role: 'member' }) }) };
    folders = new Map();
    for (const accessLevel of LEVELS) {
      const reply = await owner.call('POST', '/folders', { name: `F ${accessLevel}`, accessLevel });
      folders.set(accessLevel, reply.json.id);
    }
    await t.app.services.workspaces.setPlan(owner.ws.id, plan);
  }

  const linkIn = (level: string | null) =>
    owner.create({
      folderId: folders.get(level),
      externalId: `in ${level}`,
      key: `${databases.engine}-${owner.ws.id.slice(-6)}-${level}`,
    });

  test('reading, changing and deleting need the right in the folder', async () => {
    await fresh();
    for (const [level, read, write] of [
      ['write', 200, 200],
      ['read', 200, 403],
      [null, 403, 403],
    ] as const) {
      const link = await linkIn(level);
      const status = async (method: string, path: string, body?: unknown) =>
        (await member.call(method, path, body)).status;
      assert.equal(await status('GET', `/links/${link.id}`), read);
      assert.equal(await status('GET', `/links/${encodeURIComponent(`ext_in ${level}`)}`), read);
      assert.equal(await status('GET', `/links/info?linkId=${link.id}`), read);
      assert.equal(
        await status('GET', `/links/info?externalId=${encodeURIComponent(`ext_in ${level}`)}`),
        read,
      );
      assert.equal(await status('GET', `/links/info?domain=localhost:3000&key=${link.key}`), read);
      assert.equal(await status('PATCH', `/links/${link.id}`, { title: 'x' }), write);
      assert.equal(await status('PUT', '/links/upsert', { url: link.url, title: 'y' }), write);
      assert.equal(await status('PATCH', `/links/${link.id}`, { folderId: null }), write);
      await owner.update(link.id, { folderId: folders.get(level) });
      assert.equal(await status('DELETE', `/links/${link.id}`), write);
      await owner.call('DELETE', `/links/${link.id}`);
    }
  });

  test('making a link in a folder and moving one into it need the right to write there', async () => {
    await fresh();
    const loose = await owner.create({});
    for (const [level, expected] of [
      ['write', 200],
      ['read', 403],
      [null, 403],
    ] as const) {
      const body = { folderId: folders.get(level) };
      const made = await member.call('POST', '/links', { url: 'https://a.example', ...body });
      assert.equal(made.status, expected, `create in ${level}`);
      const bulk = await member.call('POST', '/links/bulk', [{ url: 'https://a.example', ...body }]);
      assert.equal(bulk.json[0].code, expected === 200 ? undefined : 'forbidden');
      assert.equal(
        (await member.call('PATCH', `/links/${loose.id}`, body)).status,
        expected,
        `move to ${level}`,
      );
      const all = await member.call('PATCH', '/links/bulk', { linkIds: [loose.id], data: body });
      assert.equal(all.status, expected, `move in bulk to ${level}`);
      await owner.update(loose.id, { folderId: null });
    }
  });

  test('bulk calls skip or report links in folders that are closed to the caller', async () => {
    await fresh();
    const made = new Map<string | null, string>();
    for (const level of LEVELS) made.set(level, (await linkIn(level)).id);
    const linkIds = ['link_x', made.get(null), made.get('write'), made.get('read')];
    const broken = await owner.create({
      url: 'https://loop.example',
      key: `${databases.engine}-loop-${owner.ws.id.slice(-6)}`,
    });
    const data = { url: `http://localhost:3000/${broken.key}` };
    const answers = (await member.call('PATCH', '/links/bulk', { linkIds: [broken.id, ...linkIds], data }))
      .json;
    assert.deepEqual(
      answers.map((item: { id?: string; link?: unknown; code?: string }) => [
        item.id ?? item.link,
        item.code,
      ]),
      [
        [made.get('write'), undefined],
        [{ id: 'link_x' }, 'not_found'],
        [{ id: made.get(null) }, 'forbidden'],
        [{ id: made.get('read') }, 'forbidden'],
        [{ id: broken.id }, 'unprocessable_entity'],
      ],
    );
    assert.deepEqual((await member.call('DELETE', `/links/bulk?linkIds=${linkIds.join()}`)).json, {
      deletedCount: 1,
    });
    assert.equal((await owner.get(`/links/${made.get(null)}`)).title, null);
  });

  test('lists and counts leave out what the caller may not read', async () => {
    await fresh();
    for (const level of LEVELS) await linkIn(level);
    const loose = await owner.create({ url: 'https://loose.example' });
    const seen = async (calls: LinkCalls, query: string) => {
      const found = await calls.get(`/links?${query}`);
      assert.equal(await calls.get(`/links/count?${query}`), found.length, query);
      return found.length;
    };
    assert.deepEqual([await seen(owner, ''), await seen(member, '')], [1, 1]);
    assert.deepEqual(
      [await seen(owner, 'domain=localhost:3000'), await seen(member, 'domain=localhost:3000')],
      [4, 3],
    );
    assert.deepEqual([await seen(owner, 'search=example'), await seen(member, 'search=example')], [4, 3]);
    assert.equal(await seen(member, `folderId=${folders.get('read')}`), 1);
    for (const path of ['/links', '/links/count']) {
      await member.refused(403, undefined, 'GET', `${path}?folderId=${folders.get(null)}`);
    }
    const groups = await member.get('/links/count?groupBy=folderId');
    assert.deepEqual(
      new Set(groups.map((group: { folderId: string }) => group.folderId)),
      new Set([folders.get('write'), folders.get('read'), null]),
    );
    assert.equal(loose.folderId, null);
  });

  test('a personal role in the folder goes before what it grants to everybody', async () => {
    await fresh();
    const link = await linkIn(null);
    const hidden = folders.get(null);
    const { userId } = (await member.call('POST', '/links', { url: 'https://who.example' })).json;
    await owner.call('PUT', `/folders/${hidden}/users/${userId}`, { role: 'viewer' });
    assert.equal((await member.call('GET', `/links/${link.id}`)).status, 200);
    await member.refused(403, undefined, 'PATCH', `/links/${link.id}`, { title: 'x' });
    await owner.call('PUT', `/folders/${hidden}/users/${userId}`, { role: 'editor' });
    assert.equal((await member.update(link.id, { title: 'x' })).title, 'x');
  });

  test('below the plan business there are no rights per folder', async () => {
    await fresh('pro');
    const link = await linkIn(null);
    assert.equal((await member.update(link.id, { title: 'x' })).title, 'x');
    assert.equal((await member.get(`/links?folderId=${folders.get(null)}`)).length, 1);
  });
});
