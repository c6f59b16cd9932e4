// Gathers what is due into payouts: what a partner has earned and has waited for as long as its group holds money
// back. Each partner has at most one payout that is open; what it is worth is always the sum of what is in it.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { CommissionStore, Earner } from './commission.store.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { GroupStore } from './group.store.ts';
import type { Enrolment } from './partner.ts';
import type { PayoutStore } from './payout.store.ts';
import type { Payout } from './payout.ts';
import type { ProgramStore } from './program.store.ts';
import { forEachProgram } from './program-walk.ts';

export interface PayoutAggregationParts {
  readonly db: Database;
  readonly store: PayoutStore;
  readonly commissions: CommissionStore;
  readonly programs: ProgramStore;
  readonly groups: GroupStore;
  readonly enrolmentStore: EnrolmentStore;
  readonly clock: Clock;
  readonly ids: Ids;
}

const DAY_MS = 86_400_000;
const COMMISSIONS_PER_STEP = 1_000;

export function createPayoutAggregation(parts: PayoutAggregationParts) {
  const { db, store, commissions, programs, groups, enrolmentStore, clock, ids } = parts;

  /** What was made before this has waited long enough; undefined for nobody's group, and for who is banned. */
  async function dueBefore(enrolment: Enrolment | undefined): Promise<number | undefined> {
    if (enrolment?.status === 'banned') return undefined;
    const group = enrolment?.groupId ? await groups.find(enrolment.groupId) : undefined;
    return group && clock.now() - group.holdingPeriodDays * DAY_MS;
  }

  /** A clawback alone makes no payout: it waits for something to be taken from. */
  async function findOrOpen(enrolment: Enrolment, before: number): Promise<Payout | undefined> {
    const open = await store.findPending(enrolment);
    if (open || (await commissions.sumDue(enrolment, before)) <= 0) return open;
    const { programId, partnerId, workspaceId } = enrolment;
    const nowMs = clock.now();
    const whose = { id: ids('po_'), programId, workspaceId, partnerId };
    await store.insert({ ...EMPTY, ...whose, createdAt: nowMs, updatedAt: nowMs });
    return store.findPending(enrolment);
  }

  /** True when more is left. */
  function step({ programId, partnerId }: Earner): Promise<boolean> {
    return db.write(async () => {
      const enrolment = await enrolmentStore.findByPartner(programId, partnerId);
      const before = await dueBefore(enrolment);
      if (!enrolment || before === undefined || !(await commissions.hasDue(enrolment, before))) return false;
      const payout = await findOrOpen(enrolment, before);
      if (!payout) return false;
      const nowMs = clock.now();
      const to = { payoutId: payout.id, limit: COMMISSIONS_PER_STEP, nowMs };
      const taken = await commissions.processDue(enrolment, before, to);
      await store.adjust(payout.id, taken.earnings, nowMs);
      return taken.count >= COMMISSIONS_PER_STEP;
    });
  }

  /** Outside a transaction first: most partners have nothing that is due. */
  async function gather(earner: Earner): Promise<void> {
    const before = await dueBefore(await enrolmentStore.findByPartner(earner.programId, earner.partnerId));
    if (before === undefined || !(await commissions.hasDue(earner, before))) return;
    while (await step(earner));
  }

  async function gatherProgram(programId: string, signal: AbortSignal): Promise<void> {
    for (let partnerId = ''; !signal.aborted; ) {
      const next = await commissions.findPendingPartner(programId, partnerId);
      if (next === undefined) return;
      partnerId = next;
      await gather({ programId, partnerId });
    }
  }

  return {
    /** What one partner is due. Not inside a transaction. */
    gather,

    /** Of all partners of all programs; for a job. */
    run: (signal: AbortSignal): Promise<void> =>
      forEachProgram(programs.findIds, (programId) => gatherProgram(programId, signal), signal),

    /** After something was entered, which is there whatever becomes of this: the next run gathers it too. */
    gatherSoon: (earner: Earner): Promise<void> => gather(earner).catch(() => {}),
  };
}

export type PayoutAggregation = ReturnType<typeof createPayoutAggregation>;

const EMPTY = {
  invoiceId: null,
  amount: 0,
  currency: 'USD',
  status: 'pending',
  description: null,
  periodStart: null,
  periodEnd: null,
  mode: null,
  method: null,
  userId: null,
  failureReason: null,
  traceId: null,
  paypalTransferId: null,
  webhookEventId: null,
  initiatedAt: null,
  paidAt: null,
} as const;
