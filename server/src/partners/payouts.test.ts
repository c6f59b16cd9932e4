// Payouts: what is gathered into them, who may be paid, and that nothing is paid twice.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type EarningCalls, openEarning } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { RECEIVERS_ALLOWED, webhookCalls } from '../testing/webhook-calls.ts';
import { openWebhookReceiver } from '../testing/webhook-receiver.ts';
import { canPayout, PAYOUT_STATUSES, PAYOUT_TRANSITIONS, type PayoutEvent } from './payout-states.ts';

const DAY_MS = 86_400_000;

eachDatabase('payouts', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: RECEIVERS_ALLOWED });
  });
  after(() => t.close());

  describe('gathering', () => {
    test('waits for the holding period of the group, but not for what was entered by hand', async () => {
      const p = await openEarning(t);
      await p.patch('/groups/default', { holdingPeriodDays: 7 });
      const mia = await p.partner();
      await p.sell(await p.customer(mia), 5_000);
      await p.gather();
      assert.deepEqual(await p.payouts(), []);
      await p.post('/commissions', { type: 'custom', partnerId: mia.id, amount: 700 });
      assert.deepEqual(
        (await p.payouts()).map(({ amount }) => amount),
        [700],
      );
      t.clock.advance(7 * DAY_MS);
      await p.gather();
      const [payout, ...others] = await p.payouts();
      assert.equal(others.length, 0);
      assert.equal(payout?.amount, 1_700);
      assert.equal((payout?.period_end as number) - (payout?.period_start as number), 0);
      assert.deepEqual(new Set((await p.commissions()).map(({ status }) => status)), new Set(['processed']));
      await p.gather();
      assert.equal((await p.payouts())[0]?.amount, 1_700);
    });

    test('takes what is owed from the next payout, and makes none of a debt', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      const claw = { type: 'custom', partnerId: mia.id, amount: -300, description: 'order_canceled' };
      await p.post('/commissions', claw);
      assert.deepEqual(await p.payouts(), []);
      await p.sell(await p.customer(mia), 5_000);
      await p.gather();
      assert.equal((await p.payouts())[0]?.amount, 700);
      await p.assertTotals(mia.id);
    });

    test('takes thousands in steps, and one that leaves leaves nothing behind', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      await p.post('/commissions', { type: 'custom', partnerId: mia.id, amount: 5 });
      const [made] = await p.commissions();
      const row = { ...(made as NonNullable<typeof made>), status: 'pending', payout_id: null };
      const rows = Array.from({ length: 2_300 }, (_, n) => ({
        ...row,
        id: `${row.id}_${n}`,
        created_at: row.created_at - n,
      }));
      for (let from = 0; from < rows.length; from += 100) {
        const some = rows.slice(from, from + 100);
        await t.app.db.query.insertInto('commission').values(some).execute();
      }
      await p.gather();
      const [payout, ...others] = await p.payouts();
      assert.equal(others.length, 0);
      assert.deepEqual(
        [payout?.amount, payout?.period_start, payout?.period_end],
        [5 * 2_301, row.created_at - 2_299, row.created_at],
      );
      const commissionIds = rows.slice(-100).map(({ id }) => id);
      await p.patch('/commissions/bulk', { commissionIds, status: 'duplicate' });
      const [smaller] = await p.payouts();
      assert.deepEqual([smaller?.amount, smaller?.period_start], [5 * 2_201, row.created_at - 2_199]);
    });

    test('leaves those alone who are banned', async () => {
      const p = await openEarning(t);
      const mia = await p.partner();
      await p.payout(mia, 2_000);
      await p.post('/partners/ban', { partnerId: mia.id, reason: 'fraud' });
      const [canceled] = await p.commissions();
      await p.patch(`/commissions/${canceled?.id}`, { status: 'pending' });
      await p.gather();
      assert.deepEqual(await p.payouts(), []);
    });

    test('is the same when two nodes do it at once', async () => {
      const p = await openEarning(t);
      const partners = await Promise.all([p.partner(), p.partner(), p.partner()]);
      for (const partner of partners) await p.sell(await p.customer(partner), 5_000);
      await Promise.all([p.gather(), p.gather(), p.gather()]);
      assert.deepEqual(
        (await p.payouts()).map(({ amount }) => amount),
        [1_000, 1_000, 1_000],
      );
    });
  });

  describe('confirming', () => {
    test('locks the payout, numbers the invoice and tells receivers', async () => {
      const p = await openEarning(t);
      const mia = await p.partner({ tenantId: 'u_77', name: 'Mia Lund' });
      const { id } = await p.payout(mia, 2_500);
      await p.newEvents();
      const { invoiceId, amount, payouts } = await p.post('/payouts/confirm', { payoutIds: [id] });
      assert.equal(amount, 2_500);
      assert.partialDeepStrictEqual(payouts[0], {
        id,
        invoiceId,
        status: 'processing',
        mode: 'external',
        initiatedAt: new Date(t.clock.now()).toISOString(),
        partner: { tenantId: 'u_77', groupId: p.program.defaultGroupId },
        user: { id: p.ws.ownerId },
      });
      const [told] = (await p.newEvents()).filter(({ type }) => type === 'payout.confirmed');
      assert.partialDeepStrictEqual(told?.webhook, {
        id,
        status: 'processing',
        partner: { id: mia.id, tenantId: 'u_77', status: 'approved' },
      });
      assert.ok(!JSON.stringify(told?.payload).includes('Mia'));
      // What comes later goes into another one.
      assert.notEqual((await p.payout(mia, 100)).id, id);
      const workspace = await p.get(`/workspaces/${p.ws.id}`);
      assert.equal(workspace.payoutsUsage, 2_500);
    });

    test('is refused, with the reason, for what cannot be paid', async () => {
      const p = await openEarning(t);
      const confirm = (...payoutIds: string[]) => ['POST', '/payouts/confirm', { payoutIds }] as const;
      const [mia, bo] = [await p.partner({ tenantId: 'mia' }), await p.partner()];
      const small = await p.payout(mia, 999);
      await p.refused(400, 'payoutIds', ...confirm(small.id));
      const nameless = await p.payout(bo, 5_000);
      await p.refused(400, 'payoutIds', ...confirm(nameless.id));
      await p.patch(`/programs/${p.program.id}`, { minPayoutAmount: 1_000 });
      await p.refused(400, 'payoutIds', ...confirm(small.id));
      await p.refused(404, 'payoutIds', ...confirm('po_unknown'));
      await p.refused(422, 'payoutIds', ...confirm(small.id, small.id));
      await p.refused(422, 'payoutIds', ...confirm());
      await p.patch(`/programs/${p.program.id}`, { payoutMode: 'internal' });
      const large = await p.payout(mia, 5_000);
      await p.refused(400, 'payoutIds', ...confirm(large.id));
      const manual = { payoutIds: [large.id, nameless.id], manual: true };
      assert.equal((await p.post('/payouts/confirm', manual)).amount, 10_999);
      await p.refused(400, 'status', 'POST', '/payouts/confirm', manual);
    });

    test('stays within what the workspace may pay in a month', async () => {
      const p = await openEarning(t);
      await t.app.db.query
        .updateTable('workspace')
        .set({ limits: '{"payouts":3000}' })
        .where('id', '=', p.ws.id)
        .execute();
      const [mia, bo] = [await p.partner(), await p.partner()];
      const first = await p.payout(mia, 2_000);
      const second = await p.payout(bo, 2_000);
      await p.post('/payouts/confirm', { payoutIds: [first.id], manual: true });
      const body = { payoutIds: [second.id], manual: true };
      await p.refused(403, undefined, 'POST', '/payouts/confirm', body);
      t.clock.advance(31 * DAY_MS);
      await p.post('/payouts/confirm', body);
    });

    test('a hundred times at once pays once', async () => {
      const p = await openEarning(t);
      const partners = await Promise.all([p.partner(), p.partner()]);
      const payoutIds: string[] = [];
      for (const partner of partners) payoutIds.push((await p.payout(partner, 2_000)).id);
      await p.newEvents();
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          p.call('POST', '/payouts/confirm', {
            payoutIds: i % 2 ? payoutIds : payoutIds.toReversed(),
            manual: true,
          }),
        ),
      );
      const statuses = replies.map(({ status }) => status).filter((status) => status !== 400);
      assert.deepEqual(statuses, [200]);
      const invoices = (await p.payouts()).map(({ invoice_id }) => invoice_id);
      assert.equal(new Set(invoices).size, 1);
      assert.equal((await p.get(`/workspaces/${p.ws.id}`)).payoutsUsage, 4_000);
    });
  });

  describe('a payout that is confirmed', () => {
    async function confirmed(p: EarningCalls): Promise<string> {
      const { id } = await p.payout(await p.partner(), 2_000);
      await p.post('/payouts/confirm', { payoutIds: [id], manual: true });
      return id;
    }

    test('is sent, comes back, is tried again and arrives; its commissions go with it', async () => {
      const p = await openEarning(t);
      const id = await confirmed(p);
      const step = async (name: string, body: object, status: string, commission: string) => {
        const payout = await p.post(`/payouts/${id}/${name}`, body);
        assert.equal(payout.status, status);
        assert.equal((await p.commissions())[0]?.status, commission);
        return payout;
      };
      const sent = await step('mark-sent', { traceId: 'sepa-1' }, 'sent', 'paid');
      assert.equal(sent.traceId, 'sepa-1');
      assert.ok((await p.get(`/commissions?payoutId=${id}`))[0].paidAt);
      const failed = await step('fail', { failureReason: 'Account closed' }, 'failed', 'processed');
      assert.deepEqual([failed.failureReason, failed.paidAt], ['Account closed', null]);
      await step('retry', {}, 'processing', 'processed');
      const done = await step('complete', {}, 'completed', 'paid');
      assert.deepEqual([done.failureReason, typeof done.paidAt], [null, 'string']);
      const [commission] = await p.commissions();
      await p.refused(400, undefined, 'PATCH', `/commissions/${commission?.id}`, { status: 'refunded' });
    });

    test('goes nowhere that its state does not lead to', async () => {
      const p = await openEarning(t);
      const id = await confirmed(p);
      const calls: Partial<Record<PayoutEvent, string>> = {
        send: `/payouts/${id}/mark-sent`,
        complete: `/payouts/${id}/complete`,
        fail: `/payouts/${id}/fail`,
        retry: `/payouts/${id}/retry`,
        confirm: '/payouts/confirm',
      };
      let refusals = 0;
      for (const status of PAYOUT_STATUSES) {
        await t.app.db.query.updateTable('payout').set({ status }).where('id', '=', id).execute();
        for (const event of Object.keys(PAYOUT_TRANSITIONS) as PayoutEvent[]) {
          const path = calls[event];
          if (!path || canPayout(status, event)) continue;
          await p.refused(400, 'status', 'POST', path, event === 'confirm' ? { payoutIds: [id] } : {});
          assert.equal((await p.payouts())[0]?.status, status, `${event} of ${status}`);
          refusals += 1;
        }
      }
      assert.equal(refusals, 24);
    });

    test('is in the file, whatever happens to others while it is written', async () => {
      const p = await openEarning(t);
      await p.payout(await p.partner(), 2_000);
      const [made] = await p.payouts();
      assert.ok(made);
      const rows = Array.from({ length: 250 }, (_, n) => ({
        ...made,
        id: `${made.id}_${String(n).padStart(3, '0')}`,
        status: 'processing',
        initiated_at: made.created_at,
      }));
      for (let from = 0; from < rows.length; from += 50) {
        await t.app.db.query
          .insertInto('payout')
          .values(rows.slice(from, from + 50))
          .execute();
      }
      const actor = { ...p.ws.actor, workspaceId: p.ws.id };
      const written: string[] = [];
      for await (const page of await t.app.services.payouts.walk(actor, { status: 'processing' })) {
        const done = page.map(({ payout }) => payout.id);
        written.push(...done);
        await t.app.db.query.updateTable('payout').set({ status: 'sent' }).where('id', 'in', done).execute();
      }
      assert.deepEqual(
        written,
        rows.map(({ id }) => id),
      );
    });

    test('is not written for a partner whom nobody knows; a debt is written as one', async () => {
      const p = await openEarning(t);
      await p.refused(404, undefined, 'GET', '/payouts/export?tenantId=nobody');
      const mia = await p.partner();
      await p.payout(mia, 1_000);
      const claw = { type: 'custom', partnerId: mia.id, amount: -1_050, description: 'order_canceled' };
      await p.post('/commissions', claw);
      const csv = (await p.call('GET', '/payouts/export?status=pending')).text;
      assert.match(csv, /,pending,'?-0\.50,USD,/);
    });

    test('is written into files for the bank and for PayPal', async () => {
      const p = await openEarning(t);
      const mia = await p.partner({ name: '=Mia', email: `mia-${p.ws.id}@people.example` });
      const { id } = await p.payout(mia, 123_405);
      const { invoiceId } = await p.post('/payouts/confirm', { payoutIds: [id], manual: true });
      const paypal = await p.call('GET', `/payouts/export?format=paypal&invoiceId=${invoiceId}`);
      assert.equal(paypal.text, `mia-${p.ws.id}@people.example,1234.05,USD,${id},Payout ${invoiceId}\r\n`);
      const csv = (await p.call('GET', '/payouts/export')).text.split('\r\n');
      assert.equal(csv.length, 3);
      assert.ok(csv[1]?.startsWith(`${id},${invoiceId},processing,1234.05,USD,${mia.id},,'=Mia,`), csv[1]);
      assert.equal((await p.call('GET', '/payouts/export?status=sent')).text.split('\r\n').length, 2);
    });
  });

  test('a receiver of webhooks completes a payout by taking its message, and fails it by never doing so', async () => {
    const p = await openEarning(t);
    const receiver = await openWebhookReceiver();
    const hooks = webhookCalls(t, p.ws);
    await hooks.create({ url: receiver.url, triggers: ['payout.confirmed'] });
    const flow = t.app.services.webhookFlow;
    const confirm = async (tenantId: string) => {
      const { id } = await p.payout(await p.partner({ tenantId }), 2_000);
      await p.post('/payouts/confirm', { payoutIds: [id] });
      await t.app.events.flush();
      await flow.run();
      return id;
    };
    const taken = await confirm('taken');
    assert.equal(receiver.received[0]?.json.data.id, taken);
    assert.equal((await p.get(`/payouts/${taken}`)).status, 'completed');
    assert.equal((await p.get(`/commissions?payoutId=${taken}`))[0].status, 'paid');
    receiver.behave(500);
    const refused = await confirm('refused');
    assert.equal((await p.get(`/payouts/${refused}`)).status, 'processing');
    for (let i = 0; i < 20; i += 1) {
      t.clock.advance(2 * DAY_MS);
      await flow.run();
    }
    const failed = await p.get(`/payouts/${refused}`);
    assert.deepEqual([failed.status, typeof failed.failureReason], ['failed', 'string']);
    receiver.behave(200);
    await receiver.close();
  });

  test('a ban cancels what is not on its way; deactivating does not', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    const paid = await p.payout(mia, 2_000);
    await p.post('/payouts/confirm', { payoutIds: [paid.id], manual: true });
    const open = await p.payout(mia, 500);
    await p.patch('/groups/default', { holdingPeriodDays: 30 });
    await p.sell(await p.customer(mia), 1_000);
    await p.post('/partners/deactivate', { partnerId: mia.id });
    assert.deepEqual((await p.commissions()).map(({ status }) => status).toSorted(), [
      'pending',
      'processed',
      'processed',
    ]);
    await p.post('/partners/ban', { partnerId: mia.id, reason: 'fraud' });
    assert.deepEqual((await p.commissions()).map(({ status }) => status).toSorted(), [
      'canceled',
      'canceled',
      'processed',
    ]);
    assert.equal((await p.get(`/payouts/${paid.id}`)).status, 'processing');
    assert.equal((await p.get(`/payouts/${open.id}`)).status, 'canceled');
    assert.equal((await p.get(`/partners/${mia.id}`)).totalCommissions, 2_000);
    await p.assertTotals(mia.id);
    await p.refused(400, 'partnerId', 'POST', '/commissions', {
      type: 'custom',
      partnerId: mia.id,
      amount: 5,
    });
    // What was canceled can be taken up again once the partner is back.
    await p.post('/partners/unban', { partnerId: mia.id });
    const [canceled] = await p.get(`/commissions?payoutId=${open.id}`);
    await p.patch(`/commissions/${canceled.id}`, { status: 'pending' });
    assert.equal((await p.call('GET', `/payouts/${open.id}`)).status, 404);
    await p.gather();
    assert.equal((await p.payouts()).find(({ status }) => status === 'pending')?.amount, 500);
  });

  test('of a partner who is removed nothing stays open', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    await p.payout(mia, 2_000);
    await p.patch('/groups/default', { holdingPeriodDays: 30 });
    await p.sell(await p.customer(mia), 1_000);
    await p.post('/partners/deactivate', { partnerId: mia.id });
    assert.equal((await p.call('DELETE', `/partners/${mia.id}`)).status, 200);
    assert.deepEqual(
      (await p.payouts()).map(({ status }) => status),
      ['canceled'],
    );
    assert.deepEqual(new Set((await p.commissions()).map(({ status }) => status)), new Set(['canceled']));
  });

  test('lists are filtered and sorted', async () => {
    const p = await openEarning(t);
    const [mia, bo] = [await p.partner({ tenantId: 'mia' }), await p.partner()];
    const [a, b] = [await p.payout(mia, 2_000), await p.payout(bo, 3_000)];
    const ids = async (query: string) =>
      (await p.get(`/payouts?${query}`)).map(({ id }: { id: string }) => id);
    assert.deepEqual(await ids(''), [b.id, a.id]);
    assert.deepEqual(await ids('sortOrder=asc'), [a.id, b.id]);
    assert.deepEqual(await ids('tenantId=mia'), [a.id]);
    assert.deepEqual(await ids(`partnerId=${bo.id}&tenantId=mia`), [b.id]);
    assert.deepEqual(await ids(`groupId=-${p.program.defaultGroupId}`), []);
    assert.deepEqual(await ids(`groupId=${p.program.defaultGroupId}&pageSize=1&page=2`), [a.id]);
    const { invoiceId } = await p.post('/payouts/confirm', { payoutIds: [a.id], manual: true });
    assert.deepEqual(await ids(`invoiceId=${invoiceId}`), [a.id]);
    assert.deepEqual(await ids('sortBy=initiatedAt'), [a.id, b.id]);
    assert.deepEqual(await ids('status=pending'), [b.id]);
    await p.refused(404, undefined, 'GET', '/payouts?tenantId=nobody');
  });
});
