// Many links in a call: each item stands for itself, and what was done comes before what was refused.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls, type ShownLink } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const VARIANTS = [
  { url: 'https://a.example/', percentage: 50 },
  { url: 'https://b.example/', percentage: 50 },
];

eachDatabase('links in bulk', (databases) => {
  let t: TestApp;
  let links: LinkCalls;
  let slug: string;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    links = linkCalls(t, await t.workspace());
    slug = await links.domain();
  });
  after(() => t.close());

  async function bulk(method: 'POST' | 'PATCH', body: unknown, calls = links): Promise<ShownLink[]> {
    const reply = await calls.call(method, '/links/bulk', body);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  }
  const codes = (items: ShownLink[]) => items.map((item) => item.code ?? 'ok');

  test('new links come in the order of the request, then what was refused with what was sent', async () => {
    const sent = [
      { url: 'https://a.example', key: 'bulk-a' },
      { url: 'nope' },
      { key: 'no-url' },
      { url: 'b.example', key: 'bulk-b', utm_source: 's' },
      7,
      { url: 'https://c.example', key: 'a b' },
      { url: 'https://c.example', domain: 'nobody.example' },
    ];
    const answers = await bulk('POST', sent);
    assert.deepEqual(
      answers.slice(0, 2).map((link) => [link.key, link.url]),
      [
        ['bulk-a', 'https://a.example'],
        ['bulk-b', 'https://b.example/?utm_source=s'],
      ],
    );
    assert.deepEqual(
      answers.slice(2).map(({ link, code }) => [link, code]),
      [
        [sent[1], 'unprocessable_entity'],
        [sent[2], 'bad_request'],
        [sent[4], 'bad_request'],
        [sent[5], 'unprocessable_entity'],
        [sent[6], 'forbidden'],
      ],
    );
    for (const { error } of answers.slice(2)) assert.ok(typeof error === 'string' && error.length > 0);
    for (const link of answers.slice(0, 2)) assert.deepEqual(await links.get(`/links/${link.id}`), link);
    assert.deepEqual(codes(await bulk('POST', [{ url: 'nope' }])), ['unprocessable_entity']);
  });

  test('an item that is no object is refused by its place in the call', async () => {
    const url = 'https://a.example';
    const answers = await bulk('POST', ['https://b.example', { url }, null, [{ url }]]);
    assert.deepEqual(codes(answers), ['ok', 'bad_request', 'bad_request', 'bad_request']);
    assert.deepEqual(
      answers.slice(1).map(({ error }) => error),
      [0, 2, 3].map((index) => `invalid_type: [${index}]: a link must be an object`),
    );
  });

  test('of two items that want one key or one external id, the later is a conflict', async () => {
    const url = 'https://a.example';
    const answers = await bulk('POST', [
      { url, key: 'Pair' },
      { url, key: 'pAIR' },
      { url, externalId: 'pair' },
      { url, externalId: 'ext_pair' },
      { url, key: 'Pair', domain: 'localhost:3000' },
    ]);
    assert.deepEqual(codes(answers), ['ok', 'ok', 'ok', 'conflict', 'conflict']);
    assert.deepEqual(
      codes(
        await bulk('POST', [
          { url, key: 'pair' },
          { url, externalId: 'pair' },
        ]),
      ),
      ['conflict', 'conflict'],
    );
  });

  test('only these refuse all: no array, no item, more than a hundred, the quota', async () => {
    const url = 'https://a.example';
    await links.refused(400, undefined, 'POST', '/links/bulk', { url });
    await links.refused(400, undefined, 'POST', '/links/bulk', '{broken');
    await links.refused(422, undefined, 'POST', '/links/bulk', []);
    await links.refused(
      422,
      undefined,
      'POST',
      '/links/bulk',
      Array.from({ length: 101 }, () => ({ url })),
    );
    const limited = linkCalls(t, await t.workspace());
    await t.app.services.workspaces.setLimit(limited.ws.id, 'links', 3);
    await limited.refused(403, undefined, 'POST', '/links/bulk', [{ url }, { url }, { url }, {}]);
    assert.equal(await limited.get('/links/count'), 0);
    assert.equal((await bulk('POST', [{ url }, { url }, {}], limited)).filter((link) => link.id).length, 2);
    await limited.create({});
    await limited.refused(403, undefined, 'POST', '/links/bulk', '{broken');
  });

  test('a hundred random keys in a call are a hundred links', async () => {
    const made = await bulk(
      'POST',
      Array.from({ length: 100 }, () => ({ url: 'https://a.example', keyLength: 3 })),
    );
    assert.equal(new Set(made.map((link) => link.key?.toLowerCase())).size, 100);
    for (const { key } of made) assert.match(key, /^[0-9A-Za-z]{3}$/);
  });

  test('tags by id and by name add up; the other rules are those of one link', async () => {
    const tag = async (name: string) => (await links.call('POST', '/tags', { name })).json.id;
    const [a, b] = [await tag('Bulk A'), await tag('Bulk B')];
    const url = 'https://a.example';
    const answers = await bulk('POST', [
      { url, tagIds: [b], tagNames: ['bulk a', 'bulk b'] },
      { url, tagIds: ['tag_x'] },
      { url, folderId: 'fold_x' },
      { url, programId: 'prog_x' },
      { url, webhookIds: ['wh_x'] },
      { url, expiresAt: 'never ever' },
      { url, testVariants: VARIANTS },
      { url: `https://${slug}/loop`, key: 'loop' },
      { url, proxy: true, image: 'http://i.example/a.png' },
    ]);
    assert.deepEqual(
      answers[0].tags.map((shown: { id: string }) => shown.id),
      [b, a],
    );
    const invalid = 'unprocessable_entity';
    assert.deepEqual(codes(answers.slice(1)), [
      invalid,
      'not_found',
      'not_found',
      invalid,
      invalid,
      invalid,
      invalid,
      invalid,
    ]);
    const free = linkCalls(t, await t.workspace('free'));
    assert.deepEqual(codes(await bulk('POST', [{ url }, { url, password: 'x' }], free)), ['ok', 'forbidden']);
  });

  test('one change for many links, by id or by the own ids of the caller', async () => {
    const [a, b, c] = await bulk('POST', [
      { url: 'https://a.example/?utm_source=old', externalId: 'many-a' },
      { url: 'https://b.example', externalId: 'many-b' },
      { url: 'https://c.example' },
    ]);
    t.clock.advance(1000);
    const data = {
      title: 'All',
      utm_source: 'all',
      expiresAt: 'in 1 day',
      key: 'ignored',
      domain: 'ignored',
      externalId: 'ignored',
    };
    const answers = await bulk('PATCH', { linkIds: [c.id, a.id, c.id], externalIds: ['many-b'], data });
    assert.deepEqual(
      answers.map((link) => [link.id, link.title, link.url]),
      [
        [c.id, 'All', 'https://c.example/?utm_source=all'],
        [a.id, 'All', 'https://a.example/?utm_source=all'],
      ],
    );
    assert.deepEqual(
      [answers[1].key, answers[1].externalId, answers[1].utm_source],
      [a.key, 'many-a', 'all'],
    );
    assert.equal((await links.get(`/links/${b.id}`)).title, null);
    const byOwnId = await bulk('PATCH', {
      linkIds: [],
      externalIds: ['ext_many-b', 'many-a', 'many-b'],
      data: { archived: true },
    });
    assert.deepEqual(
      byOwnId.map((link) => [link.id, link.archived]),
      [
        [b.id, true],
        [a.id, true],
      ],
    );
    assert.deepEqual(await bulk('PATCH', { data: { title: 'x' } }), []);
    assert.deepEqual(await bulk('PATCH', { linkIds: [a.id], data: {} }), [byOwnId[1]]);
  });

  test('a change of many reports unknown links and broken rules behind the links it changed', async () => {
    const foreign = await linkCalls(t, await t.workspace()).create({});
    const [plain, tracked] = await bulk('POST', [
      { url: 'https://a.example' },
      { url: 'https://a.example', trackConversion: true },
    ]);
    const linkIds = ['link_x', plain.id, foreign.id, tracked.id];
    const answers = await bulk('PATCH', { linkIds, data: { testVariants: VARIANTS } });
    assert.equal(answers[0].id, tracked.id);
    assert.deepEqual(
      answers.slice(1).map(({ link, code }) => [link, code]),
      [
        [{ id: 'link_x' }, 'not_found'],
        [{ id: foreign.id }, 'not_found'],
        [{ id: plain.id }, 'unprocessable_entity'],
      ],
    );
    assert.deepEqual(codes(await bulk('PATCH', { externalIds: ['nobody'], data: {} })), ['not_found']);
    const bad = await bulk('PATCH', { linkIds: [plain.id], data: { url: 'nope' } });
    assert.deepEqual(
      bad.map(({ link, code }) => [link, code]),
      [[{ id: plain.id }, 'unprocessable_entity']],
    );
  });

  test('unknown tags, webhooks or folder refuse a change of many as a whole', async () => {
    const { id } = await links.create({ title: 'before' });
    const change = (data: Record<string, unknown>) => ({ linkIds: [id], data: { title: 'after', ...data } });
    await links.refused(422, 'tagIds', 'PATCH', '/links/bulk', change({ tagIds: ['tag_x'] }));
    await links.refused(422, 'tagNames', 'PATCH', '/links/bulk', change({ tagNames: ['nobody'] }));
    await links.refused(422, 'webhookIds', 'PATCH', '/links/bulk', change({ webhookIds: ['wh_x'] }));
    await links.refused(404, undefined, 'PATCH', '/links/bulk', change({ folderId: 'fold_x' }));
    await links.refused(422, 'image', 'PATCH', '/links/bulk', change({ image: 'http://localhost/' }));
    assert.equal((await links.get(`/links/${id}`)).title, 'before');
  });

  test('a change of many takes at most a hundred ids and needs its data', async () => {
    const ids = Array.from({ length: 101 }, (_, i) => `link_${i}`);
    await links.refused(422, 'linkIds', 'PATCH', '/links/bulk', { linkIds: ids, data: {} });
    await links.refused(422, 'externalIds', 'PATCH', '/links/bulk', { externalIds: ids, data: {} });
    await links.refused(400, 'data', 'PATCH', '/links/bulk', { linkIds: ['x'] });
  });

  test('deletion of many takes ids of both kinds, and skips roots, unknown and foreign links', async () => {
    const foreign = await linkCalls(t, await t.workspace()).create({});
    const [a, b, c] = await bulk('POST', [
      { url: 'https://a.example' },
      { url: 'https://a.example', externalId: 'del-b' },
      { url: 'https://a.example', externalId: 'del-c' },
    ]);
    const root = await links.get(`/links/info?domain=${slug}`);
    const remove = async (query: string) => (await links.call('DELETE', `/links/bulk?${query}`)).json;
    assert.deepEqual(await remove(`linkIds=${a.id},ext_del-b,${b.id},link_x,${root.id},${foreign.id}`), {
      deletedCount: 2,
    });
    assert.deepEqual(await remove(`linkIds=${a.id}&linkIds=${c.id}`), { deletedCount: 1 });
    assert.deepEqual(await remove(`linkIds=${a.id}`), { deletedCount: 0 });
    assert.equal((await links.get(`/links/info?domain=${slug}`)).id, root.id);
    for (const query of ['', 'linkIds=', 'linkIds=,'])
      await links.refused(400, 'linkIds', 'DELETE', `/links/bulk?${query}`);
    const many = Array.from({ length: 101 }, (_, i) => `link_${i}`).join();
    await links.refused(422, 'linkIds', 'DELETE', `/links/bulk?linkIds=${many}`);
  });
});
