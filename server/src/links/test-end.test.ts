import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type LinkCalls, linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { createLinkStore } from './link.store.ts';
import type { Link } from './link.ts';
import { createRecordLinks } from './link-events.ts';
import { createTestEnd, type TestEndParts } from './test-end.ts';

const [A, B, C] = ['https://a.example/?utm_source=a', 'https://b.example/', 'https://c.example/'] as const;
const NEVER = new AbortController().signal;

eachDatabase('the end of A/B tests', (databases) => {
  let t: TestApp;
  let links: LinkCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    links = linkCalls(t, await t.workspace());
  };

  /** One node; its leads are those given by destination, the same for all links or by the link. */
  function node(
    leads: Record<string, number> | TestEndParts['leadsByUrl'],
    parts: Partial<TestEndParts> = {},
  ) {
    const { db, clock, config } = t.app;
    const record = createRecordLinks({ db, clock, publicUrl: config.publicUrl });
    const leadsByUrl = typeof leads === 'function' ? leads : async () => new Map(Object.entries(leads));
    return createTestEnd({ db, store: createLinkStore(db), record, clock, leadsByUrl, ...parts });
  }

  const create = (fields: Record<string, unknown> = {}) =>
    links.create({
      url: 'https://start.example/',
      trackConversion: true,
      testVariants: [A, B, C].map((url) => ({ url, percentage: 33 })),
      testCompletedAt: 'in 1 hour',
      ...fields,
    });
  const hourLater = () => t.clock.advance(3_600_000);

  test('the destination with the most leads becomes the link’s own, once, and that is told', async () => {
    await fresh();
    const link = await create();
    await links.newEvents();
    const { endTests } = node({ [A]: 3, [B]: 2 });
    await endTests(NEVER);
    assert.deepEqual(await links.get(`/links/${link.id}`), link, 'nothing happens before its time');
    hourLater();
    await endTests(NEVER);
    const ended = await links.get(`/links/${link.id}`);
    assert.deepEqual([ended.url, ended.utm_source], [A, 'a']);
    assert.notEqual(ended.updatedAt, link.updatedAt);
    assert.deepEqual(await links.newEvents(), [['link.updated', ended]]);
    await node({ [B]: 9 }).endTests(NEVER);
    assert.deepEqual(await links.get(`/links/${link.id}`), ended);
    assert.deepEqual(await links.newEvents(), []);
  });

  test('without leads the destination stays, and the test is over all the same', async () => {
    await fresh();
    const link = await create();
    hourLater();
    await node({}).endTests(NEVER);
    await node({ [A]: 1 }).endTests(NEVER);
    assert.equal((await links.get(`/links/${link.id}`)).url, 'https://start.example/');
    assert.equal((await links.newEvents()).length, 2);
  });

  test('of several with as many leads one is taken by chance, and never another', async () => {
    await fresh();
    await Promise.all(Array.from({ length: 30 }, () => create()));
    hourLater();
    await node({ [A]: 5, [B]: 5, [C]: 4 }).endTests(NEVER);
    const urls = new Set((await links.get('/links')).map((link: { url: string }) => link.url));
    assert.deepEqual(urls, new Set([A, B]));
  });

  test('tests without an end, and links without a test, are left alone', async () => {
    await fresh();
    const endless = await create({ testCompletedAt: null });
    const plain = await create({ testVariants: null });
    hourLater();
    await node({ [A]: 5 }).endTests(NEVER);
    assert.deepEqual(await links.get(`/links/${endless.id}`), endless);
    assert.deepEqual(await links.get(`/links/${plain.id}`), plain);
  });

  test('a test that is set up anew ends anew', async () => {
    await fresh();
    const link = await create();
    hourLater();
    await node({ [A]: 1 }).endTests(NEVER);
    await links.update(link.id, { testCompletedAt: 'in 1 hour' });
    hourLater();
    await node({ [B]: 1 }).endTests(NEVER);
    assert.equal((await links.get(`/links/${link.id}`)).url, B);
  });

  test('two nodes at once end each of many tests once, in small batches', async () => {
    await fresh();
    await Promise.all(Array.from({ length: 25 }, () => create()));
    await links.newEvents();
    hourLater();
    const nodes = [node({ [A]: 1 }, { batchSize: 4 }), node({ [B]: 1 }, { batchSize: 7 })];
    await Promise.all(nodes.map(({ endTests }) => endTests(NEVER)));
    const told = await links.newEvents();
    assert.equal(told.length, 25);
    assert.equal(new Set(told.map(([, link]) => link.id)).size, 25);
    const shown = new Map(
      (await links.get('/links')).map((link: { id: string; url: string }) => [link.id, link.url]),
    );
    for (const [, link] of told) assert.equal(link.url, shown.get(link.id));
  });

  test('a test that changes while its leads are counted is not ended by the old count', async () => {
    await fresh();
    const link = await create();
    hourLater();
    const { endTests } = node(async () => {
      await links.update(link.id, { testCompletedAt: 'in 1 hour' });
      return new Map([[A, 1]]);
    });
    await endTests(NEVER);
    assert.equal((await links.get(`/links/${link.id}`)).url, 'https://start.example/');
  });

  test('one that fails does not hold up the others, and is tried again', async () => {
    await fresh();
    const made = await Promise.all(Array.from({ length: 5 }, () => create()));
    const broken = made[2]?.id;
    hourLater();
    const leads = async ({ id }: Link) =>
      id === broken ? Promise.reject(new Error('no leads')) : new Map([[A, 1]]);
    await assert.rejects(node(leads, { batchSize: 2 }).endTests(NEVER), /1 A\/B tests could not be ended/);
    const ended = (await links.get('/links')).filter((link: { url: string }) => link.url === A);
    assert.equal(ended.length, 4);
    await node({ [B]: 1 }).endTests(NEVER);
    assert.equal((await links.get(`/links/${broken}`)).url, B);
  });

  test('a node that is told to stop leaves the rest to others', async () => {
    await fresh();
    await create();
    hourLater();
    const stop = new AbortController();
    stop.abort();
    await node({ [A]: 1 }).endTests(stop.signal);
    assert.equal((await links.get('/links'))[0].url, 'https://start.example/');
  });

  test('the application ends tests by itself', async () => {
    await fresh();
    await t.app.jobs.tick();
    await create();
    await links.newEvents();
    hourLater();
    await t.app.jobs.tick();
    assert.deepEqual(
      (await links.newEvents()).map(([type]) => type),
      ['link.updated'],
    );
  });
});
