// Leads and sales that pages track with the publishable key of their workspace.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Converting, converting, openConverting } from '../testing/conversion-calls.ts';
import type { TestApp, TestReply } from '../testing/test-app.ts';

const KINDS = ['lead', 'sale'] as const;
type Kind = (typeof KINDS)[number];

describe('Conversions from pages', () => {
  let t: TestApp;
  let c: Converting;
  let publishableKey: string;
  let made = 0;
  before(async () => {
    ({ t } = await openConverting());
  });
  after(() => t.close());
  beforeEach(async () => {
    // A new window for each test.
    t.clock.advance(60_000);
    c = await converting(t);
    publishableKey = `lt_pk_${String(++made).padStart(16, '0')}`;
    await c.settings({ publishableKey });
  });

  const send = (
    kind: Kind,
    body: unknown,
    {
      key = publishableKey,
      headers = {},
    }: { key?: string | undefined; headers?: Record<string, string> } = {},
  ): Promise<TestReply> => t.request('POST', `/track/${kind}/client`, { key, body, headers });
  const lead = async () => ({
    clickId: await c.importClick(await c.link()),
    eventName: 'Sign up',
    customerExternalId: c.newCustomer(),
  });
  const bodyOf = async (kind: Kind) => ({ ...(await lead()), ...(kind === 'sale' && { amount: 500 }) });

  function assertCors({ headers }: TestReply): void {
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.equal(headers.get('access-control-allow-methods'), 'POST, OPTIONS');
    assert.equal(headers.get('access-control-allow-headers'), 'Content-Type, Authorization');
  }

  test('are recorded as those of servers are', async () => {
    const link = await c.link();
    const clickId = await c.importClick(link);
    const customerExternalId = c.newCustomer();
    const signUp = await send('lead', { clickId, eventName: 'Sign up', customerExternalId, mode: 'wait' });
    assert.deepEqual([signUp.status, signUp.json.click.id], [200, clickId]);
    const later = await send('lead', { clickId: '', eventName: 'Demo', customerExternalId });
    assert.equal(later.json.click.id, clickId);
    const sale = await send('sale', {
      clickId: 'ignored',
      eventName: 'Paid',
      customerExternalId,
      amount: 700,
    });
    assert.deepEqual([sale.status, sale.json.sale.amount, sale.json.eventName], [200, 700, 'Paid']);
    const direct = await send('sale', { clickId, customerExternalId: c.newCustomer(), amount: 1 });
    assert.equal(direct.json.sale.amount, 1);
    const { leads, sales, saleAmount } = await c.readLink(link.id);
    assert.deepEqual([leads, sales, saleAmount], [3, 2, 701]);
  });

  test('take a publishable key that was brought along', async () => {
    const brought = `dub_pk_${'k'.repeat(24)}`;
    await c.settings({ publishableKey: brought });
    assert.equal((await send('lead', await lead(), { key: brought })).status, 200);
    assert.equal((await send('lead', await lead())).status, 401, 'the one before it is no longer good');
  });

  test('are 401 without the publishable key, and the publishable key is good for nothing else', async () => {
    for (const kind of KINDS) {
      const body = await bodyOf(kind);
      for (const authorization of [undefined, '', publishableKey, 'Bearer', `Basic ${publishableKey}`])
        assert.equal(
          (
            await t.request('POST', `/track/${kind}/client`, {
              body,
              ...(authorization !== undefined && { headers: { authorization } }),
            })
          ).status,
          401,
        );
      for (const key of [c.workspace.key, 'lt_pk_unknown_0000000000'])
        assert.equal((await send(kind, body, { key })).status, 401);
      assert.equal((await t.request('POST', `/track/${kind}`, { key: publishableKey, body })).status, 401);
    }
    assert.deepEqual(await c.rows('customer'), []);
  });

  test('are 429 beyond 600 a minute of one key, leads and sales together', async () => {
    const ask = (kind: Kind) => send(kind, {});
    for (let i = 0; i < 600; i++) assert.equal((await ask(i % 2 ? 'lead' : 'sale')).status, 400);
    const refused = await ask('lead');
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    assertCors(refused);
    assert.equal((await ask('sale')).status, 429);
    t.clock.advance(60_000);
    assert.equal((await send('lead', await lead())).status, 200);
  });

  test('are 403 from sites that are not among the allowed hostnames', async () => {
    await c.settings({ allowedHostnames: ['acme.example', '*.shop.example'] });
    for (const [headers, status] of [
      [{ referer: 'https://www.acme.example/page' }, 200],
      [{ origin: 'https://eu.shop.example' }, 200],
      [{ referer: 'https://evil.example/' }, 403],
      [{}, 403],
    ] as [Record<string, string>, number][]) {
      for (const kind of KINDS) {
        const reply = await send(kind, await bodyOf(kind), { headers });
        assert.equal(reply.status, status, `${kind} from ${JSON.stringify(headers)}: ${reply.text}`);
        assertCors(reply);
      }
    }
    assert.equal((await c.rows('customer')).length, 4, 'nothing of those refused');
  });

  test('are 403 on plans below business', async () => {
    const bodies = { lead: await bodyOf('lead'), sale: await bodyOf('sale') };
    for (const [plan, status] of [
      ['pro', 403],
      ['business', 200],
    ] as const) {
      await t.app.services.workspaces.setPlan(c.workspace.id, plan);
      for (const kind of KINDS) assert.equal((await send(kind, bodies[kind])).status, status);
    }
  });

  test('may come from any origin: every answer says so, and so does the question before it', async () => {
    for (const kind of KINDS) {
      const question = await t.request('OPTIONS', `/track/${kind}/client`, {
        headers: { origin: 'https://acme.example', 'access-control-request-method': 'POST' },
      });
      assert.equal(question.status, 204);
      assertCors(question);
      for (const [body, status] of [
        [await bodyOf(kind), 200],
        [{ ...(await bodyOf(kind)), clickId: 'unknown' }, 404],
        [{ ...(await bodyOf(kind)), customerExternalId: 'u'.repeat(101) }, 422],
        [
          {
            ...(await bodyOf(kind)),
            customerExternalId: undefined,
            externalId: 'other names are for servers',
          },
          400,
        ],
        ['{', 400],
      ] as const) {
        const reply = await send(kind, body);
        assert.equal(reply.status, status, reply.text);
        assertCors(reply);
      }
      assertCors(await send(kind, {}, { key: 'lt_pk_unknown_0000000000' }));
    }
  });

  test('keep no file: a picture is an address', async () => {
    const customerAvatar = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
    const { json } = await send('lead', { ...(await lead()), customerAvatar });
    assert.equal(json.customer.avatar, null);
    const linked = await send('lead', { ...(await lead()), customerAvatar: 'https://acme.example/a.png' });
    assert.equal(linked.json.customer.avatar, 'https://acme.example/a.png');
  });

  test('of a lead need the click to be named, if only as empty', async () => {
    const { clickId: _, ...body } = await lead();
    assert.match((await send('lead', body)).json.error.message, /: clickId: /);
    assert.equal((await send('lead', body)).status, 400);
    assert.equal((await send('lead', { ...body, clickId: null })).status, 400);
  });
});
