// Webhooks from the command line, against a receiver that listens.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { RECEIVERS_ALLOWED } from '../testing/webhook-calls.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../testing/webhook-receiver.ts';
import type { Command, Context, Row } from './command.ts';
import { webhookCommands } from './webhook-commands.ts';

let t: TestApp;
let receiver: WebhookReceiver;
let ws: TestWorkspace;
before(async () => {
  t = await openTestApp({ env: RECEIVERS_ALLOWED });
  receiver = await openWebhookReceiver();
  ws = await t.workspace();
});
after(async () => {
  await receiver.close();
  await t.close();
});

async function run(name: string, input: Record<string, string>) {
  const command = webhookCommands.find(({ path }) => path[1] === name) as Command;
  const rows: Row[] = [];
  const context: Context = {
    app: t.app,
    signal: new AbortController().signal,
    row: async (row) => void rows.push(row),
    progress: async () => {},
    input: (async function* () {})(),
    data: async () => {},
  };
  const result = (await command.run(context, input)) as Record<string, unknown>;
  const printed = command.columns ? '' : command.print(result);
  return { result, rows, printed, exitCode: command.exitCode(result) };
}

test('a webhook is made, listed, changed, turned off and on, and deleted', async () => {
  const workspace = ws.slug;
  const made = await run('create', { workspace, url: receiver.url, triggers: 'link.created, sale.created' });
  const webhook = made.result.id as string;
  assert.match(made.printed, /secret {2}whsec_[0-9a-f]{32}/);
  const listed = await run('list', { workspace });
  assert.deepEqual(
    listed.rows.map(({ id, triggers, state }) => [id, triggers, state]),
    [[webhook, ['link.created', 'sale.created'], 'enabled']],
  );
  assert.ok(!JSON.stringify(listed.rows).includes('whsec_'));
  await run('update', { workspace, webhook, name: 'Orders', triggers: 'link.clicked', scope: 'workspace' });
  await run('disable', { workspace, webhook });
  const [row] = (await run('list', { workspace })).rows;
  assert.deepEqual([row?.name, row?.linkScope, row?.state], ['Orders', 'workspace', 'disabled (by_hand)']);
  await run('enable', { workspace, webhook });
  const rotated = await run('rotate', { workspace, webhook, overlap: '2' });
  assert.notEqual(rotated.result.secret, made.result.secret);
  await run('delete', { workspace, webhook });
  assert.deepEqual((await run('list', { workspace })).rows, []);
});

test('a sample is sent at once, the log shows it, and what failed is sent again', async () => {
  const workspace = ws.id;
  const { result } = await run('create', { workspace, url: receiver.url, triggers: 'lead.created' });
  const webhook = result.id as string;
  const sent = await run('test', { workspace, webhook, trigger: 'sale.created' });
  assert.deepEqual([sent.printed, sent.exitCode], ['sale.created was delivered, and answered with 200.', 0]);
  assert.equal(receiver.received.at(-1)?.json.event, 'sale.created');
  receiver.behave(500);
  t.clock.advance(1_000);
  const failed = await run('test', { workspace, webhook });
  assert.match(failed.printed, /link\.created was not delivered \(500\)/);
  assert.equal(failed.exitCode, 1);
  const log = await run('log', { workspace, webhook });
  assert.deepEqual(
    log.rows.map(({ event, status }) => [event, status]),
    [
      ['link.created', 500],
      ['sale.created', 200],
    ],
  );
  assert.equal((await run('log', { workspace, webhook, limit: '1' })).rows.length, 1);
  receiver.behave(200);
  const count = receiver.received.length;
  assert.equal((await run('replay', { workspace, webhook })).printed, 'Messages that are sent again: 1.');
  await t.app.services.webhookFlow.run();
  assert.equal(receiver.received.length, count + 1);
});

test('what cannot be is refused by its name', async () => {
  const workspace = ws.id;
  await assert.rejects(
    run('create', { workspace, url: receiver.url, triggers: 'link.opened' }),
    /--triggers: takes/,
  );
  await assert.rejects(
    run('create', { workspace, url: receiver.url, triggers: 'link.clicked' }),
    /linkScope/,
  );
  await assert.rejects(run('test', { workspace, webhook: 'wh_x' }), /no such webhook/);
  await assert.rejects(run('rotate', { workspace, webhook: 'wh_x', overlap: '900' }), /--overlap/);
  await assert.rejects(run('replay', { workspace, webhook: 'wh_x', since: 'whenever' }), /since/);
});
