// Leads through the whole application, on every engine.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CommittedEvent } from '../db/database.ts';
import { type Converting, converting, openConverting } from '../testing/conversion-calls.ts';
import { eachDatabase } from '../testing/databases.ts';
import { assertRefused, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

eachDatabase('Leads', (databases) => {
  let t: TestApp;
  let c: Converting;
  before(async () => {
    ({ t } = await openConverting(await databases.place()));
  });
  after(() => t.close());

  const fresh = async () => {
    c = await converting(t);
  };
  /** What was recorded, whatever the answers said. */
  const recorded = async () => ({
    leads: (await c.rows('lead')).length,
    customers: (await c.rows('customer')).length,
    keys: (await c.rows('conversion_key')).length,
  });
  const NOTHING = { leads: 0, customers: 0, keys: 0 };

  test('are answered with click, link and customer, and counted on link and workspace', async () => {
    await fresh();
    const link = await c.link({ tenantId: 'tenant', externalId: 'ours' });
    const clickId = await c.importClick(link, { country: 'Unknown' });
    const answer = await c.lead({
      clickId: ` ${clickId} `,
      eventName: ' Sign up ',
      customerExternalId: ' u_42 ',
      customerName: 'Ada Ray',
      customerEmail: 'ada@acme.example',
      customerAvatar: 'https://acme.example/ada.png',
      metadata: { plan: 'pro', nested: { n: 1 } },
    });
    assert.deepEqual(answer, {
      click: { id: clickId },
      link: {
        id: link.id,
        domain: link.domain,
        key: link.key,
        shortLink: `https://${link.domain}/${link.key}`,
        url: 'https://acme.example/',
        partnerId: null,
        programId: null,
        tenantId: 'tenant',
        externalId: 'ours',
      },
      customer: {
        name: 'Ada Ray',
        email: 'ada@acme.example',
        avatar: 'https://acme.example/ada.png',
        externalId: 'u_42',
      },
    });
    assert.equal((await c.readLink(link.id)).leads, 1);
    assert.equal((await c.call('GET', `/workspaces/${c.workspace.id}`)).usage, 1);
    const [lead] = await c.rows('lead');
    const [customer] = await c.rows('customer');
    assert.match(lead?.id ?? '', /^[0-9A-Za-z]{16}$/);
    assert.partialDeepStrictEqual(lead, {
      customer_id: customer?.id,
      link_id: link.id,
      click_id: clickId,
      event_name: 'Sign up',
      metadata: '{"plan":"pro","nested":{"n":1}}',
      time_ms: t.clock.now(),
    });
    assert.partialDeepStrictEqual(customer, {
      click_id: clickId,
      link_id: link.id,
      clicked_at: t.clock.now(),
      country: null,
    });
  });

  test('tell the journal nothing of the person, and receivers of webhooks all of it', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.click(link);
    const seen = await c.hearEvents();
    const metadata = { plan: 'pro' };
    await c.lead({
      clickId,
      customerExternalId: 'u_1',
      customerName: 'Ada',
      customerEmail: 'a@b.example',
      eventQuantity: 3,
      metadata,
    });
    assert.equal(seen.length, 1, 'three leads, told of once');
    const { payload, webhook } = seen[0] as CommittedEvent;
    const { leads } = payload as { leads: { id: string; click: { id: string } }[] };
    assert.equal(new Set(leads.map(({ id }) => id)).size, 3);
    assert.ok(leads.every(({ click }) => click.id === clickId));
    assert.ok(!/Ada|a@b\.example|u_1/.test(JSON.stringify(payload)));
    assert.partialDeepStrictEqual(webhook, {
      eventName: 'Sign up',
      customer: {
        name: 'Ada',
        email: 'a@b.example',
        externalId: 'u_1',
        sales: 0,
        saleAmount: 0,
        firstSaleAt: null,
      },
      click: {
        id: clickId,
        timestamp: new Date(t.clock.now()).toISOString(),
        trigger: 'link',
        region: 'Unknown',
      },
      link: { id: link.id, leads: 3, sales: 0 },
      partner: null,
      metadata,
    });
    assert.ok(!('country' in (webhook as { customer: object }).customer));
  });

  test('find a click that was answered a moment ago, every time', async () => {
    await fresh();
    const link = await c.link();
    const rounds = 60;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let i = 0; i < rounds / 10; i++) {
          const clickId = await c.click(link);
          assert.equal((await c.lead({ clickId, customerExternalId: c.newCustomer() })).click.id, clickId);
        }
      }),
    );
    assert.equal((await c.readLink(link.id)).leads, rounds);
  });

  test('find a click whose id is not of our making', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.importClick(link, { country: 'DE' });
    assert.equal((await c.lead({ clickId, customerExternalId: 'u' })).click.id, clickId);
    assert.equal((await c.rows('customer'))[0]?.country, 'DE');
  });

  test('take the customer’s own click where none is given', async () => {
    await fresh();
    const clickId = await c.click(await c.link());
    await c.lead({ clickId, customerExternalId: 'u' });
    for (const [i, given] of [undefined, null, '', '  '].entries()) {
      const answer = await c.lead({ clickId: given, customerExternalId: 'u', eventName: `Later ${i}` });
      assert.equal(answer.click.id, clickId);
    }
    for (const given of [undefined, null, '']) {
      const body = { clickId: given, customerExternalId: 'stranger', eventName: 'x' };
      assertRefused(await c.post('/track/lead', body), 400, /: clickId: /);
    }
    await c.call('POST', '/customers', { externalId: 'by-hand', country: 'DE' });
    assertRefused(
      await c.post('/track/lead', { customerExternalId: 'by-hand', eventName: 'x' }),
      400,
      /: clickId: /,
    );
  });

  test('of a customer that was brought along without its click need one of their own', async () => {
    await fresh();
    const link = await c.link();
    const clicks = [await c.importClick(link), await c.importClick(link)];
    await t.app.services.customers.create(c.workspace.id, {
      externalId: 'u',
      clickId: 'lost',
      clickedAt: t.clock.now(),
      linkId: link.id,
    });
    assertRefused(
      await c.post('/track/lead', { customerExternalId: 'u', eventName: 'x' }),
      404,
      /click that brought this customer is unknown/,
    );
    for (const [i, attribution] of ['last_click', 'first_click'].entries()) {
      await c.settings({ attribution });
      const body = { clickId: clicks[i], customerExternalId: 'u', eventName: attribution };
      assert.equal((await c.lead(body)).click.id, clicks[i]);
      assert.equal(
        (await c.sale({ customerExternalId: 'u', leadEventName: attribution })).sale.amount,
        1_000,
      );
    }
  });

  test('name the customer in three ways, and need one', async () => {
    await fresh();
    const clickId = await c.click(await c.link());
    for (const [names, externalId] of [
      [{ customerExternalId: 'a', externalId: 'b', customerId: 'c' }, 'a'],
      [{ externalId: 'b', customerId: 'c' }, 'b'],
      [{ externalId: null, customerId: 'c' }, 'c'],
    ] as const) {
      assert.equal((await c.lead({ clickId, ...names })).customer.externalId, externalId);
    }
    assertRefused(await c.post('/track/lead', { clickId, eventName: 'x' }), 400, /: customerExternalId: /);
  });

  test('of the same name are recorded once, for ever, and answered as the first time', async () => {
    await fresh();
    const link = await c.link();
    const [first, second] = [await c.click(link), await c.click(await c.link())];
    const answer = await c.lead({ clickId: first, customerExternalId: 'u', customerName: 'Ada' });
    t.clock.advance(400 * DAY_MS);
    for (const eventName of ['Sign up', 'sign up', 'SIGN-UP'])
      assert.deepEqual(
        await c.lead({ clickId: second, eventName, customerExternalId: 'u', customerName: 'Other' }),
        answer,
      );
    assert.deepEqual(await recorded(), { leads: 1, customers: 1, keys: 1 });
    assert.equal((await c.readLink(link.id)).leads, 1);
    await c.lead({ clickId: first, customerExternalId: 'u', eventName: 'Demo' });
    await c.lead({ clickId: first, customerExternalId: 'U' });
    assert.deepEqual(await recorded(), { leads: 3, customers: 2, keys: 3 });
  });

  test('of the same name in another workspace are others', async () => {
    await fresh();
    const clickId = await c.click(await c.link());
    await c.lead({ clickId, customerExternalId: 'u' });
    const other = await converting(t);
    assert.equal(
      (await other.post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId: 'u' })).status,
      404,
    );
    await other.lead({ clickId: await other.click(await other.link()), customerExternalId: 'u' });
    assert.equal((await other.rows('lead')).length, 1);
  });

  test('of a click or link that is not there are 404 and leave nothing behind', async () => {
    await fresh();
    const link = await c.link();
    const [gone, off] = [await c.link(), await c.link()];
    const clicks = { gone: await c.click(gone), off: await c.click(off) };
    await c.call('DELETE', `/links/${gone.id}`);
    await t.app.db.query.updateTable('link').set({ disabled_at: 1 }).where('id', '=', off.id).execute();
    const foreign = await converting(t);
    const foreignClick = await foreign.importClick(await foreign.link());
    const cases: [string, RegExp][] = [
      ['unknown', /no click with the id unknown/],
      ['0000000000000000', /no click/],
      [`${clicks.off.slice(0, -1)}_`, /no click/],
      [foreignClick, /no click/],
      [clicks.gone, /no longer exists/],
      [clicks.off, /disabled/],
    ];
    for (const mode of ['async', 'wait', 'deferred']) {
      for (const [clickId, text] of cases)
        assertRefused(
          await c.post('/track/lead', { clickId, mode, eventName: 'Sign up', customerExternalId: 'u' }),
          404,
          text,
        );
    }
    assert.deepEqual(await recorded(), NOTHING);
    await c.lead({ clickId: await c.click(link), customerExternalId: 'u' });
    assert.deepEqual(await recorded(), { leads: 1, customers: 1, keys: 1 });
  });

  test('are taken for links that are archived, expired, or do not track conversions', async () => {
    await fresh();
    const links = [{ archived: true }, { trackConversion: false }, { expiresAt: '2027-01-15T10:00:01Z' }];
    for (const fields of links) {
      const clickId = await c.importClick(await c.link(fields));
      t.clock.advance(2_000);
      await c.lead({ clickId, customerExternalId: c.newCustomer() });
    }
    assert.equal((await recorded()).leads, 3);
  });

  test('do not change a known customer, and count for the link of the click that was given', async () => {
    await fresh();
    const [first, second] = [await c.link(), await c.link()];
    const [one, two] = [await c.click(first), await c.click(second)];
    await c.lead({ clickId: one, customerExternalId: 'u', customerName: 'Ada' });
    const later = await c.lead({
      clickId: two,
      customerExternalId: 'u',
      eventName: 'Demo',
      customerName: 'Bob',
    });
    assert.deepEqual([later.link.id, later.customer.name], [second.id, 'Ada']);
    assert.deepEqual([(await c.readLink(first.id)).leads, (await c.readLink(second.id)).leads], [1, 1]);
    const [customer] = await c.rows('customer');
    assert.deepEqual([customer?.link_id, customer?.click_id, customer?.name], [first.id, one, 'Ada']);
  });

  test('in a quantity are that many events, told and named once', async () => {
    await fresh();
    const link = await c.link();
    await c.lead({ clickId: await c.importClick(link), customerExternalId: 'u', eventQuantity: 100 });
    assert.deepEqual(await recorded(), { leads: 100, customers: 1, keys: 1 });
    assert.equal((await c.readLink(link.id)).leads, 100);
    assert.equal((await c.call('GET', `/workspaces/${c.workspace.id}`)).usage, 100);
  });

  test('that are deferred only make the customer; the next call without a click records them', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.click(link);
    const deferred = await c.lead({ clickId, customerExternalId: 'u', mode: 'deferred' });
    assert.deepEqual(await c.lead({ clickId, customerExternalId: 'u', mode: 'deferred' }), deferred);
    assert.deepEqual(await recorded(), { leads: 0, customers: 1, keys: 0 });
    assert.equal((await c.readLink(link.id)).leads, 0);
    assertRefused(await c.post('/track/sale', { customerExternalId: 'u', amount: 1 }), 404, /no lead/);
    assert.deepEqual(await c.lead({ customerExternalId: 'u', mode: 'wait' }), deferred);
    assert.deepEqual(await recorded(), { leads: 1, customers: 1, keys: 1 });
    assert.equal((await c.sale({ customerExternalId: 'u', amount: 1 })).sale.amount, 1);
  });

  test('a hundred times at once are one, and all get the same answer', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.click(link);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        c.lead({ clickId, customerExternalId: 'u', customerEmail: 'u@acme.example' }),
      ),
    );
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
    assert.deepEqual(await recorded(), { leads: 1, customers: 1, keys: 1 });
    assert.equal((await c.readLink(link.id)).leads, 1);
  });

  test('a hundred times at once with one Idempotency-Key are one', async () => {
    await fresh();
    const link = await c.link();
    const body = { clickId: await c.click(link), customerExternalId: 'u', eventName: 'Sign up' };
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => c.post('/track/lead', body, { 'idempotency-key': 'once' })),
    );
    assert.deepEqual([...new Set(replies.map(({ status, text }) => `${status} ${text}`))].length, 1);
    assert.equal(replies[0]?.status, 200);
    assert.deepEqual(await recorded(), { leads: 1, customers: 1, keys: 1 });
  });

  test('of a hundred customers at once are all counted, and one that fails fails alone', async () => {
    await fresh();
    const link = await c.link();
    const clicks = await Promise.all(Array.from({ length: 100 }, () => c.importClick(link)));
    const replies = await Promise.all(
      clicks.map((clickId, i) =>
        c.post('/track/lead', {
          clickId: i === 50 ? 'unknown' : clickId,
          eventName: 'Sign up',
          customerExternalId: `u_${i % 60}`,
        }),
      ),
    );
    assert.deepEqual(
      replies.filter(({ status }) => status !== 200).map(({ status }) => status),
      [404],
    );
    // The one that failed is tried by nobody else.
    assert.deepEqual(await recorded(), { leads: 59, customers: 59, keys: 59 });
    assert.equal((await c.readLink(link.id)).leads, 59);
  });

  test('keep a picture as a file, and do without what is none', async () => {
    await fresh();
    const link = await c.link();
    const avatarOf = async (customerAvatar: string) => {
      const body = {
        clickId: await c.importClick(link),
        customerExternalId: c.newCustomer(),
        customerAvatar,
      };
      return (await c.lead(body)).customer.avatar;
    };
    assert.match(await avatarOf(PIXEL), /\/api\/files\//);
    assert.equal(await avatarOf('https://acme.example/a.png'), 'https://acme.example/a.png');
    for (const bad of ['nonsense', 'javascript:alert(1)', 'data:text/html,x'])
      assert.equal(await avatarOf(bad), null);
  });
});

