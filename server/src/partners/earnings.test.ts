// What partners earn by leads, sales and partners they brought, from the request that tells of it to the stores.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openEarning } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;

eachDatabase('earnings', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  describe('a sale', () => {
    test('makes a commission in its own transaction, with sums and a message', async () => {
      const p = await openEarning(t);
      const mia = await p.partner({ name: 'Mia Lund' });
      const customer = await p.customer(mia, { metadata: { plan: 'pro' } });
      await p.newEvents();
      await p.sell(customer, 4_999, { invoiceId: 'in_1', metadata: { productId: 'seat' } });
      const [commission, ...others] = await p.commissions();
      assert.equal(others.length, 0);
      assert.partialDeepStrictEqual(commission, {
        type: 'sale',
        partner_id: mia.id,
        link_id: mia.link.id,
        amount: 4_999,
        // 999.8, rounded
        earnings: 1_000,
        status: 'pending',
        invoice_id: 'in_1',
        quantity: 1,
        created_at: t.clock.now(),
      });
      assert.partialDeepStrictEqual(await p.get(`/partners/${mia.id}`), {
        totalLeads: 1,
        totalConversions: 1,
        totalSales: 1,
        totalSaleAmount: 4_999,
        totalCommissions: 1_000,
      });
      const events = await p.newEvents();
      const told = events.find(({ type }) => type === 'commission.created');
      assert.partialDeepStrictEqual(told?.webhook, {
        id: commission?.id,
        earnings: 1_000,
        metadata: { productId: 'seat' },
        partner: { id: mia.id, name: 'Mia Lund', totalCommissions: 1_000, totalSales: 1 },
        customer: { externalId: customer },
        link: { id: mia.link.id },
      });
      assert.ok(!JSON.stringify(told?.payload).includes('Mia'));
      const sale = events.find(({ type }) => type === 'sale.created');
      assert.equal(sale?.webhook.partner.totalCommissions, 1_000);
    });

    test('of an invoice that comes a hundred times at once is earned once', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      const customer = await p.customer(mia);
      await Promise.all(Array.from({ length: 100 }, () => p.sell(customer, 1_000, { invoiceId: 'in_same' })));
      assert.deepEqual(
        (await p.commissions()).map(({ earnings }) => earnings),
        [200],
      );
      await p.assertTotals(mia.id);
    });

    test('earns nothing by links without a partner, without a reward, or of partners who left', async () => {
      const p = await openEarning(t, { reward: null });
      const plain = await p.link();
      const plainCustomer = p.newCustomer();
      await p.lead({ clickId: await p.importClick(plain), customerExternalId: plainCustomer });
      await p.sell(plainCustomer, 1_000);
      const mia = await p.partner();
      const customer = await p.customer(mia);
      await p.sell(customer, 1_000);
      assert.deepEqual(await p.commissions(), []);
      await p.reward({ event: 'sale', type: 'flat', amountInCents: 300 });
      await p.sell(customer, 1_000);
      assert.equal((await p.commissions()).length, 1);
      await p.post('/partners/deactivate', { partnerId: mia.id });
      await p.sell(customer, 1_000);
      assert.equal((await p.commissions()).length, 1);
      assert.equal((await p.get(`/partners/${mia.id}`)).totalSales, 3);
    });

    test('is rewarded for as long as the reward says', async () => {
      for (const [maxDuration, afterDays, expected] of [
        [0, 1, 1],
        [1, 20, 2],
        [1, 32, 1],
        [null, 400, 2],
      ] as const) {
        const p = await openEarning(t, { reward: { maxDuration } });
        const customer = await p.customer(await p.partner());
        await p.sell(customer, 1_000);
        t.clock.advance(afterDays * DAY_MS);
        await p.sell(customer, 1_000);
        assert.equal((await p.commissions()).length, expected, `${maxDuration} months, ${afterDays} days`);
      }
    });

    test('earns nothing after the first one was fraud', async () => {
      const p = await openEarning(t);
      const customer = await p.customer(await p.partner());
      await p.sell(customer, 1_000);
      const [first] = await p.commissions();
      await p.patch(`/commissions/${first?.id}`, { status: 'fraud' });
      await p.sell(customer, 1_000);
      assert.equal((await p.commissions()).length, 1);
    });

    test('earns by the modifier that fits, and by tiers', async () => {
      const product = { entity: 'sale', attribute: 'productId', operator: 'equals_to', value: 'gold' };
      const attribute = 'totalSaleAmount';
      const tier = { entity: 'partner', attribute, operator: 'greater_than', value: 3_000 };
      const modifiers = [
        { conditions: [product], amountInPercentage: 50 },
        { conditions: [tier], amountInPercentage: 30 },
      ];
      const p = await openEarning(t, { reward: { modifiers } });
      const customer = await p.customer(await p.partner());
      const earned: number[] = [];
      for (const productId of ['gold', 'tin', 'tin', 'tin', 'gold']) {
        await p.sell(customer, 1_000, { invoiceId: `in_${earned.length}`, metadata: { productId } });
        earned.push((await p.get(`/commissions?invoiceId=in_${earned.length}`))[0].earnings);
      }
      assert.deepEqual(earned, [500, 200, 200, 300, 500]);
    });

    test('stays within what the reward may spend on a customer', async () => {
      const p = await openEarning(t, { reward: { spendLimitAmount: 300, spendLimitInterval: 'month' } });
      const mia = await p.partner();
      const customer = await p.customer(mia);
      for (let i = 0; i < 3; i += 1) await p.sell(customer, 1_000);
      assert.deepEqual(
        (await p.commissions()).map(({ earnings }) => earnings),
        [200, 100],
      );
      await p.sell(await p.customer(mia), 1_000);
      assert.equal((await p.commissions()).length, 3);
    });
  });

  test('what happened in another month counts towards the limit of that month alone', async () => {
    const p = await openEarning(t, { reward: { spendLimitAmount: 300, spendLimitInterval: 'month' } });
    const mia = await p.partner();
    const customer = await p.customer(mia);
    await p.sell(customer, 1_500);
    const [{ id: customerId }] = await p.get(`/customers?externalId=${customer}`);
    const date = new Date(t.clock.now() - 40 * DAY_MS).toISOString();
    const sale = { amount: 1_000, invoiceId: 'in_earlier' };
    await p.post('/commissions', { type: 'sale', partnerId: mia.id, customerId, date, sale });
    assert.equal((await p.get('/commissions?invoiceId=in_earlier'))[0]?.earnings, 200);
  });

  describe('a lead', () => {
    test('is rewarded once per customer, by the number of leads', async () => {
      const p = await openEarning(t, { reward: null });
      await p.reward({ event: 'lead', type: 'flat', amountInCents: 50 });
      const mia = await p.partner();
      const customer = await p.customer(mia, { eventQuantity: 3 });
      await p.lead({ clickId: '', customerExternalId: customer, eventName: 'Demo' });
      const [commission, ...others] = await p.commissions();
      assert.equal(others.length, 0);
      assert.partialDeepStrictEqual(commission, { type: 'lead', earnings: 150, quantity: 3, amount: 0 });
      assert.equal((await p.get(`/partners/${mia.id}`)).totalLeads, 4);
    });

    test('that a sale brought along earns nothing by itself', async () => {
      const p = await openEarning(t);
      await p.reward({ event: 'lead', type: 'flat', amountInCents: 50 });
      const mia = await p.partner();
      const clickId = await p.importClick(mia.link);
      await p.sell(p.newCustomer(), 1_000, { clickId });
      assert.deepEqual(
        (await p.commissions()).map(({ type }) => type),
        ['sale'],
      );
    });
  });

  describe('a refund', () => {
    const refund = (t: TestApp, workspaceId: string, invoiceId: string, refundId: string, amount?: number) =>
      t.app.services.conversions.refund({ workspaceId, invoiceId, refundId, ...(amount && { amount }) });

    test('takes back a part, then all that is not paid, out of the payout too', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      const customer = await p.customer(mia);
      await p.sell(customer, 1_000, { invoiceId: 'in_a' });
      await p.sell(customer, 5_000, { invoiceId: 'in_b' });
      await p.gather();
      assert.equal((await p.payouts())[0]?.amount, 1_200);
      await refund(t, p.ws.id, 'in_a', 're_1', 250);
      assert.partialDeepStrictEqual((await p.get('/commissions?invoiceId=in_a'))[0], {
        amount: 750,
        earnings: 150,
        status: 'processed',
      });
      assert.equal((await p.payouts())[0]?.amount, 1_150);
      await refund(t, p.ws.id, 'in_a', 're_2');
      assert.equal((await p.get('/commissions?invoiceId=in_a'))[0].status, 'refunded');
      assert.equal((await p.payouts())[0]?.amount, 1_000);
      await refund(t, p.ws.id, 'in_b', 're_3');
      assert.deepEqual(await p.payouts(), []);
      await p.assertTotals(mia.id);
    });

    test('of a part takes the same part of a commission that was corrected', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      await p.sell(await p.customer(mia), 1_000, { invoiceId: 'in_a' });
      const [{ id }] = await p.get('/commissions?invoiceId=in_a');
      await p.patch(`/commissions/${id}`, { saleAmount: 500 });
      await refund(t, p.ws.id, 'in_a', 're_1', 250);
      const [{ amount, earnings }] = await p.get('/commissions?invoiceId=in_a');
      assert.deepEqual([amount, earnings], [375, 75]);
      await refund(t, p.ws.id, 'in_a', 're_2', 500);
      const [after] = await p.get('/commissions?invoiceId=in_a');
      assert.deepEqual([after.amount, after.earnings], [125, 25]);
      await p.assertTotals(mia.id);
    });

    test('of a part leaves a flat sum and takes of a percentage, whichever modifier it came from', async () => {
      const gold = { entity: 'sale', attribute: 'productId', operator: 'equals_to', value: 'gold' };
      const flat = { conditions: [gold], type: 'flat', amountInCents: 777 };
      const p = await openEarning(t, { reward: { modifiers: [flat] } });
      const customer = await p.customer(await p.partner());
      await p.sell(customer, 1_000, { invoiceId: 'in_gold', metadata: { productId: 'gold' } });
      await p.sell(customer, 1_000, { invoiceId: 'in_tin' });
      for (const invoice of ['in_gold', 'in_tin']) await refund(t, p.ws.id, invoice, `re_${invoice}`, 500);
      const earned = async (invoice: string) =>
        (await p.get(`/commissions?invoiceId=${invoice}`))[0].earnings;
      assert.deepEqual([await earned('in_gold'), await earned('in_tin')], [777, 100]);
    });

    test('leaves what was confirmed alone', async () => {
      const p = await openEarning(t);
      const mia = await p.partner({ tenantId: 'mia' });
      await p.sell(await p.customer(mia), 10_000, { invoiceId: 'in_c' });
      await p.gather();
      const [payout] = await p.payouts();
      await p.post('/payouts/confirm', { payoutIds: [payout?.id] });
      await refund(t, p.ws.id, 'in_c', 're_1');
      assert.equal((await p.commissions())[0]?.status, 'processed');
      assert.equal((await p.payouts())[0]?.amount, 2_000);
    });
  });
});
