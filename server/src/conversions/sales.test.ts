// Sales through the whole application, on every engine.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createLinkStore } from '../links/link.store.ts';
import { createLinkCounterStore } from '../links/link-counters.store.ts';
import { type Converting, converting, openConverting } from '../testing/conversion-calls.ts';
import { eachDatabase } from '../testing/databases.ts';
import { assertRefused, type TestApp } from '../testing/test-app.ts';
import { createConversionSide } from './conversion-side.ts';
import { createCurrencies } from './currencies.ts';
import { SHIPPED_RATES } from './currency-rates.ts';
import type { Earnings, LeadFacts, RefundFacts, SaleFacts } from './earnings.ts';

const DAY_MS = 86_400_000;
const NOTHING_SOLD = { eventName: 'Purchase', customer: null, sale: null };

/** Remembers what partners would earn by. */
function rememberEarnings() {
  const told: (['lead', LeadFacts] | ['sale', SaleFacts] | ['refund', RefundFacts])[] = [];
  const earnings: Earnings = {
    lead: async (facts) => void told.push(['lead', facts]),
    sale: async (facts) => void told.push(['sale', facts]),
    refund: async (facts) => void told.push(['refund', facts]),
    findPartner: async () => ({ id: 'pn_1' }),
  };
  return { told, earnings };
}

/** The service on the stores of a running app, with other earnings. */
function serviceOf({ app }: TestApp, earnings: Earnings) {
  const { db, clock, config, services } = app;
  const { customers, workspaces } = services;
  return createConversionSide({
    db,
    customers,
    workspaces,
    findLinks: createLinkStore(db).findByIds,
    addToLink: createLinkCounterStore(db).addConversions,
    countUsage: workspaces.countEvents,
    findClick: async () => undefined,
    earnings,
    countClick: async () => {},
    currencies: createCurrencies(),
    publicUrl: config.publicUrl,
    clock,
  }).conversions;
}

const SALE = {
  clickId: '',
  eventName: 'Purchase',
  currency: 'usd',
  paymentProcessor: 'stripe',
  invoiceId: null,
  leadEventName: null,
  metadata: null,
  customerName: null,
  customerEmail: null,
  customerAvatar: null,
} as const;

