// A program whose partners sell, for tests: partners with links, customers who buy through them, and what the stores
// then hold.
import assert from 'node:assert/strict';
import type { Selectable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { converting } from './conversion-calls.ts';
import { openProgram } from './program-calls.ts';
import type { TestApp } from './test-app.ts';

type Plan = Parameters<TestApp['workspace']>[0];

export interface TestPartner {
  readonly id: string;
  readonly link: { readonly id: string; readonly workspaceId: string };
}

/** Partners earn 20 % of sales for ever and nothing waits, unless the test says otherwise. */
export async function openEarning(
  t: TestApp,
  { plan = 'enterprise' as Plan, reward = {} as object | null } = {},
) {
  const program = await openProgram(t, { plan });
  const tracking = await converting(t, program.ws);
  const { db } = t.app;
  await program.patch('/groups/default', { holdingPeriodDays: 0 });
  const terms = { groupId: 'default', event: 'sale', type: 'percentage', amountInPercentage: 20, ...reward };
  if (reward !== null) await program.post('/rewards', terms);

  async function partner(more: object = {}): Promise<TestPartner> {
    const made = await program.partner(more);
    return { id: made.id, link: { id: made.links[0].id, workspaceId: program.ws.id } };
  }

  return {
    ...tracking,
    ...program,
    partner,
    reward: (body: object) => program.post('/rewards', { groupId: 'default', ...body }),

    /** A customer who came through the link of the partner; returns the external id. */
    async customer({ link }: TestPartner, more: object = {}): Promise<string> {
      const customerExternalId = tracking.newCustomer();
      const clickId = await tracking.importClick(link);
      await tracking.lead({ clickId, customerExternalId, ...more });
      return customerExternalId;
    },

    sell: (customerExternalId: string, amount: number, more: object = {}) =>
      tracking.sale({ customerExternalId, amount, ...more }),

    async commissions(partnerId?: string): Promise<Selectable<Schema['commission']>[]> {
      let query = db.query.selectFrom('commission').selectAll().where('workspace_id', '=', program.ws.id);
      if (partnerId) query = query.where('partner_id', '=', partnerId);
      return query.orderBy('created_at').orderBy('id').execute();
    },

    async payouts(): Promise<Selectable<Schema['payout']>[]> {
      const query = db.query.selectFrom('payout').selectAll().where('workspace_id', '=', program.ws.id);
      return query.orderBy('created_at').orderBy('id').execute();
    },

    gather: () => t.app.services.payoutAggregation.run(new AbortController().signal),

    /** A payout of the partner over this sum, ready to be confirmed. */
    async payout(whose: TestPartner, cents: number): Promise<{ id: string; amount: number }> {
      await program.post('/commissions', { type: 'custom', partnerId: whose.id, amount: cents });
      const [payout] = await program.get(`/payouts?partnerId=${whose.id}&status=pending`);
      assert.ok(payout, 'there is a payout');
      return payout;
    },

    /** What a partner has earned by its sums must be what its commissions add up to. */
    async assertTotals(partnerId: string): Promise<void> {
      const rows = await db.query
        .selectFrom('commission')
        .select('earnings')
        .where('partner_id', '=', partnerId)
        .where('status', 'in', ['pending', 'processed', 'paid'])
        .execute();
      const { totalCommissions } = await program.get(`/partners/${partnerId}`);
      assert.equal(
        totalCommissions,
        rows.reduce((sum, { earnings }) => sum + earnings, 0),
      );
    },
  };
}

export type EarningCalls = Awaited<ReturnType<typeof openEarning>>;
