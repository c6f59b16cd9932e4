// What we send is read by the parser of the npm client `dub`, with nothing lost on the way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookEventFromJSON } from 'dub/models/components';
import { clickData } from '../conversions/webhook-data.ts';
import { clickRecord } from '../testing/click-records.ts';
import { converting } from '../testing/conversion-calls.ts';
import { openTestApp } from '../testing/test-app.ts';
import { RECEIVERS_ALLOWED, type Shown, webhookCalls } from '../testing/webhook-calls.ts';
import { openWebhookReceiver } from '../testing/webhook-receiver.ts';
import { newMessage } from './payloads.ts';
import { sampleOf } from './samples.ts';
import { TRIGGERS, type Trigger } from './webhook.ts';

const facts = { publicUrl: 'https://go.example', workspaceId: 'ws_1', nowMs: Date.UTC(2027, 0, 15, 10) };

/** The client knows nothing of these. */
const UNKNOWN: ReadonlySet<Trigger> = new Set(['bounty.created', 'bounty.updated', 'payout.confirmed']);

function parsed(event: Trigger, data: object) {
  const result = webhookEventFromJSON(newMessage('ws_1', event, JSON.stringify(data), facts.nowMs).body);
  assert.ok(result.ok, result.ok ? '' : `${event}: ${result.error}`);
  return result.value;
}

for (const trigger of TRIGGERS.filter((name) => !UNKNOWN.has(name))) {
  test(`a sample of ${trigger} is parsed`, () => {
    assert.equal(parsed(trigger, sampleOf(trigger, facts)).event, trigger);
  });
}

test('a real link and a real click are parsed', async () => {
  const t = await openTestApp();
  try {
    const { key } = await t.workspace();
    const tag = await t.request('POST', '/tags', { key, body: { name: 'News' } });
    const body = {
      url: 'https://example.com/?a=b',
      tagIds: [tag.json.id],
      trackConversion: true,
      geo: { DE: 'https://example.com/de' },
      expiresAt: '2030-01-01T00:00:00.000Z',
      testVariants: [
        { url: 'https://example.com/1', percentage: 50 },
        { url: 'https://example.com/2', percentage: 50 },
      ],
      testStartedAt: '2027-01-01T00:00:00.000Z',
      testCompletedAt: '2027-03-01T00:00:00.000Z',
    };
    const { json: link, text } = await t.request('POST', '/links', { key, body });
    assert.ok(link.id, text);
    for (const event of ['link.created', 'link.updated', 'link.deleted'] as const)
      assert.equal((parsed(event, link).data as { id: string }).id, link.id);
    parsed('link.clicked', { click: clickData(clickRecord(1)), link });
  } finally {
    await t.close();
  }
});

test('a lead and a sale arrive as the client reads them, until their customer is erased', async () => {
  const t = await openTestApp({ env: RECEIVERS_ALLOWED });
  const receiver = await openWebhookReceiver();
  try {
    t.app.events.start();
    const c = await converting(t);
    const hooks = webhookCalls(t, c.workspace);
    const hook = await hooks.create({ url: receiver.url, triggers: ['lead.created', 'sale.created'] });
    const clickId = await c.click(await c.link());
    const customer = { customerExternalId: 'u_42', customerEmail: 'ada@acme.example', customerName: 'Ada' };
    await c.lead({ clickId, ...customer });
    await c.sale({
      customerExternalId: 'u_42',
      amount: 4_900,
      invoiceId: 'inv_77',
      metadata: { plan: 'pro' },
    });
    await hooks.deliver();
    assert.deepEqual(
      receiver.received.map(({ json }) => json.event),
      ['lead.created', 'sale.created'],
    );
    for (const { body } of receiver.received) {
      const result = webhookEventFromJSON(body);
      assert.ok(result.ok, result.ok ? '' : String(result.error));
    }
    const [{ data: lead }, { data: sale }] = receiver.received.map(({ json }) => json) as [Shown, Shown];
    assert.deepEqual([lead.click.id, lead.customer.email, lead.link.leads], [clickId, 'ada@acme.example', 1]);
    // The customer as it was before the sale, the link as it is after it.
    assert.deepEqual([sale.customer.sales, sale.link.sales, sale.sale.amount], [0, 1, 4_900]);
    await c.call('DELETE', `/customers/${sale.customer.id}`);
    const log = JSON.stringify(await hooks.get(`/webhooks/${hook.id}/events`));
    assert.ok(!log.includes('ada@acme.example') && log.includes('sale.created'));
  } finally {
    await receiver.close();
    await t.close();
  }
});