eachDatabase('Sales', (databases) => {
  let t: TestApp;
  let c: Converting;
  before(async () => {
    ({ t } = await openConverting(await databases.place()));
  });
  after(() => t.close());

  const fresh = async () => {
    c = await converting(t);
  };
  /** A customer with a lead on a link. */
  async function buyer(fields: { link?: { id: string; workspaceId: string }; eventName?: string } = {}) {
    const link = fields.link ?? (await c.link());
    const customerExternalId = c.newCustomer();
    const clickId = await c.importClick(link);
    await c.lead({ clickId, customerExternalId, ...(fields.eventName && { eventName: fields.eventName }) });
    return { link, clickId, customerExternalId };
  }
  const counters = async (id: string) => {
    const { leads, conversions, sales, saleAmount } = await c.readLink(id);
    return { leads, conversions, sales, saleAmount };
  };
  const customerOf = async (externalId: string) => c.call('GET', `/customers/ext_${externalId}`);

  test('are answered with customer and sale, and counted on link, customer and workspace', async () => {
    await fresh();
    const { link, clickId, customerExternalId } = await buyer();
    t.clock.advance(DAY_MS);
    const metadata = { plan: 'pro' };
    const { customer, ...answer } = await c.sale({
      customerExternalId,
      amount: 4_900,
      eventName: 'Invoice paid',
      paymentProcessor: 'stripe',
      invoiceId: ' inv_77 ',
      metadata,
    });
    assert.deepEqual(answer, {
      eventName: 'Invoice paid',
      sale: { amount: 4_900, currency: 'usd', paymentProcessor: 'stripe', invoiceId: 'inv_77', metadata },
    });
    assert.match(customer.id, /^cus_/);
    assert.equal(customer.externalId, customerExternalId);
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 1, saleAmount: 4_900 });
    const { sales, saleAmount, firstSaleAt } = await customerOf(customerExternalId);
    assert.deepEqual([sales, saleAmount, firstSaleAt], [1, 4_900, new Date(t.clock.now()).toISOString()]);
    assert.equal((await c.call('GET', `/workspaces/${c.workspace.id}`)).usage, 2);
    assert.partialDeepStrictEqual((await c.rows('sale'))[0], {
      link_id: link.id,
      click_id: clickId,
      customer_id: customer.id,
      invoice_id: 'inv_77',
      amount: 4_900,
      time_ms: t.clock.now(),
      refunded_amount: 0,
    });
  });

  test('in another currency are told in US cents, and keep what was paid', async () => {
    await fresh();
    const { customerExternalId } = await buyer();
    const cents = (amount: number, currency: string) => createCurrencies().toCents(amount, currency);
    for (const [amount, currency] of [
      [4_000, 'EUR'],
      [15_000, 'jpy'],
      [1_000, ' Kwd '],
    ] as const) {
      const { sale } = await c.sale({ customerExternalId, amount, currency });
      assert.deepEqual([sale.amount, sale.currency], [cents(amount, currency.trim().toLowerCase()), 'usd']);
    }
    const kept = (await c.rows('sale')).map((row) => [
      row.original_amount,
      row.original_currency,
      row.currency,
    ]);
    assert.deepEqual(kept.sort(), [
      [1_000, 'kwd', 'usd'],
      [15_000, 'jpy', 'usd'],
      [4_000, 'eur', 'usd'],
    ]);
  });

  test('in a currency without a rate are refused, and nothing is recorded', async () => {
    await fresh();
    const body = {
      clickId: await c.importClick(await c.link()),
      customerExternalId: 'new',
      amount: 5,
      currency: 'xxx',
    };
    assertRefused(await c.post('/track/sale', body), 422, /custom: currency: xxx/);
    assert.deepEqual(
      [await c.rows('customer'), await c.rows('lead'), await c.rows('conversion_key')],
      [[], [], []],
    );
  });

  test('of an invoice are recorded once, for ever: a repeat gets the first answer, whoever asks', async () => {
    await fresh();
    const { link, customerExternalId } = await buyer();
    const answer = await c.sale({ customerExternalId, invoiceId: 'inv', amount: 700 });
    t.clock.advance(400 * DAY_MS);
    const other = await buyer({ link });
    for (const body of [
      { customerExternalId, amount: 700 },
      { customerExternalId: other.customerExternalId, amount: 1 },
      { customerExternalId: 'stranger', amount: 0 },
      { customerExternalId: 'stranger', amount: 1, currency: 'xxx' },
    ])
      assert.deepEqual(await c.sale({ ...body, invoiceId: 'inv' }), answer);
    assert.equal((await c.rows('sale')).length, 1);
    assert.deepEqual(await counters(link.id), { leads: 2, conversions: 1, sales: 1, saleAmount: 700 });
  });

  test('that did not succeed leave their invoice free', async () => {
    await fresh();
    const body = { customerExternalId: 'u', invoiceId: 'inv', amount: 100 };
    assert.deepEqual(await c.sale(body), NOTHING_SOLD);
    assert.equal((await c.post('/track/sale', { ...body, clickId: 'unknown' })).status, 404);
    const clickId = await c.importClick(await c.link());
    assert.deepEqual(await c.sale({ ...body, clickId, amount: 0 }), NOTHING_SOLD);
    assert.equal((await c.sale(body)).sale.amount, 100);
  });

  test('without an invoice are each their own', async () => {
    await fresh();
    const { link, customerExternalId } = await buyer();
    for (const invoiceId of [undefined, null, '', ' '])
      await c.sale({ customerExternalId, invoiceId, amount: 10 });
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 4, saleAmount: 40 });
  });

  test('follow the latest lead, or the latest of the name that is asked for', async () => {
    await fresh();
    const { link: first, customerExternalId } = await buyer({ eventName: 'Sign up' });
    t.clock.advance(1_000);
    const second = await c.link();
    await c.lead({ clickId: await c.importClick(second), customerExternalId, eventName: 'Demo' });
    await c.sale({ customerExternalId, amount: 10, leadEventName: 'Sign up' });
    await c.sale({ customerExternalId, amount: 1 });
    await c.sale({ customerExternalId, amount: 100, clickId: 'ignored' });
    assert.deepEqual(await counters(first.id), { leads: 1, conversions: 1, sales: 1, saleAmount: 10 });
    assert.deepEqual(await counters(second.id), { leads: 1, conversions: 1, sales: 2, saleAmount: 101 });
    const wrong = { customerExternalId, amount: 1, leadEventName: 'sign up' };
    assertRefused(await c.post('/track/sale', wrong), 404, /leadEventName/);
  });

  test('of somebody unknown without a click are answered with nothing', async () => {
    await fresh();
    for (const clickId of [undefined, null, ''])
      assert.deepEqual(await c.sale({ customerExternalId: 'u', clickId, eventName: 'Paid' }), {
        ...NOTHING_SOLD,
        eventName: 'Paid',
      });
    assert.deepEqual([await c.rows('customer'), await c.rows('sale')], [[], []]);
  });

  test('of customers without a lead, or of links that are gone or off, are 404', async () => {
    await fresh();
    await c.call('POST', '/customers', { externalId: 'by-hand', country: 'DE' });
    assertRefused(await c.post('/track/sale', { customerExternalId: 'by-hand', amount: 1 }), 404, /no lead/);
    const gone = await buyer();
    await c.call('DELETE', `/links/${gone.link.id}`);
    const off = await buyer();
    await t.app.db.query.updateTable('link').set({ disabled_at: 1 }).where('id', '=', off.link.id).execute();
    for (const amount of [0, 1]) {
      for (const { customerExternalId } of [gone, off])
        assertRefused(await c.post('/track/sale', { customerExternalId, amount }), 404, /link of this click/);
      for (const clickId of ['unknown', gone.clickId, off.clickId])
        assert.equal((await c.post('/track/sale', { customerExternalId: 'u', amount, clickId })).status, 404);
    }
    assert.deepEqual(await c.rows('sale'), []);
  });

  test('of somebody new with a click make the customer and a lead first', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.importClick(link, { country: 'FR' });
    const { customer } = await c.sale({
      clickId,
      customerExternalId: 'u',
      customerName: 'Ada',
      metadata: { a: 1 },
    });
    assert.equal(customer.name, 'Ada');
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 1, saleAmount: 1_000 });
    const [lead] = await c.rows('lead');
    assert.deepEqual([lead?.event_name, lead?.metadata, lead?.click_id], ['Direct sale', '{"a":1}', clickId]);
    assert.equal((await customerOf('u')).country, 'FR');
    assert.equal((await c.call('GET', `/workspaces/${c.workspace.id}`)).usage, 2);
    await c.sale({ clickId: await c.importClick(link), customerExternalId: 'v', leadEventName: 'Trial' });
    assert.deepEqual((await c.rows('lead')).map(({ event_name }) => event_name).sort(), [
      'Direct sale',
      'Trial',
    ]);
  });

  test('of nothing sell nothing, and yet make the customer and the lead of somebody new', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.importClick(link);
    assert.deepEqual(await c.sale({ clickId, customerExternalId: 'u', amount: 0 }), NOTHING_SOLD);
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 0, sales: 0, saleAmount: 0 });
    assert.equal((await customerOf('u')).sales, 0);
  });

  test('count a customer once as a conversion of each link that it bought through', async () => {
    await fresh();
    const { link: first, customerExternalId } = await buyer();
    await c.sale({ customerExternalId });
    await c.sale({ customerExternalId });
    t.clock.advance(1);
    const second = await c.link();
    await c.lead({ clickId: await c.importClick(second), customerExternalId, eventName: 'Other' });
    for (let i = 0; i < 3; i++) await c.sale({ customerExternalId });
    assert.deepEqual(
      [(await counters(first.id)).conversions, (await counters(second.id)).conversions],
      [1, 1],
    );
    const { customerExternalId: imported, link } = await buyer();
    await t.app.db.query
      .updateTable('customer')
      .set({ sales: 3 })
      .where('external_id', '=', imported)
      .execute();
    await c.sale({ customerExternalId: imported });
    assert.equal((await counters(link.id)).conversions, 0, 'it was one before it was brought along');
  });

  test('a hundred times at once with one invoice are one, and all get the same answer', async () => {
    await fresh();
    const { link, customerExternalId } = await buyer();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        c.sale({ customerExternalId, invoiceId: 'inv', amount: 100 + i }),
      ),
    );
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
    const [sale] = await c.rows('sale');
    assert.equal((await c.rows('sale')).length, 1);
    assert.deepEqual(await counters(link.id), {
      leads: 1,
      conversions: 1,
      sales: 1,
      saleAmount: sale?.amount,
    });
  });

  test('a hundred times at once of somebody new are a hundred sales of one customer with one lead', async () => {
    await fresh();
    const link = await c.link();
    const clickId = await c.importClick(link);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => c.sale({ clickId, customerExternalId: 'u', amount: 3 })),
    );
    assert.equal(new Set(answers.map(({ customer }) => customer.id)).size, 1);
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 100, saleAmount: 300 });
    assert.deepEqual([(await customerOf('u')).sales, (await customerOf('u')).saleAmount], [100, 300]);
  });

  test('a hundred times at once with one Idempotency-Key are one', async () => {
    await fresh();
    const { link, customerExternalId } = await buyer();
    const body = { customerExternalId, amount: 5 };
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => c.post('/track/sale', body, { 'idempotency-key': 'once' })),
    );
    assert.equal(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size, 1);
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 1, saleAmount: 5 });
  });

  test('in any currency add up: events, links and customers agree to the cent', async (context) => {
    await fresh();
    const links = await Promise.all(Array.from({ length: 4 }, () => c.link()));
    const buyers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => buyer({ link: links[i % 4] as never })),
    );
    const currencies = Object.keys(SHIPPED_RATES.rates);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;
    const answers = await Promise.all(
      Array.from({ length: 240 }, () =>
        c.sale({
          customerExternalId: pick(buyers).customerExternalId,
          amount: 1 + Math.floor(Math.random() ** 4 * 1e9),
          currency: pick(currencies),
        }),
      ),
    );
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    const total = sum(answers.map(({ sale }) => sale.amount));
    const rows = await c.rows('sale');
    context.diagnostic(
      `240 sales in ${new Set(rows.map((row) => row.original_currency)).size} currencies: ${total} US cents`,
    );
    assert.ok(rows.every(({ amount }) => Number.isSafeInteger(amount)));
    assert.equal(sum(rows.map(({ amount }) => amount)), total);
    const customers = await c.rows('customer');
    assert.equal(sum(customers.map(({ sale_amount }) => sale_amount)), total);
    assert.equal(sum(customers.map(({ sales }) => sales)), 240);
    for (const link of links) {
      const own = rows.filter(({ link_id }) => link_id === link.id);
      const { sales, saleAmount, conversions } = await counters(link.id);
      assert.deepEqual([sales, saleAmount], [own.length, sum(own.map(({ amount }) => amount))]);
      assert.equal(conversions, new Set(own.map(({ customer_id }) => customer_id)).size);
    }
  });

  test('tell partners’ earnings all there is to know, in the transaction', async () => {
    await fresh();
    const { told, earnings } = rememberEarnings();
    const conversions = serviceOf(t, earnings);
    const link = await c.link();
    const clickId = await c.importClick(link);
    const [workspaceId, customerExternalId] = [c.workspace.id, 'u'];
    const sale = { ...SALE, customerExternalId, clickId, amount: 4_000, currency: 'eur', invoiceId: 'inv' };
    await conversions.trackSale(workspaceId, sale);
    await conversions.trackSale(workspaceId, sale);
    const cents = createCurrencies().toCents(4_000, 'eur');
    assert.deepEqual(
      told.map(([kind]) => kind),
      ['lead', 'sale'],
    );
    assert.partialDeepStrictEqual(told[0]?.[1], {
      isDirectSale: true,
      quantity: 1,
      eventName: 'Direct sale',
    });
    assert.partialDeepStrictEqual(told[1]?.[1], {
      workspaceId,
      amount: cents,
      invoiceId: 'inv',
      isFirst: true,
      link: { id: link.id, sales: 1, conversions: 1 },
      customer: { externalId: 'u', sales: 0 },
      click: { id: clickId },
    });
    const failing = serviceOf(t, { ...earnings, sale: () => Promise.reject(new Error('no earnings')) });
    await assert.rejects(
      conversions.refund({ workspaceId, invoiceId: 'other', refundId: 're_0' }),
      /no sale/,
    );
    await assert.rejects(failing.trackSale(workspaceId, { ...sale, invoiceId: 'two' }), /no earnings/);
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 1, saleAmount: cents });
    assert.equal(
      (await conversions.trackSale(workspaceId, { ...sale, invoiceId: 'two' })).sale?.amount,
      cents,
    );
  });

  test('are refunded once per refund, never more than was paid, and stay in every count', async () => {
    await fresh();
    const { told, earnings } = rememberEarnings();
    const { trackSale, refund } = serviceOf(t, earnings);
    const { link, customerExternalId } = await buyer();
    const workspaceId = c.workspace.id;
    await trackSale(workspaceId, {
      ...SALE,
      customerExternalId,
      amount: 1_000,
      currency: 'eur',
      invoiceId: 'inv',
    });
    const paid = createCurrencies().toCents(1_000, 'eur');
    const some = { workspaceId, invoiceId: 'inv', refundId: 're_1', amount: 250 };
    const answers = await Promise.all(Array.from({ length: 20 }, () => refund(some)));
    const quarter = Math.round(paid / 4);
    for (const answer of answers)
      assert.partialDeepStrictEqual(answer, { amount: quarter, refundedAmount: quarter });
    const rest = await refund({ workspaceId, invoiceId: 'inv', refundId: 're_2' });
    assert.deepEqual([rest.amount, rest.refundedAmount], [paid - quarter, paid]);
    assert.equal((await refund({ ...some, refundId: 're_3' })).amount, 0, 'nothing is left');
    const refunds = told.flatMap(([kind, facts]) => (kind === 'refund' ? [facts] : []));
    assert.deepEqual(
      refunds.map(({ refundId, amount, saleAmount, refundedAmount }) => [
        refundId,
        amount,
        saleAmount,
        refundedAmount,
      ]),
      [
        ['re_1', quarter, paid, quarter],
        ['re_2', paid - quarter, paid, paid],
      ],
    );
    const [row] = await c.rows('sale');
    assert.deepEqual([row?.amount, row?.refunded_amount, row?.refunded_at], [paid, paid, t.clock.now()]);
    assert.equal((await counters(link.id)).saleAmount, paid);
    assert.equal((await customerOf(customerExternalId)).saleAmount, paid);
  });

  test('many refunds at once take back no more than was paid', async () => {
    await fresh();
    const { told, earnings } = rememberEarnings();
    const { trackSale, refund } = serviceOf(t, earnings);
    const { customerExternalId } = await buyer();
    const workspaceId = c.workspace.id;
    await trackSale(workspaceId, { ...SALE, customerExternalId, amount: 1_000, invoiceId: 'inv' });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        refund({ workspaceId, invoiceId: 'inv', refundId: `re_${i}`, amount: 70 }),
      ),
    );
    assert.equal(
      answers.reduce((sum, { amount }) => sum + amount, 0),
      1_000,
    );
    assert.equal((await c.rows('sale'))[0]?.refunded_amount, 1_000);
    assert.equal(told.filter(([kind]) => kind === 'refund').length, Math.ceil(1_000 / 70));
  });

  test('are credited to the first click where the workspace says so', async () => {
    await fresh();
    await c.settings({ attribution: 'first_click' });
    const { link: first, clickId, customerExternalId } = await buyer();
    t.clock.advance(DAY_MS);
    const second = await c.link();
    const later = await c.lead({
      clickId: await c.importClick(second),
      customerExternalId,
      eventName: 'Demo',
    });
    assert.deepEqual([later.link.id, later.click.id], [first.id, clickId]);
    await c.sale({ customerExternalId });
    assert.deepEqual(await counters(first.id), { leads: 2, conversions: 1, sales: 1, saleAmount: 1_000 });
    assert.deepEqual(await counters(second.id), { leads: 0, conversions: 0, sales: 0, saleAmount: 0 });
    await c.settings({ attributionDays: 30 });
    t.clock.advance(30 * DAY_MS);
    const third = await c.link();
    await c.lead({ clickId: await c.importClick(third), customerExternalId, eventName: 'Later' });
    await c.sale({ customerExternalId });
    assert.deepEqual(await counters(third.id), { leads: 1, conversions: 1, sales: 1, saleAmount: 1_000 });
  });

  test('and leads are credited to nobody once every click is too old', async () => {
    await fresh();
    await c.settings({ attributionDays: 7 });
    const { link, clickId, customerExternalId } = await buyer();
    t.clock.advance(7 * DAY_MS);
    await c.sale({ customerExternalId });
    t.clock.advance(1);
    assert.deepEqual(await c.sale({ customerExternalId }), NOTHING_SOLD);
    for (const body of [
      { customerExternalId, eventName: 'Late' },
      { customerExternalId, eventName: 'Late', clickId },
      { customerExternalId: 'new', eventName: 'Late', clickId },
    ])
      assertRefused(await c.post('/track/lead', body), 404, /older than the 7 days/);
    assert.deepEqual(await counters(link.id), { leads: 1, conversions: 1, sales: 1, saleAmount: 1_000 });
    await c.settings({ attributionDays: null });
    assert.equal((await c.sale({ customerExternalId })).sale.amount, 1_000);
  });

  test('and leads decide A/B tests: the destination that brought the most leads wins', async () => {
    await fresh();
    const [a, b] = ['https://a.example/?v=1', 'https://a.example/?v=2'];
    const link = await c.link({
      testVariants: [a, b].map((url) => ({ url, percentage: 50 })),
      testStartedAt: new Date(t.clock.now()).toISOString(),
      testCompletedAt: 'in 1 hour',
    });
    const came = async (url: string, timeMs: number, times: number) => {
      for (let i = 0; i < times; i++) {
        const clickId = await c.importClick(link, { url: `${url}&dub_id=${i}`, timeMs });
        await c.lead({ clickId, customerExternalId: c.newCustomer() });
      }
    };
    await came(a, t.clock.now(), 2);
    await came(b, t.clock.now(), 3);
    t.clock.advance(3_600_000);
    await t.app.services.testEnd.endTests(new AbortController().signal);
    assert.equal((await c.readLink(link.id)).url, b);
  });
});

