// Erasing a customer reaches the event store too.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openConverting } from '../testing/conversion-calls.ts';
import type { TestApp } from '../testing/test-app.ts';

const opened: TestApp[] = [];
after(async () => {
  for (const t of opened) await t.close();
});

test('metadata of events and the addresses of their clicks are gone from the event store, the events stay', async () => {
  const c = await openConverting();
  opened.push(c.t);
  const { events } = c.t.app;
  const link = await c.link();
  const clickId = await c.click(link);
  const other = await c.click(await c.link());
  await c.lead({ clickId, customerExternalId: 'u_1', metadata: { colour: 'blue' } });
  await c.lead({ clickId: other, customerExternalId: 'u_2', metadata: { colour: 'red' } });
  await c.sale({ customerExternalId: 'u_1', metadata: { colour: 'blue' } });
  const stored = async () => {
    await events.settle();
    const whole = { workspaceId: c.workspace.id, fromMs: 0, toMs: c.t.clock.now(), limit: 10, offset: 0 };
    const read = async (kind: 'leads' | 'sales') =>
      (await events.source.list({ ...whole, kind, order: 'asc' })).map(({ customerId, metadata, click }) => [
        customerId,
        metadata === '',
        click.ip === '',
      ]);
    const clicks = (await events.source.listClicks({ limit: 10 })).clicks;
    return { leads: await read('leads'), sales: await read('sales'), clicks };
  };
  const before = await stored();
  assert.deepEqual([before.leads.length, before.sales.length], [2, 1]);
  assert.ok(before.clicks.every(({ ip }) => ip !== ''));

  const { id } = await c.call('DELETE', '/customers/ext_u_1');
  const afterwards = await stored();
  assert.deepEqual(afterwards.leads.map(([customerId, ...blank]) => [customerId === id, ...blank]).sort(), [
    [false, false, false],
    [true, true, true],
  ]);
  assert.deepEqual(afterwards.sales, [[id, true, true]]);
  assert.deepEqual(
    afterwards.clicks.map((click) => [click.id, click.ip === '']).sort(),
    [
      [clickId, true],
      [other, false],
    ].sort(),
  );
});
