// What partners earn by clicks, from the visits in the event store.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openEarning } from '../testing/earning-calls.ts';
import { createEventFeed } from '../testing/event-feed.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { type CountClicks, createClickCommissions } from './click-commissions.ts';
import { createCommissionStore } from './commission.store.ts';
import { createEnrolmentStore } from './enrolment.store.ts';
import { createPartnerStore } from './partner.store.ts';
import { createProgramStore } from './program.store.ts';
import { createRewardStore } from './reward.store.ts';
import { createRewardReckoning } from './reward-reckoning.ts';

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

test('a run that is cut short leaves no day behind for anybody', async () => {
  const { p, mia, clicks } = await openClicked({});
  const bo = await p.partner();
  const feed = createEventFeed(t, p.ws);
  const both = async () => {
    await clicks(1, 'SE');
    await feed.click(await p.readLink(bo.link.id));
    await feed.settle();
    t.clock.advance(DAY_MS);
  };
  await both();
  await run();
  await both();
  await both();
  const controller = new AbortController();
  let made = 0;
  await t.app.db.follow({
    name: `commissions of ${p.ws.id}`,
    digest({ type, workspaceId }) {
      if (type === 'commission.created' && workspaceId === p.ws.id && ++made === 2) controller.abort();
      return undefined;
    },
    receive() {},
    lost() {},
  });
  await t.app.services.clickCommissions.run(controller.signal);
  assert.equal((await p.commissions()).length, 4);
  await run();
  for (const { id } of [mia, bo]) assert.equal((await p.commissions(id)).length, 3, id);
});

test('a day is counted when its last clicks have arrived; receivers learn of the link', async () => {
  const { p, mia, clicks } = await openClicked({});
  await clicks(2, 'SE');
  const midnight = Math.ceil(t.clock.now() / DAY_MS) * DAY_MS;
  t.clock.advance(midnight - t.clock.now() + 60_000);
  await run();
  assert.deepEqual(await p.commissions(), []);
  t.clock.advance(15 * 60_000);
  await p.newEvents();
  await run();
  assert.equal((await p.commissions())[0]?.quantity, 2);
  const told = (await p.newEvents()).find(({ type }) => type === 'commission.created');
  assert.equal(told?.webhook.link.id, mia.link.id);
});

/** Knows so many clicks of each link, and tells of at most three links at once. */
function forgetful(clicksOf: ReadonlyMap<string, number>): CountClicks {
  return async ({ of }) => {
    assert.ok(!('countriesOf' in of));
    const asked = of.linkIds ?? [...clicksOf.keys()];
    const counts = asked.flatMap((value) => {
      const clicks = clicksOf.get(value);
      return clicks === undefined ? [] : [{ value, clicks }];
    });
    return { counts: counts.slice(0, 3), isAll: counts.length <= 3 };
  };
}

test('every link counts, however many of one partner were clicked', async () => {
  const { p, mia } = await openClicked({});
  const { db, services } = t.app;
  const own = { programId: p.program.id, partnerId: mia.id, url: 'https://acme.example/' };
  const wanted = Array.from({ length: 9 }, (_, n) => ({ ...own, key: `many-${n}` }));
  const links: { id: string }[] = await p.post('/links/bulk', wanted);
  const clicksOf = new Map([mia.link, ...links.slice(0, 7)].map(({ id }, n) => [id, n + 1]));
  const store = createCommissionStore(db);
  const { run: runOnce } = createClickCommissions({
    db,
    store,
    ledger: services.commissionLedger,
    programs: createProgramStore(db),
    enrolmentStore: createEnrolmentStore(db),
    rewards: createRewardStore(db),
    reckoning: createRewardReckoning({ store, people: createPartnerStore(db) }),
    fraud: { judge: async () => ({ holds: false, findings: [] }) },
    links: services.linksOfPartners,
    countClicks: forgetful(clicksOf),
    linksPerQuestion: 2,
    clock: t.clock,
  });
  t.clock.advance(DAY_MS);
  for (let times = 0; times < 2; times += 1) await runOnce(new AbortController().signal);
  const paid = (await p.commissions(mia.id)).map(({ link_id, quantity }) => [link_id, quantity] as const);
  assert.equal(paid.length, 8);
  assert.deepEqual(new Map(paid), clicksOf);
});
