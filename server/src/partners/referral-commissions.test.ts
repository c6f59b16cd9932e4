// What partners earn by partners they brought: shares that come, change and go with what they are shares of.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openEarning } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const TENTH = { type: 'percentage', amountInPercentage: 10 };

eachDatabase('commissions for partners who brought others', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  /** Ann has brought Bo. */
  async function referred(config: object, more: object = TENTH) {
    const p = await openEarning(t);
    await p.reward({ event: 'referral', config, ...more });
    const [ann, bo] = [await p.partner(), await p.partner()];
    const change = { referred_by_partner_id: ann.id };
    await t.app.db.query.updateTable('enrolment').set(change).where('partner_id', '=', bo.id).execute();
    const shares = async () =>
      (await p.commissions(ann.id)).map(({ earnings, status }) => [earnings, status]);
    const sources = () => p.commissions(bo.id);
    const refund = (invoiceId: string, amount?: number) =>
      t.app.services.conversions.refund({
        workspaceId: p.ws.id,
        invoiceId,
        refundId: `re_${invoiceId}_${amount}`,
        ...(amount && { amount }),
      });
    return { p, ann, bo, shares, sources, refund };
  }

  test('are whole cents of their sales or of their earnings', async () => {
    for (const [trigger, expected] of [
      ['saleRecorded', 99],
      ['commissionEarned', 20],
    ] as const) {
      const { p, ann, bo } = await referred({ trigger });
      await p.sell(await p.customer(bo), 999);
      const [commission] = await p.commissions(ann.id);
      const source = (await p.commissions(bo.id))[0];
      assert.partialDeepStrictEqual(commission, {
        type: 'referral',
        earnings: expected,
        invoice_id: `referral:${trigger}:${source?.id}`,
        source_commission_id: source?.id,
      });
      await p.assertTotals(ann.id);
    }
  });

  test('are a sum once they have earned enough, and only once', async () => {
    const config = { trigger: 'commissionThreshold', threshold: 300 };
    const { p, bo, shares } = await referred(config, { type: 'flat', amountInCents: 1_500 });
    const customer = await p.customer(bo);
    for (const expected of [0, 1, 1]) {
      await p.sell(customer, 1_000);
      assert.equal((await shares()).length, expected);
    }
  });

  describe('are taken back', () => {
    test('in part or as a whole with the sale, out of the payout too', async () => {
      for (const trigger of ['saleRecorded', 'commissionEarned']) {
        const { p, ann, bo, shares, refund } = await referred({ trigger });
        const customer = await p.customer(bo);
        await p.sell(customer, 10_000, { invoiceId: 'in_a' });
        await p.sell(customer, 20_000, { invoiceId: 'in_b' });
        await p.gather();
        const whole = trigger === 'saleRecorded' ? 1_000 : 200;
        const amount = async () =>
          (await p.payouts()).find(({ partner_id }) => partner_id === ann.id)?.amount;
        assert.equal(await amount(), 3 * whole);
        await refund('in_a', 2_500);
        assert.deepEqual((await shares())[0], [(whole * 3) / 4, 'processed']);
        assert.equal(await amount(), 2 * whole + (whole * 3) / 4);
        await refund('in_a');
        assert.deepEqual((await shares())[0], [(whole * 3) / 4, 'refunded']);
        assert.equal(await amount(), 2 * whole);
        await refund('in_b');
        assert.equal(await amount(), undefined);
        await p.assertTotals(ann.id);
      }
    });

    test('and given again with the commission they came from, whoever says so', async () => {
      const { p, ann, bo, shares, sources } = await referred({ trigger: 'saleRecorded' });
      await p.sell(await p.customer(bo), 10_000);
      const [source] = await sources();
      const path = `/commissions/${source?.id}`;
      for (const status of ['fraud', 'pending', 'duplicate', 'canceled', 'refunded', 'pending']) {
        await p.patch(path, { status });
        assert.deepEqual(await shares(), [[1_000, status]]);
        await p.assertTotals(ann.id);
      }
      await p.patch(path, { saleAmount: 5_000 });
      assert.deepEqual(await shares(), [[500, 'pending']]);
      await p.patch(path, { saleAmount: 0 });
      assert.deepEqual(await shares(), [[500, 'refunded']]);
      await p.assertTotals(ann.id);
    });

    test('once, where both are named in one call', async () => {
      const { p, ann, bo, shares } = await referred({ trigger: 'saleRecorded' });
      await p.sell(await p.customer(bo), 10_000);
      const commissionIds = (await p.commissions()).map(({ id }) => id);
      const changed = await p.patch('/commissions/bulk', { commissionIds, status: 'canceled' });
      assert.deepEqual(
        changed.map(({ status }: { status: string }) => status),
        ['canceled', 'canceled'],
      );
      assert.deepEqual(await shares(), [[1_000, 'canceled']]);
      for (const { id } of [ann, bo]) await p.assertTotals(id);
    });

    test('with everything of a partner who is banned', async () => {
      const { p, ann, bo, shares } = await referred({ trigger: 'saleRecorded' });
      const customer = await p.customer(bo);
      await p.sell(customer, 10_000);
      await p.gather();
      await p.patch('/groups/default', { holdingPeriodDays: 30 });
      await p.sell(customer, 20_000);
      const { amount } = await p.payout(ann, 700);
      assert.equal(amount, 1_000 + 2_000 + 700);
      await p.post('/partners/ban', { partnerId: bo.id, reason: 'fraud' });
      assert.deepEqual((await shares()).toSorted(), [
        [1_000, 'canceled'],
        [2_000, 'canceled'],
        [700, 'processed'],
      ]);
      const open = (await p.payouts()).filter(({ status }) => status === 'pending');
      assert.deepEqual(
        open.map((payout) => payout.amount),
        [700],
      );
      await p.assertTotals(ann.id);
    });

    test('but not where they are on their way', async () => {
      const { p, ann, bo, shares, refund } = await referred({ trigger: 'saleRecorded' });
      await p.sell(await p.customer(bo), 10_000, { invoiceId: 'in_a' });
      const { id } = await p.payout(ann, 700);
      await p.post('/payouts/confirm', { payoutIds: [id], manual: true });
      await refund('in_a');
      assert.deepEqual((await p.commissions(bo.id))[0]?.status, 'refunded');
      assert.deepEqual((await shares()).toSorted(), [
        [1_000, 'processed'],
        [700, 'processed'],
      ]);
    });

    test('of a sum for having earned enough, if not enough is left, until it is again', async () => {
      const config = { trigger: 'commissionThreshold', threshold: 300 };
      const { p, ann, bo, shares, refund } = await referred(config, { type: 'flat', amountInCents: 1_500 });
      const customer = await p.customer(bo);
      await p.sell(customer, 1_000, { invoiceId: 'in_a' });
      await p.sell(customer, 1_000, { invoiceId: 'in_b' });
      await p.sell(customer, 1_000, { invoiceId: 'in_c' });
      assert.deepEqual(await shares(), [[1_500, 'pending']]);
      await refund('in_a');
      assert.deepEqual(await shares(), [[1_500, 'pending']]);
      await refund('in_b');
      assert.deepEqual(await shares(), [[1_500, 'refunded']]);
      await p.sell(customer, 1_000);
      assert.deepEqual(await shares(), [[1_500, 'pending']]);
      await p.assertTotals(ann.id);
    });
  });

  describe('of what looks like fraud', () => {
    const TRASH = { customerEmail: 'x@mailinator.com' };
    const release = async ({ p }: Awaited<ReturnType<typeof referred>>) => {
      const [group] = await p.get('/fraud/groups');
      await p.patch(`/fraud/groups/${group.id}`, { status: 'resolved' });
    };

    test('wait with it, and are released with it', async () => {
      const r = await referred({ trigger: 'saleRecorded' });
      await r.p.sell(await r.p.customer(r.bo, TRASH), 10_000);
      assert.deepEqual(await r.shares(), [[1_000, 'hold']]);
      await r.p.gather();
      assert.deepEqual(await r.p.payouts(), []);
      await release(r);
      assert.deepEqual(await r.shares(), [[1_000, 'pending']]);
      await r.p.assertTotals(r.ann.id);
    });

    test('are released with one that somebody sets right, and go with one that was fraud', async () => {
      const { p, bo, shares, sources } = await referred({ trigger: 'saleRecorded' });
      const customer = await p.customer(bo, TRASH);
      await p.sell(customer, 10_000);
      await p.sell(customer, 20_000);
      const [first, second] = await sources();
      await p.patch(`/commissions/${first?.id}`, { status: 'pending' });
      await p.patch(`/commissions/${second?.id}`, { status: 'fraud' });
      assert.deepEqual((await shares()).toSorted(), [
        [1_000, 'pending'],
        [2_000, 'fraud'],
      ]);
    });

    test('count towards enough only when they are released', async () => {
      const config = { trigger: 'commissionThreshold', threshold: 300 };
      const r = await referred(config, { type: 'flat', amountInCents: 1_500 });
      await r.p.sell(await r.p.customer(r.bo, TRASH), 10_000);
      assert.deepEqual(await r.shares(), []);
      await release(r);
      assert.deepEqual(await r.shares(), [[1_500, 'pending']]);
    });
  });
});
