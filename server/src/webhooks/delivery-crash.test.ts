// Delivery when nodes die, restart or work side by side, and towards addresses that change their mind.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { App } from '../app.ts';
import { appendOutbox } from '../db/outbox.ts';
import { createGuardedFetch, type GuardedFetch } from '../kernel/guarded-fetch.ts';
import { createIds } from '../kernel/ids.ts';
import { silentLog } from '../kernel/log.ts';
import { eachDatabase, onPostgres } from '../testing/databases.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { RECEIVERS_ALLOWED, webhookCalls } from '../testing/webhook-calls.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../testing/webhook-receiver.ts';
import { createDeliver, type DeliverParts } from './deliver.ts';
import { createWebhookStore } from './webhook.store.ts';
import { MAX_ATTEMPTS } from './webhook.ts';
import { createWebhookQueueStore } from './webhook-queue.store.ts';

const LEASE_MS = 60_000;
const opened: TestApp[] = [];
const receivers: WebhookReceiver[] = [];
const folders: string[] = [];
after(async () => {
  for (const receiver of receivers) await receiver.close();
  for (const t of opened) await t.close();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function openNode(databaseUrl: string): Promise<TestApp> {
  const t = await openTestApp({ databaseUrl, env: RECEIVERS_ALLOWED });
  opened.push(t);
  t.app.events.start();
  return t;
}

async function openReceiver(): Promise<WebhookReceiver> {
  const receiver = await openWebhookReceiver();
  receivers.push(receiver);
  return receiver;
}

/** A way to deliver on the stores of an app, over another network. */
function deliverBy({ db, clock }: App, fetch: GuardedFetch, options: Partial<DeliverParts> = {}) {
  return createDeliver({
    db,
    store: createWebhookQueueStore(db),
    webhooks: createWebhookStore(db),
    fetch,
    clock,
    ids: createIds(clock),
    log: silentLog,
    ...options,
  });
}

eachDatabase('a node', (databases) => {
  test('that dies after a message was sent leaves it to be sent again, once its lease is over', async () => {
    const t = await openNode(await databases.place());
    const receiver = await openReceiver();
    const hooks = webhookCalls(t, await t.workspace());
    const hook = await hooks.create({ url: receiver.url });
    await hooks.links.create({});
    await t.app.events.relay();
    const network = createGuardedFetch({ allowPrivate: ['127.0.0.1'] });
    const { promise: dead, reject: die } = Promise.withResolvers<never>();
    // It hears the answer and never gets to writing it down; nor does it end its lease.
    const dying = deliverBy(t.app, async (url, request) => {
      await network(url, request);
      return dead;
    })(hook.id);
    await receiver.waitFor(1);
    await t.app.services.webhookFlow.run();
    assert.equal(receiver.received.length, 1, 'while the lease lasts nobody else delivers');
    t.clock.advance(LEASE_MS);
    await t.app.services.webhookFlow.run();
    assert.equal(receiver.received.length, 2);
    assert.equal(receiver.received[0]?.body, receiver.received[1]?.body);
    die(new Error('dead'));
    await assert.rejects(dying, /dead/);
    await t.app.services.webhookFlow.run();
    assert.deepEqual(
      (await hooks.deliveries(hook.id)).map(({ state }) => state),
      ['delivered'],
    );
  });

  test('that stops at any moment loses nothing and skips nothing', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'linktrail-'));
    const databaseUrl = await databases.place();
    const env = { ...RECEIVERS_ALLOWED, LINKTRAIL_DATA_DIR: dataDir, LINKTRAIL_DRAIN_MS: '0' };
    const first = await openTestApp({ databaseUrl, env });
    const receiver = await openReceiver();
    const hooks = webhookCalls(first, await first.workspace());
    await hooks.create({ url: receiver.url });
    first.app.events.start();
    for (let i = 0; i < 20; i += 1) await hooks.links.create({});
    await first.app.events.relay();
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    receiver.behave((response) => void held.then(() => response.end()));
    first.app.services.webhookFlow.start();
    await receiver.waitFor(16);
    // Sixteen are under way, four are queued, and these are still in the outbox.
    for (let i = 0; i < 20; i += 1) await hooks.links.create({});
    await first.close();
    letGo();
    const second = await openTestApp({ databaseUrl, env });
    opened.push(second);
    folders.push(dataDir);
    second.clock.set(first.clock.now() + LEASE_MS);
    second.app.events.start();
    receiver.behave(200);
    await second.app.events.relay();
    await second.app.services.webhookFlow.run();
    const waiting = await second.app.db.query
      .selectFrom('webhook_delivery')
      .select('id')
      .where('state', '<>', 'delivered')
      .execute();
    assert.deepEqual(waiting, []);
    assert.equal(new Set(receiver.received.map(({ json }) => json.data.id)).size, 40);
    assert.ok(receiver.received.length >= 40);
  });
});

onPostgres('several nodes', (databases) => {
  test('deliver each message once, whichever of them was told', async () => {
    const databaseUrl = await databases.place();
    const nodes = [await openNode(databaseUrl), await openNode(databaseUrl), await openNode(databaseUrl)];
    const [one] = nodes as [TestApp];
    const hooks = webhookCalls(one, await one.workspace());
    const made = await Promise.all([openReceiver(), openReceiver(), openReceiver()]);
    for (const [i, { url }] of made.entries()) await hooks.create({ url: `${url}/${i}` });
    const tell = (n: number) =>
      one.app.db.write((trx) =>
        appendOutbox(
          trx,
          Array.from({ length: 50 }, (_, i) => ({
            workspaceId: hooks.ws.id,
            type: 'link.created',
            payload: { id: `${n}-${i}` },
          })),
          one.clock.now(),
        ),
      );
    for (let n = 0; n < 4; n += 1) {
      await tell(n);
      await Promise.all(
        nodes.map(async ({ app }) => {
          await app.events.relay();
          await app.services.webhookFlow.run();
        }),
      );
    }
    for (const { app } of nodes) await app.services.webhookFlow.run();
    for (const { received } of made) {
      assert.equal(received.length, 200);
      assert.equal(new Set(received.map(({ json }) => json.data.id)).size, 200);
      assert.equal(new Set(received.map(({ json }) => json.id)).size, 200);
    }
  });
});