describe('A lead', () => {
  let t: TestApp;
  let c: Converting;
  before(async () => {
    ({ t } = await openConverting());
    c = await converting(t);
  });
  after(() => t.close());

  for (const [body, status, text] of [
    [{ eventName: undefined }, 400, /: eventName: /],
    [{ eventName: '' }, 422, /: eventName: /],
    [{ eventName: 'n'.repeat(256) }, 422, /: eventName: /],
    [{ eventName: 7 }, 400, /: eventName: /],
    [{ clickId: 7 }, 400, /: clickId: /],
    [{ clickId: 'c'.repeat(256) }, 422, /: clickId: /],
    [{ customerExternalId: '' }, 422, /: customerExternalId: /],
    [{ customerExternalId: 'u'.repeat(256) }, 422, /: customerExternalId: /],
    [{ customerExternalId: 7 }, 400, /: customerExternalId: /],
    [{ customerName: 'n'.repeat(101) }, 422, /: customerName: /],
    [{ customerEmail: 'nobody' }, 422, /: customerEmail: /],
    [{ customerEmail: `${'e'.repeat(100)}@acme.example` }, 422, /: customerEmail: /],
    [{ customerAvatar: 7 }, 400, /: customerAvatar: /],
    [{ mode: 'later' }, 422, /: mode: /],
    [{ eventQuantity: 0 }, 422, /: eventQuantity: /],
    [{ eventQuantity: 101 }, 422, /: eventQuantity: /],
    [{ eventQuantity: 1.5 }, 422, /: eventQuantity: /],
    [{ eventQuantity: '2' }, 400, /: eventQuantity: /],
    [{ metadata: 'text' }, 400, /: metadata: /],
    [{ metadata: { a: 'm'.repeat(10_000) } }, 422, /: metadata: .*10000/],
  ] as const) {
    test(`with ${JSON.stringify(body).slice(0, 60)} is ${status}`, async () => {
      const valid = {
        clickId: await c.importClick(await c.link()),
        eventName: 'x',
        customerExternalId: c.newCustomer(),
      };
      const before = (await c.rows('customer')).length;
      assertRefused(await c.post('/track/lead', { ...valid, ...body }), status, text);
      assert.equal((await c.rows('customer')).length, before);
    });
  }

  test('takes explicit nulls, and keys it does not know', async () => {
    const clickId = await c.importClick(await c.link());
    const nothing = {
      customerName: null,
      customerEmail: null,
      customerAvatar: null,
      eventQuantity: null,
      metadata: null,
    };
    const { customer } = await c.lead({
      clickId,
      customerExternalId: c.newCustomer(),
      ...nothing,
      unknown: 1,
    });
    assert.match(customer.name, /^[A-Z]\w+ [A-Z]\w+$/, 'a generated name');
  });

  test('takes metadata of exactly the longest text', async () => {
    const clickId = await c.importClick(await c.link());
    const metadata = { a: 'm'.repeat(10_000 - '{"a":""}'.length) };
    await c.lead({ clickId, customerExternalId: c.newCustomer(), metadata });
  });

  test('that cannot look for its click is 500 and says when to try again', async () => {
    const own = await openConverting();
    try {
      const clickId = await own.click(await own.link());
      await own.t.app.events.pipeline.stop();
      const body = { clickId, eventName: 'x', customerExternalId: 'u' };
      const reply = await own.post('/track/lead', body);
      assertRefused(reply, 500, /Try again/);
      assert.deepEqual(await own.rows('customer'), []);
      assert.equal(reply.headers.get('retry-after'), '5');
      own.t.app.events.pipeline.start();
      assert.equal((await own.post('/track/lead', body)).status, 200);
      await own.t.app.events.pipeline.stop();
      const again = await own.post('/track/lead', { ...body, eventName: 'A click that a lead had' });
      assert.equal(again.status, 200);
    } finally {
      await own.t.close();
    }
  });
});
