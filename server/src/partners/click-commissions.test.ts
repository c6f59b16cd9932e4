// What partners earn by clicks, from the visits in the event store.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openEarning } from '../testing/earning-calls.ts';
import { createEventFeed } from '../testing/event-feed.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;

let t: TestApp;
before(async () => {
  t = await openTestApp({ events: true });
});
after(() => t.close());

const run = () => t.app.services.clickCommissions.run(new AbortController().signal);

async function openClicked(reward: object) {
  const p = await openEarning(t, { reward: null });
  await p.reward({ event: 'click', type: 'flat', amountInCents: 10, ...reward });
  const mia = await p.partner();
  const feed = createEventFeed(t, p.ws);
  const link = await p.readLink(mia.link.id);
  const clicks = async (count: number, country: string) => {
    for (let i = 0; i < count; i += 1) await feed.click(link, { countryHint: country });
    await feed.settle();
  };
  return { p, mia, clicks };
}

test('each link is paid once for each day that is over', async () => {
  const { p, mia, clicks } = await openClicked({});
  await clicks(3, 'SE');
  await run();
  assert.deepEqual(await p.commissions(), []);
  const day = new Date(t.clock.now()).toISOString().slice(0, 10);
  t.clock.advance(DAY_MS);
  await run();
  await run();
  const [commission, ...others] = await p.commissions();
  assert.equal(others.length, 0);
  assert.partialDeepStrictEqual(commission, {
    type: 'click',
    earnings: 30,
    quantity: 3,
    link_id: mia.link.id,
    invoice_id: `${mia.link.id}-${day}`,
    created_at: Date.parse(`${day}T23:59:59.999Z`),
  });
  await clicks(1, 'SE');
  t.clock.advance(2 * DAY_MS);
  await run();
  assert.deepEqual(
    (await p.commissions()).map(({ earnings }) => earnings),
    [30, 10],
  );
  await p.assertTotals(mia.id);
});

test('countries and limits count, and whoever is banned earns nothing', async () => {
  const conditions = [{ entity: 'customer', attribute: 'country', operator: 'in', value: ['SE', 'NO'] }];
  const limit = { spendLimitAmount: 100, spendLimitInterval: 'month' };
  const { p, mia, clicks } = await openClicked({ modifiers: [{ conditions, amountInCents: 25 }], ...limit });
  await clicks(2, 'SE');
  await clicks(1, 'DE');
  await clicks(1, '');
  t.clock.advance(DAY_MS);
  await run();
  assert.deepEqual(
    (await p.commissions()).map(({ earnings, quantity }) => [earnings, quantity]),
    [[70, 4]],
  );
  await clicks(4, 'NO');
  t.clock.advance(DAY_MS);
  await run();
  assert.deepEqual(
    (await p.commissions()).map(({ earnings }) => earnings),
    [70, 30],
  );
  await clicks(1, 'DE');
  await p.post('/partners/ban', { partnerId: mia.id, reason: 'fake_traffic' });
  t.clock.advance(DAY_MS);
  await run();
  assert.equal((await p.commissions()).length, 2);
});
