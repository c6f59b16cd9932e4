// Random histories of money: sales, refunds, clawbacks, corrections, payouts, bans and confirmations at the same
// time. Whatever happens, sums agree, every number is whole, and nothing is paid twice.
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { createSeededRandom, type SeededRandom } from '../kernel/seeded-random.ts';
import { eachDatabase } from '../testing/databases.ts';
import { type EarningCalls, openEarning, type TestPartner } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const HISTORIES = { sqlite: 200, postgres: 20 } as const;
const STEPS = 14;
const DAY_MS = 86_400_000;
const REVERSED = ['refunded', 'duplicate', 'fraud', 'canceled'];

interface History {
  readonly t: TestApp;
  readonly p: EarningCalls;
  readonly mia: TestPartner;
  /** Has brought Mia, and gets a share of what Mia sells. */
  readonly ann: TestPartner;
  readonly random: SeededRandom;
  readonly invoices: string[];
  readonly customers: string[];
  readonly done: string[];
  refunds: number;
  confirmations: number;
}

/** Refusals are part of life; failures are not. */
async function attempt({ p }: History, method: string, path: string, body: object = {}) {
  const reply = await p.call(method, path, body);
  assert.ok(reply.status < 500 && reply.status !== 422, `${method} ${path}: ${reply.text}`);
  return reply;
}

async function anyCommission({ p, mia, random }: History): Promise<string | undefined> {
  const commissions = await p.commissions(mia.id);
  return commissions.length === 0 ? undefined : random.pick(commissions).id;
}

async function anyPayout({ p, mia, ann, random }: History): Promise<string | undefined> {
  const { id } = random.pick([mia, mia, ann]);
  const payouts: { id: string }[] = await p.get(`/payouts?partnerId=${id}`);
  return payouts.length === 0 ? undefined : random.pick(payouts).id;
}

const ACTIONS: Readonly<Record<string, (history: History) => Promise<unknown>>> = {
  async sell(history) {
    const { p, mia, random, customers, invoices } = history;
    const { status } = await p.get(`/partners/${mia.id}`);
    if (status !== 'approved') return;
    if (customers.length < 3) customers.push(await p.customer(mia));
    const invoiceId = `in_${mia.id}_${invoices.length}`;
    await p.sell(random.pick(customers), 1 + random.whole(99_999), { invoiceId });
    invoices.push(invoiceId);
  },
  async refund({ t, p, random, invoices, mia, ...history }) {
    if (invoices.length === 0) return;
    const invoiceId = random.pick(invoices);
    const refundId = `re_${mia.id}_${history.refunds}_${random.whole(1_000_000)}`;
    const amount = random.whole(2) === 0 ? {} : { amount: 1 + random.whole(20_000) };
    await t.app.services.conversions.refund({ workspaceId: p.ws.id, invoiceId, refundId, ...amount });
  },
  custom: (history) =>
    attempt(history, 'POST', '/commissions', {
      type: 'custom',
      partnerId: history.mia.id,
      amount: 1 + history.random.whole(9_000),
    }),
  clawback: (history) =>
    attempt(history, 'POST', '/commissions', {
      type: 'custom',
      partnerId: history.mia.id,
      amount: -1 - history.random.whole(6_000),
      description: 'order_canceled',
    }),
  async correct(history) {
    const id = await anyCommission(history);
    const status = history.random.pick(['pending', 'refunded', 'duplicate', 'canceled', 'fraud']);
    if (id) await attempt(history, 'PATCH', `/commissions/${id}`, { status });
  },
  async reprice(history) {
    const id = await anyCommission(history);
    if (id) await attempt(history, 'PATCH', `/commissions/${id}`, { earnings: history.random.whole(5_000) });
  },
  gather: ({ t, p, mia, ann }) =>
    Promise.all(
      [mia, ann].map(({ id: partnerId }) =>
        t.app.services.payoutAggregation.gather({ programId: p.program.id, partnerId }),
      ),
    ),
  async confirmAtOnce(history) {
    const id = await anyPayout(history);
    if (!id) return;
    const confirm = () => attempt(history, 'POST', '/payouts/confirm', { payoutIds: [id], manual: true });
    const correct = ACTIONS.correct as (history: History) => Promise<unknown>;
    const [a, b, c] = await Promise.all([confirm(), confirm(), confirm(), correct(history)]);
    const accepted = [a, b, c].filter((reply) => reply?.status === 200).length;
    assert.ok(accepted <= 1, 'confirmed more than once');
    history.confirmations += accepted;
  },
  async pay(history) {
    const id = await anyPayout(history);
    const step = history.random.pick(['mark-sent', 'complete', 'fail', 'retry']);
    if (id) await Promise.all([1, 2].map(() => attempt(history, 'POST', `/payouts/${id}/${step}`)));
  },
  async changePlace(history) {
    const step = history.random.pick(['ban', 'unban', 'deactivate', 'reactivate']);
    const reason = step === 'ban' ? { reason: 'fraud' } : {};
    await attempt(history, 'POST', `/partners/${step}`, { partnerId: history.mia.id, ...reason });
  },
  wait: async ({ t, random }) => t.clock.advance(random.whole(3) * DAY_MS),
  /** All of these at the same time: whoever comes second sees what the first has done. */
  async rush(history) {
    const names = Array.from({ length: 5 }, () => history.random.pick(AT_ONCE));
    history.done.push(...names);
    await Promise.all(names.map((name) => ACTIONS[name]?.(history)));
  },
};
const AT_ONCE = [
  'refund',
  'custom',
  'clawback',
  'correct',
  'reprice',
  'gather',
  'confirmAtOnce',
  'pay',
  'changePlace',
];
/** What happens most is what happens most in life. */
const OFTEN = [
  'sell',
  'sell',
  'sell',
  'sell',
  'custom',
  'gather',
  'confirmAtOnce',
  'confirmAtOnce',
  'pay',
  'pay',
];
const NAMES = [...Object.keys(ACTIONS), ...OFTEN];