describe('A sale', () => {
  let t: TestApp;
  let c: Converting;
  before(async () => {
    ({ t } = await openConverting());
    c = await converting(t);
  });
  after(() => t.close());

  for (const [body, status, text] of [
    [{ customerExternalId: undefined }, 400, /: customerExternalId: /],
    [{ customerExternalId: '' }, 422, /: customerExternalId: /],
    [{ amount: undefined }, 400, /: amount: /],
    [{ amount: '100' }, 400, /: amount: /],
    [{ amount: -1 }, 422, /: amount: /],
    [{ amount: 1.5 }, 422, /: amount: /],
    [{ amount: 1e15 }, 422, /: amount: /],
    [{ currency: 'dollars' }, 422, /: currency: /],
    [{ currency: '' }, 422, /: currency: /],
    [{ currency: 7 }, 400, /: currency: /],
    [{ eventName: 'n'.repeat(256) }, 422, /: eventName: /],
    [{ paymentProcessor: 'bank' }, 422, /: paymentProcessor: /],
    [{ invoiceId: 7 }, 400, /: invoiceId: /],
    [{ invoiceId: 'i'.repeat(256) }, 422, /: invoiceId: /],
    [{ leadEventName: 7 }, 400, /: leadEventName: /],
    [{ metadata: [] }, 400, /: metadata: /],
    [{ metadata: { a: 'm'.repeat(10_000) } }, 422, /: metadata: /],
    [{ customerEmail: 'nobody' }, 422, /: customerEmail: /],
  ] as const) {
    test(`with ${JSON.stringify(body).slice(0, 60)} is ${status}`, async () => {
      const valid = { customerExternalId: 'u', amount: 100, clickId: await c.importClick(await c.link()) };
      assertRefused(await c.post('/track/sale', { ...valid, ...body }), status, text);
      assert.deepEqual([await c.rows('customer'), await c.rows('sale')], [[], []]);
    });
  }

  test('names the customer in three ways', async () => {
    for (const names of [{ externalId: 'b', customerId: 'c' }, { customerId: 'd' }]) {
      const clickId = await c.importClick(await c.link());
      assert.equal((await c.sale({ clickId, ...names })).customer.externalId, Object.values(names)[0]);
    }
  });
});
