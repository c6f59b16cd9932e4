// Links that are there already: found by their names, changed, upserted and deleted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls, type ShownLink } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const VARIANTS = [
  { url: 'https://a.example/', percentage: 50 },
  { url: 'https://b.example/', percentage: 50 },
];

eachDatabase('links', (databases) => {
  let t: TestApp;
  let links: LinkCalls;
  let other: LinkCalls;
  let slug: string;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    links = linkCalls(t, await t.workspace());
    other = linkCalls(t, await t.workspace());
    slug = await links.domain();
  });
  after(() => t.close());

  const refusedChange = (status: number, field: string | undefined, id: string, body: unknown) =>
    links.refused(status, field, 'PATCH', `/links/${id}`, body);

  test('a change keeps what is absent, clears what is null, and shows the whole link', async () => {
    const folder = (await links.call('POST', '/folders', { name: 'Full' })).json.id;
    await links.call('POST', '/tags', { name: 'full' });
    const nullable = {
      externalId: 'full-1',
      tenantId: 't',
      folderId: folder,
      comments: 'c',
      expiresAt: '2031-01-01T00:00:00.000Z',
      expiredUrl: 'https://x.example/',
      password: 'p',
      title: 'T',
      description: 'D',
      image: 'https://i.example/x.png',
      video: 'v',
      ios: 'https://ios.example/',
      android: 'https://android.example/',
      geo: { DE: 'https://de.example/' },
      testVariants: VARIANTS,
      testStartedAt: '2027-01-01T00:00:00.000Z',
      testCompletedAt: '2031-01-01T00:00:00.000Z',
      utm_source: 's',
      utm_medium: 'm',
      utm_campaign: 'c',
      utm_term: 't',
      utm_content: 'o',
    };
    const flags = {
      trackConversion: true,
      archived: true,
      proxy: true,
      rewrite: true,
      doIndex: true,
      publicStats: true,
    };
    const full = await links.create({ ...nullable, ...flags, tagNames: ['full'] });
    for (const [field, value] of Object.entries({ ...nullable, ...flags }))
      assert.deepEqual(full[field], value, field);
    t.clock.advance(1000);
    assert.deepEqual(await links.update(full.id, {}), full);
    let before = full;
    for (const field of Object.keys(nullable)) {
      const changed = await links.update(full.id, { [field]: null });
      assert.equal(changed[field], null, field);
      const touched = field.startsWith('utm_') ? [field, 'url', 'updatedAt'] : [field, 'updatedAt'];
      assert.deepEqual({ ...changed, ...pick(before, touched) }, before, `only ${field} changes`);
      before = changed;
    }
    for (const field of Object.keys(flags)) {
      before = await links.update(full.id, { [field]: false });
      assert.equal(before[field], false, field);
    }
    assert.deepEqual(await links.get(`/links/${full.id}`), before);
    assert.equal(before.updatedAt, '2027-01-15T10:00:01.000Z');
    assert.equal(before.createdAt, '2027-01-15T10:00:00.000Z');
  });

  test('a change without effect leaves the time of the last change as it is', async () => {
    const link = await links.create({
      url: 'https://same.example',
      geo: { DE: 'https://de.example', US: 'https://us.example' },
    });
    t.clock.advance(1000);
    const same = {
      url: link.url,
      key: link.key,
      geo: { US: 'https://us.example', DE: 'https://de.example' },
      archived: false,
    };
    assert.deepEqual(await links.update(link.id, same), link);
  });

  test('counters, ids and times cannot be set', async () => {
    const link = await links.create({});
    const body = {
      id: 'x',
      clicks: 9,
      sales: 9,
      createdAt: '2001-01-01T00:00:00Z',
      disabledAt: '2001-01-01T00:00:00Z',
      userId: 'x',
      workspaceId: 'x',
    };
    assert.deepEqual(await links.update(link.id, body), link);
  });

  test('PUT does what PATCH does', async () => {
    const link = await links.create({ title: 'old' });
    const reply = await links.call('PUT', `/links/${link.id}`, { title: 'new' });
    assert.deepEqual([reply.status, reply.json.title, reply.json.url], [200, 'new', link.url]);
  });

  test('key: another one, a new random one when empty, checked only when it changes', async () => {
    const link = await links.create({ key: 'Before' });
    await links.create({ key: 'occupied' });
    assert.equal((await links.update(link.id, { key: 'bEFORE' })).key, 'bEFORE');
    assert.equal((await links.update(link.id, { key: '日本語' })).key, 'xn--wgv71a119e');
    assert.equal((await links.update(link.id, { key: '日本語' })).key, 'xn--wgv71a119e');
    assert.match((await links.update(link.id, { key: '' })).key, /^[0-9A-Za-z]{7}$/);
    await links.create({ key: 'before' });
    await refusedChange(409, 'key', link.id, { key: 'OCCUPIED' });
    await refusedChange(422, 'key', link.id, { key: 'a b' });
    await refusedChange(403, 'key', link.id, { key: 'favicon.ico' });
    const free = linkCalls(t, await t.workspace('pro'));
    const short = await free.create({ key: databases.engine.slice(0, 3) });
    await t.app.services.workspaces.setPlan(free.ws.id, 'free');
    assert.equal((await free.update(short.id, { key: short.key.toUpperCase(), title: 'x' })).title, 'x');
  });

  test('domain: moves the link with its key, which must be free there', async () => {
    const target = await links.domain();
    const link = await links.create({ domain: slug, key: 'mover' });
    const moved = await links.update(link.id, { domain: target });
    assert.deepEqual(
      [moved.domain, moved.key, moved.shortLink],
      [target, 'mover', `https://${target}/mover`],
    );
    assert.equal((await links.get(`/links/info?domain=${target}&key=mover`)).id, link.id);
    await links.refused(404, undefined, 'GET', `/links/info?domain=${slug}&key=mover`);
    await links.create({ domain: slug, key: 'mover' });
    await refusedChange(409, 'key', link.id, { domain: slug });
    await refusedChange(403, undefined, link.id, { domain: 'nobody.example' });
    assert.equal((await links.update(link.id, { domain: '' })).domain, target);
    const word = await links.create({ domain: target, key: 'settings' });
    await refusedChange(409, 'key', word.id, { domain: 'localhost:3000' });
  });

  test('a root link keeps its domain and key, takes a destination and none, and cannot be deleted', async () => {
    const root = await links.get(`/links/info?domain=${slug}`);
    assert.deepEqual([root.key, root.url, root.shortLink], ['_root', '', `https://${slug}`]);
    assert.equal(root.qrCode, `http://localhost:3000/api/qr?url=https://${slug}?qr=1`);
    const changed = await links.update(root.id, {
      url: 'acme.example',
      key: 'x',
      domain: 'localhost:3000',
      utm_source: 's',
    });
    assert.deepEqual(
      [changed.domain, changed.key, changed.url],
      [slug, '_root', 'https://acme.example/?utm_source=s'],
    );
    await refusedChange(422, 'url', root.id, { url: `https://${slug}/`, utm_source: null });
    const cleared = await links.update(root.id, { url: '' });
    assert.deepEqual([cleared.url, cleared.utm_source], ['', null]);
    await links.refused(403, undefined, 'DELETE', `/links/${root.id}`);
    const free = linkCalls(t, await t.workspace('free'));
    const its = await free.get(`/links/info?domain=${await free.domain()}`);
    await free.refused(403, 'url', 'PATCH', `/links/${its.id}`, { url: 'https://a.example' });
    assert.equal((await free.update(its.id, { title: 'fine' })).title, 'fine');
    await refusedChange(400, 'url', (await links.create({})).id, { url: '' });
  });

  test('the campaign stays with the link: it goes onto a new destination, whatever that brings along', async () => {
    const link = await links.create({ url: 'https://a.example', utm_source: 'mail', ref: 'r' });
    const next = await links.update(link.id, { url: 'https://b.example/?utm_source=web&utm_medium=m&ref=q' });
    assert.equal(next.url, 'https://b.example/?utm_source=mail&ref=q');
    assert.deepEqual([next.utm_source, next.utm_medium], ['mail', null]);
    const sent = await links.update(link.id, {
      url: 'https://c.example/?utm_medium=m',
      utm_medium: 'm',
      utm_source: '',
    });
    assert.deepEqual(
      [sent.url, sent.utm_source, sent.utm_medium],
      ['https://c.example/?utm_medium=m', null, 'm'],
    );
    const alone = await links.update(link.id, { utm_term: 't' });
    assert.equal(alone.url, 'https://c.example/?utm_medium=m&utm_term=t');
  });

  test('tags: a list replaces all, an empty one or tagId null clears, absent keeps', async () => {
    const tag = async (name: string) => (await links.call('POST', '/tags', { name })).json.id;
    const [a, b] = [await tag('Update A'), await tag('Update B')];
    const link = await links.create({ tagIds: [a] });
    const tagsAfter = async (body: Record<string, unknown>) =>
      (await links.update(link.id, body)).tags.map(({ id }: { id: string }) => id);
    assert.deepEqual(await tagsAfter({ title: 'x' }), [a]);
    assert.deepEqual(await tagsAfter({ tagIds: [b, a] }), [b, a]);
    assert.deepEqual(await tagsAfter({ tagIds: [a, b] }), [a, b]);
    assert.deepEqual(await tagsAfter({ tagNames: 'update b' }), [b]);
    assert.deepEqual(await tagsAfter({ tagIds: [] }), []);
    assert.deepEqual(await tagsAfter({ tagId: a }), [a]);
    assert.deepEqual(await tagsAfter({ tagId: null }), []);
    await refusedChange(422, 'tagIds', link.id, { tagIds: ['tag_x'] });
  });

  test('externalId: another one that is free, null for none', async () => {
    const link = await links.create({ externalId: 'mine-1' });
    await links.create({ externalId: 'mine-2' });
    await refusedChange(409, 'externalId', link.id, { externalId: 'mine-2' });
    assert.equal((await links.update(link.id, { externalId: 'mine-1' })).externalId, 'mine-1');
    assert.equal((await links.update('ext_mine-1', { externalId: 'ext_mine-3' })).externalId, 'mine-3');
    assert.equal((await links.update('ext_mine-3', { externalId: null })).externalId, null);
    await links.refused(404, undefined, 'GET', '/links/ext_mine-3');
  });

  test('a test needs trackConversion, also when only one of the two changes', async () => {
    const link = await links.create({});
    await refusedChange(422, 'testVariants', link.id, { testVariants: VARIANTS });
    await links.update(link.id, { trackConversion: true });
    await links.update(link.id, { testVariants: VARIANTS });
    await refusedChange(422, 'testVariants', link.id, { trackConversion: false });
    assert.equal((await links.update(link.id, { title: 'still' })).title, 'still');
    await links.update(link.id, { trackConversion: false, testVariants: null });
  });

  test('a change must not make a link point at itself', async () => {
    const link = await links.create({ domain: slug, key: 'turn', url: `https://${slug}/round` });
    await refusedChange(422, 'url', link.id, { key: 'round' });
    await refusedChange(422, 'expiredUrl', link.id, { expiredUrl: `https://${slug}/turn` });
    const fallback = await links.create({ domain: slug, key: 'fall', expiredUrl: `https://${slug}/back` });
    await refusedChange(422, 'expiredUrl', fallback.id, { key: 'back' });
    assert.equal((await links.update(link.id, { title: 'fine' })).title, 'fine');
  });

  test('a plan that is too low refuses a field, but not the clearing of it', async () => {
    const workspace = linkCalls(t, await t.workspace('pro'));
    const link = await workspace.create({ password: 'x' });
    await t.app.services.workspaces.setPlan(workspace.ws.id, 'free');
    await workspace.refused(403, 'password', 'PATCH', `/links/${link.id}`, { password: 'y' });
    assert.equal((await workspace.update(link.id, { title: 'T' })).password, 'x');
    assert.equal((await workspace.update(link.id, { password: null })).password, null);
  });

  test('unknown links are 404, those of another workspace 403', async () => {
    const link = await links.create({ externalId: 'foreign' });
    for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
      const body = method.startsWith('P') ? { title: 'x' } : undefined;
      await other.refused(403, undefined, method, `/links/${link.id}`, body);
      await other.refused(404, undefined, method, '/links/ext_foreign', body);
      await other.refused(404, undefined, method, '/links/link_unknown', body);
    }
    assert.deepEqual(await links.get('/links/ext_foreign'), link);
  });

  test('info finds by linkId, then by externalId, then by domain and key', async () => {
    const a = await links.create({ domain: slug, key: 'Info-日本', externalId: 'info-a' });
    const b = await links.create({ externalId: 'info-b' });
    const info = async (query: string) => (await links.get(`/links/info?${query}`)).id;
    const byKey = `domain=${slug}&key=${encodeURIComponent('info-日本')}`;
    assert.equal(await info(`linkId=${b.id}&externalId=ext_info-a&${byKey}`), b.id);
    assert.equal(await info(`externalId=ext_info-b&${byKey}`), b.id);
    assert.equal(await info('externalId=info-b'), b.id);
    assert.equal(await info('linkId=ext_info-b'), b.id);
    assert.equal(await info(byKey), a.id);
    assert.equal(await info(`domain=${slug.toUpperCase()}&key=${a.key}`), a.id);
    for (const [status, query] of [
      [400, ''],
      [404, 'key=x'],
      [422, `domain=${slug}&key=`],
      [422, 'domain=no%20domain&key=x'],
      [422, 'domain=a/b&key=x'],
      [404, `domain=${slug}&key=unknown`],
      [404, 'domain=unknown.example&key=x'],
      [404, 'linkId=unknown'],
      [404, 'externalId=ext_unknown'],
      [400, 'externalId=unknown'],
    ] as const) {
      await links.refused(status, undefined, 'GET', `/links/info?${query}`);
    }
    await other.refused(403, undefined, 'GET', `/links/info?linkId=${a.id}`);
    await other.refused(403, undefined, 'GET', `/links/info?${byKey}`);
  });

  test('delete answers with the id of the link, and frees its names', async () => {
    const link = await links.create({ key: 'gone', externalId: 'gone' });
    const reply = await links.call('DELETE', '/links/ext_gone');
    assert.deepEqual([reply.status, reply.json], [200, { id: link.id }]);
    await links.refused(404, undefined, 'DELETE', `/links/${link.id}`);
    await links.create({ key: 'GONE', externalId: 'gone' });
  });

  test('upsert makes a link, and then finds it by its destination', async () => {
    const made = await links.upsert({ url: 'upsert.example/a', title: 'T' });
    t.clock.advance(1000);
    assert.deepEqual(await links.upsert({ url: 'upsert.example/a' }), made);
    assert.deepEqual(
      await links.upsert({ url: 'https://upsert.example/a', title: 'T', key: '', keyLength: 9, prefix: 'p' }),
      made,
    );
    const renamed = await links.upsert({ url: 'upsert.example/a', key: 'upserted', title: null });
    assert.deepEqual([renamed.id, renamed.key, renamed.title], [made.id, 'upserted', null]);
    await links.create({ key: 'in-use' });
    await links.refused(409, 'key', 'PUT', '/links/upsert', { url: 'upsert.example/a', key: 'in-use' });
    await links.refused(400, 'url', 'PUT', '/links/upsert', { url: '' });
    await links.refused(422, 'url', 'PUT', '/links/upsert', { url: 'nope' });
    const verbatim = await links.create({ url: 'https://upsert.example' });
    assert.deepEqual(await links.upsert({ url: 'https://upsert.example' }), verbatim);
  });

  test('upsert with campaign fields finds the link it made, with and without them on the stored address', async () => {
    const body = { url: 'https://campaign.example', utm_source: 'x y', ref: 'r' };
    const made = await links.upsert(body);
    assert.equal(made.url, 'https://campaign.example/?utm_source=x+y&ref=r');
    assert.deepEqual(await links.upsert(body), made);
    assert.deepEqual(await links.upsert({ url: made.url }), made);
    const plain = await links.upsert({ url: 'https://plain.example' });
    const tagged = await links.upsert({ url: 'https://plain.example', utm_source: 's' });
    assert.deepEqual([tagged.id, tagged.url], [plain.id, 'https://plain.example/?utm_source=s']);
  });

  test('upsert takes the oldest of several, and only links of the workspace', async () => {
    await other.create({ url: 'https://several.example' });
    const first = await links.create({ url: 'https://several.example' });
    t.clock.advance(1000);
    await links.create({ url: 'https://several.example' });
    assert.equal((await links.upsert({ url: 'https://several.example' })).id, first.id);
  });
});

function pick(link: ShownLink, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, link[field]]));
}
