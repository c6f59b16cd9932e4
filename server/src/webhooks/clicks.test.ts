// Clicks as receivers hear of them: one envelope per click that is recorded, for those who asked for it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createEventEncoder } from '../events/event.ts';
import { rawClick } from '../testing/click-records.ts';
import { converting } from '../testing/conversion-calls.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { BROWSER } from '../testing/visitors.ts';
import { RECEIVERS_ALLOWED, type Shown, type WebhookCalls, webhookCalls } from '../testing/webhook-calls.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../testing/webhook-receiver.ts';

const encoder = createEventEncoder();
let made = 0;

eachDatabase('clicks', (databases) => {
  let t: TestApp;
  let receiver: WebhookReceiver;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: RECEIVERS_ALLOWED });
    receiver = await openWebhookReceiver();
    t.app.events.start();
  });
  after(async () => {
    await receiver.close();
    await t.close();
  });

  async function click(link: Shown, count = 1): Promise<void> {
    const written = Array.from({ length: count }, () => {
      made += 1;
      const fields = { linkId: link.id, workspaceId: link.workspaceId, timeMs: t.clock.now() };
      return t.app.visits.journal.append(encoder.click(rawClick(made, fields)));
    });
    assert.ok((await Promise.all(written)).every(Boolean));
  }

  async function open(): Promise<WebhookCalls> {
    return webhookCalls(t, await t.workspace('business'));
  }

  const hear = (hooks: WebhookCalls, path: string, fields: object) =>
    hooks.create({ url: `${receiver.url}/${path}`, triggers: ['link.clicked'], ...fields });

  /** What has come in since the last time, by path: the ids of the links. */
  async function heard(): Promise<Record<string, string[]>> {
    receiver.received.length = 0;
    await t.app.events.settle();
    await t.app.services.webhookFlow.run();
    const byPath = Map.groupBy(receiver.received, ({ path }) => path.slice('/hook/'.length));
    return Object.fromEntries(
      [...byPath].map(([path, all]) => [path, all.map(({ json }) => json.data.link.id)]),
    );
  }

  test('are one envelope each, with the click as it is kept and the link as it is then', async () => {
    const hooks = await open();
    await hear(hooks, 'all', { linkScope: 'workspace' });
    const link = await hooks.links.create({ title: 'Heard' });
    await click(link, 3);
    assert.deepEqual(await heard(), { all: [link.id, link.id, link.id] });
    const envelopes = receiver.received.map(({ json }) => json);
    assert.equal(new Set(envelopes.map(({ id }) => id)).size, 3);
    assert.equal(new Set(envelopes.map(({ data }) => data.click.id)).size, 3);
    const [{ event, data }] = envelopes;
    assert.equal(event, 'link.clicked');
    assert.deepEqual(Object.keys(data), ['click', 'link']);
    const { id, timestamp, url, ...rest } = data.click;
    assert.deepEqual(
      [timestamp, url.startsWith('https://example.com/')],
      [new Date(t.clock.now()).toISOString(), true],
    );
    assert.deepEqual(
      Object.keys({ id, ...rest }).toSorted(),
      'browser city continent country device id ip os qr referer refererUrl region trigger ua'.split(' '),
    );
    // After they were counted.
    assert.deepEqual(data.link, await hooks.get(`/links/${link.id}`));
    assert.equal(data.link.clicks, 3);
  });

  test('reach those whose scope they are in, as links are now', async () => {
    const hooks = await open();
    const folder = await hooks.post('/folders', { name: 'Heard' });
    const [single, inside, other] = [
      await hooks.links.create({}),
      await hooks.links.create({ folderId: folder.id }),
      await hooks.links.create({}),
    ];
    await hear(hooks, 'single', { linkScope: 'links', linkIds: [single.id] });
    await hear(hooks, 'folder', { linkScope: 'folders', folderIds: [folder.id] });
    const all = await hear(hooks, 'all', { linkScope: 'workspace' });
    await hear(await open(), 'foreign', { linkScope: 'workspace' });
    for (const link of [single, inside, other]) await click(link);
    assert.deepEqual(await heard(), {
      single: [single.id],
      folder: [inside.id],
      all: [single.id, inside.id, other.id],
    });
    await hooks.post(`/webhooks/${all.id}/disable`);
    await hooks.links.update(other.id, { folderId: folder.id });
    await hooks.links.update(inside.id, { folderId: null });
    for (const link of [single, inside, other]) await click(link);
    assert.deepEqual(await heard(), { single: [single.id], folder: [other.id] });
  });

  test('are told once, also when the pipeline starts again', async () => {
    const hooks = await open();
    await hear(hooks, 'all', { linkScope: 'workspace' });
    const link = await hooks.links.create({});
    await click(link, 50);
    await t.app.events.settle();
    await t.app.events.pipeline.failThread();
    await click(link, 50);
    const got = await heard();
    assert.equal(got.all?.length, 100);
    assert.equal(new Set(receiver.received.map(({ json }) => json.data.click.id)).size, 100);
  });

  test('of a customer who is erased are blanked in the log, and not sent again', async () => {
    const c = await converting(t);
    const hooks = webhookCalls(t, c.workspace);
    const hook = await hear(hooks, 'erased', { linkScope: 'workspace' });
    const link = await c.link();
    // Of an address whose visitor's privacy does not already keep it out.
    const headers = { 'user-agent': BROWSER };
    const body = { domain: link.domain, key: link.key };
    const report = (ip: string) => t.request('POST', '/track/click', { body, headers, ip });
    const { clickId } = (await report('8.8.8.8')).json;
    const { clickId: other } = (await report('8.8.4.4')).json;
    await c.lead({ clickId, customerExternalId: 'gone' });
    assert.deepEqual(await heard(), { erased: [link.id, link.id] });
    const log = async () => JSON.stringify(await hooks.get(`/webhooks/${hook.id}/events`));
    assert.ok((await log()).includes('8.8.8.8'));
    await c.call('DELETE', '/customers/ext_gone');
    const kept = await log();
    assert.ok(!kept.includes(clickId) && !kept.includes('8.8.8.8'));
    assert.ok(kept.includes(other) && kept.includes('8.8.4.4'));
    const replays = (await hooks.deliveries(hook.id)).map(({ id }) =>
      hooks.call('POST', `/webhooks/${hook.id}/deliveries/${id}/replay`),
    );
    assert.deepEqual((await Promise.all(replays)).map(({ status }) => status).toSorted(), [202, 409]);
    assert.deepEqual(await heard(), { erased: [link.id] });
    assert.equal(receiver.received[0]?.json.data.click.id, other);
  });

  test('are not told beyond what the operator allows, below the plan, or of links that are gone', async () => {
    const [capped, low, gone] = [await open(), await open(), await open()];
    const links: Shown[] = [];
    for (const hooks of [capped, low, gone]) {
      await hear(hooks, hooks.ws.id, { linkScope: 'workspace' });
      links.push(await hooks.links.create({}));
    }
    const [first, second, third] = links;
    await t.app.services.workspaces.setLimit(capped.ws.id, 'events', 2);
    await t.app.services.workspaces.setPlan(low.ws.id, 'pro');
    await gone.call('DELETE', `/links/${third.id}`);
    await click(first, 2);
    assert.deepEqual(await heard(), { [capped.ws.id]: [first.id, first.id] });
    for (const link of [first, second, third]) await click(link);
    assert.deepEqual(await heard(), {});
  });
});
