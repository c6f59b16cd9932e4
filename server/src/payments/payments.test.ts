import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Converting, openConverting, type WireLink } from '../testing/conversion-calls.ts';
import { eachDatabase } from '../testing/databases.ts';
import {
  charge,
  stripeEvent as event,
  invoice,
  newId,
  STRIPE_SECRET as SECRET,
  STRIPE_KEY,
  session,
  signature,
  stripeOf,
} from '../testing/stripe-calls.ts';
import type { TestApp } from '../testing/test-app.ts';

eachDatabase('payments', (databases) => {
  let t: TestApp;
  let c: Converting;
  let link: WireLink;

  before(async () => {
    const opened = await openConverting(await databases.place());
    t = opened.t;
    c = opened;
    link = await c.link();
    await c.call('PUT', '/integrations/stripe', { webhookSecret: SECRET });
  });
  after(() => t.close());

  const send: ReturnType<typeof stripeOf>['send'] = (...event) => stripeOf(t, c.workspace.id).send(...event);
  const receive = (body: string) => stripeOf(t, c.workspace.id).receive(body);

  const customersOf = (email: string) => c.call('GET', `/customers?email=${encodeURIComponent(email)}`);
  const saleOf = async (invoiceId: string) =>
    (await c.rows('sale')).find((row) => row.invoice_id === invoiceId);

  test('the connection shows where Stripe is to send, and never the secret', async () => {
    const shown = await c.call('GET', '/integrations/stripe');
    assert.equal(shown.webhookUrl, `http://localhost:3000/api/stripe/webhook/${c.workspace.id}`);
    assert.deepEqual(shown.events, [
      'checkout.session.completed',
      'checkout.session.async_payment_succeeded',
      'invoice.paid',
      'invoice_payment.paid',
      'charge.refunded',
    ]);
    assert.ok(!JSON.stringify(shown).includes(SECRET));
  });

  test('a key to ask Stripe with is kept until it is taken away, and never shown', async () => {
    const put = async (more: object) => {
      const shown = await c.call('PUT', '/integrations/stripe', { webhookSecret: SECRET, ...more });
      assert.ok(!JSON.stringify(shown).includes(STRIPE_KEY));
      return shown.hasApiKey;
    };
    assert.deepEqual(
      [await put({}), await put({ apiKey: STRIPE_KEY }), await put({}), await put({ apiKey: null })],
      [false, true, true, false],
    );
    // A key that could move money is not wanted.
    const whole = { webhookSecret: SECRET, apiKey: 'sk_live_abcdefghijklmnop' };
    const reply = await t.request('PUT', '/integrations/stripe', { key: c.workspace.key, body: whole });
    assert.equal(reply.status, 422);
    assert.match(reply.json.error.message, /apiKey/);
    assert.ok(!reply.text.includes(whole.apiKey));
  });

  test('what is not signed with the secret of the workspace, or long ago, is refused and nothing is recorded', async () => {
    const clickId = await c.importClick(link);
    const body = event(
      'checkout.session.completed',
      session({ amount_total: 100, metadata: { dub_id: clickId } }),
    );
    const forged = await send(body, 'whsec_anotherone');
    const old = await send(body, SECRET, t.clock.now() - 301_000);
    const unsigned = await t.request('POST', `/stripe/webhook/${c.workspace.id}`, { body });
    const changed = await t.request('POST', `/stripe/webhook/${c.workspace.id}`, {
      body: body.replace('100', '999'),
      headers: {
        'stripe-signature': signature(body, SECRET, t.clock.now()),
      },
    });
    assert.deepEqual(
      [forged, old, unsigned, changed].map(({ status }) => status),
      [401, 401, 401, 401],
    );
    assert.equal((await c.rows('sale')).length, 0);
  });

  test('a workspace without a connection takes nothing', async () => {
    const other = await t.workspace();
    const body = event('invoice.paid', invoice({ customer: 'cus_x', amount_paid: 100 }));
    const reply = await t.request('POST', `/stripe/webhook/${other.id}`, { body });
    assert.equal(reply.status, 404);
  });

  test('a checkout that came by a short link makes the customer, the lead and the sale', async () => {
    const clickId = await c.importClick(link);
    const before = await c.readLink(link.id);
    const paid = session({ amount_total: 4900, client_reference_id: `dub_id_${clickId}` });
    const body = event('checkout.session.completed', paid);
    assert.deepEqual(await receive(body), { received: true, recorded: ['sale'], ignored: [] });
    const after = await c.readLink(link.id);
    assert.deepEqual(
      [after.leads - before.leads, after.sales - before.sales, after.saleAmount - before.saleAmount],
      [1, 1, 4900],
    );
    const [customer] = await customersOf('ada@acme.example');
    assert.deepEqual(
      [customer.externalId, customer.stripeCustomerId, customer.name, customer.sales],
      [paid.customer, paid.customer, 'Ada Ray', 1],
    );
  });

  test('an event that comes a hundred times at once is recorded once', async () => {
    const clickId = await c.importClick(link);
    const body = event(
      'checkout.session.completed',
      session({ amount_total: 700, metadata: { dubClickId: clickId } }),
    );
    const before = await c.readLink(link.id);
    const replies = await Promise.all(Array.from({ length: 100 }, () => send(body)));
    assert.deepEqual(new Set(replies.map(({ text }) => text)).size, 1);
    const after = await c.readLink(link.id);
    assert.deepEqual([after.sales - before.sales, after.saleAmount - before.saleAmount], [1, 700]);
  });

  test('renewals of a known customer are sales, and the invoice of the checkout itself is not counted twice', async () => {
    const clickId = await c.importClick(link);
    const first = invoice({ amount_paid: 1000, billing_reason: 'subscription_create' });
    const started = session({
      amount_total: 1000,
      invoice: first.id,
      payment_intent: null,
      metadata: { dub_id: clickId, dubCustomerExternalId: 'seller-7' },
    });
    await receive(event('checkout.session.completed', started));
    await receive(event('invoice.paid', { ...first, customer: started.customer }));
    const renewal = invoice({ customer: started.customer, amount_paid: 1000 });
    assert.deepEqual((await receive(event('invoice.paid', renewal))).recorded, ['sale']);
    const { sales, saleAmount } = await c.call('GET', '/customers/ext_seller-7');
    assert.deepEqual([sales, saleAmount], [2, 2000]);
    assert.equal((await saleOf(renewal.id))?.event_name, 'Subscription renewed');
  });

  test('a free trial is a lead; what was not paid yet is nothing', async () => {
    const clickId = await c.importClick(link);
    const trial = session({ amount_total: 0, metadata: { dub_id: clickId } });
    const done = { ...trial, payment_status: 'no_payment_required' };
    assert.deepEqual((await receive(event('checkout.session.completed', done))).recorded, ['lead']);
    const unpaid = session({ amount_total: 50, payment_status: 'unpaid', metadata: { dub_id: clickId } });
    assert.deepEqual((await receive(event('checkout.session.completed', unpaid))).recorded, []);
    const late = event('checkout.session.async_payment_succeeded', { ...unpaid, payment_status: 'paid' });
    assert.deepEqual((await receive(late)).recorded, ['sale']);
  });

  test('what a customer pays after a free trial is a sale of the click that brought the trial', async () => {
    const clickId = await c.importClick(link);
    const trial = session({
      amount_total: 0,
      payment_status: 'no_payment_required',
      client_reference_id: `dub_id_${clickId}`,
    });
    await receive(event('checkout.session.completed', trial));
    const first = invoice({ customer: trial.customer, amount_paid: 1500 });
    assert.deepEqual((await receive(event('invoice.paid', first))).recorded, ['sale']);
    const sale = await saleOf(first.id);
    assert.deepEqual([sale?.click_id, sale?.amount], [clickId, 1500]);
  });

  describe('refunds', () => {
    async function sell(amount: number, fields: object = {}) {
      const clickId = await c.importClick(link);
      const paid = session({ amount_total: amount, metadata: { dub_id: clickId }, ...fields });
      await receive(event('checkout.session.completed', paid));
      return paid;
    }

    test('parts of a payment are given back one by one, each once', async () => {
      const { payment_intent } = await sell(1000);
      const part = charge({ payment_intent, amount_refunded: 300 });
      const body = event('charge.refunded', part, { amount_refunded: 0 });
      assert.deepEqual((await receive(body)).recorded, ['refund']);
      await receive(body);
      const rest = { ...part, amount_refunded: 1000, refunded: true };
      await receive(event('charge.refunded', rest, { amount_refunded: 300 }));
      assert.equal((await saleOf(payment_intent as string))?.refunded_amount, 1000);
    });

    test('the sale of an invoice is found by its payment, whichever event told of it', async () => {
      const { invoice: invoiceId } = await sell(800, { invoice: newId('in'), payment_intent: null });
      const payment = newId('pi');
      await receive(
        event('invoice_payment.paid', { invoice: invoiceId, payment: { payment_intent: payment } }),
      );
      const refund = charge({ payment_intent: payment, amount_refunded: 800, refunded: true });
      assert.deepEqual((await receive(event('charge.refunded', refund))).recorded, ['refund']);
      assert.equal((await saleOf(invoiceId as unknown as string))?.refunded_amount, 800);
    });

    test('of a payment that nobody recorded is answered as done', async () => {
      const refund = charge({ payment_intent: 'pi_unknown', amount_refunded: 5, refunded: true });
      const { recorded, ignored } = await receive(event('charge.refunded', refund));
      assert.deepEqual(recorded, []);
      assert.match(ignored[0] ?? '', /^No sale of this payment is recorded yet/);
    });
  });

  test('what cannot be credited to anybody is answered as done, with the reason', async () => {
    const unknownClick = session({ amount_total: 10, metadata: { dub_id: 'no-such-click' } });
    const unknown = await receive(event('checkout.session.completed', unknownClick));
    assert.equal(unknown.recorded.length, 0);
    assert.match(unknown.ignored[0] ?? '', /click/);
    const stranger = await receive(
      event('invoice.paid', invoice({ customer: 'cus_stranger', amount_paid: 10 })),
    );
    assert.deepEqual([stranger.recorded.length, stranger.ignored.length], [0, 1]);
    assert.deepEqual(await receive(event('customer.created', { id: 'cus_1' })), {
      received: true,
      recorded: [],
      ignored: [],
    });
  });

  test('an event that is not as Stripe sends it names the field', async () => {
    const wrong = await send(event('invoice.paid', { id: 'in_wrong', currency: 'usd', amount_paid: -5 }));
    assert.equal(wrong.status, 422);
    assert.match(wrong.json.error.message, /amount_paid/);
    const unknownCurrency = session({
      amount_total: 10,
      currency: 'zzz',
      metadata: { dub_id: await c.importClick(link) },
    });
    assert.equal((await send(event('checkout.session.completed', unknownCurrency))).status, 422);
  });

  test('a connection that was taken away takes nothing, and is gone', async () => {
    const other = await t.workspace();
    const call = (method: string, body?: object) =>
      t.request(method, '/integrations/stripe', { key: other.key, body });
    assert.equal((await call('DELETE')).status, 404);
    assert.equal((await call('PUT', { webhookSecret: 'nonsense' })).status, 422);
    assert.equal((await call('PUT', { webhookSecret: SECRET })).status, 200);
    assert.equal((await call('DELETE')).status, 200);
    assert.equal((await call('GET')).status, 404);
  });
});
