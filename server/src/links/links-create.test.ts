// What a new link is made of: every field that can be given, in what form it is kept, and what is refused.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const VARIANTS = [
  { url: 'https://a.example/', percentage: 50 },
  { url: 'b.example', percentage: 50 },
];

eachDatabase('new links', (databases) => {
  let t: TestApp;
  let links: LinkCalls;
  let slug: string;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    links = linkCalls(t, await t.workspace());
    slug = await links.domain();
  });
  after(() => t.close());

  const refusedBody = (status: number, field: string | undefined, body: Record<string, unknown>) =>
    links.refused(status, field, 'POST', '/links', { url: 'https://example.com', ...body });

  test('a link shows every field, in the documented form and nothing else', async () => {
    const tag = await links.call('POST', '/tags', { name: 'Promo', color: 'blue' });
    const body = {
      url: 'shop.acme.example/sale',
      domain: slug,
      key: 'Spring',
      externalId: 'ext_42',
      utm_source: 'mail',
    };
    const link = await links.create({
      ...body,
      tagNames: ['promo'],
      unknown: 1,
      clicks: 5,
      id: 'mine',
      disabledAt: 'now',
    });
    assert.match(link.id, /^link_[0-9A-Z]{26}$/);
    assert.deepEqual(link, {
      id: link.id,
      domain: slug,
      key: 'Spring',
      url: 'https://shop.acme.example/sale?utm_source=mail',
      trackConversion: false,
      externalId: '42',
      tenantId: null,
      programId: null,
      partnerId: null,
      archived: false,
      expiresAt: null,
      expiredUrl: null,
      disabledAt: null,
      password: null,
      proxy: false,
      title: null,
      description: null,
      image: null,
      video: null,
      rewrite: false,
      doIndex: false,
      ios: null,
      android: null,
      geo: null,
      publicStats: false,
      tags: [{ id: tag.json.id, name: 'Promo', color: 'blue' }],
      folderId: null,
      webhookIds: [],
      comments: null,
      shortLink: `https://${slug}/Spring`,
      qrCode: `http://localhost:3000/api/qr?url=https://${slug}/Spring?qr=1`,
      utm_source: 'mail',
      utm_medium: null,
      utm_campaign: null,
      utm_term: null,
      utm_content: null,
      testVariants: null,
      testStartedAt: null,
      testCompletedAt: null,
      userId: links.ws.ownerId,
      workspaceId: links.ws.id,
      clicks: 0,
      leads: 0,
      conversions: 0,
      sales: 0,
      saleAmount: 0,
      lastClicked: null,
      createdAt: '2027-01-15T10:00:00.000Z',
      updatedAt: '2027-01-15T10:00:00.000Z',
      tagId: tag.json.id,
      projectId: links.ws.id,
    });
    assert.deepEqual(await links.get(`/links/${link.id}`), link);
  });

  test('url: kept as it is when it is absolute, completed when it is not, refused when it is none', async () => {
    for (const [given, kept] of [
      ['https://example.com', 'https://example.com'],
      ['HTTPS://Example.com/a b', 'HTTPS://Example.com/a b'],
      ['example.com', 'https://example.com/'],
      ['  example.com/x ', 'https://example.com/x'],
      ['bücher.example', 'https://xn--bcher-kva.example/'],
      ['example.com:8080/x', 'https://example.com:8080/x'],
      ['mailto:a@example.com', 'mailto:a@example.com'],
      ['myapp://open/1', 'myapp://open/1'],
    ]) {
      assert.equal((await links.create({ url: given })).url, kept);
    }
    for (const url of [
      'nope',
      'two words.example',
      'javascript:alert(1)',
      'data:text/html,x',
      'https://a.example/\u0001',
    ]) {
      await refusedBody(422, 'url', { url });
    }
    await refusedBody(422, 'url', { url: `https://a.example/${'x'.repeat(32_000)}` });
    await links.refused(400, 'url', 'POST', '/links', {});
    await refusedBody(400, 'url', { url: '' });
    await refusedBody(400, 'url', { url: null });
  });

  test('domain: the primary one, else the shared one; another one must belong to the workspace', async () => {
    assert.equal((await links.create({})).domain, slug);
    assert.equal((await links.create({ domain: slug.toUpperCase() })).domain, slug);
    assert.equal(
      (await links.create({ domain: 'localhost:3000' })).shortLink.slice(0, 23),
      'https://localhost:3000/',
    );
    const other = linkCalls(t, await t.workspace());
    assert.equal((await other.create({})).domain, 'localhost:3000');
    await other.refused(403, undefined, 'POST', '/links', { url: 'https://a.example', domain: slug });
    await refusedBody(403, undefined, { domain: 'nobody.example' });
    await refusedBody(422, 'domain', { domain: `${'d'.repeat(190)}.x` });
  });

  test('key: random of seven characters, or the one given in its stored form', async () => {
    assert.match((await links.create({})).key, /^[0-9A-Za-z]{7}$/);
    assert.match((await links.create({ key: '' })).key, /^[0-9A-Za-z]{7}$/);
    assert.equal((await links.create({ key: '/日本.X/' })).key, 'xn--wgv71a.X');
    assert.equal((await links.create({ key: 'Café', domain: 'localhost:3000' })).key, 'Cafe');
    await refusedBody(422, 'key', { key: 'two words' });
    await refusedBody(422, 'key', { key: 'k'.repeat(191) });
    await refusedBody(403, 'key', { key: 'robots.txt' });
    await refusedBody(409, 'key', { key: 'login', domain: 'localhost:3000' });
    await refusedBody(409, 'key', { key: '_root', domain: 'localhost:3000' });
    await refusedBody(409, 'key', { key: '_root', domain: slug });
  });

  test('key: taken whatever its case, unless the domain tells case apart', async () => {
    await links.create({ key: 'Twice' });
    await refusedBody(409, 'key', { key: 'tWICE' });
    const exact = await links.domain({ caseSensitive: true });
    const first = await links.create({ domain: exact, key: 'Twice' });
    const second = await links.create({ domain: exact, key: 'tWICE' });
    await refusedBody(409, 'key', { domain: exact, key: 'Twice' });
    assert.equal((await links.get(`/links/info?domain=${exact}&key=Twice`)).id, first.id);
    assert.equal((await links.get(`/links/info?domain=${exact}&key=tWICE`)).id, second.id);
  });

  test('keyLength: 3 to 190 characters of a random key', async () => {
    assert.equal((await links.create({ keyLength: 3 })).key.length, 3);
    assert.equal((await links.create({ keyLength: 190 })).key.length, 190);
    assert.equal((await links.create({ keyLength: 20, key: 'chosen' })).key, 'chosen');
    for (const keyLength of [2, 191, 7.5]) await refusedBody(422, 'keyLength', { keyLength });
    await refusedBody(400, 'keyLength', { keyLength: '7' });
  });

  test('prefix: a path in front of a random key', async () => {
    assert.match((await links.create({ prefix: '/c/' })).key, /^c\/[0-9A-Za-z]{7}$/);
    assert.match((await links.create({ prefix: 'a/b', keyLength: 3 })).key, /^a\/b\/[0-9A-Za-z]{3}$/);
    assert.equal((await links.create({ prefix: 'c', key: 'alone' })).key, 'alone');
    await refusedBody(422, 'prefix', { prefix: 'a b' });
    await refusedBody(409, 'prefix', { prefix: 'api', domain: 'localhost:3000' });
  });

  test('externalId: unique in the workspace, without ext_, 1 to 255 characters', async () => {
    assert.equal((await links.create({ externalId: 'ext_one' })).externalId, 'one');
    await refusedBody(409, 'externalId', { externalId: 'one' });
    await refusedBody(409, 'externalId', { externalId: 'ext_one' });
    const other = linkCalls(t, await t.workspace());
    assert.equal((await other.create({ externalId: 'one' })).externalId, 'one');
    for (const externalId of ['', 'ext_', 'e'.repeat(256)])
      await refusedBody(422, 'externalId', { externalId });
    assert.equal((await links.create({ externalId: null })).externalId, null);
  });

  test('tenantId: up to 255 characters', async () => {
    assert.equal((await links.create({ tenantId: 'T-1' })).tenantId, 'T-1');
    assert.equal((await links.create({ tenantId: null })).tenantId, null);
    await refusedBody(422, 'tenantId', { tenantId: 't'.repeat(256) });
  });

  test('programId and partnerId must exist', async () => {
    await refusedBody(404, undefined, { programId: 'prog_unknown' });
    await refusedBody(404, undefined, { partnerId: 'pn_unknown' });
    const { programId, partnerId } = await links.create({ programId: null, partnerId: null });
    assert.deepEqual([programId, partnerId], [null, null]);
  });

  test('the switches are kept', async () => {
    const switches = ['trackConversion', 'archived', 'proxy', 'rewrite', 'doIndex', 'publicStats'];
    for (const name of switches) {
      const link = await links.create({ [name]: true });
      assert.deepEqual(
        switches.filter((other) => link[other]),
        [name],
      );
      await refusedBody(400, name, { [name]: 'true' });
      await refusedBody(400, name, { [name]: null });
    }
  });

  test('tags by id, by name or one by tagId; unknown ones are named and refused', async () => {
    const tag = async (name: string) => (await links.call('POST', '/tags', { name, color: 'red' })).json.id;
    const [a, b, c] = [await tag('Tag A'), await tag('Tag B'), await tag('Tag C')];
    const tagsOf = async (body: Record<string, unknown>) =>
      (await links.create(body)).tags.map((shown: { id: string }) => shown.id);
    assert.deepEqual(await tagsOf({ tagIds: [c, a, c] }), [c, a]);
    assert.deepEqual(await tagsOf({ tagIds: `${b}, ${a}` }), [b, a]);
    assert.deepEqual(await tagsOf({ tagIds: b }), [b]);
    assert.deepEqual(await tagsOf({ tagId: c }), [c]);
    assert.deepEqual(await tagsOf({ tagId: c, tagIds: [a] }), [a]);
    assert.deepEqual(await tagsOf({ tagId: null }), []);
    assert.deepEqual(await tagsOf({ tagNames: ['tag c', 'TAG A', 'Tag A'] }), [c, a]);
    assert.deepEqual(await tagsOf({ tagNames: 'tag b,tag a' }), [b, a]);
    assert.deepEqual(await tagsOf({ tagNames: ['tag a'], tagIds: [b] }), [b]);
    assert.deepEqual(await tagsOf({ tagIds: [] }), []);
    await refusedBody(422, 'tagIds', { tagIds: [a, 'tag_unknown'] });
    await refusedBody(422, 'tagNames', { tagNames: ['nobody'] });
    await refusedBody(422, 'tagId', { tagId: 'tag_unknown' });
    const foreign = await t.request('POST', '/tags', { key: (await t.workspace()).key, body: { name: 'x' } });
    await refusedBody(422, 'tagIds', { tagIds: [foreign.json.id] });
    await refusedBody(422, 'tagIds', { tagIds: Array.from({ length: 101 }, (_, i) => `t${i}`) });
    await refusedBody(400, 'tagIds', { tagIds: 5 });
  });

  test('folderId: a folder of the workspace, empty means none', async () => {
    const { id } = (await links.call('POST', '/folders', { name: 'Q1' })).json;
    assert.equal((await links.create({ folderId: id })).folderId, id);
    assert.equal((await links.create({ folderId: '' })).folderId, null);
    assert.equal((await links.create({ folderId: null })).folderId, null);
    await refusedBody(404, undefined, { folderId: 'fold_unknown' });
    const foreign = await t.request('POST', '/folders', {
      key: (await t.workspace()).key,
      body: { name: 'x' },
    });
    await refusedBody(404, undefined, { folderId: foreign.json.id });
  });

  test('texts are kept, title and description are cut', async () => {
    const texts = {
      comments: 'c\nd',
      video: 'https://v.example/1.mp4',
      password: 'pass word',
      title: 'T',
      description: 'D',
    };
    const link = await links.create(texts);
    for (const [name, text] of Object.entries(texts)) assert.equal(link[name], text, name);
    const long = await links.create({ title: 't'.repeat(20_000), description: 'd'.repeat(241) });
    assert.equal(long.title, `${'t'.repeat(117)}...`);
    assert.equal(long.description, `${'d'.repeat(237)}...`);
    for (const name of Object.keys(texts))
      assert.equal((await links.create({ [name]: null }))[name], null, name);
    assert.equal((await links.create({ password: '' })).password, null);
    await refusedBody(422, 'password', { password: 'p'.repeat(256) });
    await refusedBody(422, 'title', { title: 'a\0b' });
  });

  test('image: a stored file, a web address, or nothing', async () => {
    const { image } = await links.create({ image: PNG, proxy: true });
    assert.match(image, /\/api\/files\/[0-9a-f]{64}\.png$/);
    const file = await t.request('GET', image.slice(image.indexOf('/files/')));
    assert.equal(file.headers.get('content-type'), 'image/png');
    assert.equal(
      (await links.create({ image: 'https://i.example.com/x.png' })).image,
      'https://i.example.com/x.png',
    );
    assert.equal((await links.create({ image: 'nothing' })).image, null);
    await refusedBody(422, 'image', { image: 'http://localhost/x.png' });
    await refusedBody(422, 'image', { image: 'data:image/png;base64,AAAA' });
    await refusedBody(422, 'image', { image: 'data:text/html;base64,AAAA' });
  });

  test('expiresAt: a date in numbers or words, in UTC, at noon when no time is given; the past is fine', async () => {
    for (const [given, kept] of [
      ['2031-03-01T09:00:00Z', '2031-03-01T09:00:00.000Z'],
      ['2031-03-01T09:00:00+02:00', '2031-03-01T07:00:00.000Z'],
      ['2031-03-01', '2031-03-01T12:00:00.000Z'],
      ['Jan 5 2031', '2031-01-05T12:00:00.000Z'],
      ['in 3 days', '2027-01-18T10:00:00.000Z'],
      ['tomorrow at 5pm', '2027-01-16T17:00:00.000Z'],
      ['2001-01-01T00:00:00.000Z', '2001-01-01T00:00:00.000Z'],
      [null, null],
    ]) {
      assert.equal((await links.create({ expiresAt: given })).expiresAt, kept, String(given));
    }
    for (const expiresAt of ['soonish', 'x'.repeat(101), 'in 30000 years'])
      await refusedBody(422, 'expiresAt', { expiresAt });
    await refusedBody(400, 'expiresAt', { expiresAt: 1_900_000_000_000 });
  });

  test('expiredUrl, ios and android: completed like url; empty and dangerous ones are refused', async () => {
    for (const field of ['expiredUrl', 'ios', 'android']) {
      assert.equal((await links.create({ [field]: 'app.example/x' }))[field], 'https://app.example/x');
      assert.equal((await links.create({ [field]: 'myapp://x' }))[field], 'myapp://x');
      assert.equal((await links.create({ [field]: null }))[field], null);
      for (const bad of [
        '',
        'nope',
        'javascript:alert(1)',
        'vbscript:x',
        `https://a.example/${'x'.repeat(32_000)}`,
      ]) {
        await refusedBody(422, field, { [field]: bad });
      }
    }
  });

  test('geo: destinations by country, completed like url', async () => {
    const { geo } = await links.create({ geo: { DE: 'de.example', US: 'https://us.example' } });
    assert.deepEqual(geo, { DE: 'https://de.example/', US: 'https://us.example' });
    assert.equal((await links.create({ geo: {} })).geo, null);
    assert.equal((await links.create({ geo: null })).geo, null);
    await refusedBody(422, 'geo.DE', { geo: { DE: 'file:///etc/passwd' } });
    await refusedBody(422, 'geo.DE', { geo: { DE: '' } });
    const countries = Array.from({ length: 301 }, (_, i) => [`c${i}`, 'https://x.example']);
    await refusedBody(422, 'geo', { geo: Object.fromEntries(countries) });
  });

  test('campaign fields go into the destination and are read back from it', async () => {
    const fields = {
      utm_source: ' s ',
      utm_medium: 'm',
      utm_campaign: 'c',
      utm_term: 't',
      utm_content: 'a+b+c',
    };
    const link = await links.create({ url: 'https://a.example/?utm_source=old&x=1', ...fields, ref: 'r' });
    assert.equal(
      link.url,
      'https://a.example/?utm_source=s&x=1&utm_medium=m&utm_campaign=c&utm_term=t&utm_content=a+b%2Bc&ref=r',
    );
    const { utm_source, utm_medium, utm_campaign, utm_term, utm_content } = link;
    assert.deepEqual(
      [utm_source, utm_medium, utm_campaign, utm_term, utm_content],
      ['s', 'm', 'c', 't', 'a b+c'],
    );
    assert.ok(!('ref' in link));
    const read = await links.create({ url: 'https://a.example?utm_term=T&utm_medium=' });
    assert.deepEqual(
      [read.url, read.utm_term, read.utm_medium],
      ['https://a.example?utm_term=T&utm_medium=', 'T', null],
    );
    for (const field of [...Object.keys(fields), 'ref']) {
      const cleared = await links.create({ url: `https://a.example/?${field}=x&y=1`, [field]: '' });
      assert.equal(cleared.url, 'https://a.example/?y=1');
      await refusedBody(422, field, { [field]: 'u'.repeat(256) });
    }
  });

  test('testVariants: 2 to 4 destinations of 10 to 90 percent, with trackConversion', async () => {
    const dates = { testStartedAt: '2027-01-15T10:00:00Z', testCompletedAt: 'in 7 days' };
    const link = await links.create({ testVariants: VARIANTS, trackConversion: true, ...dates });
    assert.deepEqual(link.testVariants, [VARIANTS[0], { url: 'https://b.example/', percentage: 50 }]);
    assert.equal(link.testStartedAt, '2027-01-15T10:00:00.000Z');
    assert.equal(link.testCompletedAt, '2027-01-22T10:00:00.000Z');
    const variant = (percentage: number, url = 'https://a.example') => ({ url, percentage });
    const accepted = [variant(10), variant(90), variant(33.3), variant(10)];
    assert.equal(
      (await links.create({ testVariants: accepted, trackConversion: true })).testVariants.length,
      4,
    );
    assert.equal((await links.create({ testVariants: null })).testVariants, null);
    await refusedBody(422, 'testVariants', { testVariants: VARIANTS });
    await refusedBody(422, 'testVariants', { testVariants: VARIANTS, trackConversion: false });
    const tracked = (testVariants: unknown[], field: string) =>
      refusedBody(422, field, { testVariants, trackConversion: true });
    await tracked([variant(50)], 'testVariants');
    await tracked(
      Array.from({ length: 5 }, () => variant(20)),
      'testVariants',
    );
    await tracked([variant(9), variant(50)], 'testVariants[0].percentage');
    await tracked([variant(50), variant(91)], 'testVariants[1].percentage');
    await tracked([variant(50), variant(50, 'javascript:x')], 'testVariants[1].url');
    for (const field of ['testStartedAt', 'testCompletedAt'])
      await refusedBody(422, field, { [field]: 'never ever' });
  });

  test('webhookIds must exist', async () => {
    assert.deepEqual((await links.create({ webhookIds: [] })).webhookIds, []);
    assert.deepEqual((await links.create({ webhookIds: null })).webhookIds, []);
    await refusedBody(422, 'webhookIds', { webhookIds: ['wh_unknown'] });
    await refusedBody(422, 'webhookIds', { webhookIds: Array.from({ length: 101 }, (_, i) => `wh_${i}`) });
  });

  test('a link must not point at itself, by any of its destinations', async () => {
    const self = `https://${slug}/self`;
    const variants = [
      { url: 'https://a.example', percentage: 50 },
      { url: self, percentage: 50 },
    ];
    for (const [field, body] of [
      ['url', { url: self }],
      ['url', { url: `http://www.${slug}/SELF?x=1` }],
      ['ios', { ios: self }],
      ['android', { android: self }],
      ['geo.DE', { geo: { DE: self } }],
      ['expiredUrl', { expiredUrl: self }],
      ['testVariants[1].url', { testVariants: variants, trackConversion: true }],
    ] as const) {
      await refusedBody(422, field, { domain: slug, key: 'self', ...body });
    }
    assert.equal((await links.create({ domain: slug, key: 'other', url: self })).url, self);
  });

  test('the plan decides on fields, before the domain and the key are looked at', async () => {
    const free = linkCalls(t, await t.workspace('free'));
    const pro = linkCalls(t, await t.workspace('pro'));
    const business = linkCalls(t, await t.workspace('business'));
    const forPro = {
      proxy: true,
      password: 'x',
      rewrite: true,
      expiresAt: 'tomorrow',
      ios: 'https://a.example',
      android: 'https://a.example',
      geo: { DE: 'https://a.example' },
      doIndex: true,
    };
    for (const [field, value] of Object.entries(forPro)) {
      await free.refused(403, field, 'POST', '/links', {
        url: 'https://a.example',
        [field]: value,
        key: 'a b',
        domain: 'x',
      });
      await pro.create({ [field]: value });
    }
    await free.refused(403, 'folderId', 'POST', '/links', { url: 'https://a.example', folderId: 'fold_x' });
    const forBusiness = { trackConversion: true, testVariants: VARIANTS, webhookIds: ['wh_x'] };
    for (const [field, value] of Object.entries(forBusiness)) {
      await pro.refused(403, field, 'POST', '/links', { url: 'https://a.example', [field]: value });
    }
    await business.create({ trackConversion: true, testVariants: VARIANTS });
    const off = {
      proxy: false,
      password: null,
      expiresAt: null,
      geo: null,
      trackConversion: false,
      webhookIds: [],
      folderId: '',
    };
    await free.create({ ...off, archived: true, publicStats: true, comments: 'c', title: 't' });
    await free.refused(403, 'key', 'POST', '/links', { url: 'https://a.example', key: 'abc' });
    await pro.create({ key: `p${databases.engine.slice(0, 2)}` });
  });

  test('of several reasons to refuse, the first in the documented order is told', async () => {
    const free = linkCalls(t, await t.workspace('free'));
    const business = linkCalls(t, await t.workspace('business'));
    await business.create({ domain: 'localhost:3000', key: 'taken-key', externalId: 'taken' });
    const wrong: [status: number, field: string | undefined, body: Record<string, unknown>][] = [
      [422, 'url', { url: 'nope' }],
      [403, 'password', { password: 'x' }],
      [422, 'testVariants', { testVariants: VARIANTS }],
      [403, undefined, { domain: 'nobody.example' }],
      [422, 'key', { key: 'a b' }],
      [403, 'key', { key: 'robots.txt' }],
      [409, 'key', { key: 'taken-key' }],
      [409, 'externalId', { externalId: 'taken' }],
      [422, 'tagIds', { tagIds: ['tag_x'] }],
      [404, undefined, { folderId: 'fold_x' }],
      [404, 'programId', { programId: 'prog_x' }],
      [422, 'webhookIds', { webhookIds: ['wh_x'] }],
      [422, 'expiresAt', { expiresAt: 'never ever' }],
      [422, 'expiredUrl', { expiredUrl: 'nope' }],
      [422, 'testCompletedAt', { testCompletedAt: 'never ever' }],
    ];
    for (const [index, [status, field]] of wrong.entries()) {
      // Everything that comes later is wrong as well; what is given twice, the earlier one decides.
      const body = Object.assign(
        {},
        ...wrong
          .slice(index)
          .map(([, , part]) => part)
          .reverse(),
      );
      const calls = field === 'password' ? free : business;
      const plan = field === 'password' ? {} : { password: undefined };
      await calls.refused(status, field, 'POST', '/links', { url: 'https://a.example', ...body, ...plan });
    }
  });

  test('the quota is looked at before the body, is exact under many requests at once, and ends with the month', async () => {
    const limited = linkCalls(t, await t.workspace());
    await t.app.services.workspaces.setLimit(limited.ws.id, 'links', 5);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => limited.call('POST', '/links', { url: 'https://a.example' })),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 5);
    assert.equal(replies.filter(({ status }) => status === 403).length, 15);
    for (const body of [{}, '{broken', { url: 'nope' }])
      await limited.refused(403, undefined, 'POST', '/links', body);
    await limited.upsert({ url: 'https://upsert.example' });
    t.clock.advance(31 * 24 * 3_600_000);
    await limited.create({});
  });
});
