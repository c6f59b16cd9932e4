// Every change of a link is told in its own transaction, exactly once; what does not change is not told. And
// what happens when several requests want the same thing at the same moment.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

eachDatabase('changes of links', (databases) => {
  let t: TestApp;
  let links: LinkCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    links = linkCalls(t, await t.workspace());
  };
  const types = async () => (await links.newEvents()).map(([type]) => type);
  const url = 'https://a.example';
  const statuses = (replies: { status: number }[], status: number) =>
    replies.filter((reply) => reply.status === status).length;
  const totalLinks = async () => (await t.app.services.workspaces.get(links.ws.id)).totalLinks;

  test('a new, changed, upserted and deleted link is told with what it then is', async () => {
    await fresh();
    const made = await links.create({ key: 'told', utm_source: 's' });
    assert.deepEqual(await links.newEvents(), [['link.created', made]]);
    t.clock.advance(1000);
    const changed = await links.update(made.id, { title: 'T' });
    assert.deepEqual(await links.newEvents(), [['link.updated', changed]]);
    const upserted = await links.upsert({ url: changed.url, title: 'U' });
    assert.deepEqual(await links.newEvents(), [['link.updated', upserted]]);
    const second = await links.upsert({ url: 'https://new.example' });
    assert.deepEqual(await links.newEvents(), [['link.created', second]]);
    await links.call('DELETE', `/links/${made.id}`);
    assert.deepEqual(await links.newEvents(), [['link.deleted', upserted]]);
  });

  test('each link of a call on many is told by itself', async () => {
    await fresh();
    const made = (
      await links.call('POST', '/links/bulk', [{ url }, { url: 'nope' }, { url, externalId: 'b' }])
    ).json.slice(0, 2);
    assert.deepEqual(
      await links.newEvents(),
      made.map((link: unknown) => ['link.created', link]),
    );
    const linkIds = made.map((link: { id: string }) => link.id);
    const changed = (
      await links.call('PATCH', '/links/bulk', { linkIds: [...linkIds, 'link_x'], data: { title: 'T' } })
    ).json;
    assert.deepEqual(
      await links.newEvents(),
      changed.slice(0, 2).map((link: unknown) => ['link.updated', link]),
    );
    await links.call('DELETE', `/links/bulk?linkIds=${linkIds[0]},ext_b,link_x`);
    assert.deepEqual(await types(), ['link.deleted', 'link.deleted']);
  });

  test('a change of tags alone is told', async () => {
    await fresh();
    await links.call('POST', '/tags', { name: 'new' });
    const { id } = await links.create({});
    await links.newEvents();
    await links.update(id, { tagNames: ['new'] });
    const [[type, payload]] = (await links.newEvents()) as [[string, { tags: { name: string }[] }]];
    assert.deepEqual([type, payload.tags.map((tag) => tag.name)], ['link.updated', ['new']]);
  });

  test('what is refused or changes nothing is not told', async () => {
    await fresh();
    const made = await links.create({ key: 'quiet', tagIds: [] });
    await links.newEvents();
    await links.update(made.id, {});
    await links.update(made.id, { url: made.url, title: null, tagIds: [] });
    await links.upsert({ url: made.url });
    await links.call('PATCH', '/links/bulk', { linkIds: [made.id], data: { archived: false } });
    await links.refused(422, 'url', 'PATCH', `/links/${made.id}`, { url: 'nope', title: 'x' });
    await links.refused(409, 'key', 'POST', '/links', { url, key: 'quiet' });
    await links.call('DELETE', '/links/bulk?linkIds=link_x');
    assert.deepEqual(await types(), []);
    assert.deepEqual(await links.get(`/links/${made.id}`), made);
  });

  test('links that lose a deleted tag are told', async () => {
    const tag = (await links.call('POST', '/tags', { name: 'Short-lived' })).json.id;
    const link = await links.create({ tagIds: [tag] });
    await links.newEvents();
    await links.call('DELETE', `/tags/${tag}`);
    const events = (await links.newEvents()) as [string, { id: string; tags?: unknown[] }][];
    assert.deepEqual(
      events.map(([type, payload]) => [type, payload.id, payload.tags]),
      [['link.updated', link.id, []]],
    );
    assert.deepEqual((await links.call('GET', `/links/${link.id}`)).json.tags, []);
  });

  test('links that go with their domain or leave with their folder are told', async () => {
    await fresh();
    const slug = await links.domain();
    const folder = (await links.call('POST', '/folders', { name: 'F' })).json.id;
    const kept = await links.create({ domain: 'localhost:3000', folderId: folder });
    await links.create({ domain: slug });
    assert.deepEqual(await types(), ['link.created', 'link.created', 'link.created']);
    await links.call('DELETE', `/folders/${folder}`);
    const [[type, payload]] = (await links.newEvents()) as [[string, { id: string; folderId: null }]];
    assert.deepEqual([type, payload.id, payload.folderId], ['link.updated', kept.id, null]);
    await links.call('DELETE', `/domains/${slug}`);
    assert.deepEqual(await types(), ['link.deleted', 'link.deleted']);
    assert.equal(await totalLinks(), 1);
  });

  test('a link and its event are one: when the transaction fails neither is there', async () => {
    await fresh();
    const { db, services } = t.app;
    const actor = {
      tokenId: 't',
      userId: links.ws.ownerId,
      role: 'owner',
      permissions: new Set<string>(),
      workspaceId: links.ws.id,
      plan: 'enterprise',
      limits: {},
    } as const;
    const failing = db.write(async () => {
      await services.links.create(actor, { url, key: 'half' });
      throw new Error('power cut');
    });
    await assert.rejects(failing, /power cut/);
    assert.deepEqual(await types(), []);
    assert.equal(await links.get('/links/count'), 0);
    assert.equal(await totalLinks(), 0);
  });

  test('of many that want one key at once, one gets it', async () => {
    await fresh();
    const ask = (key: string) => links.call('POST', '/links', { url, key });
    const pair = await Promise.all([ask('pair'), ask('PAIR')]);
    assert.deepEqual(pair.map(({ status }) => status).sort(), [200, 409]);
    const replies = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(i % 2 ? 'fifty' : 'Fifty')));
    assert.equal(statuses(replies, 200), 1);
    assert.equal(statuses(replies, 409), 49);
    assert.equal(await links.get('/links/count'), 2);
    assert.equal((await types()).length, 2);
    assert.equal(await totalLinks(), 2);
  });

  test('of many that want one external id at once, one gets it', async () => {
    await fresh();
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => links.call('POST', '/links', { url, externalId: 'one' })),
    );
    assert.equal(statuses(replies, 200), 1);
    assert.equal(statuses(replies, 409), 19);
  });

  test('of many that rename to one key at once, one gets it', async () => {
    await fresh();
    const made = await Promise.all(Array.from({ length: 10 }, () => links.create({})));
    const replies = await Promise.all(
      made.map(({ id }) => links.call('PATCH', `/links/${id}`, { key: 'goal' })),
    );
    assert.equal(statuses(replies, 200), 1);
    assert.equal(statuses(replies, 409), 9);
  });

  test('many calls of a hundred that overlap make each key once', async () => {
    await fresh();
    const items = Array.from({ length: 40 }, (_, i) => ({ url, key: `over-${i}` }));
    const replies = await Promise.all(
      [items, [...items].reverse(), items].map((body) => links.call('POST', '/links/bulk', body)),
    );
    const made = replies.flatMap((reply) => reply.json).filter((item: { id?: string }) => item.id);
    assert.equal(made.length, 40);
    assert.equal(await links.get('/links/count'), 40);
    assert.equal(await totalLinks(), 40);
  });

  test('many upserts of one destination at once are one link', async () => {
    await fresh();
    const replies = await Promise.all(
      Array.from({ length: 25 }, (_, i) =>
        links.call('PUT', '/links/upsert', {
          url: 'https://one.example',
          utm_source: 's',
          title: `t${i % 3}`,
        }),
      ),
    );
    assert.equal(statuses(replies, 200), 25);
    assert.equal(new Set(replies.map((reply) => reply.json.id)).size, 1);
    assert.equal(await links.get('/links/count'), 1);
  });

  test('changes of one link at the same moment are all in it', async () => {
    await fresh();
    const { id } = await links.create({ url: 'https://merge.example/' });
    const fields = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'ref'];
    await Promise.all(fields.map((field) => links.update(id, { [field]: field })));
    const { searchParams } = new URL((await links.get(`/links/${id}`)).url);
    assert.deepEqual(
      fields.map((field) => searchParams.get(field)),
      fields,
    );
  });

  test('a link that many delete at once is deleted, counted and told once', async () => {
    await fresh();
    const { id } = await links.create({});
    await links.newEvents();
    const calls = Array.from({ length: 10 }, (_, i) =>
      links.call('DELETE', i % 2 ? `/links/${id}` : `/links/bulk?linkIds=${id}`),
    );
    await Promise.all(calls);
    assert.deepEqual(await types(), ['link.deleted']);
    assert.equal(await totalLinks(), 0);
  });

  test('a repeat with the same Idempotency-Key makes no second link, one by one and in bulk', async () => {
    await fresh();
    for (const [method, path, body] of [
      ['POST', '/links', { url }],
      ['POST', '/links/bulk', [{ url }, { url }]],
      ['PUT', '/links/upsert', { url: 'https://idempotent.example' }],
    ] as const) {
      const headers = { 'Idempotency-Key': `${method} ${path}` };
      const replies = await Promise.all(
        Array.from({ length: 5 }, () => links.call(method, path, body, { headers })),
      );
      assert.equal(statuses(replies, 200), 5);
      assert.equal(new Set(replies.map((reply) => reply.text)).size, 1);
      const other = await links.call(method, path, { url: 'https://other.example' }, { headers });
      assert.equal(other.status, 422);
    }
    assert.equal(await links.get('/links/count'), 4);
    const headers = { 'Idempotency-Key': 'refused' };
    assert.equal((await links.call('POST', '/links', { url: 'nope' }, { headers })).status, 422);
    assert.equal(
      (await links.call('POST', '/links', { url: 'nope' }, { headers })).headers.get('idempotency-replayed'),
      'true',
    );
  });
});
