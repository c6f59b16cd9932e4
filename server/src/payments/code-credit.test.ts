// Sales that carry a partner's discount code, through the whole application.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openEarning, type TestPartner } from '../testing/earning-calls.ts';
import {
  type FakeStripe,
  invoice,
  newId,
  openFakeStripe,
  STRIPE_KEY,
  STRIPE_SECRET,
  session,
  stripeEvent,
  stripeOf,
} from '../testing/stripe-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

eachDatabase('discount codes of sales', (databases) => {
  let t: TestApp;
  let stripe: FakeStripe;
  before(async () => {
    stripe = await openFakeStripe();
    t = await openTestApp({
      databaseUrl: await databases.place(),
      stripeUrl: stripe.url,
      env: { LINKTRAIL_ALLOW_PRIVATE: '127.0.0.1' },
      events: true,
    });
  });
  after(async () => {
    await t.close();
    await stripe.close();
  });

  async function open({ apiKey = undefined as string | undefined } = {}) {
    const p = await openEarning(t);
    await p.post('/discounts', { groupId: 'default', type: 'percentage', amount: 10 });
    const connection = { webhookSecret: STRIPE_SECRET, ...(apiKey && { apiKey }) };
    assert.equal((await p.call('PUT', '/integrations/stripe', connection)).status, 200);
    const { send, receive } = stripeOf(t, p.ws.id);
    const code = async ({ id: partnerId, link }: TestPartner, text: string) =>
      p.post('/discount-codes', { partnerId, linkId: link.id, code: text });
    return { ...p, code, send, receive };
  }
  const checkout = (fields: object) => stripeEvent('checkout.session.completed', session(fields));
  const paid = (fields: object) => stripeEvent('invoice.paid', invoice(fields));
  const promotion = (code: string) => ({
    discounts: [{ coupon: null, promotion_code: { id: newId('promo'), code } }],
  });

  test('the customer, lead, sale and commission of somebody unknown are those of the code, once', async () => {
    const p = await open();
    const mia = await p.partner();
    await p.code(mia, 'MIA10');
    const address = { country: 'SE' };
    const bought = session({
      amount_total: 5_000,
      ...promotion('mia10'),
      customer_details: { email: 'bo@buyer.example', name: 'Bo', address },
    });
    const body = stripeEvent('checkout.session.completed', bought);
    const replies = await Promise.all(Array.from({ length: 20 }, () => p.send(body)));
    assert.deepEqual(new Set(replies.map(({ text }) => text)).size, 1);
    assert.deepEqual(replies[0]?.json.recorded, ['sale']);
    const [commission, ...others] = await p.commissions();
    assert.deepEqual([commission?.partner_id, commission?.earnings, others.length], [mia.id, 1_000, 0]);
    assert.partialDeepStrictEqual(await p.readLink(mia.link.id), {
      clicks: 1,
      leads: 1,
      sales: 1,
      saleAmount: 5_000,
      conversions: 1,
    });
    const [customer] = await p.get('/customers?email=bo@buyer.example&includeExpandedFields=true');
    assert.deepEqual(
      [customer.stripeCustomerId, customer.country, customer.partner.id, customer.link.id],
      [bought.customer, 'SE', mia.id, mia.link.id],
    );
    await t.app.events.settle();
    const clicks = await p.get('/events?event=clicks&interval=all');
    assert.deepEqual(
      clicks.map((event: { link: { id: string }; click: { country: string } }) => [
        event.link.id,
        event.click.country,
      ]),
      [[mia.link.id, 'SE']],
    );
    // What is paid later needs no code.
    await p.receive(paid({ customer: bought.customer, amount_paid: 2_000 }));
    assert.deepEqual(
      (await p.commissions(mia.id)).map(({ earnings }) => earnings).toSorted(),
      [1_000, 400].toSorted(),
    );
  });

  test('a customer who is there but came by nothing is credited too', async () => {
    const p = await open();
    const mia = await p.partner();
    await p.code(mia, 'MIA10');
    const externalId = p.newCustomer();
    await p.post('/customers', { externalId, country: 'NO' });
    const metadata = { dubCustomerExternalId: externalId, dubDiscountCode: 'MIA10' };
    const { recorded } = await p.receive(paid({ customer: newId('cus'), amount_paid: 1_000, metadata }));
    assert.deepEqual(recorded, ['sale']);
    const [commission] = await p.commissions();
    assert.deepEqual([commission?.partner_id, commission?.earnings], [mia.id, 200]);
    assert.equal((await p.rows('customer')).length, 1);
  });

  test('whoever brought the customer before keeps the credit', async () => {
    const p = await open();
    const [mia, bo] = [await p.partner(), await p.partner()];
    await p.code(mia, 'MIA10');
    const customerExternalId = await p.customer(bo);
    const known = { ...promotion('MIA10'), metadata: { dubCustomerExternalId: customerExternalId } };
    await p.receive(checkout({ amount_total: 1_000, ...known }));
    const clickId = await p.importClick(bo.link);
    await p.receive(checkout({ amount_total: 2_000, ...promotion('MIA10'), metadata: { dub_id: clickId } }));
    const rows = await p.commissions();
    assert.deepEqual(
      rows.map(({ partner_id, earnings }) => [partner_id, earnings]),
      [
        [bo.id, 200],
        [bo.id, 400],
      ],
    );
    // A click that nobody knows is nobody's.
    await p.receive(checkout({ amount_total: 500, ...promotion('MIA10'), metadata: { dub_id: 'gone' } }));
    assert.equal((await p.commissions(mia.id)).length, 1);
  });

  test('a click that the checkout names wins although the invoice with the code came first', async () => {
    const p = await open();
    const [mia, bo] = [await p.partner(), await p.partner()];
    await p.code(mia, 'MIA10');
    const discounts = [{ coupon: { id: 'x' }, promotion_code: { id: newId('promo'), code: 'MIA10' } }];
    const bill = invoice({
      billing_reason: 'subscription_create',
      customer: newId('cus'),
      amount_paid: 1_000,
      discounts,
    });
    const started = (metadata: object) =>
      checkout({ amount_total: 1_000, invoice: bill.id, customer: bill.customer, metadata, discounts });
    assert.deepEqual((await p.receive(stripeEvent('invoice.paid', bill))).recorded, []);
    await p.receive(started({ dub_id: await p.importClick(bo.link) }));
    await p.receive(stripeEvent('invoice.paid', bill));
    assert.deepEqual(
      (await p.commissions()).map(({ partner_id, earnings }) => [partner_id, earnings]),
      [[bo.id, 200]],
    );
  });

  test('a free trial with a code is a lead of the code, once, and what is paid after it a sale', async () => {
    const p = await open();
    const mia = await p.partner();
    await p.code(mia, 'MIA10');
    const trial = session({ amount_total: 0, payment_status: 'no_payment_required', ...promotion('MIA10') });
    const body = stripeEvent('checkout.session.completed', trial);
    assert.deepEqual((await p.receive(body)).recorded, ['lead']);
    assert.deepEqual((await p.receive(body)).recorded, []);
    assert.equal((await p.rows('lead')).length, 1);
    await p.receive(paid({ customer: trial.customer, amount_paid: 3_000 }));
    const [commission] = await p.commissions(mia.id);
    assert.equal(commission?.earnings, 600);
  });

  test('a code that belongs to nobody, or to a partner who is banned, is worth nothing', async () => {
    const p = await open();
    const mia = await p.partner();
    await p.code(mia, 'MIA10');
    const unknown = await p.receive(checkout({ amount_total: 1_000, ...promotion('OTHER') }));
    assert.deepEqual([unknown.recorded.length, unknown.ignored.length], [0, 1]);
    await p.post('/partners/ban', { partnerId: mia.id, reason: 'fake_traffic' });
    assert.deepEqual(
      (await p.receive(checkout({ amount_total: 1_000, ...promotion('MIA10') }))).recorded,
      [],
    );
    const other = await open();
    const elsewhere = await other.receive(checkout({ amount_total: 1_000, ...promotion('MIA10') }));
    assert.deepEqual(elsewhere.recorded, []);
    assert.deepEqual(await p.rows('customer'), []);
  });

  test('where the event tells only ids, Stripe is asked with the key of the workspace', async () => {
    const p = await open({ apiKey: STRIPE_KEY });
    const mia = await p.partner();
    await p.code(mia, 'MIA10');
    const promo = newId('promo');
    stripe.objects.set(`/v1/promotion_codes/${promo}`, { id: promo, code: 'MIA10' });
    const body = checkout({ amount_total: 1_000, discounts: [{ coupon: 'shared', promotion_code: promo }] });
    stripe.failures.push(503);
    assert.equal((await p.send(body)).status, 500);
    assert.deepEqual(await p.rows('sale'), []);
    assert.deepEqual((await p.receive(body)).recorded, ['sale']);

    const bill = invoice({ customer: newId('cus'), amount_paid: 2_000, discounts: [newId('di')] });
    const shown = {
      ...bill,
      discounts: [{ id: 'di_1', coupon: { id: 'x' }, promotion_code: { id: promo, code: 'MIA10' } }],
    };
    stripe.objects.set(`/v1/invoices/${bill.id}`, shown);
    assert.deepEqual((await p.receive(stripeEvent('invoice.paid', bill))).recorded, ['sale']);
    assert.deepEqual(
      (await p.commissions(mia.id)).map(({ earnings }) => earnings),
      [200, 400],
    );
    // What Stripe has not is not a reason to send the event for days.
    const strange = checkout({ amount_total: 1_000, discounts: [{ promotion_code: newId('promo') }] });
    assert.deepEqual((await p.receive(strange)).recorded, []);

    const keyless = await open();
    await keyless.code(await keyless.partner(), 'MIA10');
    const asked = stripe.asked.length;
    const alone = checkout({ amount_total: 1_000, discounts: [{ promotion_code: promo }] });
    assert.deepEqual((await keyless.receive(alone)).recorded, []);
    assert.equal(stripe.asked.length, asked);
  });
});
