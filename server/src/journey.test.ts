// The whole way of a visitor through a real server process, as the npm client `dub` and a receiver of webhooks see
// it: a visit, a lead, a sale, each of them recorded, counted, told and signed.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Dub } from 'dub';
import { webhookEventFromJSON } from 'dub/models/components';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { eachDatabase } from './testing/databases.ts';
import { makePlace, type Place, runCli, startServer } from './testing/processes.ts';
import { visit } from './testing/visitors.ts';
import { RECEIVERS_ALLOWED } from './testing/webhook-calls.ts';
import { openWebhookReceiver, type Received, type WebhookReceiver } from './testing/webhook-receiver.ts';

const KEY = 'lt_journey_test_key_0000';
const TRIGGERS = ['link.clicked', 'lead.created', 'sale.created'];

eachDatabase('the journey from a click to a sale', (databases) => {
  test('is recorded, counted, told and signed, every step of it', async (t) => {
    const receiver = await openWebhookReceiver();
    t.after(() => receiver.close());
    const url = await databases.place();
    const place = await makePlace(t, {
      LINKTRAIL_API_KEY: KEY,
      LINKTRAIL_LOG_LEVEL: 'warn',
      ...RECEIVERS_ALLOWED,
      ...(databases.engine === 'postgres' && { DATABASE_URL: url }),
    });
    const server = await startServer(t, place);
    const dub = new Dub({ token: KEY, serverURL: `${server.url}/api` });
    const secret = await listen(server.url, receiver);
    const { link, clickId } = await follow(dub, server.url);

    const lead = await dub.track.lead({
      clickId,
      eventName: 'Sign up',
      customerExternalId: 'u_42',
      customerName: 'Ada Ray',
      customerEmail: 'ada@acme.example',
    });
    assert.deepEqual([lead.click.id, lead.link?.id, lead.customer.name], [clickId, link.id, 'Ada Ray']);
    const sale = await dub.track.sale({
      customerExternalId: 'u_42',
      amount: 4_900,
      invoiceId: 'inv_77',
      eventName: 'Invoice paid',
    });
    assert.deepEqual([sale.customer?.externalId, sale.sale?.amount], ['u_42', 4_900]);

    await settle(place);
    await assertListed(dub, { linkId: link.id, clickId });
    await assertCounted(dub, link.id);
    await receiver.waitFor(TRIGGERS.length);
    assertTold(receiver.received, { secret, linkId: link.id, clickId });
  });
});

/** Makes a webhook for all three events; returns its secret. */
async function listen(server: string, receiver: WebhookReceiver): Promise<string> {
  const answer = await fetch(`${server}/api/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: 'Journey',
      url: receiver.url,
      triggers: TRIGGERS,
      linkScope: 'workspace',
    }),
  });
  assert.equal(answer.status, 201);
  const { secret } = (await answer.json()) as { secret: string };
  return secret;
}

/** Opens a new short link as a browser does, and takes the id that its destination is given. */
async function follow(dub: Dub, server: string) {
  const link = await dub.links.create({ url: 'https://shop.example/pricing', trackConversion: true });
  const { port, host } = new URL(server);
  const { status, location } = await visit(Number(port), `/${link.key}`, { host });
  assert.equal(status, 302);
  const destination = new URL(location as string);
  const clickId = destination.searchParams.get('dub_id') ?? assert.fail('there is no dub_id');
  assert.equal(destination.origin + destination.pathname, 'https://shop.example/pricing');
  return { link, clickId };
}

/** Until everything that has happened is in the event store. */
async function settle(place: Place): Promise<void> {
  const { code, stderr } = await runCli(place, ['events', '--settle', '--json']);
  assert.equal(code, 0, stderr);
}

async function assertListed(dub: Dub, { linkId, clickId }: { linkId: string; clickId: string }) {
  const all = { click: { id: clickId }, link: { id: linkId } };
  const customer = { externalId: 'u_42', name: 'Ada Ray', email: 'ada@acme.example' };
  assert.partialDeepStrictEqual(await dub.events.list({ event: 'clicks' }), [{ event: 'click', ...all }]);
  assert.partialDeepStrictEqual(await dub.events.list({ event: 'leads' }), [
    { event: 'lead', eventName: 'Sign up', customer, ...all },
  ]);
  assert.partialDeepStrictEqual(await dub.events.list({ event: 'sales' }), [
    {
      event: 'sale',
      eventName: 'Invoice paid',
      customer,
      ...all,
      sale: { amount: 4_900, invoiceId: 'inv_77', paymentProcessor: 'custom' },
    },
  ]);
}

async function assertCounted(dub: Dub, linkId: string): Promise<void> {
  const expected = { clicks: 1, leads: 1, sales: 1, saleAmount: 4_900 };
  assert.deepEqual(await dub.analytics.retrieve({ event: 'composite', linkId }), expected);
  const link = await dub.links.get({ linkId });
  const { clicks, leads, conversions, sales, saleAmount } = link;
  assert.deepEqual({ clicks, leads, conversions, sales, saleAmount }, { ...expected, conversions: 1 });
  const customer = await dub.customers.get({ id: 'ext_u_42', includeExpandedFields: true });
  assert.deepEqual([customer.sales, customer.saleAmount, customer.link?.id], [1, 4_900, linkId]);
}

function assertTold(
  received: readonly Received[],
  { secret, linkId, clickId }: { secret: string; linkId: string; clickId: string },
): void {
  assert.deepEqual(received.map(({ json }) => json.event).toSorted(), TRIGGERS.toSorted());
  for (const { body, headers, json } of received) {
    assert.equal(headers['dub-signature'], createHmac('sha256', secret).update(body).digest('hex'));
    new StandardWebhook(secret).verify(body, headers as Record<string, string>);
    const changed = body.replace(clickId, 'another');
    assert.throws(() => new StandardWebhook(secret).verify(changed, headers as Record<string, string>));
    const read = webhookEventFromJSON(body);
    assert.ok(read.ok, read.ok ? '' : String(read.error));
    assert.deepEqual([json.data.click.id, json.data.link.id], [clickId, linkId]);
  }
  const told = Object.fromEntries(received.map(({ json }) => [json.event, json.data]));
  assert.equal(told['lead.created'].customer.email, 'ada@acme.example');
  // The customer as it was before the sale, the link as it is after it.
  assert.partialDeepStrictEqual(told['sale.created'], {
    customer: { sales: 0 },
    link: { sales: 1, saleAmount: 4_900 },
    sale: { amount: 4_900, invoiceId: 'inv_77' },
  });
}
