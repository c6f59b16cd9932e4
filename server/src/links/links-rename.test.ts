// Links of a domain that changes its name, while most of them have not followed yet.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { exportText, importText, parseDump } from '../testing/dumps.ts';
import { type LinkCalls, linkCalls } from '../testing/link-calls.ts';
import { countLinks, insertLinks } from '../testing/link-rows.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const MANY = 1_200;
const STEP = 500;

eachDatabase('links of a renamed domain', (databases) => {
  let t: TestApp;
  let c: LinkCalls;
  let renames = 0;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    c = linkCalls(t, await t.workspace());
  });
  after(() => t.close());

  const follow = () => t.app.services.domains.cleanUp(new AbortController().signal);

  const idOf = async (domain: string) => {
    const query = t.app.db.query.selectFrom('link').select(['id', 'key']).where('domain', '=', domain);
    return query.where('key', '<>', '_root').orderBy('key').executeTakeFirstOrThrow();
  };

  async function location(slug: string, key: string): Promise<string | undefined> {
    const domain = await t.app.visits.snapshot.domain(slug);
    const link = domain && (await t.app.visits.snapshot.link(domain, key));
    if (link) assert.equal(link.domain, slug);
    return link?.url;
  }

  /** One link too many for a single step, most of them still under the old name. */
  async function renamed(fields = {}): Promise<{ from: string; to: string }> {
    const from = await c.domain(fields);
    const keys = Array.from({ length: MANY }, (_, i) => `key${i}`);
    await insertLinks(t.app.db, { workspaceId: c.ws.id, domain: from }, keys);
    renames += 1;
    const to = `new${renames}.links.example`;
    // What visits remember of either name is dropped.
    assert.equal(await location(to, 'key7'), undefined);
    assert.equal(await location(from, 'key7'), 'https://example.com/');
    const reply = await c.call('PATCH', `/domains/${from}`, { slug: to });
    assert.deepEqual([reply.status, reply.json.slug, 'formerSlug' in reply.json], [200, to, false]);
    return { from, to };
  }

  test('follow in steps, each told of, and are found under the new name all the time', async () => {
    await c.newEvents();
    const { from, to } = await renamed();
    assert.equal(await countLinks(t.app.db, { domain: to }), STEP);
    assert.equal(await countLinks(t.app.db, { domain: from }), MANY + 1 - STEP);
    const { id, key } = await idOf(from);
    // One that is more than a short name for an address, which visits keep in another form.
    await t.app.db.query.updateTable('link').set({ title: 'T' }).where('id', '=', id).execute();
    assert.equal(await location(to, key), 'https://example.com/');
    assert.equal(await location(to, (await idOf(to)).key), 'https://example.com/');
    assert.equal(await location(from, key), undefined);
    assert.equal((await c.get(`/links/info?domain=${to}&key=${key}`)).id, id);
    const stopped = AbortSignal.abort();
    await t.app.services.domains.cleanUp(stopped);
    assert.equal(await countLinks(t.app.db, { domain: from }), MANY + 1 - STEP);

    await follow();
    assert.equal(await countLinks(t.app.db, { domain: from }), 0);
    assert.equal(await countLinks(t.app.db, { domain: to }), MANY + 1);
    assert.equal(await location(to, key), 'https://example.com/');
    const updates = (await c.newEvents()).filter(([type]) => type === 'link.updated');
    assert.equal(new Set(updates.map(([, link]) => link.id)).size, MANY + 1);
    assert.ok(updates.every(([, link]) => link.domain === to && link.shortLink.startsWith(`https://${to}`)));
    assert.equal(await c.domain({ slug: from }), from);
    assert.equal(await location(to, 'nothing'), undefined);
  });

  test('keep their keys to themselves, and can be changed and deleted', async () => {
    const { from, to } = await renamed();
    const { id, key } = await idOf(from);
    await c.refused(409, 'key', 'POST', '/links', { url: 'https://a.example', domain: to, key });
    await c.refused(409, 'key', 'GET', `/links/exists?domain=${to}&key=${key}`);
    const changed = await c.update(id, { url: 'https://changed.example' });
    assert.deepEqual([changed.domain, changed.key, changed.url], [to, key, 'https://changed.example']);
    assert.equal(await location(to, key), 'https://changed.example/');
    const other = await idOf(from);
    assert.equal((await c.update(other.id, { key: 'another' })).shortLink, `https://${to}/another`);
    assert.equal((await c.create({ domain: from, key: 'made-by-old-name' })).domain, to);
    const third = await idOf(from);
    assert.equal((await c.call('DELETE', `/links/${third.id}`)).status, 200);
    assert.equal(await location(to, third.key), undefined);
    await follow();
    assert.equal(await countLinks(t.app.db, { domain: to }), MANY + 1);
  });

  test('hold the old name, and the domain as it is, until the last has followed', async () => {
    const { from, to } = await renamed();
    const other = await c.domain();
    await c.refused(409, undefined, 'POST', '/domains', { slug: from });
    await c.refused(409, undefined, 'PATCH', `/domains/${other}`, { slug: from });
    await c.refused(409, undefined, 'PATCH', `/domains/${to}`, { slug: 'newer.links.example' });
    await c.refused(409, undefined, 'PATCH', `/domains/${to}`, { caseSensitive: true });
    await c.refused(409, undefined, 'DELETE', `/domains/${to}`);
    assert.equal((await c.call('PATCH', `/domains/${to}`, { placeholder: 'a.example' })).status, 200);
    assert.equal((await c.call('POST', `/domains/${to}/primary`)).status, 200);
    await t.app.jobs.tick();
    assert.equal(await countLinks(t.app.db, { domain: from }), 0);
    assert.equal((await c.call('DELETE', `/domains/${to}`)).status, 200);
  });

  test('are in a dump under the new name, and none is taken in for them meanwhile', async () => {
    const { from, to } = await renamed();
    const text = await exportText(t.app, c.ws.id);
    const domains = parseDump(text).flatMap((line) => (line.type === 'link' ? [line.domain] : []));
    assert.equal(domains.filter((domain) => domain === to).length, MANY + 1);
    assert.ok(!domains.includes(from));
    await assert.rejects(
      importText(t.app, text),
      /field domain: the links of this domain are still following/,
    );
    await follow();
    assert.equal((await importText(t.app, text)).rejected, 0);
  });
});
