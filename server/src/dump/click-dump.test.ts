// Clicks, leads and sales move from one running instance to another and are in its event store: once, with nobody
// counted twice and nobody told.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { EventCounts } from '../analytics/store.ts';
import type { App } from '../app.ts';
import { openConverting } from '../testing/conversion-calls.ts';
import { eachDatabase } from '../testing/databases.ts';
import { exportText, fullRecords, importText, type Line, parseDump, toDump } from '../testing/dumps.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const MINUTE_MS = 60_000;

async function counts({ events }: App): Promise<EventCounts> {
  await events.settle();
  return JSON.parse(await events.pipeline.query('counts')) as EventCounts;
}

const ofType = (text: string, type: string): Line[] => parseDump(text).filter((line) => line.type === type);

eachDatabase('the events of an instance', (databases) => {
  const opened: TestApp[] = [];
  after(async () => {
    for (const t of opened) await t.close();
  });

  async function openRunning(): Promise<TestApp> {
    const t = await openTestApp({ databaseUrl: await databases.place(), env: { PORT: '0' } });
    opened.push(t);
    await t.app.listen();
    return t;
  }

  /** Three clicks of two links, a lead and a sale. */
  async function fill() {
    const first = await openConverting(await databases.place());
    opened.push(first.t);
    const [link, other] = [await first.link(), await first.link()];
    const clickId = await first.click(link);
    for (const each of [link, other]) await first.click(each);
    await first.lead({
      clickId,
      customerExternalId: 'u_1',
      customerName: 'Ada Ray',
      metadata: { plan: 'pro' },
    });
    await first.sale({ customerExternalId: 'u_1', amount: 4900, invoiceId: 'inv_1' });
    await first.t.app.events.settle();
    first.t.clock.advance(2 * MINUTE_MS);
    return { ...first, link, clickId };
  }

  test('come out and go in as they are, and a second import changes nothing', async () => {
    const { t: first, workspace, link } = await fill();
    const text = await exportText(first.app);
    assert.equal(ofType(text, 'click').length, 3);
    for (const type of ['customer', 'lead', 'sale']) assert.equal(ofType(text, type).length, 1, type);
    assert.equal(ofType(text, 'indexedClick').length, 0);

    const second = await openRunning();
    const read = async (path: string) => (await second.request('GET', path, { key: workspace.key })).json;
    for (let time = 1; time <= 2; time++) {
      await importText(second.app, text);
      const { links, ...events } = await counts(second.app);
      assert.deepEqual(events, { clicks: 3, distinctClicks: 3, leads: 1, sales: 1 });
      assert.ok(links >= 2, `${links} links`);
      const { clicks, leads, sales, saleAmount } = await read(`/links/${link.id}`);
      assert.deepEqual([clicks, leads, sales, saleAmount], [2, 1, 1, 4900]);
    }
    second.clock.set(first.clock.now());
    for (const type of ['click', 'customer', 'lead', 'sale', 'conversionKey', 'indexedClick']) {
      assert.deepEqual(ofType(await exportText(second.app), type), ofType(text, type), type);
    }
  });

  test('are what a lead or sale in the other instance goes on from', async () => {
    const { t: first, workspace, clickId } = await fill();
    const second = await openRunning();
    await importText(second.app, await exportText(first.app));
    await second.app.events.settle();
    const post = async (path: string, body: object) => {
      const reply = await second.request('POST', path, { key: workspace.key, body });
      assert.equal(reply.status, 200, reply.text);
      return reply.json;
    };
    const again = { clickId, eventName: 'Sign up', customerExternalId: 'u_1' };
    assert.equal((await post('/track/lead', again)).customer.name, 'Ada Ray');
    await post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId: 'u_2' });
    await post('/track/sale', { customerExternalId: 'u_1', amount: 100, invoiceId: 'inv_1' });
    await post('/track/sale', { customerExternalId: 'u_1', amount: 100, invoiceId: 'inv_2' });
    const { leads, sales } = await counts(second.app);
    assert.deepEqual([leads, sales], [2, 2]);
  });

  test('may have ids of any form, which are found all the same', async () => {
    const second = await openRunning();
    const lines = fullRecords().filter(
      ({ type }) => !['indexedClick', 'lead', 'sale'].includes(String(type)),
    );
    const click = {
      type: 'click',
      id: 'anything 1',
      time: '2024-05-01T10:00:00.123Z',
      workspaceId: 'clx1workspace',
      linkId: 'cllink1',
      url: 'https://example.com/p?utm_source=news',
      country: 'US',
    };
    await importText(second.app, toDump([...lines, click, { ...click, id: 'anything 2' }]));
    assert.equal((await counts(second.app)).clicks, 2);
    const kept = await second.app.db.query
      .selectFrom('click_index')
      .select(['id', 'click'])
      .orderBy('id')
      .execute();
    assert.deepEqual(
      kept.map(({ id }) => id),
      ['anything 1', 'anything 2'],
    );
    assert.equal(JSON.parse(kept[0]?.click as string).utmSource, 'news');
  });

  test('are told to no receiver of webhooks, and carry no name of a person through the journal', async () => {
    const { t: first } = await fill();
    const second = await openTestApp({ databaseUrl: await databases.place() });
    opened.push(second);
    await importText(second.app, await exportText(first.app));
    const rows = await second.app.db.query
      .selectFrom('outbox')
      .select(['type', 'payload', 'webhook'])
      .execute();
    const types = new Set(rows.map(({ type }) => type));
    for (const type of types) assert.match(type, /\.imported$/);
    for (const type of ['links.imported', 'clicks.imported', 'leads.imported', 'sales.imported'])
      assert.ok(types.has(type), type);
    assert.ok(rows.every(({ payload, webhook }) => webhook === null && !payload.includes('Ada Ray')));
  });

  test('come out of an instance that serves nobody, whether they are in its event store or on their way', async () => {
    const { t: first } = await fill();
    const text = await exportText(first.app);
    const second = await openTestApp({ databaseUrl: await databases.place() });
    opened.push(second);
    await importText(second.app, text);
    assert.deepEqual(ofType(await exportText(second.app), 'click'), ofType(text, 'click'));
  });

  test('leave pictures of people as they are: each a file of its own', async () => {
    const [first, second] = [
      await openTestApp({ databaseUrl: await databases.place() }),
      await openTestApp({ databaseUrl: await databases.place() }),
    ];
    opened.push(first, second);
    const { key } = await first.workspace();
    const body = {
      country: 'US',
      avatar: `data:image/png;base64,${ofType(toDump(fullRecords()), 'file')[0]?.content}`,
    };
    for (const externalId of ['a', 'b'])
      await first.request('POST', '/customers', { key, body: { ...body, externalId } });
    first.clock.advance(2 * MINUTE_MS);
    second.clock.advance(2 * MINUTE_MS);
    await importText(second.app, await exportText(first.app));
    const avatars = async (t: TestApp): Promise<string[]> =>
      (await t.request('GET', '/customers', { key })).json.map(({ avatar }: { avatar: string }) => avatar);
    assert.deepEqual(await avatars(second), await avatars(first));
    assert.equal(new Set(await avatars(second)).size, 2);
    for (const url of await avatars(second)) assert.ok(await second.app.services.files.findContent(url));
  });

  test('that name no workspace are refused with their line', async () => {
    const second = await openTestApp({ databaseUrl: await databases.place() });
    opened.push(second);
    const click = {
      type: 'click',
      id: 'a',
      time: '2024-05-01T10:00:00.123Z',
      workspaceId: 'ws_none',
      linkId: 'l',
    };
    await assert.rejects(
      importText(second.app, toDump([click])),
      /Line 2 \(click\) field workspaceId: there is no/,
    );
    const { time: _time, ...timeless } = click;
    await assert.rejects(
      importText(second.app, toDump([timeless])),
      /Line 2 \(click\) field time: must be a time/,
    );
    await assert.rejects(
      importText(second.app, toDump([{ ...click, other: 1 }])),
      /field other: is not a field/,
    );
  });
});
