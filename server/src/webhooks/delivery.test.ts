// Delivery against real receivers that behave badly: at least once, in bounded memory, nobody held by another,
// and all that failed can be sent again by hand. Time is the clock of the test.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { Log } from '../kernel/log.ts';
import { silentLog } from '../kernel/log.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { RECEIVERS_ALLOWED, type Shown, type WebhookCalls, webhookCalls } from '../testing/webhook-calls.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../testing/webhook-receiver.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

eachDatabase('delivery', (databases) => {
  let t: TestApp;
  const warnings: { webhook?: string; message: string }[] = [];
  const log: Log = { ...silentLog, warn: (fields, message) => void warnings.push({ ...fields, message }) };
  const warningsOf = ({ id }: Shown) => warnings.filter(({ webhook }) => webhook === id);
  const receivers: WebhookReceiver[] = [];
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: RECEIVERS_ALLOWED, log });
    // Receivers check how old a message is.
    t.clock.set(Date.now());
    t.app.events.start();
  });
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) await receiver.close();
  });
  after(() => t.close());

  /** A workspace with one webhook and its receiver. */
  async function open(fields: Record<string, unknown> = {}) {
    const receiver = await openWebhookReceiver();
    receivers.push(receiver);
    const hooks = webhookCalls(t, await t.workspace('business'));
    const hook = await hooks.create({ url: receiver.url, triggers: ['link.created'], ...fields });
    return { receiver, hooks, hook };
  }

  async function link(hooks: WebhookCalls, count = 1): Promise<Shown[]> {
    const links: Shown[] = [];
    for (let i = 0; i < count; i += 1) links.push(await hooks.links.create({ title: `Link ${i}` }));
    return links;
  }

  const state = async (hooks: WebhookCalls, hook: Shown) => {
    const { disabledReason, consecutiveFailures } = await hooks.get(`/webhooks/${hook.id}`);
    return { disabledReason, consecutiveFailures };
  };
  const counted = (deliveries: Shown[]) =>
    Object.fromEntries(
      [...Map.groupBy(deliveries, (each) => each.state as string)].map(([name, all]) => [name, all.length]),
    );

  describe('a message', () => {
    test('is the envelope of the event, signed in both schemes', async () => {
      const { receiver, hooks, hook } = await open();
      const [made] = await link(hooks);
      await hooks.deliver();
      assert.equal(receiver.received.length, 1);
      const [{ headers, body, json } = assert.fail()] = receiver.received;
      assert.deepEqual(Object.keys(json), ['id', 'event', 'createdAt', 'data']);
      assert.match(json.id, /^evt_[0-9A-Za-z]{25}$/);
      assert.equal(json.event, 'link.created');
      assert.deepEqual(json.data, made);
      assert.equal(headers['content-type'], 'application/json');
      assert.equal(headers['dub-signature'], createHmac('sha256', hook.secret).update(body).digest('hex'));
      assert.equal(headers['webhook-id'], json.id);
      new StandardWebhook(hook.secret).verify(body, headers as Record<string, string>);
    });

    test('is signed with both secrets while they overlap', async () => {
      const { receiver, hooks, hook } = await open();
      const { secret } = await hooks.post(`/webhooks/${hook.id}/rotate-secret`, { overlapHours: 1 });
      await link(hooks);
      await hooks.deliver();
      const [{ headers, body } = assert.fail()] = receiver.received;
      for (const each of [secret, hook.secret])
        new StandardWebhook(each).verify(body, headers as Record<string, string>);
      assert.equal(headers['dub-signature'], createHmac('sha256', secret).update(body).digest('hex'));
    });

    test('goes to everybody who hears of its event under one id, and to nobody else', async () => {
      const { receiver, hooks } = await open();
      const second = await open();
      const other = await openWebhookReceiver();
      receivers.push(other);
      await hooks.create({ url: `${other.url}/same`, triggers: ['link.created', 'link.deleted'] });
      await hooks.create({ url: `${other.url}/deaf`, triggers: ['link.deleted'] });
      await link(hooks);
      await hooks.deliver();
      assert.deepEqual(
        other.received.map(({ path, json }) => [path, json.id]),
        [['/hook/same', receiver.received[0]?.json.id]],
      );
      assert.equal(second.receiver.received.length, 0);
    });

    test('comes of every change, in bulk too', async () => {
      const { receiver, hooks } = await open({ triggers: ['link.created', 'link.updated', 'link.deleted'] });
      const { json: made } = await hooks.call(
        'POST',
        '/links/bulk',
        Array.from({ length: 3 }, (_, i) => ({ url: `https://example.com/${i}` })),
      );
      const linkIds = made.map(({ id }: Shown) => id);
      await hooks.call('PATCH', '/links/bulk', { linkIds, data: { comments: 'Changed' } });
      await hooks.call('DELETE', `/links/bulk?linkIds=${linkIds.join(',')}`);
      await hooks.deliver();
      const events = Map.groupBy(receiver.received, ({ json }) => json.event as string);
      assert.deepEqual([...events].map(([name, all]) => [name, all.length]).toSorted(), [
        ['link.created', 3],
        ['link.deleted', 3],
        ['link.updated', 3],
      ]);
    });

    test('is sent by workspaces with the plan for it only', async () => {
      const { receiver, hooks } = await open();
      await t.app.services.workspaces.setPlan(hooks.ws.id, 'pro');
      await link(hooks);
      await hooks.deliver();
      assert.equal(receiver.received.length, 0);
    });

    test('of every event can be tried out', async () => {
      const { receiver, hooks, hook } = await open();
      const { TRIGGERS } = await import('./webhook.ts');
      for (const trigger of TRIGGERS) {
        const queued = await hooks.post(`/webhooks/${hook.id}/test`, { trigger });
        assert.deepEqual([queued.event, queued.state], [trigger, 'waiting']);
      }
      await hooks.deliver();
      assert.deepEqual(receiver.received.map(({ json }) => json.event).toSorted(), [...TRIGGERS].sort());
      await hooks.refused(422, 'trigger', 'POST', `/webhooks/${hook.id}/test`, { trigger: 'link.opened' });
    });
  });

  describe('a receiver', () => {
    test('that is down gets everything once it is back, the same bytes at every attempt', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave(500);
      const [first] = await link(hooks);
      await hooks.deliver();
      await receiver.goDown();
      t.clock.advance(MINUTE_MS);
      const more = await link(hooks, 30);
      await hooks.deliver();
      assert.equal((await state(hooks, hook)).consecutiveFailures, 2);
      receiver.behave(200);
      await receiver.comeBack();
      t.clock.advance(HOUR_MS);
      await hooks.deliver();
      const got = receiver.received.map(({ json }) => json.data.id);
      assert.deepEqual(new Set(got), new Set([first.id, ...more.map(({ id }) => id)]));
      assert.equal(receiver.received.length, 32);
      const same = receiver.received.filter(({ json }) => json.data.id === first.id);
      assert.equal(same.length, 2);
      assert.equal(new Set(same.map(({ body }) => body)).size, 1);
      assert.deepEqual(await state(hooks, hook), { disabledReason: null, consecutiveFailures: 0 });
      assert.deepEqual(counted(await hooks.deliveries(hook.id)), { delivered: 31 });
    });

    test('that fails is tried again after 12 s, 2 min 28 s, 30 min and 6 h, never before', async () => {
      const { receiver, hooks } = await open();
      receiver.behave(503);
      await link(hooks);
      await hooks.deliver();
      for (const [n, seconds] of [12, 148, 1_808, 22_026, 86_400].entries()) {
        t.clock.advance(seconds * SECOND_MS - 1);
        await hooks.deliver();
        assert.equal(receiver.received.length, n + 1, `before ${seconds} s`);
        // A tenth at most is added by chance.
        t.clock.advance(seconds * SECOND_MS * 0.1 + SECOND_MS);
        await hooks.deliver();
        assert.equal(receiver.received.length, n + 2, `after ${seconds} s`);
      }
    });

    test('that is slow holds nobody else', async () => {
      const slow = await open();
      const quick = await open();
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      slow.receiver.behave((response) => void held.then(() => response.end()));
      await link(slow.hooks, 20);
      await link(quick.hooks, 20);
      await t.app.events.relay();
      const running = t.app.services.webhookFlow.run();
      await quick.receiver.waitFor(20);
      assert.equal(counted(await slow.hooks.deliveries(slow.hook.id)).delivered, undefined);
      letGo();
      await running;
      assert.deepEqual(counted(await slow.hooks.deliveries(slow.hook.id)), { delivered: 20 });
      assert.ok(slow.receiver.mostAtOnce <= 16, `${slow.receiver.mostAtOnce} at once`);
    });

    test('that redirects has failed, and the other address hears nothing', async () => {
      const { receiver, hooks, hook } = await open();
      const elsewhere = await open();
      for (const status of [301, 302, 307, 308]) {
        receiver.behave((response) => response.writeHead(status, { Location: elsewhere.receiver.url }).end());
        await hooks.post(`/webhooks/${hook.id}/test`, { trigger: 'link.created' });
        await hooks.deliver();
        t.clock.advance(HOUR_MS);
      }
      assert.equal(elsewhere.receiver.received.length, 0);
      const [attempt] = await hooks.get(`/webhooks/${hook.id}/events`);
      assert.equal(attempt.http_status, 308);
      assert.ok((await state(hooks, hook)).consecutiveFailures >= 4);
    });

    test('that is gone (410) is disabled at once; what waits stays, and is sent when it is enabled', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave(410);
      await link(hooks);
      await hooks.deliver();
      assert.deepEqual(await state(hooks, hook), { disabledReason: 'gone', consecutiveFailures: 1 });
      assert.match(warningsOf(hook)[0]?.message ?? '', /disabled/);
      receiver.behave(200);
      t.clock.advance(DAY_MS);
      await link(hooks);
      await hooks.deliver();
      assert.equal(receiver.received.length, 1);
      await hooks.post(`/webhooks/${hook.id}/enable`);
      await hooks.deliver();
      assert.equal(receiver.received.length, 2);
      assert.deepEqual(await state(hooks, hook), { disabledReason: null, consecutiveFailures: 0 });
    });

    for (const status of [429, 503]) {
      test(`that asks for time with ${status} gets it`, async () => {
        const { receiver, hooks } = await open();
        receiver.behave((response) => response.writeHead(status, { 'Retry-After': '600' }).end());
        await link(hooks);
        await hooks.deliver();
        receiver.behave(200);
        await link(hooks, 3);
        t.clock.advance(599 * SECOND_MS);
        await hooks.deliver();
        assert.equal(receiver.received.length, 1);
        t.clock.advance(SECOND_MS);
        await hooks.deliver();
        assert.equal(receiver.received.length, 5);
      });
    }

    test('that cuts connections is told again, and the log says why', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave((response) => response.destroy());
      await link(hooks);
      await hooks.deliver();
      const [attempt] = await hooks.get(`/webhooks/${hook.id}/events`);
      assert.equal(attempt.http_status, 503);
      assert.match(attempt.response_body, /hang up|ECONNRESET/);
      receiver.behave(200);
      t.clock.advance(MINUTE_MS);
      await hooks.deliver();
      assert.deepEqual(counted(await hooks.deliveries(hook.id)), { delivered: 1 });
    });

    test('that answers without end is not listened to for long', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave((response) => {
        const more = () => {
          while (!response.destroyed && response.write('x\0'.repeat(10_000)));
        };
        response.on('drain', more);
        more();
      });
      await link(hooks);
      await hooks.deliver();
      const [attempt] = await hooks.get(`/webhooks/${hook.id}/events`);
      assert.equal(attempt.http_status, 200);
      assert.ok(attempt.response_body.length <= 2_000 && !attempt.response_body.includes('\0'));
    });

    test('that fails twenty times in a row is disabled, and the operator is told on the way', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave(500);
      await link(hooks, 40);
      for (let failures = 1; failures <= 20; failures += 1) {
        await hooks.deliver();
        assert.deepEqual(await state(hooks, hook), {
          disabledReason: failures < 20 ? null : 'failures',
          consecutiveFailures: failures,
        });
        t.clock.advance(2 * HOUR_MS);
      }
      assert.equal(warningsOf(hook).length, 4, 'at 5, 10, 15 and 20');
      const sent = receiver.received.length;
      await link(hooks);
      await hooks.deliver();
      assert.equal(receiver.received.length, sent);
      assert.equal((await hooks.deliveries(hook.id)).length, 40);
    });

    test('that fails under load is left alone: failures count by time, not by messages', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave(500);
      for (let i = 0; i < 60; i += 1) {
        await link(hooks, 1);
        await hooks.deliver();
        t.clock.advance(SECOND_MS);
      }
      const { consecutiveFailures } = await state(hooks, hook);
      assert.ok(consecutiveFailures >= 4 && consecutiveFailures <= 6, `${consecutiveFailures} failures`);
      receiver.behave(200);
      t.clock.advance(5 * MINUTE_MS);
      await hooks.deliver();
      assert.deepEqual(counted(await hooks.deliveries(hook.id)), { delivered: 60 });
    });

    test('that refuses one message gets the others; that one is given up after ten attempts', async () => {
      const { receiver, hooks, hook } = await open();
      const [bad] = await link(hooks);
      receiver.behave((response, { json }) => response.writeHead(json.data.id === bad.id ? 400 : 204).end());
      for (let day = 0; day < 12; day += 1) {
        await link(hooks);
        await hooks.deliver();
        t.clock.advance(DAY_MS * 1.2);
      }
      const deliveries = await hooks.deliveries(hook.id);
      assert.deepEqual(counted(deliveries), { delivered: 12, failed: 1 });
      const failed = deliveries.find((each) => each.state === 'failed');
      assert.deepEqual([failed?.attempts, failed?.lastStatus, failed?.nextAttemptAt], [10, 400, null]);
      assert.equal((await state(hooks, hook)).disabledReason, null);
    });
  });

  describe('by hand', () => {
    test('a message is sent again, also one that was delivered', async () => {
      const { receiver, hooks, hook } = await open();
      await link(hooks);
      await hooks.deliver();
      const [delivery] = await hooks.deliveries(hook.id);
      assert.equal(delivery?.state, 'delivered');
      const again = await hooks.post(`/webhooks/${hook.id}/deliveries/${delivery?.id}/replay`);
      assert.deepEqual([again.state, again.attempts], ['waiting', 0]);
      await hooks.deliver();
      assert.equal(receiver.received.length, 2);
      assert.equal(receiver.received[0]?.body, receiver.received[1]?.body);
      await hooks.refused(404, undefined, 'POST', `/webhooks/${hook.id}/deliveries/whd_x/replay`);
      const other = await hooks.create({});
      const path = `/webhooks/${other.id}/deliveries/${delivery?.id}/replay`;
      await hooks.refused(404, undefined, 'POST', path);
    });

    test('all that failed since a time is sent again, without waiting for its turn', async () => {
      const { receiver, hooks, hook } = await open();
      const replay = (since: string) => hooks.post(`/webhooks/${hook.id}/replay`, { since });
      receiver.behave(500);
      await link(hooks, 2);
      await hooks.deliver();
      await hooks.post(`/webhooks/${hook.id}/enable`);
      t.clock.advance(HOUR_MS);
      const since = new Date(t.clock.now()).toISOString();
      await hooks.refused(422, 'since', 'POST', `/webhooks/${hook.id}/replay`, { since: 'whenever' });
      assert.deepEqual(await replay(since), { replayed: 0, more: false });
      await hooks.deliver();
      receiver.behave(200);
      assert.deepEqual(await replay('2 hours ago'), { replayed: 2, more: false });
      await hooks.deliver();
      assert.deepEqual(counted(await hooks.deliveries(hook.id)), { delivered: 2 });
      assert.deepEqual(await hooks.deliveries(hook.id, '?state=failed'), []);
      assert.equal((await hooks.deliveries(hook.id, '?state=delivered&pageSize=1')).length, 1);
    });

    test('the log shows every attempt, the newest first', async () => {
      const { receiver, hooks, hook } = await open();
      receiver.behave(500);
      const [made] = await link(hooks);
      await hooks.deliver();
      receiver.behave(201);
      t.clock.advance(MINUTE_MS);
      await hooks.deliver();
      const [last, first] = await hooks.get(`/webhooks/${hook.id}/events`);
      assert.deepEqual([first.http_status, last.http_status], [500, 201]);
      assert.deepEqual(
        [last.webhook_id, last.event, last.url, last.response_body, last.timestamp],
        [hook.id, 'link.created', receiver.url, 'answer', new Date(t.clock.now()).toISOString()],
      );
      assert.deepEqual(last.request_body, receiver.received[0]?.json);
      assert.equal(last.request_body.data.id, made.id);
      assert.equal(last.message_id, receiver.received[0]?.json.id);
      assert.notEqual(last.event_id, first.event_id);
      assert.equal((await hooks.get(`/webhooks/${hook.id}/events?page=2&pageSize=1`))[0].http_status, 500);
    });
  });

  describe('what is kept', () => {
    test('goes by age: what was delivered after a week, all else after a month', async () => {
      const { receiver, hooks, hook } = await open();
      await link(hooks, 2);
      await hooks.deliver();
      receiver.behave(410);
      await link(hooks);
      await hooks.deliver();
      const { webhookLogs } = t.app.services;
      const prune = () => webhookLogs.prune(new AbortController().signal);
      const messages = async () =>
        (
          await t.app.db.query
            .selectFrom('webhook_message')
            .select('id')
            .where('workspace_id', '=', hooks.ws.id)
            .execute()
        ).length;
      t.clock.advance(6 * DAY_MS);
      await prune();
      assert.deepEqual([(await hooks.deliveries(hook.id)).length, await messages()], [3, 3]);
      t.clock.advance(2 * DAY_MS);
      await prune();
      assert.deepEqual(counted(await hooks.deliveries(hook.id)), { waiting: 1 });
      assert.equal(await messages(), 1);
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/events`), []);
      t.clock.advance(30 * DAY_MS);
      await prune();
      assert.deepEqual([await hooks.deliveries(hook.id), await messages()], [[], 0]);
    });

    test('of a customer who is erased is blanked, and what waits is not sent', async () => {
      const { receiver, hooks, hook } = await open({ triggers: ['lead.created'] });
      const tell = (name: string, customerId: string) =>
        t.app.db.write(async (trx) => {
          const { appendOutbox } = await import('../db/outbox.ts');
          const webhook = {
            eventName: name,
            customer: { id: customerId, email: `${customerId}@example.com` },
          };
          const event = { workspaceId: hooks.ws.id, type: 'lead.created', payload: {}, webhook };
          await appendOutbox(trx, [event], t.clock.now());
        });
      receiver.behave((response, { body }) => response.end(body));
      await tell('sent', 'cus_gone');
      await hooks.deliver();
      receiver.behave(500);
      await tell('waiting', 'cus_gone');
      await tell('other', 'cus_stays');
      await hooks.deliver();
      const { webhookLogs } = t.app.services;
      assert.equal(await t.app.db.write(() => webhookLogs.forgetCustomer('cus_gone', 500)), 2);
      assert.equal(await t.app.db.write(() => webhookLogs.forgetCustomer('cus_gone', 500)), 0);
      const kept = JSON.stringify([
        await t.app.db.query.selectFrom('webhook_message').selectAll().execute(),
        await t.app.db.query.selectFrom('webhook_attempt').selectAll().execute(),
      ]);
      assert.ok(!kept.includes('cus_gone') && kept.includes('cus_stays'));
      const sent = receiver.received.length;
      receiver.behave(200);
      t.clock.advance(HOUR_MS);
      await hooks.deliver();
      assert.deepEqual(
        receiver.received.slice(sent).map(({ json }) => json.data.customer.id),
        ['cus_stays'],
      );
      for (const { id } of (await hooks.deliveries(hook.id)).slice(1))
        await hooks.refused(409, undefined, 'POST', `/webhooks/${hook.id}/deliveries/${id}/replay`);
    });

    test('never grows without end: a receiver that too much waits for is disabled', async () => {
      const { hooks, hook } = await open();
      await link(hooks, 5);
      await t.app.events.relay();
      const { createWebhookLogs } = await import('./webhook-logs.ts');
      const { createWebhookLogStore } = await import('./webhook-log.store.ts');
      const { createWebhookQueueStore } = await import('./webhook-queue.store.ts');
      const { createWebhookStore } = await import('./webhook.store.ts');
      const { db, clock, services } = t.app;
      const bound = (maxWaiting: number) =>
        createWebhookLogs({
          db,
          store: createWebhookLogStore(db),
          queue: createWebhookQueueStore(db),
          webhooks: services.webhooks,
          webhookStore: createWebhookStore(db),
          clock,
          log,
          onQueued() {},
          maxWaiting,
        }).boundBacklogs(new AbortController().signal);
      await bound(5);
      assert.equal((await state(hooks, hook)).disabledReason, null);
      await bound(4);
      assert.equal((await state(hooks, hook)).disabledReason, 'backlog');
      await hooks.post(`/webhooks/${hook.id}/enable`);
      await hooks.deliver();
      assert.deepEqual(counted(await hooks.deliveries(hook.id)), { delivered: 5 });
    });
  });
});