/** No share is paid of what nobody is paid for. */
async function assertShares({ p, mia, ann }: History): Promise<void> {
  const sources = new Map((await p.commissions(mia.id)).map((each) => [each.id, each]));
  const payouts = new Map((await p.payouts()).map((each) => [each.id, each]));
  for (const { status, payout_id, source_commission_id } of await p.commissions(ann.id)) {
    const isOpen = payout_id === null || payouts.get(payout_id)?.status === 'pending';
    if (!isOpen || !['pending', 'hold', 'processed'].includes(status)) continue;
    const source = sources.get(source_commission_id ?? '');
    assert.ok(source && !REVERSED.includes(source.status), `a share that is ${status} of ${source?.status}`);
  }
}

/** Returns how many payouts were confirmed. */
async function assertAgrees({ t, p }: History, partner: TestPartner): Promise<number> {
  const commissions = await p.commissions(partner.id);
  const payouts = (await p.payouts()).filter((payout) => payout.partner_id === partner.id);
  const sum = (rows: readonly { earnings: number }[]) => rows.reduce((total, row) => total + row.earnings, 0);
  for (const { earnings, amount } of commissions)
    assert.ok(Number.isInteger(earnings) && Number.isInteger(amount));
  for (const { id, amount, status } of payouts) {
    const inside = commissions.filter(({ payout_id }) => payout_id === id);
    assert.ok(inside.length > 0, 'an empty payout');
    assert.equal(amount, sum(inside), `payout ${status}`);
    const expected =
      { sent: 'paid', completed: 'paid', canceled: 'canceled' }[status as string] ?? 'processed';
    assert.deepEqual([...new Set(inside.map((each) => each.status))], [expected], `payout ${status}`);
  }
  const known = new Set(payouts.map(({ id }) => id));
  assert.ok(commissions.every(({ payout_id }) => payout_id === null || known.has(payout_id)));
  assert.ok(payouts.filter(({ status }) => status === 'pending').length <= 1, 'two open payouts');

  const ofStatus = (...statuses: string[]) =>
    sum(commissions.filter(({ status }) => statuses.includes(status)));
  const paid = payouts
    .filter(({ status }) => status === 'sent' || status === 'completed')
    .reduce((total, { amount }) => total + amount, 0);
  const open = ofStatus('pending', 'hold', 'processed');
  assert.equal(paid, ofStatus('paid'));
  assert.equal(sum(commissions), paid + open + ofStatus(...REVERSED));
  const enrolment = await t.app.db.query
    .selectFrom('enrolment')
    .select('total_commissions')
    .where('partner_id', '=', partner.id)
    .executeTakeFirstOrThrow();
  assert.equal(enrolment.total_commissions, paid + ofStatus('pending', 'processed'));
  return payouts.filter(({ invoice_id }) => invoice_id !== null).length;
}

async function assertHistory(history: History): Promise<void> {
  const { mia, ann } = history;
  const confirmed = (await assertAgrees(history, mia)) + (await assertAgrees(history, ann));
  assert.equal(confirmed, history.confirmations);
  await assertShares(history);
}

eachDatabase('money', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  test('agrees after every history', async (context: TestContext) => {
    const p = await openEarning(t);
    const config = { trigger: 'saleRecorded' };
    await p.reward({ event: 'referral', type: 'percentage', amountInPercentage: 7.5, config });
    const counts = { steps: 0, confirmations: 0, commissions: 0, shares: 0 };
    const total = HISTORIES[databases.engine];
    for (let seed = 1; seed <= total; seed += 1) {
      const mia = await p.partner({ tenantId: `tenant-${seed}` });
      const ann = await p.partner();
      await t.app.db.query
        .updateTable('enrolment')
        .set({ referred_by_partner_id: ann.id })
        .where('partner_id', '=', mia.id)
        .execute();
      const random = createSeededRandom(seed);
      const lists = { invoices: [], customers: [], done: [] };
      const history: History = { t, p, mia, ann, random, ...lists, refunds: 0, confirmations: 0 };
      for (let step = 0; step < STEPS; step += 1) {
        const name = random.pick(NAMES);
        history.done.push(name);
        await ACTIONS[name]?.(history);
      }
      await assertHistory(history).catch((error) => {
        throw new Error(`history ${seed}: ${history.done.join(', ')}`, { cause: error });
      });
      counts.steps += STEPS;
      counts.confirmations += history.confirmations;
      counts.commissions += (await p.commissions(mia.id)).length;
      counts.shares += (await p.commissions(ann.id)).length;
    }
    context.diagnostic(`${total} histories: ${JSON.stringify(counts)}`);
    assert.ok(counts.confirmations > total / 10, 'histories in which something is paid');
  });
});
