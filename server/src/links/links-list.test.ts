// Every parameter of the lists and counts of links does what it says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

eachDatabase('lists of links', (databases) => {
  let t: TestApp;
  let links: LinkCalls;
  let slug: string;
  let folder: string;
  let memberId: string;
  const tags: Record<string, string> = {};
  const ids: Record<string, string> = {};

  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    links = linkCalls(t, await t.workspace());
    slug = await links.domain();
    folder = (await links.call('POST', '/folders', { name: 'F' })).json.id;
    for (const name of ['red', 'blue']) tags[name] = (await links.call('POST', '/tags', { name })).json.id;
    const member = await links.ws.newKey({ role: 'member' });
    const bodies: Record<string, Record<string, unknown>> = {
      plain: { url: 'https://plain.example/Path' },
      own: { domain: slug, tagIds: [tags.red] },
      both: { tagIds: [tags.blue, tags.red], tenantId: 'T1' },
      blue: { tagIds: [tags.blue] },
      filed: { folderId: folder, tagIds: [tags.red], tenantId: 'T1' },
      hidden: { archived: true },
    };
    for (const [key, body] of Object.entries(bodies)) {
      ids[key] = (await links.create({ domain: 'localhost:3000', key, ...body })).id;
      t.clock.advance(1000);
    }
    const made = await links.call(
      'POST',
      '/links',
      { url: 'https://m.example', key: 'member', domain: slug },
      { key: member },
    );
    ids.member = made.json.id;
    memberId = made.json.userId;
    await setCounters('plain', { clicks: 5, sale_amount: 10, last_clicked_at: 300 });
    await setCounters('both', { clicks: 9, sale_amount: 5, last_clicked_at: 100 });
    await setCounters('blue', { clicks: 1, sale_amount: 99, last_clicked_at: 200 });
  });
  after(() => t.close());

  async function setCounters(
    key: string,
    counters: { clicks: number; sale_amount: number; last_clicked_at: number },
  ) {
    await t.app.db.query
      .updateTable('link')
      .set(counters)
      .where('id', '=', ids[key] as string)
      .execute();
  }

  /** Keys without the roots of domains, which are links too. */
  async function keys(query: string): Promise<string[]> {
    const found = await links.get(`/links?${query}`);
    return found.map((link: { key: string }) => link.key).filter((key: string) => key !== '_root');
  }
  const count = (query: string) => links.get(`/links/count?${query}`);

  /** The list and the count agree on what a filter means; the root link of the domain has to be told. */
  async function means(query: string, expected: string[], roots = 0): Promise<void> {
    assert.deepEqual(await keys(query), expected, query);
    assert.equal(await count(query), expected.length + roots, `count of ${query}`);
  }

  test('without a filter: links outside folders that are not archived, the newest first', () =>
    means('', ['member', 'blue', 'both', 'own', 'plain'], 1));

  test('domain: exactly this one; an unknown or foreign one is 404', async () => {
    await means(`domain=${slug}`, ['member', 'own'], 1);
    await means(`domain=${slug.toUpperCase()}`, ['member', 'own'], 1);
    await means('domain=localhost:3000', ['filed', 'blue', 'both', 'plain']);
    const abroad = linkCalls(t, await t.workspace());
    const { slug: ascii } = (await abroad.call('POST', '/domains', { slug: 'größe.example' })).json;
    for (const name of [ascii, 'größe.example', '%20GRÖßE.example'])
      assert.equal(await abroad.get(`/links/count?domain=${name}`), 1, name);
    const foreign = await linkCalls(t, await t.workspace()).domain();
    for (const path of ['/links', '/links/count']) {
      for (const domain of ['unknown.example', foreign])
        await links.refused(404, undefined, 'GET', `${path}?domain=${domain}`);
    }
  });

  test('tagIds, tagId and tagNames: any of them, ids before names, in folders too', async () => {
    await means(`tagIds=${tags.red}`, ['filed', 'both', 'own']);
    await means(`tagIds=${tags.red},${tags.blue}`, ['filed', 'blue', 'both', 'own']);
    await means(`tagIds=${tags.red}&tagIds=${tags.blue}`, ['filed', 'blue', 'both', 'own']);
    await means(`tagId=${tags.blue}`, ['blue', 'both']);
    await means('tagNames=RED', ['filed', 'both', 'own']);
    await means('tagNames=red,blue', ['filed', 'blue', 'both', 'own']);
    await means(`tagIds=${tags.blue}&tagNames=red`, ['blue', 'both']);
    await means('tagNames=unknown', []);
    await means('tagIds=tag_unknown', []);
  });

  test('folderId: this folder, or unsorted for none; an unknown one is 404', async () => {
    await means(`folderId=${folder}`, ['filed']);
    await means('folderId=unsorted', ['member', 'blue', 'both', 'own', 'plain'], 1);
    await means(`folderId=unsorted&tagIds=${tags.red}`, ['both', 'own']);
    await links.refused(404, undefined, 'GET', '/links?folderId=fold_unknown');
    await links.refused(404, undefined, 'GET', '/links/count?folderId=fold_unknown');
  });

  test('search: part of the short link or of the destination, in any case, and nothing else', async () => {
    await means('search=PLAIN.example/p', ['plain']);
    await means(`search=${encodeURIComponent(`https://${slug}/MEM`)}`, ['member']);
    await means('search=file', ['filed']);
    await means('search=_', []);
    await means('search=%25', []);
    await means('search=nothing-like-it', []);
  });

  test('userId and tenantId: exactly these', async () => {
    await means(`userId=${memberId}`, ['member']);
    await means(`userId=${links.ws.ownerId}`, ['blue', 'both', 'own', 'plain'], 1);
    await means('userId=nobody', []);
    await means('tenantId=T1', ['filed', 'both']);
    await means('tenantId=T', []);
  });

  test('showArchived: archived links too', async () => {
    await means('showArchived=true', ['member', 'hidden', 'blue', 'both', 'own', 'plain'], 1);
    await means('showArchived=FALSE', ['member', 'blue', 'both', 'own', 'plain'], 1);
    await links.refused(400, 'showArchived', 'GET', '/links?showArchived=1');
  });

  test('withTags: links with at least one', () => means('withTags=true', ['blue', 'both', 'own']));

  test('filters narrow each other', async () => {
    await means(`domain=${slug}&tagIds=${tags.red}`, ['own']);
    await means(`tenantId=T1&tagIds=${tags.blue}&search=both`, ['both']);
  });

  test('sortBy and sortOrder, by age and the newest first by default', async () => {
    const three = `&folderId=unsorted&domain=localhost:3000`;
    for (const [query, expected] of [
      ['sortBy=createdAt', ['blue', 'both', 'plain']],
      ['sortOrder=asc', ['plain', 'both', 'blue']],
      ['sortBy=clicks', ['both', 'plain', 'blue']],
      ['sortBy=saleAmount', ['blue', 'plain', 'both']],
      ['sortBy=lastClicked', ['plain', 'blue', 'both']],
      ['sortBy=lastClicked&sortOrder=asc', ['both', 'blue', 'plain']],
    ] as const) {
      assert.deepEqual(await keys(query + three), expected, query);
    }
    await links.refused(422, 'sortBy', 'GET', '/links?sortBy=url');
    await links.refused(422, 'sortOrder', 'GET', '/links?sortOrder=up');
  });

  test('page and pageSize within their bounds', async () => {
    const all = await keys('showArchived=true');
    const paged: string[] = [];
    for (let page = 1; page <= 4; page++)
      paged.push(...(await keys(`showArchived=true&pageSize=2&page=${page}`)));
    assert.deepEqual(paged, all);
    assert.deepEqual(await keys('page=1000'), []);
    for (const [field, query] of [
      ['page', 'page=0'],
      ['page', 'page=1001'],
      ['pageSize', 'pageSize=0'],
      ['pageSize', 'pageSize=101'],
    ] as const) {
      await links.refused(422, field, 'GET', `/links?${query}`);
    }
    await links.refused(400, 'page', 'GET', '/links?page=two');
  });

  test('startingAfter and endingBefore: the neighbours of a link, in the order of the list', async () => {
    const own = '&folderId=unsorted&domain=localhost:3000';
    assert.deepEqual(await keys(`startingAfter=${ids.blue}&pageSize=1${own}`), ['both']);
    assert.deepEqual(await keys(`startingAfter=${ids.blue}${own}`), ['both', 'plain']);
    assert.deepEqual(await keys(`endingBefore=${ids.plain}${own}`), ['blue', 'both']);
    assert.deepEqual(await keys(`endingBefore=${ids.plain}&pageSize=1${own}`), ['both']);
    assert.deepEqual(await keys(`startingAfter=${ids.plain}&sortOrder=asc${own}`), ['both', 'blue']);
    const foreign = await linkCalls(t, await t.workspace()).create({});
    for (const [field, query] of [
      ['endingBefore', `startingAfter=${ids.blue}&endingBefore=${ids.plain}`],
      ['page', `startingAfter=${ids.blue}&page=1`],
      ['sortBy', `startingAfter=${ids.blue}&sortBy=clicks`],
      ['startingAfter', 'startingAfter=link_unknown'],
      ['endingBefore', `endingBefore=${foreign.id}`],
    ] as const) {
      await links.refused(422, field, 'GET', `/links?${query}`);
    }
  });

  test('groupBy: counts per value over all folders, the most first, without the filter on that value', async () => {
    assert.deepEqual(await count('groupBy=domain'), [
      { domain: 'localhost:3000', _count: 4 },
      { domain: slug, _count: 3 },
    ]);
    assert.deepEqual(await count(`groupBy=domain&domain=${slug}&tenantId=T1`), [
      { domain: 'localhost:3000', _count: 2 },
    ]);
    assert.deepEqual(await count('groupBy=tagId'), [
      { tagId: tags.red, _count: 3 },
      { tagId: tags.blue, _count: 2 },
    ]);
    assert.deepEqual(await count(`groupBy=tagId&tagIds=${tags.blue}&tenantId=T1`), [
      { tagId: tags.red, _count: 2 },
      { tagId: tags.blue, _count: 1 },
    ]);
    assert.deepEqual(await count('groupBy=userId'), [
      { userId: links.ws.ownerId, _count: 6 },
      { userId: memberId, _count: 1 },
    ]);
    assert.deepEqual(await count(`groupBy=folderId&folderId=${folder}`), [
      { folderId: null, _count: 6 },
      { folderId: folder, _count: 1 },
    ]);
    assert.deepEqual(await count('groupBy=domain&showArchived=true'), [
      { domain: 'localhost:3000', _count: 5 },
      { domain: slug, _count: 3 },
    ]);
    await links.refused(422, 'groupBy', 'GET', '/links/count?groupBy=url');
  });

  test('nobody sees the links of another workspace', async () => {
    const other = linkCalls(t, await t.workspace());
    for (const query of [
      '',
      'search=plain',
      `tagIds=${tags.red}`,
      'domain=localhost:3000',
      'tenantId=T1',
      'showArchived=true',
    ]) {
      assert.deepEqual(await other.get(`/links?${query}`), [], query);
      assert.equal(await other.get(`/links/count?${query}`), 0, query);
    }
    assert.deepEqual(await other.get('/links/count?groupBy=domain'), []);
  });
});
