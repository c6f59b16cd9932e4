// Commissions over HTTP: entered by hand, listed, and corrected.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openEarning } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { COMMISSION_STATUSES, canCommission, SET_EVENTS, SETTABLE_STATUSES } from './commission-states.ts';

const DAY_MS = 86_400_000;

eachDatabase('commissions', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  describe('entering', () => {
    test('a custom one is the amount, at its own time', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      const date = new Date(t.clock.now() - 3 * DAY_MS).toISOString();
      const body = { type: 'custom', partnerId: mia.id, amount: 1_200, date, description: 'A thank you' };
      assert.equal((await p.call('POST', '/commissions', body)).status, 202);
      const [shown] = await p.get('/commissions');
      assert.partialDeepStrictEqual(shown, {
        type: 'custom',
        amount: 0,
        earnings: 1_200,
        currency: 'usd',
        status: 'processed',
        description: 'A thank you',
        createdAt: date,
        userId: p.ws.ownerId,
        metadata: null,
        customer: null,
        paidAt: null,
        partner: { id: mia.id, groupId: p.program.defaultGroupId },
      });
      await p.assertTotals(mia.id);
    });

    test('a sale records a click, a lead and the sale, and earns what the reward says', async () => {
      const p = await openEarning(t);
      await p.reward({ event: 'lead', type: 'flat', amountInCents: 50 });
      const mia = await p.partner();
      const atMs = t.clock.now() - 10 * DAY_MS;
      const customer = { externalId: p.newCustomer(), country: 'se', name: 'Bo', email: 'bo@buyer.example' };
      const sale = { amount: 9_900, invoiceId: 'in_1', metadata: { plan: 'pro' } };
      const body = { type: 'sale', partnerId: mia.id, customer, sale, date: new Date(atMs).toISOString() };
      await p.post('/commissions', { ...body, importStripeInvoices: false });
      const commissions = await p.get('/commissions');
      assert.equal(commissions.length, 1);
      assert.partialDeepStrictEqual(commissions[0], {
        type: 'sale',
        amount: 9_900,
        earnings: 1_980,
        invoiceId: 'in_1',
        metadata: { plan: 'pro' },
        createdAt: new Date(atMs).toISOString(),
        customer: { externalId: customer.externalId, country: 'SE', name: 'Bo', saleAmount: 9_900 },
      });
      const [lead] = await p.rows('lead');
      const [stored] = await p.rows('sale');
      assert.deepEqual([lead?.time_ms, stored?.time_ms, lead?.link_id], [atMs, atMs, mia.link.id]);
      assert.equal(JSON.parse(lead?.click ?? '').timeMs, atMs - 5 * 60_000);
      assert.partialDeepStrictEqual(await p.readLink(mia.link.id), { leads: 1, sales: 1, saleAmount: 9_900 });
      await p.refused(409, 'invoiceId', 'POST', '/commissions', body);
      const again = { ...body, sale: { ...sale, invoiceId: 'in_2' } };
      await p.post('/commissions', again);
      assert.equal((await p.rows('lead')).length, 1);
      assert.equal((await p.rows('sale')).length, 2);
      await p.assertTotals(mia.id);
    });

    test('older clients name the fields otherwise', async () => {
      const p = await openEarning(t);
      await p.reward({ event: 'lead', type: 'flat', amountInCents: 50 });
      const mia = await p.partner();
      const customer = { externalId: p.newCustomer(), country: 'SE' };
      const date = new Date(t.clock.now() - DAY_MS).toISOString();
      const lead = { type: 'lead', partnerId: mia.id, customer, leadEventName: 'Trial', leadEventDate: date };
      await p.post('/commissions', lead);
      const [{ id: customerId }] = await p.get(`/customers?externalId=${customer.externalId}`);
      const old = { saleAmount: 5_000, saleEventDate: date, invoiceId: 'in_old', productId: 'seat' };
      await p.post('/commissions', { type: 'sale', partnerId: mia.id, customerId, ...old });
      const rows = await p.commissions();
      assert.deepEqual(rows.map(({ type, earnings }) => [type, earnings]).toSorted(), [
        ['lead', 50],
        ['sale', 1_000],
      ]);
      assert.equal((await p.rows('lead'))[0]?.event_name, 'Trial');
      assert.deepEqual((await p.get('/commissions?invoiceId=in_old'))[0].metadata, { productId: 'seat' });
      assert.ok(rows.every(({ created_at }) => created_at === t.clock.now() - DAY_MS));
    });

    test('is refused by field', async () => {
      const [p, other] = [await openEarning(t), await openEarning(t)];
      const mia = await p.partner();
      const stranger = await other.partner();
      const foreign = await other.call('POST', '/customers', { externalId: other.newCustomer() });
      const refused = (status: number, field: string | undefined, body: object) =>
        p.refused(status, field, 'POST', '/commissions', { partnerId: mia.id, ...body });
      const customer = { externalId: 'c', country: 'SE' };
      const custom = { type: 'custom', amount: 100 };
      await refused(404, undefined, { ...custom, partnerId: stranger.id });
      await refused(422, 'amount', { ...custom, amount: 0 });
      await refused(422, 'amount', { ...custom, amount: 1.5 });
      await refused(422, 'description', { ...custom, amount: -5 });
      await refused(422, 'description', { ...custom, description: 'x'.repeat(191) });
      await refused(422, 'date', { ...custom, date: '2199-01-01T00:00:00Z' });
      await refused(422, 'date', { ...custom, date: 'nonsense' });
      await refused(400, 'customerId', { type: 'lead' });
      await refused(400, 'customerId', { type: 'lead', customer, customerId: 'cus_1' });
      await refused(404, undefined, { type: 'lead', customerId: 'cus_unknown' });
      await refused(400, 'customerId', { type: 'lead', customerId: foreign.json.id });
      await refused(404, 'linkId', { type: 'lead', customer, linkId: stranger.link.id });
      await refused(422, 'saleAmount', { type: 'sale', customer });
      await refused(422, 'sale.amount', { type: 'sale', customer, sale: { amount: 0 } });
      await refused(422, 'sale.currency', { type: 'sale', customer, sale: { amount: 1, currency: 'euro' } });
      const stripe = { type: 'sale', customer, importStripeInvoices: true };
      await refused(400, 'customer.stripeCustomerId', stripe);
      await refused(400, 'importStripeInvoices', { ...stripe, saleAmount: 5 });
      assert.deepEqual(await p.commissions(), []);
    });
  });

  test('lists are filtered, and walked by cursor as the client does it', async () => {
    const p = await openEarning(t);
    const [mia, bo] = [await p.partner({ tenantId: 'mia' }), await p.partner()];
    const [a, b] = [await p.customer(mia), await p.customer(bo)];
    await p.sell(a, 1_000, { invoiceId: 'in_1', metadata: { plan: 'pro', seats: 3, size: '12 cm' } });
    t.clock.advance(DAY_MS);
    await p.sell(b, 3_000, { invoiceId: 'in_2', metadata: { plan: 'free', seats: 12, size: '12.5' } });
    t.clock.advance(DAY_MS);
    await p.sell(a, 2_000, { invoiceId: 'in_3' });
    const invoices = async (query: string) =>
      (await p.get(`/commissions?${query}`)).map(({ invoiceId }: { invoiceId: string }) => invoiceId);
    assert.deepEqual(await invoices(''), ['in_3', 'in_2', 'in_1']);
    assert.deepEqual(await invoices('sortBy=amount'), ['in_2', 'in_3', 'in_1']);
    assert.deepEqual(await invoices('sortOrder=asc&page=2&pageSize=2'), ['in_3']);
    assert.deepEqual(await invoices(`partnerId=${mia.id}`), ['in_3', 'in_1']);
    assert.deepEqual(await invoices(`partnerId=-${mia.id}`), ['in_2']);
    assert.deepEqual(await invoices('tenantId=mia'), ['in_3', 'in_1']);
    assert.deepEqual(await invoices('type=lead,custom'), []);
    assert.deepEqual(await invoices('type=-lead'), ['in_3', 'in_2', 'in_1']);
    assert.deepEqual(await invoices(`groupId=${p.program.defaultGroupId}`), ['in_3', 'in_2', 'in_1']);
    assert.deepEqual(await invoices('partnerTagId=ptag_none'), []);
    assert.deepEqual(await invoices('interval=24h'), ['in_3', 'in_2']);
    const midday = new Date(t.clock.now() - DAY_MS).toISOString();
    assert.deepEqual(await invoices(`start=${midday}&end=${midday}`), ['in_2']);
    assert.deepEqual(await invoices(`end=${midday}`), ['in_2', 'in_1']);
    assert.deepEqual(await invoices(`invoiceId=in_1&status=paid&tenantId=nobody`), ['in_1']);
    assert.deepEqual(await invoices(`query=${encodeURIComponent("metadata['plan']:'pro'")}`), ['in_1']);
    assert.deepEqual(await invoices(`query=${encodeURIComponent("metadata['seats'] > 5")}`), ['in_2']);
    assert.deepEqual(await invoices(`query=${encodeURIComponent("metadata['size'] > 5")}`), ['in_2']);
    assert.deepEqual(await invoices(`query=${encodeURIComponent("metadata['plan'] != 'pro'")}`), [
      'in_3',
      'in_2',
    ]);
    const all = await p.get('/commissions');
    await p.patch(`/commissions/${all[0].id}`, { status: 'fraud' });
    assert.deepEqual(await invoices(''), ['in_2', 'in_1']);
    assert.deepEqual(await invoices('status=fraud'), ['in_3']);
    assert.deepEqual(await invoices(`customerId=${all[0].customer.id}`), ['in_3', 'in_1']);
    const walked: string[] = [];
    for (let after = ''; ; ) {
      const page = await p.get(`/commissions?pageSize=1&page=1${after && `&startingAfter=${after}`}`);
      if (page.length === 0) break;
      walked.push(page[0].invoiceId);
      after = page[0].id;
    }
    assert.deepEqual(walked, ['in_2', 'in_1']);
    assert.deepEqual(await invoices(`endingBefore=${all[2].id}&type=sale`), ['in_3', 'in_2']);
    await p.refused(422, 'startingAfter', 'GET', '/commissions?startingAfter=cm_unknown');
    await p.refused(422, 'timezone', 'GET', '/commissions?interval=7d&timezone=Nowhere/X');
    await p.refused(422, 'query', 'GET', '/commissions?query=plan');
    await p.refused(422, 'type', 'GET', '/commissions?type=slae');
    await p.refused(404, undefined, 'GET', '/commissions?tenantId=nobody');
    assert.deepEqual(await p.get('/commissions/count?status=fraud'), [
      { status: 'fraud', count: 1, earnings: 400, amount: 2_000 },
    ]);
  });

  test('nothing of what was recorded with its events is left of a customer that is erased', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    const customer = await p.customer(mia, { customerEmail: 'x@mailinator.com' });
    await p.sell(customer, 1_000, { metadata: { note: 'personal' } });
    const [{ id }] = await p.get(`/customers?externalId=${customer}`);
    assert.equal((await p.call('DELETE', `/customers/${id}`)).status, 200);
    const [commission] = await p.commissions();
    assert.deepEqual([commission?.metadata, commission?.earnings], [null, 200]);
    assert.equal((await p.get('/fraud/events'))[0].metadata, null);
  });

  describe('correcting', () => {
    async function sold(cents = 10_000) {
      const p = await openEarning(t);
      const mia = await p.partner();
      const customer = await p.customer(mia);
      await p.sell(customer, cents);
      await p.gather();
      const [commission] = await p.commissions();
      return { p, mia, customer, id: commission?.id as string };
    }

    test('the sale recomputes the earnings and the payout', async () => {
      const { p, mia, id } = await sold();
      const path = `/commissions/${id}`;
      assert.partialDeepStrictEqual(await p.patch(path, { saleAmount: 5_001 }), {
        amount: 5_001,
        earnings: 1_000,
      });
      assert.partialDeepStrictEqual(await p.patch(path, { modifySaleAmount: -1 }), { amount: 5_000 });
      assert.partialDeepStrictEqual(await p.patch(path, { modifyAmount: 1_000 }), { amount: 6_000 });
      assert.partialDeepStrictEqual(await p.patch(path, { amount: 4_000, earnings: 7 }), {
        amount: 4_000,
        earnings: 7,
      });
      assert.equal((await p.payouts())[0]?.amount, 7);
      const euros = await p.patch(path, { saleAmount: 1_000, currency: 'EUR' });
      assert.ok(euros.amount > 1_000 && Number.isInteger(euros.earnings));
      await p.assertTotals(mia.id);
      const gone = await p.patch(path, { modifySaleAmount: -1_000_000 });
      assert.deepEqual([gone.status, gone.amount, gone.earnings], ['refunded', euros.amount, euros.earnings]);
      assert.deepEqual(await p.payouts(), []);
      await p.assertTotals(mia.id);
    });

    test('is refused where there is nothing to correct', async () => {
      const { p, mia, id } = await sold();
      await p.refused(422, 'status', 'PATCH', `/commissions/${id}`, { status: 'paid' });
      await p.refused(422, 'saleAmount', 'PATCH', `/commissions/${id}`, { saleAmount: -1 });
      await p.refused(404, undefined, 'PATCH', '/commissions/cm_unknown', { status: 'fraud' });
      await p.post('/commissions', { type: 'custom', partnerId: mia.id, amount: 5_000 });
      const custom = (await p.commissions()).find(({ type }) => type === 'custom');
      for (const field of ['saleAmount', 'modifySaleAmount', 'amount', 'modifyAmount'])
        await p.refused(400, field, 'PATCH', `/commissions/${custom?.id}`, { [field]: 5 });
      const claw = { type: 'custom', partnerId: mia.id, amount: -500, description: 'order_canceled' };
      await p.post('/commissions', claw);
      const debt = (await p.commissions()).find(({ earnings }) => earnings < 0);
      await p.refused(400, 'earnings', 'PATCH', `/commissions/${debt?.id}`, { earnings: 300 });
      await p.post('/partners/deactivate', { partnerId: mia.id });
      await p.refused(404, undefined, 'PATCH', `/commissions/${id}`, { saleAmount: 5 });
      const [payout] = await p.payouts();
      await p.post('/payouts/confirm', { payoutIds: [payout?.id], manual: true });
      await p.refused(400, 'status', 'PATCH', `/commissions/${id}`, { status: 'fraud' });
      await p.post(`/payouts/${payout?.id}/mark-sent`);
      await p.refused(400, 'status', 'PATCH', `/commissions/${id}`, { earnings: 5 });
    });

    test('is reckoned with the conditions and within the limit of the reward', async () => {
      const conditions = [{ entity: 'customer', attribute: 'country', operator: 'equals_to', value: 'SE' }];
      const recurring = [{ entity: 'sale', attribute: 'type', operator: 'equals_to', value: 'recurring' }];
      const modifiers = [
        { conditions, amountInPercentage: 50 },
        { conditions: recurring, amountInPercentage: 60 },
      ];
      const limit = { spendLimitAmount: 6_000, spendLimitInterval: 'month' };
      const p = await openEarning(t, { reward: { modifiers, ...limit } });
      const mia = await p.partner();
      const customer = { externalId: p.newCustomer(), country: 'SE' };
      const body = { type: 'sale', partnerId: mia.id, customer };
      await p.post('/commissions', { ...body, sale: { amount: 5_000, invoiceId: 'in_1' } });
      await p.post('/commissions', { ...body, sale: { amount: 5_000, invoiceId: 'in_2' } });
      const correct = async (invoiceId: string, saleAmount: number) => {
        const [{ id }] = await p.get(`/commissions?invoiceId=${invoiceId}`);
        return (await p.patch(`/commissions/${id}`, { saleAmount })).earnings;
      };
      assert.equal(await correct('in_1', 4_000), 2_000);
      assert.equal(await correct('in_2', 6_000), 3_600);
      assert.equal(await correct('in_2', 9_000), 4_000);
      await p.assertTotals(mia.id);
    });

    test('goes from each state to those that can follow, and to no other', async () => {
      const { p, mia, id } = await sold();
      let [refused, accepted] = [0, 0];
      for (const from of COMMISSION_STATUSES) {
        for (const status of SETTABLE_STATUSES) {
          const change = { status: from, payout_id: null };
          await t.app.db.query.updateTable('commission').set(change).where('id', '=', id).execute();
          const reply = await p.call('PATCH', `/commissions/${id}`, { status });
          const expected = canCommission(from, SET_EVENTS[status]);
          assert.equal(reply.status, expected ? 200 : 400, `${from} to ${status}: ${reply.text}`);
          assert.equal((await p.commissions())[0]?.status, expected ? status : from);
          if (expected) accepted += 1;
          else refused += 1;
        }
      }
      assert.deepEqual([accepted, refused], [30, 10]);
      assert.ok(mia.id);
    });

    test('fraud of one can be fraud of all by the same customer', async () => {
      const { p, mia, customer, id } = await sold();
      await p.sell(customer, 1_000);
      await p.sell(await p.customer(mia), 1_000);
      await p.patch(`/commissions/${id}`, { status: 'fraud', updateHistoricalCommissions: true });
      assert.deepEqual((await p.commissions()).map(({ status }) => status).toSorted(), [
        'fraud',
        'fraud',
        'pending',
      ]);
      await p.assertTotals(mia.id);
    });

    test('several at once is all or nothing', async () => {
      const { p, mia, customer } = await sold();
      await p.sell(customer, 1_000);
      const commissionIds = (await p.commissions()).map(({ id }) => id).toSorted();
      const path = '/commissions/bulk';
      await p.refused(404, 'commissionIds', 'PATCH', path, {
        commissionIds: [...commissionIds, 'cm_x'],
        status: 'duplicate',
      });
      await p.refused(400, 'status', 'PATCH', path, { commissionIds, status: 'pending' });
      const { json } = await p.call('PATCH', path, { commissionIds, status: 'pending' });
      assert.ok(
        commissionIds.some((id) => json.error.message.includes(id)),
        'says which one',
      );
      await p.refused(422, 'commissionIds', 'PATCH', path, { commissionIds: [], status: 'fraud' });
      assert.deepEqual(
        await p.patch(path, { commissionIds: commissionIds.toReversed(), status: 'duplicate' }),
        [
          { id: commissionIds[0], status: 'duplicate' },
          { id: commissionIds[1], status: 'duplicate' },
        ],
      );
      assert.deepEqual(await p.payouts(), []);
      await p.assertTotals(mia.id);
    });
  });
});
