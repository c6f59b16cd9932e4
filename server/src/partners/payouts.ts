// Payouts as the owner of a program uses them: listed, confirmed together, and followed until the money has arrived.
// Confirming compares the state under a lock, so that nothing is paid twice however often it is asked for.
import type { Users } from '../access/users.ts';
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { CommissionStore } from './commission.store.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { Enrolments, PartnerWish } from './enrolments.ts';
import type { PartnerStore } from './partner.store.ts';
import type { EnrolledPartner, Enrolment, Partner } from './partner.ts';
import type { PayoutFilter, PayoutSort, PayoutStore } from './payout.store.ts';
import { assertPayable, effectiveMode, MIN_BATCH_CENTS, type Payout } from './payout.ts';
import { canPayout, type PayoutEvent, payoutAfter } from './payout-states.ts';
import { presentConfirmed, type ShownPayout } from './payout-wire.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';

export interface PayoutsParts {
  readonly db: Database;
  readonly store: PayoutStore;
  readonly commissions: CommissionStore;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: EnrolmentStore;
  readonly people: PartnerStore;
  readonly users: Pick<Users, 'findMember'>;
  readonly workspaces: Pick<Workspaces, 'get' | 'lock' | 'countPayouts'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What happens to a payout once it is confirmed. */
export type FollowUp = Extract<PayoutEvent, 'send' | 'complete' | 'fail' | 'retry'>;

export interface Confirmation {
  readonly invoiceId: string;
  readonly amount: number;
  readonly payouts: readonly ShownPayout[];
}

export function createPayouts(parts: PayoutsParts) {
  const { db, store, commissions, programs, enrolments, enrolmentStore, workspaces, clock, ids } = parts;
  const programOf = (actor: Actor) => programs.getOfWorkspace(actor.workspaceId);

  async function show(program: Program, payouts: readonly Payout[]): Promise<ShownPayout[]> {
    const partnerIds = [...new Set(payouts.map(({ partnerId }) => partnerId))];
    const enrolled = await enrolments.findEnrolled(program.id, partnerIds);
    const people = new Map((await parts.people.findByIds(partnerIds)).map((each) => [each.id, each]));
    const users = new Map<string, ShownPayout['user']>();
    for (const userId of new Set(payouts.flatMap((payout) => payout.userId ?? []))) {
      users.set(userId, await parts.users.findMember(program.workspaceId, userId));
    }
    return payouts.map((payout) => ({
      payout,
      program,
      partner: people.get(payout.partnerId) as Partner,
      enrolled: enrolled.get(payout.partnerId),
      user: users.get(payout.userId ?? ''),
    }));
  }

  async function namedPartner(program: Program, { partnerId, tenantId }: PartnerWish) {
    if (partnerId !== undefined || tenantId === undefined) return partnerId;
    return (await enrolments.get(program, { tenantId })).partnerId;
  }

  async function* pagesOf(program: Program, filter: PayoutFilter): AsyncGenerator<ShownPayout[]> {
    for (let last: Payout | undefined; ; ) {
      const found = await store.listAfter(program.id, filter, last, WALK_SIZE);
      if (found.length > 0) yield await show(program, found);
      if (found.length < WALK_SIZE) return;
      last = found.at(-1);
    }
  }

  async function getOwn(actor: Actor, id: string): Promise<Payout> {
    return owned(await store.peek(id), actor.workspaceId, 'payout');
  }

  /** With the money of its partner locked before it, as everybody does who changes any of it. */
  async function lock({ id, programId, partnerId }: Payout): Promise<Payout | undefined> {
    await enrolmentStore.findByPartner(programId, partnerId);
    return store.find(id);
  }

  /** Locked, all of the program, and all that can be confirmed. */
  async function findConfirmable(program: Program, payoutIds: readonly string[], manual: boolean) {
    const found = await store.findByIds(payoutIds);
    const missing = payoutIds.find(
      (id) => !found.some((each) => each.id === id && each.programId === program.id),
    );
    if (missing !== undefined) {
      throw new AppError('not_found', `custom: payoutIds: there is no payout ${missing.slice(0, 50)}`);
    }
    const enrolled = await enrolments.findEnrolled(
      program.id,
      found.map(({ partnerId }) => partnerId),
    );
    return found.map((payout) => {
      payoutAfter(payout.status, 'confirm');
      assertPayable(program, payout, enrolled.get(payout.partnerId), manual);
      return { payout, enrolled: enrolled.get(payout.partnerId) as EnrolledPartner };
    });
  }

  /** Those who confirm at once wait for each other, so that together they stay within the limit. */
  async function reserve(actor: Actor, cents: number): Promise<void> {
    if (cents < MIN_BATCH_CENTS) {
      const text = `custom: payoutIds: together ${cents} cents, less than the ${MIN_BATCH_CENTS} that are confirmed at once`;
      throw new AppError('bad_request', text);
    }
    await workspaces.lock(actor.workspaceId);
    const { usage, limits } = await workspaces.get(actor.workspaceId);
    if (limits.payouts !== undefined && usage.payouts + cents > limits.payouts) {
      const text = `This workspace is limited to payouts of ${limits.payouts} cents a month; ${usage.payouts} are used.`;
      throw new AppError('forbidden', text);
    }
    await workspaces.countPayouts(actor.workspaceId, cents);
  }

  async function tellConfirmed(program: Program, payout: Payout, enrolled: EnrolledPartner): Promise<void> {
    const { id, invoiceId, amount, partnerId, workspaceId } = payout;
    const payload = { id, invoiceId, amount, partnerId, programId: program.id };
    const webhook = presentConfirmed(payout, program, enrolled);
    const event = { workspaceId, type: 'payout.confirmed', payload, webhook };
    await appendOutbox(db.query, [event], clock.now());
  }

  async function apply(payout: Payout, event: PayoutEvent, change: Partial<Payout>): Promise<Payout> {
    const changed = {
      ...payout,
      ...change,
      status: payoutAfter(payout.status, event),
      updatedAt: clock.now(),
    };
    if (!(await store.change(payout.id, payout.status, changed))) {
      throw new AppError('conflict', 'The payout was changed by somebody else meanwhile.');
    }
    return changed;
  }

  /** The commissions go with it: they are paid when the money is sent, and not if it comes back. */
  async function follow(payout: Payout, event: FollowUp, change: Partial<Payout> = {}): Promise<Payout> {
    const nowMs = clock.now();
    if (event === 'send' || event === 'complete') {
      const paid = { paidAt: payout.paidAt ?? nowMs, failureReason: null };
      const changed = await apply(payout, event, { ...paid, ...change });
      await commissions.changeOfPayout(payout.id, 'pay', nowMs);
      return changed;
    }
    if (event === 'fail') {
      const changed = await apply(payout, event, { paidAt: null, ...change });
      await commissions.changeOfPayout(payout.id, 'bounce', nowMs);
      return changed;
    }
    return apply(payout, event, { failureReason: null, initiatedAt: nowMs, ...change });
  }

  async function retell(program: Program, payout: Payout): Promise<void> {
    if (payout.webhookEventId === null) return;
    const enrolled = await enrolments.findEnrolled(program.id, [payout.partnerId]);
    const partner = enrolled.get(payout.partnerId);
    if (partner) await tellConfirmed(program, payout, partner);
  }

  return {
    async list(
      actor: Actor,
      { tenantId, partnerId, ...filter }: PayoutFilter & PartnerWish,
      page: PageRequest<PayoutSort>,
    ): Promise<ShownPayout[]> {
      const program = await programOf(actor);
      const named = await namedPartner(program, { tenantId, partnerId });
      return show(program, await store.list(program.id, { ...filter, partnerId: named }, page));
    },

    /** All that match, a page at a time; made while it is read, so that files may be of any length. */
    async walk(
      actor: Actor,
      { tenantId, ...filter }: PayoutFilter & PartnerWish,
    ): Promise<AsyncGenerator<ShownPayout[]>> {
      const program = await programOf(actor);
      const partnerId = await namedPartner(program, { tenantId, partnerId: filter.partnerId });
      return pagesOf(program, { ...filter, partnerId });
    },

    async get(actor: Actor, id: string): Promise<ShownPayout> {
      const payout = await getOwn(actor, id);
      return (await show(await programOf(actor), [payout]))[0] as ShownPayout;
    },

    /** All of them or none. `manual`: whoever confirms pays them, and no receiver is told to. */
    confirm(
      actor: Actor,
      { payoutIds, manual }: { payoutIds: readonly string[]; manual: boolean },
    ): Promise<Confirmation> {
      return db.write(async () => {
        const program = await programOf(actor);
        const confirmable = await findConfirmable(program, payoutIds, manual);
        const amount = confirmable.reduce((sum, { payout }) => sum + payout.amount, 0);
        await reserve(actor, amount);
        const invoiceId = ids('inv_');
        const confirmed: Payout[] = [];
        for (const { payout, enrolled } of confirmable) {
          const mode = manual ? ('external' as const) : effectiveMode(program, enrolled);
          const told = mode === 'external' && !manual;
          const webhookEventId = told ? ids('evt_') : null;
          const change = { invoiceId, mode, webhookEventId, initiatedAt: clock.now(), userId: actor.userId };
          const changed = await apply(payout, 'confirm', change);
          if (told) await tellConfirmed(program, changed, enrolled);
          confirmed.push(changed);
        }
        return { invoiceId, amount, payouts: await show(program, confirmed) };
      });
    },

    /** What a person says became of a payout. */
    async change(
      actor: Actor,
      id: string,
      event: FollowUp,
      change: Partial<Payout> = {},
    ): Promise<ShownPayout> {
      return db.write(async () => {
        const payout = owned(await lock(await getOwn(actor, id)), actor.workspaceId, 'payout');
        const program = await programOf(actor);
        const changed = await follow(payout, event, change);
        if (event === 'retry') await retell(program, changed);
        return (await show(program, [changed]))[0] as ShownPayout;
      });
    },

    /** What a receiver said to the message of a payout; what is settled otherwise by now stays so. */
    async settle(workspaceId: string, body: string, outcome: 'delivered' | 'failed'): Promise<void> {
      const { data } = JSON.parse(body) as { data?: { id?: unknown } };
      const id = typeof data?.id === 'string' ? data.id : '';
      const known = await store.peek(id);
      const payout = known && (await lock(known));
      const event = outcome === 'delivered' ? 'complete' : 'fail';
      if (payout?.workspaceId !== workspaceId || payout.webhookEventId === null) return;
      if (!canPayout(payout.status, event) || (event === 'fail' && payout.status !== 'processing')) return;
      await follow(payout, event, outcome === 'failed' ? { failureReason: UNDELIVERED } : {});
    },

    /** The partner was banned or removed: what is not on its way is not paid. */
    async cancelOf(enrolment: Enrolment): Promise<void> {
      const nowMs = clock.now();
      const payout = await store.findPending(enrolment);
      let lost = await commissions.cancelOpen(enrolment, nowMs);
      if (payout) {
        await apply(payout, 'cancel', {});
        lost += await commissions.changeOfPayout(payout.id, 'cancel', nowMs);
      }
      await enrolments.addTotals(enrolment.programId, enrolment.partnerId, { commissions: -lost });
    },
  };
}

export type Payouts = ReturnType<typeof createPayouts>;

const WALK_SIZE = 100;
const UNDELIVERED = 'No receiver of webhooks took the message about this payout.';