test('a receiver that answers slowly gives up its place after a while, and goes on later', async () => {
  const t = await openTestApp({ env: RECEIVERS_ALLOWED });
  opened.push(t);
  const receiver = await openReceiver();
  receiver.behave((response) => {
    t.clock.advance(1_000);
    response.end();
  });
  const hooks = webhookCalls(t, await t.workspace());
  const hook = await hooks.create({ url: receiver.url });
  for (let i = 0; i < 20; i += 1) await hooks.post(`/webhooks/${hook.id}/test`, { trigger: 'link.created' });
  const deliver = deliverBy(t.app, createGuardedFetch({ allowPrivate: ['127.0.0.1'] }));
  assert.equal(await deliver(hook.id), true);
  assert.equal(receiver.received.length, 16, 'one group took the whole turn');
  assert.equal(await deliver(hook.id), true);
  assert.equal(receiver.received.length, 20);
});

test('whoever waits for a message to arrive is told when it has, or never will', async () => {
  const t = await openTestApp({ env: RECEIVERS_ALLOWED });
  opened.push(t);
  const receiver = await openReceiver();
  const hooks = webhookCalls(t, await t.workspace());
  const hook = await hooks.create({ url: receiver.url });
  const settled: string[] = [];
  const deliver = deliverBy(t.app, createGuardedFetch({ allowPrivate: ['127.0.0.1'] }), {
    onSettled: {
      'payout.confirmed': async (workspaceId, body, outcome) => {
        settled.push(`${workspaceId === hooks.ws.id} ${JSON.parse(body).data.id} ${outcome}`);
      },
    },
  });
  const send = (trigger: string) => hooks.post(`/webhooks/${hook.id}/test`, { trigger });
  await send('payout.confirmed');
  await send('sale.created');
  await deliver(hook.id);
  assert.deepEqual(settled, ['true po_sample delivered']);
  receiver.behave(400);
  await send('payout.confirmed');
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    assert.equal(settled.length, 1, `before attempt ${attempt}`);
    await deliver(hook.id);
    t.clock.advance(2 * 24 * 3_600_000);
  }
  assert.deepEqual(settled.slice(1), ['true po_sample failed']);
});

test('a started server delivers by itself, and says how that goes', async () => {
  const t = await openTestApp({ env: { ...RECEIVERS_ALLOWED, PORT: '0', LINKTRAIL_HOST: '127.0.0.1' } });
  opened.push(t);
  const receiver = await openReceiver();
  const hooks = webhookCalls(t, await t.workspace());
  await hooks.create({ url: receiver.url });
  await t.app.listen();
  const link = await hooks.links.create({});
  await receiver.waitFor(1);
  assert.equal(receiver.received[0]?.json.data.id, link.id);
  await t.app.services.webhookFlow.health.check();
  // The outcome is counted when it is stored, which is after the receiver has its message.
  await t.app.services.webhookFlow.stop();
  assert.match(await t.app.metrics.text(), /linktrail_webhook_attempts_total\{outcome="delivered"\} 1/);
});

describe('an address', () => {
  const answering = (...addresses: string[]): LookupFunction => {
    let asked = 0;
    return (_name, _options, callback) => {
      const address = addresses[Math.min(asked, addresses.length - 1)] as string;
      asked += 1;
      callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
    };
  };

  for (const address of [
    '127.0.0.1',
    '10.0.0.7',
    '169.254.169.254',
    '::1',
    '::ffff:192.168.0.1',
    'fe80::1',
  ]) {
    test(`that leads to ${address} by the time of delivery gets nothing, and the log says why`, async () => {
      const t = await openTestApp();
      opened.push(t);
      const hooks = webhookCalls(t, await t.workspace());
      const hook = await hooks.create({ url: 'http://turncoat.example/hook' });
      await hooks.post(`/webhooks/${hook.id}/test`, { trigger: 'link.created' });
      const fetch = createGuardedFetch({ allowPrivate: [], lookup: answering(address) });
      assert.equal(await deliverBy(t.app, fetch)(hook.id), true);
      const [attempt] = await hooks.get(`/webhooks/${hook.id}/events`);
      assert.equal(attempt.http_status, 503);
      assert.match(attempt.response_body, /not an address on the public Internet/);
    });
  }

  test('that does not answer in time has failed', async () => {
    const t = await openTestApp({ env: RECEIVERS_ALLOWED });
    opened.push(t);
    const receiver = await openReceiver();
    receiver.behave(() => {});
    const hooks = webhookCalls(t, await t.workspace());
    const hook = await hooks.create({ url: receiver.url });
    await hooks.post(`/webhooks/${hook.id}/test`, { trigger: 'link.created' });
    await deliverBy(t.app, createGuardedFetch({ allowPrivate: ['127.0.0.1'] }), { timeoutMs: 50 })(hook.id);
    const [attempt] = await hooks.get(`/webhooks/${hook.id}/events`);
    assert.deepEqual([attempt.http_status, attempt.response_body], [503, 'The answer took too long.']);
  });
});
