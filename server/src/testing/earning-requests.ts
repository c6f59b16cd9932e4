// Valid requests for the operations on what partners earn, and what they name.
import type { Schema } from '../db/schema.ts';
import { planIncludes } from '../http/operation.ts';
import { ensureProgram, makePartner, type Resource, shown } from './partner-requests.ts';
import type { TestApp, TestWorkspace } from './test-app.ts';

type Make<T> = (t: TestApp, workspace: TestWorkspace) => Promise<T>;

let made = 0;

async function call(t: TestApp, { key }: TestWorkspace, method: string, path: string, body?: unknown) {
  const reply = await t.request(method, path, { key, ...(body !== undefined && { body }) });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
  return reply.json;
}

/** What a program holds can still be read when the plan of its workspace has none any more. */
async function whileOnBusiness<T>(t: TestApp, workspace: TestWorkspace, work: () => Promise<T>): Promise<T> {
  const { plan } = workspace.actor;
  if (planIncludes(plan, 'business')) return work();
  const setPlan = (to: string) =>
    t.app.db.query.updateTable('workspace').set({ plan: to }).where('id', '=', workspace.id).execute();
  await setPlan('business');
  try {
    return await work();
  } finally {
    await setPlan(plan);
  }
}

/** A partner who is owed 50 dollars, the commission for it and the payout it is in. */
const makeOwed = (t: TestApp, workspace: TestWorkspace) =>
  whileOnBusiness(t, workspace, () => owe(t, workspace));

async function owe(t: TestApp, workspace: TestWorkspace) {
  const partnerId = await makePartner(t, workspace);
  const description = `Hidden commission ${++made}`;
  await call(t, workspace, 'POST', '/commissions', { type: 'custom', partnerId, amount: 5_000, description });
  const [commission] = await call(t, workspace, 'GET', `/commissions?partnerId=${partnerId}`);
  const [payout] = await call(t, workspace, 'GET', `/payouts?partnerId=${partnerId}`);
  return { partnerId, commissionId: commission.id as string, payoutId: payout.id as string, description };
}

async function makeConfirmed(t: TestApp, workspace: TestWorkspace): Promise<string> {
  const { payoutId } = await makeOwed(t, workspace);
  await call(t, workspace, 'POST', '/payouts/confirm', { payoutIds: [payoutId], manual: true });
  return payoutId;
}

async function makeFinding(t: TestApp, workspace: TestWorkspace): Promise<string> {
  const { id: programId } = await ensureProgram(t, workspace);
  const id = `frg_${workspace.id}_${++made}`;
  const nowMs = t.app.clock.now();
  const group = {
    id,
    program_id: programId,
    workspace_id: workspace.id,
    partner_id: await makePartner(t, workspace),
    type: 'customerEmailMatch',
    status: 'pending',
    event_count: 1,
    last_event_at: nowMs,
    resolved_at: null,
    resolution_reason: 'Hidden reason',
    user_id: null,
    created_at: nowMs,
    updated_at: nowMs,
  };
  await t.app.db.query.insertInto('fraud_group').values(group).execute();
  return id;
}

/** The request names what was made last, which an earlier one like it may have changed. */
const inState =
  (table: 'payout' | 'fraud_group', status: string, body: unknown): Make<unknown> =>
  async (t, workspace) => {
    const { db } = t.app;
    // The tables share the columns that are asked for; which one it is makes no difference to the query.
    const latest = db.query
      .selectFrom(table as 'payout')
      .select('id')
      .where('workspace_id', '=', workspace.id)
      .orderBy('id', 'desc')
      .limit(1);
    await db.query
      .updateTable(table as keyof Pick<Schema, 'payout'>)
      .set({ status })
      .where('id', 'in', latest)
      .execute();
    return body;
  };

export const EARNING_RESOURCES: Readonly<Record<string, Make<Resource>>> = {
  '/commissions/{id}': shown(
    (id) => `/commissions/${id}`,
    async (t, workspace) => {
      const { commissionId, description } = await makeOwed(t, workspace);
      return { id: commissionId, content: [description] };
    },
  ),
  '/payouts/{id}': shown(
    (id) => `/payouts/${id}`,
    async (t, workspace) => ({ id: await makeConfirmed(t, workspace), content: ['Hidden partner'] }),
  ),
  '/fraud/groups/{id}': shown(
    (id) => `/fraud/groups/${id}`,
    async (t, workspace) => ({ id: await makeFinding(t, workspace), content: ['Hidden reason'] }),
  ),
};

export const EARNING_BODIES: Readonly<Record<string, Make<unknown>>> = {
  createCommission: async (t, workspace) => ({
    type: 'custom',
    partnerId: await makePartner(t, workspace),
    amount: 100,
  }),
  updateCommission: async () => ({ earnings: 4_000 + ++made }),
  bulkUpdateCommissions: async (t, workspace) => ({
    commissionIds: [(await makeOwed(t, workspace)).commissionId],
    status: 'duplicate',
  }),
  confirmPayouts: async (t, workspace) => ({
    payoutIds: [(await makeOwed(t, workspace)).payoutId],
    manual: true,
  }),
  markPayoutSent: inState('payout', 'processing', { traceId: 'sepa-1' }),
  completePayout: inState('payout', 'processing', {}),
  failPayout: inState('payout', 'processing', { failureReason: 'Account closed' }),
  retryPayout: inState('payout', 'failed', {}),
  updateFraudRules: async (t, workspace) => {
    await ensureProgram(t, workspace);
    return { rules: [{ type: 'paidTrafficDetected', enabled: true, config: { platforms: ['bing'] } }] };
  },
  updateFraudGroup: inState('fraud_group', 'pending', { status: 'resolved', resolutionReason: 'A friend' }),
};

const withProgram: Make<string> = async (t, workspace) => {
  await whileOnBusiness(t, workspace, () => ensureProgram(t, workspace));
  return '';
};

export const EARNING_QUERIES: Readonly<Record<string, Make<string>>> = {
  listCommissions: withProgram,
  countCommissions: withProgram,
  listPayouts: withProgram,
  exportPayouts: withProgram,
  listFraudRules: withProgram,
  listFraudGroups: withProgram,
  listFraudEvents: withProgram,
};
