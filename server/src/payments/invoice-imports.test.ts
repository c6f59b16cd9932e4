// What a customer has paid in Stripe becomes sales of a partner: through the whole application, with a server that
// answers as Stripe does.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openEarning, type TestPartner } from '../testing/earning-calls.ts';
import {
  charge,
  type FakeStripe,
  invoice,
  newId,
  openFakeStripe,
  STRIPE_KEY,
  STRIPE_SECRET,
  stripeEvent,
  stripeOf,
} from '../testing/stripe-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

eachDatabase('invoices from Stripe', (databases) => {
  let t: TestApp;
  let stripe: FakeStripe;
  before(async () => {
    stripe = await openFakeStripe();
    t = await openTestApp({
      databaseUrl: await databases.place(),
      stripeUrl: stripe.url,
      env: { LINKTRAIL_ALLOW_PRIVATE: '127.0.0.1' },
    });
  });
  after(async () => {
    await t.close();
    await stripe.close();
  });

  async function open(reward: object = {}) {
    const p = await openEarning(t, { reward });
    const connect = (more: object) =>
      p.call('PUT', '/integrations/stripe', { webhookSecret: STRIPE_SECRET, ...more });
    await connect({ apiKey: STRIPE_KEY });
    const partner = await p.partner();
    const customer = () => ({ externalId: p.newCustomer(), country: 'SE', stripeCustomerId: newId('cus') });
    return {
      ...p,
      connect,
      mia: partner,
      newStripeCustomer: customer,
      start: ({ id: partnerId }: TestPartner, who: object) =>
        p.call('POST', '/commissions', { type: 'sale', partnerId, importStripeInvoices: true, ...who }),
      imports: async () => (await p.get('/integrations/stripe')).invoiceImports,
      sales: async () =>
        (await p.rows('sale'))
          .toSorted((a, b) => a.time_ms - b.time_ms)
          .map(({ invoice_id, amount, time_ms }) => [invoice_id, amount, time_ms]),
    };
  }
  const run = () => t.app.services.invoiceImports.run(new AbortController().signal);
  const daysAgo = (days: number) => Math.floor((t.clock.now() - days * DAY_MS) / 1000);
  const paid = (days: number, amount_paid: number, fields: object = {}) =>
    invoice({
      status: 'paid',
      amount_paid,
      created: daysAgo(days) - 60,
      status_transitions: { paid_at: daysAgo(days) },
      ...fields,
    });

  test('each becomes a sale at its own time, the oldest first, and earns by the usual rules', async () => {
    const p = await open({ maxDuration: 0 });
    const customer = p.newStripeCustomer();
    const [first, second, free] = [paid(60, 1_000), paid(30, 2_000, { currency: 'eur' }), paid(5, 0)];
    stripe.invoices.set(customer.stripeCustomerId, [free, second, first]);
    const reply = await p.start(p.mia, { customer });
    assert.equal(reply.status, 202);
    assert.deepEqual(await p.rows('sale'), []);
    assert.deepEqual((await p.imports())[0].status, 'waiting');
    await run();
    const [a, b, ...others] = await p.sales();
    assert.deepEqual([a?.[0], a?.[1], a?.[2]], [first.id, 1_000, daysAgo(60) * 1000]);
    assert.deepEqual([b?.[0], b?.[2], others.length], [second.id, daysAgo(30) * 1000, 0]);
    assert.ok((b?.[1] as number) > 2_000);
    // Only the first sale of a customer is rewarded here.
    const commissions = await p.commissions();
    assert.deepEqual(
      commissions.map((row) => [row.invoice_id, row.earnings, row.created_at]),
      [[first.id, 200, daysAgo(60) * 1000]],
    );
    assert.equal(commissions[0]?.status, 'processed');
    assert.partialDeepStrictEqual((await p.imports())[0], { status: 'done', recorded: 2, error: null });
    assert.partialDeepStrictEqual(await p.readLink(p.mia.link.id), { clicks: 1, leads: 1, sales: 2 });
    assert.equal((await p.get(`/customers/ext_${customer.externalId}`)).sales, 2);
    await p.assertTotals(p.mia.id);
  });

  test('all pages are read, and what is known already is passed over', async () => {
    const p = await open();
    const customer = p.newStripeCustomer();
    const all = Array.from({ length: 120 }, (_, n) => paid(n + 1, 100));
    stripe.invoices.set(customer.stripeCustomerId, all);
    const known = { customerExternalId: p.newCustomer(), clickId: await p.importClick(p.mia.link) };
    await p.sale({ ...known, amount: 100, invoiceId: all[50]?.id });
    await p.start(p.mia, { customer });
    await run();
    assert.equal((await p.rows('sale')).length, 120);
    assert.equal((await p.imports())[0].recorded, 119);
    const [{ id: customerId }] = await p.get(`/customers?externalId=${customer.externalId}`);
    await p.start(p.mia, { customerId, linkId: p.mia.link.id });
    await run();
    assert.equal((await p.rows('sale')).length, 120);
    assert.equal((await p.commissions()).length, 120);
    assert.partialDeepStrictEqual(await p.imports(), [{ status: 'done', recorded: 0 }]);
    assert.match(stripe.asked.at(-1) ?? '', /starting_after=in_/);
    await p.assertTotals(p.mia.id);
  });

  test('what was given back before counts, and so does what is given back after', async () => {
    const p = await open();
    const customer = p.newStripeCustomer();
    const { receive } = stripeOf(t, p.ws.id);
    const part = charge({ amount_refunded: 600 });
    const early = charge({ amount_refunded: 1_000, refunded: true });
    const [a, b, c] = [
      paid(9, 1_000, { charge: part }),
      paid(8, 1_000, { charge: { id: early.id, amount_refunded: 0 } }),
      paid(7, 1_000, { payment_intent: newId('pi') }),
    ];
    await receive(stripeEvent('charge.refunded', { ...part, amount_refunded: 200 }));
    await receive(stripeEvent('charge.refunded', early));
    stripe.invoices.set(customer.stripeCustomerId, [c, b, a]);
    await p.start(p.mia, { customer });
    await run();
    const refunded = async (id: string) =>
      (await p.rows('sale')).find((row) => row.invoice_id === id)?.refunded_amount;
    assert.deepEqual([await refunded(a.id), await refunded(b.id), await refunded(c.id)], [600, 1_000, 0]);
    await p.start(p.mia, { customer });
    await run();
    assert.equal(await refunded(a.id), 600);
    const { payment_intent } = c as unknown as { payment_intent: string };
    const later = charge({ payment_intent, amount_refunded: 100 });
    await receive(stripeEvent('charge.refunded', later, { amount_refunded: 0 }));
    assert.equal(await refunded(c.id), 100);
    await p.assertTotals(p.mia.id);
  });

  test('it is tried again for a while when Stripe is busy or down', async () => {
    const p = await open();
    const customer = p.newStripeCustomer();
    stripe.invoices.set(customer.stripeCustomerId, [paid(1, 700)]);
    await p.start(p.mia, { customer });
    stripe.failures.push(429, 500);
    await run();
    assert.partialDeepStrictEqual((await p.imports())[0], {
      status: 'waiting',
      error: 'Stripe answered 429.',
    });
    const asked = stripe.asked.length;
    await run();
    assert.equal(stripe.asked.length, asked, 'not before its time');
    t.clock.advance(MINUTE_MS);
    await run();
    t.clock.advance(2 * MINUTE_MS);
    await run();
    assert.partialDeepStrictEqual((await p.imports())[0], { status: 'done', recorded: 1, error: null });

    const other = p.newStripeCustomer();
    await p.start(p.mia, { customer: other });
    stripe.failures.push(...Array.from({ length: 7 }, () => 503));
    for (let tries = 0; tries < 7; tries++) {
      await run();
      t.clock.advance(DAY_MS);
    }
    assert.deepEqual(stripe.failures, []);
    assert.partialDeepStrictEqual((await p.imports())[0], {
      status: 'failed',
      error: 'Stripe answered 503.',
    });
  });

  test('a run that is interrupted goes on where it has to', async () => {
    const p = await open();
    const customer = p.newStripeCustomer();
    stripe.invoices.set(customer.stripeCustomerId, [paid(2, 300), paid(3, 400)]);
    await p.start(p.mia, { customer });
    const stop = new AbortController();
    const { db } = t.app;
    let heard = 0;
    await db.follow({
      name: `stop ${p.ws.id}`,
      digest(event) {
        if (event.workspaceId === p.ws.id && event.type === 'sale.created' && ++heard === 1) stop.abort();
        return undefined;
      },
      receive() {},
      lost() {},
    });
    await t.app.services.invoiceImports.run(stop.signal);
    assert.equal((await p.rows('sale')).length, 1);
    assert.equal((await p.imports())[0].status, 'waiting');
    await run();
    assert.equal((await p.rows('sale')).length, 2);
    assert.equal((await p.imports())[0].status, 'done');
  });

  test('a key that Stripe does not know ends it with a reason, and no answer shows the key', async () => {
    const p = await open();
    const wrong = 'rk_test_thisisnotthekey';
    await p.connect({ apiKey: wrong });
    await p.start(p.mia, { customer: p.newStripeCustomer() });
    await run();
    const [shown] = await p.imports();
    assert.equal(shown.status, 'failed');
    assert.match(shown.error, /does not know the key/);
    assert.ok(!JSON.stringify(await p.get('/integrations/stripe')).includes(wrong));
  });

  test('is refused by field, and then nothing is there', async () => {
    const p = await open();
    const customer = p.newStripeCustomer();
    const refused = (status: number, field: string | undefined, body: object) =>
      p.refused(status, field, 'POST', '/commissions', {
        type: 'sale',
        partnerId: p.mia.id,
        importStripeInvoices: true,
        ...body,
      });
    for (const manual of [
      { saleAmount: 5 },
      { sale: { amount: 5 } },
      { invoiceId: 'in_1' },
      { productId: 'p' },
    ])
      await refused(400, 'importStripeInvoices', { customer, ...manual });
    const { stripeCustomerId: _, ...without } = customer;
    await refused(400, 'customer.stripeCustomerId', { customer: without });
    await refused(400, 'customerId', {});
    await refused(404, 'linkId', { customer, linkId: 'link_unknown' });
    await refused(404, undefined, { customer, partnerId: 'pn_unknown' });
    await p.connect({ apiKey: null });
    await refused(400, 'importStripeInvoices', { customer });
    assert.deepEqual([await p.rows('customer'), await p.imports()], [[], []]);
    await p.post('/customers', without);
    const [{ id: customerId }] = await p.get(`/customers?externalId=${customer.externalId}`);
    await refused(400, 'customerId', { customerId });
  });

  test('goes with a customer who is erased, and after a month', async () => {
    const p = await open();
    const [gone, done] = [p.newStripeCustomer(), p.newStripeCustomer()];
    await p.start(p.mia, { customer: gone });
    await p.call('DELETE', `/customers/ext_${gone.externalId}`);
    assert.deepEqual(await p.imports(), []);
    await p.start(p.mia, { customer: done });
    await run();
    t.clock.advance(31 * DAY_MS);
    await t.app.services.invoiceImports.prune(new AbortController().signal);
    assert.deepEqual(await p.imports(), []);
  });
});
