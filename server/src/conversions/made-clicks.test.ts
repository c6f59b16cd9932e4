// Clicks that stand for a visit which nobody recorded: all of them, or nothing, with their conversion.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type EarningCalls, openEarning, type TestPartner } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

eachDatabase('clicks that are made up', (databases) => {
  let t: TestApp;
  let isStarted = false;
  before(async () => {
    // Nothing leaves the outbox before the test says so: as if the process had died right after the commit.
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const clickRows = (p: EarningCalls) =>
    t.app.db.query.selectFrom('click_index').selectAll().where('workspace_id', '=', p.ws.id).execute();
  const outboxRows = (p: EarningCalls) =>
    t.app.db.query
      .selectFrom('outbox')
      .selectAll()
      .where('workspace_id', '=', p.ws.id)
      .where('type', '=', 'clicks.imported')
      .execute();
  const sums = async (p: EarningCalls, { id, link }: TestPartner) => [
    (await p.readLink(link.id)).clicks,
    (await p.get(`/partners/${id}`)).totalClicks,
  ];
  const saleBody = (p: EarningCalls, { id: partnerId }: TestPartner, invoiceId: string) => ({
    type: 'sale',
    partnerId,
    customer: { externalId: p.newCustomer(), country: 'SE' },
    sale: { amount: 500, invoiceId },
  });

  test('are counted and on their way in the transaction of the sale, and arrive once however often they are relayed', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    const hook = { url: 'https://example.com/hook', triggers: ['link.clicked'], linkScope: 'workspace' };
    await p.post('/webhooks', { name: 'Clicks', ...hook });
    await p.post('/commissions', saleBody(p, mia, 'in_1'));
    assert.deepEqual(await sums(p, mia), [1, 1]);
    const told = t.app.db.query
      .selectFrom('webhook_message')
      .select('body')
      .where('workspace_id', '=', p.ws.id);
    assert.deepEqual(
      (await told.execute()).map(({ body }) => JSON.parse(body).data.link.id),
      [mia.link.id],
    );
    const [waiting] = await outboxRows(p);
    const [click] = await clickRows(p);
    assert.ok(waiting && click);
    const [sale] = await p.rows('sale');
    assert.equal(sale?.click_id, click.id);

    if (!isStarted) t.app.events.start();
    isStarted = true;
    await t.app.events.settle();
    const { id: _, ...again } = waiting;
    await t.app.db.write((trx) => trx.insertInto('outbox').values(again).execute());
    await t.app.events.settle();
    const shown = await p.get('/events?event=clicks&interval=all');
    assert.deepEqual(
      shown.map((event: { click: { id: string; country: string } }) => [event.click.id, event.click.country]),
      [[click.id, 'SE']],
    );
    assert.deepEqual(await sums(p, mia), [1, 1]);
  });

  test('are not there when their sale is refused', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    const own = await p.link();
    const clickId = await p.importClick(own);
    await p.sale({ customerExternalId: p.newCustomer(), clickId, invoiceId: 'in_taken' });
    const before = (await clickRows(p)).length;
    await p.refused(409, 'invoiceId', 'POST', '/commissions', saleBody(p, mia, 'in_taken'));
    assert.deepEqual(await sums(p, mia), [0, 0]);
    assert.equal((await clickRows(p)).length, before);
    assert.deepEqual(await outboxRows(p), []);
    assert.deepEqual(await p.commissions(), []);
  });
});
