// Two nodes on one database: what is unique or limited stays so, whichever node is asked.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onPostgres } from '../testing/databases.ts';
import { linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from '../testing/test-app.ts';

onPostgres('links on two nodes', (databases) => {
  let nodes: TestApp[];
  let ws: TestWorkspace;
  before(async () => {
    const databaseUrl = await databases.place();
    nodes = [await openTestApp({ databaseUrl }), await openTestApp({ databaseUrl })];
  });
  after(() => Promise.all(nodes.map((node) => node.close())));

  const fresh = async () => {
    ws = await (nodes[0] as TestApp).workspace();
  };
  const links = () => linkCalls(nodes[0] as TestApp, ws);
  const url = 'https://a.example';

  /** The same request so many times at once, by turns to each node. */
  function everywhere(
    times: number,
    method: string,
    path: string,
    body: (i: number) => unknown,
  ): Promise<TestReply[]> {
    const ask = (i: number) =>
      (nodes[i % 2] as TestApp).request(method, path, { key: ws.key, body: body(i) });
    return Promise.all(Array.from({ length: times }, (_, i) => ask(i)));
  }
  const count = (replies: TestReply[], status: number) =>
    replies.filter((reply) => reply.status === status).length;

  test('one key is given once', async () => {
    await fresh();
    const replies = await everywhere(50, 'POST', '/links', () => ({ url, key: 'wanted' }));
    assert.deepEqual([count(replies, 200), count(replies, 409)], [1, 49]);
    assert.deepEqual(
      (await links().newEvents()).map(([type]) => type),
      ['link.created'],
    );
  });

  test('one destination is one link', async () => {
    await fresh();
    const replies = await everywhere(20, 'PUT', '/links/upsert', (i) => ({
      url: 'https://one.example',
      title: `t${i % 2}`,
    }));
    assert.equal(count(replies, 200), 20);
    assert.equal(new Set(replies.map((reply) => reply.json.id)).size, 1);
  });

  test('the quota is not exceeded, one by one and in bulk', async () => {
    await fresh();
    const { workspaces } = (nodes[0] as TestApp).app.services;
    await workspaces.setLimit(ws.id, 'links', 7);
    const singles = everywhere(10, 'POST', '/links', () => ({ url }));
    const bulks = everywhere(6, 'POST', '/links/bulk', () => [{ url }, { url }]);
    await Promise.all([singles, bulks]);
    const { usage, totalLinks } = await workspaces.get(ws.id);
    assert.ok(usage.links <= 7, `${usage.links} of 7`);
    assert.equal(await links().get('/links/count'), usage.links);
    assert.equal(totalLinks, usage.links);
  });

  test('changes of one link are all in it', async () => {
    await fresh();
    const { id } = await links().create({ url: 'https://merge.example/' });
    const fields = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'ref'];
    await everywhere(fields.length, 'PATCH', `/links/${id}`, (i) => ({ [fields[i] as string]: 'x' }));
    const { searchParams } = new URL((await links().get(`/links/${id}`)).url);
    assert.deepEqual([...searchParams.keys()].sort(), [...fields].sort());
  });

  test('bulk calls that overlap in opposite order all get an answer', async () => {
    await fresh();
    const items = Array.from({ length: 30 }, (_, i) => ({ url, key: `over-${i}` }));
    const replies = await everywhere(4, 'POST', '/links/bulk', (i) => (i % 2 ? items : [...items].reverse()));
    assert.equal(count(replies, 200), 4);
    assert.equal(replies.flatMap((reply) => reply.json).filter((item) => item.id).length, 30);
    const linkIds = (await links().get('/links')).map((link: { id: string }) => link.id);
    const changes = await everywhere(4, 'PATCH', '/links/bulk', (i) => ({
      linkIds: i % 2 ? linkIds : [...linkIds].reverse(),
      data: { title: `t${i}` },
    }));
    assert.equal(count(changes, 200), 4);
  });

  test('a link is deleted, counted and told once', async () => {
    await fresh();
    const calls = links();
    const { id } = await calls.create({});
    await calls.newEvents();
    const replies = await everywhere(10, 'DELETE', `/links/${id}`, () => undefined);
    assert.deepEqual([count(replies, 200), count(replies, 404)], [1, 9]);
    assert.equal((await calls.newEvents()).length, 1);
    assert.equal((await (nodes[0] as TestApp).app.services.workspaces.get(ws.id)).totalLinks, 0);
  });
});
