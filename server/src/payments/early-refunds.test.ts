// Refunds that come before their sale, through the whole application.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type EarningCalls, openEarning } from '../testing/earning-calls.ts';
import {
  charge,
  invoice,
  newId,
  STRIPE_SECRET,
  session,
  stripeEvent,
  stripeOf,
} from '../testing/stripe-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;

eachDatabase('refunds that come first', (databases) => {
  let t: TestApp;
  let p: EarningCalls;
  let clickId: string;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    p = await openEarning(t);
    clickId = await p.importClick((await p.partner()).link);
    await p.call('PUT', '/integrations/stripe', { webhookSecret: STRIPE_SECRET });
  });
  after(() => t.close());

  const receive = (body: string) => stripeOf(t, p.ws.id).receive(body);
  // Without an address that looks like that of the buyer before.
  const sold = (fields: object) =>
    session({ amount_total: 1_000, metadata: { dub_id: clickId }, customer_details: null, ...fields });
  const sale = (object: object) => receive(stripeEvent('checkout.session.completed', object));
  const refund = (object: object, before = 0) =>
    receive(stripeEvent('charge.refunded', object, { amount_refunded: before }));
  const kept = async () => (await t.app.db.query.selectFrom('early_refund').selectAll().execute()).length;
  const refunded = async (invoiceId: string) => {
    const stored = (await p.rows('sale')).find((row) => row.invoice_id === invoiceId);
    const commission = (await p.commissions()).find((row) => row.invoice_id === invoiceId);
    return [stored?.refunded_amount, commission?.status, commission?.earnings];
  };

  for (const order of ['refund first', 'sale first']) {
    test(`${order}: what was given back in parts is the same, however often the events come`, async () => {
      const payment_intent = newId('pi');
      const bought = sold({ payment_intent });
      const part = charge({ payment_intent, amount_refunded: 300 });
      const more = { ...part, amount_refunded: 500 };
      const refunds = async () => {
        for (let times = 0; times < 2; times++) {
          await refund(part);
          await refund(more, 300);
        }
      };
      if (order === 'refund first') await refunds();
      await sale(bought);
      await sale(bought);
      await refunds();
      assert.deepEqual(await refunded(payment_intent), [500, 'pending', 100]);
    });
  }

  test('a refund of everything takes the commission back as soon as there is one', async () => {
    const payment_intent = newId('pi');
    const all = charge({ payment_intent, amount_refunded: 1_000, refunded: true });
    const answer = await refund(all);
    assert.deepEqual(answer.recorded, []);
    assert.match(answer.ignored[0] ?? '', /waits for one for 30 days/);
    await sale(sold({ payment_intent }));
    const [amount, status] = await refunded(payment_intent);
    assert.deepEqual([amount, status], [1_000, 'refunded']);
  });

  test('it is found by whichever name of the payment comes last', async () => {
    const [payment, bill] = [newId('pi'), invoice({ amount_paid: 1_000 })];
    const who = { customer: newId('cus'), metadata: { dub_id: clickId } };
    await refund(charge({ payment_intent: payment, amount_refunded: 400 }));
    await receive(stripeEvent('invoice.paid', { ...bill, ...who }));
    assert.equal((await refunded(bill.id))[0], 0);
    const reference = { invoice: bill.id, payment: { payment_intent: payment } };
    await receive(stripeEvent('invoice_payment.paid', reference));
    assert.equal((await refunded(bill.id))[0], 400);

    const [later, other] = [newId('pi'), invoice({ amount_paid: 1_000 })];
    await receive(
      stripeEvent('invoice_payment.paid', { invoice: other.id, payment: { payment_intent: later } }),
    );
    await refund(charge({ payment_intent: later, amount_refunded: 600 }));
    await receive(stripeEvent('invoice.paid', { ...other, ...who }));
    assert.equal((await refunded(other.id))[0], 600);
  });

  test('refund and sale at the same moment find each other', async () => {
    const payments = Array.from({ length: 20 }, () => newId('pi'));
    await Promise.all(
      payments.flatMap((payment_intent) => [
        refund(charge({ payment_intent, amount_refunded: 1_000, refunded: true })),
        sale(sold({ payment_intent })),
      ]),
    );
    for (const payment of payments) assert.equal((await refunded(payment))[0], 1_000);
  });

  test('what no sale came for goes after a month', async () => {
    const signal = new AbortController().signal;
    const payment_intent = newId('pi');
    const prune = () => t.app.services.earlyRefunds.prune(signal);
    t.clock.advance(31 * DAY_MS);
    await prune();
    assert.equal(await kept(), 0);
    await refund(charge({ payment_intent, amount_refunded: 100 }));
    t.clock.advance(29 * DAY_MS);
    await prune();
    assert.equal(await kept(), 2);
    t.clock.advance(2 * DAY_MS);
    await prune();
    assert.equal(await kept(), 0);
  });
});
