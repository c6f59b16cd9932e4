// Receivers that fail in every way side by side: each gets every message at least once, none holds another, and
// the figures are printed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { appendOutbox } from '../db/outbox.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { RECEIVERS_ALLOWED, type Shown, type WebhookCalls, webhookCalls } from '../testing/webhook-calls.ts';
import { type Behaviour, openWebhookReceiver, type WebhookReceiver } from '../testing/webhook-receiver.ts';

const MESSAGES = 60;
const HOUR_MS = 3_600_000;
const AT_ONCE = 16;

type Kind = 'well' | 'down' | 'slow' | '302' | '410' | '429' | '500' | 'resetting';

interface Case {
  readonly kind: Kind;
  readonly receiver: WebhookReceiver;
  readonly hooks: WebhookCalls;
  readonly hook: Shown;
}

eachDatabase('receivers side by side', (databases) => {
  let t: TestApp;
  const cases: Case[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const BEHAVIOURS: Readonly<Record<Kind, Behaviour | undefined>> = {
    well: 200,
    down: undefined,
    slow: (response) => void released.then(() => response.end()),
    '302': (response) => response.writeHead(302, { Location: 'https://8.8.8.8/' }).end(),
    '410': 410,
    '429': (response) => response.writeHead(429, { 'Retry-After': '120' }).end(),
    '500': 500,
    resetting: (response) => response.destroy(),
  };

  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: RECEIVERS_ALLOWED });
    t.app.events.start();
    for (const [kind, behaviour] of Object.entries(BEHAVIOURS) as [Kind, Behaviour | undefined][]) {
      const receiver = await openWebhookReceiver();
      const hooks = webhookCalls(t, await t.workspace());
      const hook = await hooks.create({ url: receiver.url });
      if (behaviour === undefined) await receiver.goDown();
      else receiver.behave(behaviour);
      cases.push({ kind, receiver, hooks, hook });
    }
  });
  after(async () => {
    for (const { receiver } of cases) await receiver.close();
    await t.close();
  });

  const tell = ({ hooks }: Case) =>
    t.app.db.write((trx) =>
      appendOutbox(
        trx,
        Array.from({ length: MESSAGES }, (_, i) => ({
          workspaceId: hooks.ws.id,
          type: 'link.created',
          payload: { id: `link_${i}`, filler: 'x'.repeat(2_000) },
        })),
        t.clock.now(),
      ),
    );

  const arrived = ({ receiver }: Case) =>
    receiver.received.filter(({ json }) => json.event === 'link.created').map(({ json }) => json.data.id);

  test('every message arrives at least once, whatever the receiver did before', async (context) => {
    for (const each of cases) await tell(each);
    await t.app.events.relay();
    const running = t.app.services.webhookFlow.run();
    const well = cases.find(({ kind }) => kind === 'well') as Case;
    // Nobody waits for the slow one.
    await well.receiver.waitFor(MESSAGES);
    release();
    await running;
    const first = new Map(cases.map((each) => [each.kind, each.receiver.received.length]));
    for (const { kind, receiver, hooks, hook } of cases) {
      if (kind === 'well' || kind === 'slow') continue;
      receiver.behave(200);
      if (kind === 'down') await receiver.comeBack();
      if (kind === '410') await hooks.post(`/webhooks/${hook.id}/enable`);
    }
    for (let hour = 0; hour < 3; hour += 1) {
      t.clock.advance(HOUR_MS);
      await t.app.services.webhookFlow.run();
    }
    for (const each of cases) {
      const { kind, receiver } = each;
      const ids = arrived(each);
      assert.equal(new Set(ids).size, MESSAGES, kind);
      assert.ok(receiver.mostAtOnce <= AT_ONCE, `${kind}: ${receiver.mostAtOnce} at once`);
      context.diagnostic(
        `${kind}: ${MESSAGES} messages, ${first.get(kind)} requests before it was well, ${receiver.received.length} in all, at most ${receiver.mostAtOnce} at once`,
      );
    }
    const left = await t.app.db.query
      .selectFrom('webhook_delivery')
      .select('id')
      .where('state', '<>', 'delivered')
      .execute();
    assert.deepEqual(left, []);
  });
});
