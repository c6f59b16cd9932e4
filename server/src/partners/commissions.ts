// Commissions as the owner of a program uses them: listed, corrected, and entered by hand.
import type { Customers } from '../customers/customers.ts';
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { owned } from '../kernel/resource.ts';
import type { CommissionStore } from './commission.store.ts';
import type { Commission } from './commission.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import type { CommissionFilter, CommissionListStore, CommissionSort } from './commission-list.store.ts';
import { commissionAfter, SET_EVENTS, type SettableStatus, SPENT_STATUSES } from './commission-states.ts';
import { groupOf, type ShownCommission } from './commission-wire.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { Enrolments } from './enrolments.ts';
import type { PartnerStore } from './partner.store.ts';
import type { Enrolment, Partner } from './partner.ts';
import type { PayoutAggregation } from './payout-aggregation.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';
import type { RewardStore } from './reward.store.ts';
import { earningsOf, shareOf } from './reward-engine.ts';
import type { RewardReckoning } from './reward-reckoning.ts';

export interface CommissionsParts {
  readonly db: Database;
  readonly store: CommissionStore;
  readonly lists: CommissionListStore;
  readonly ledger: CommissionLedger;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: EnrolmentStore;
  readonly people: PartnerStore;
  readonly customers: Pick<Customers, 'findByIds'>;
  readonly rewards: RewardStore;
  readonly reckoning: RewardReckoning;
  readonly aggregation: Pick<PayoutAggregation, 'gatherSoon'>;
  /** In US cents, at today's rate. */
  readonly toCents: (amount: number, currency: string) => number;
  readonly clock: Clock;
}

export interface CommissionChange {
  readonly earnings?: number | undefined;
  readonly saleAmount?: number | undefined;
  /** Added to the sale amount; it wins. */
  readonly modifySaleAmount?: number | undefined;
  /** What the caller calls the amount that is given. */
  readonly amountField?: string | undefined;
  readonly currency: string;
  readonly status?: SettableStatus | undefined;
  /** Fraud or canceled: also for the customer's other commissions of the partner. */
  readonly updateHistoricalCommissions?: boolean | undefined;
}

export interface CustomCommission {
  /** In US cents; negative takes back. */
  readonly amount: number;
  readonly description: string | null;
  readonly atMs: number;
}

/** More of one customer and partner are left to further calls. */
const MAX_HISTORICAL = 1_000;

export function createCommissions(parts: CommissionsParts) {
  const { db, store, lists, ledger, programs, enrolments, enrolmentStore, rewards, reckoning } = parts;
  const programOf = (actor: Actor) => programs.getOfWorkspace(actor.workspaceId);

  async function show(program: Program, commissions: readonly Commission[]): Promise<ShownCommission[]> {
    const partnerIds = [...new Set(commissions.map(({ partnerId }) => partnerId))];
    const customerIds = [...new Set(commissions.flatMap(({ customerId }) => customerId ?? []))];
    const payoutIds = [...new Set(commissions.flatMap(({ payoutId }) => payoutId ?? []))];
    const people = new Map((await parts.people.findByIds(partnerIds)).map((each) => [each.id, each]));
    const enrolled = await enrolments.findEnrolled(program.id, partnerIds);
    const customers = await parts.customers.findByIds(program.workspaceId, customerIds);
    const paidTimes = await lists.findPaidTimes(payoutIds);
    return commissions.map((commission) => ({
      commission,
      partner: people.get(commission.partnerId) as Partner,
      groupId: groupOf(enrolled.get(commission.partnerId)),
      customer: customers.get(commission.customerId ?? ''),
      paidAt: paidTimes.get(commission.payoutId ?? '') ?? null,
    }));
  }

  /** With the money of its partner locked; the commission is read again after that. */
  async function lock(
    actor: Actor,
    id: string,
  ): Promise<{ commission: Commission; enrolment: Enrolment | undefined }> {
    const { programId, partnerId } = owned(await store.find(id), actor.workspaceId, 'commission');
    const enrolment = await enrolmentStore.findByPartner(programId, partnerId);
    const [commission] = await store.findByIds([id]);
    return { commission: owned(commission, actor.workspaceId, 'commission'), enrolment };
  }

  /** The amounts it is to have; nothing where they stay. */
  async function amountsOf(
    commission: Commission,
    enrolment: Enrolment | undefined,
    change: CommissionChange,
  ): Promise<Partial<Pick<Commission, 'amount' | 'earnings'>>> {
    const { saleAmount, modifySaleAmount, currency } = change;
    const given = modifySaleAmount ?? saleAmount;
    const explicit =
      change.earnings === undefined ? {} : { earnings: parts.toCents(change.earnings, currency) };
    if (explicit.earnings && commission.earnings < 0) {
      const text = 'this commission takes something back; set its status, or enter another one';
      throw new AppError('bad_request', `custom: earnings: ${text}`);
    }
    if (given === undefined) return explicit;
    if (commission.type !== 'sale') {
      const field = change.amountField ?? 'saleAmount';
      throw new AppError('bad_request', `custom: ${field}: only commissions for sales have a sale amount`);
    }
    const cents = given < 0 ? -parts.toCents(-given, currency) : parts.toCents(given, currency);
    const amount = Math.max(0, modifySaleAmount === undefined ? cents : commission.amount + cents);
    if (explicit.earnings !== undefined) return { amount, ...explicit };
    return { amount, earnings: await recompute(enrolment, { ...commission, amount }) };
  }

  /** By what the partner earns for sales now, of which the conditions and limits hold as for a new one. */
  async function recompute(enrolment: Enrolment | undefined, commission: Commission): Promise<number> {
    const reward = enrolment?.saleRewardId ? await rewards.find(enrolment.saleRewardId) : undefined;
    if (!enrolment || !reward) {
      throw new AppError('not_found', 'The partner has no reward for sales to reckon with.');
    }
    const { id, workspaceId, partnerId, amount, quantity, metadata, createdAt: atMs } = commission;
    const customerId = commission.customerId ?? '';
    const customer = (await parts.customers.findByIds(workspaceId, [customerId])).get(customerId);
    const first = await store.findFirst(customerId, partnerId, 'sale');
    const isRecurring = first !== undefined && first.id !== id;
    const sold = { event: 'sale', enrolment, customer, metadata, amount, atMs, isRecurring } as const;
    const share = shareOf(reward, await reckoning.factsOf(sold));
    if (!share) return 0;
    const own = SPENT_STATUSES.includes(commission.status) ? commission.earnings : 0;
    return reckoning.withinLimit(
      reward,
      { ...sold, customerId },
      earningsOf(share, { amount, quantity }),
      own,
    );
  }

  async function changeHistory(commission: Commission, status: 'fraud' | 'canceled'): Promise<void> {
    const { customerId, partnerId, id } = commission;
    if (customerId === null) return;
    for (const other of await store.findUnpaidOf(customerId, partnerId, MAX_HISTORICAL)) {
      if (other.id !== id && (await ledger.isOpen(other))) await ledger.change(other, SET_EVENTS[status]);
    }
  }

  async function applyChange(actor: Actor, id: string, change: CommissionChange): Promise<Commission> {
    const { commission, enrolment } = await lock(actor, id);
    const { status } = change;
    // Nothing sold or nothing earned is a refund, and what it was stays on record.
    const amounts = await amountsOf(commission, enrolment, change);
    const isRefund = amounts.amount === 0 || amounts.earnings === 0;
    const wanted = isRefund && commission.status !== 'refunded' ? (status ?? 'refunded') : status;
    const event = wanted && SET_EVENTS[wanted];
    const changed = await ledger.change(commission, event, isRefund ? {} : amounts);
    if (change.updateHistoricalCommissions && (status === 'fraud' || status === 'canceled')) {
      await changeHistory(commission, status);
    }
    return changed;
  }

  return {
    async list(
      actor: Actor,
      filter: CommissionFilter & { readonly tenantId?: string | undefined },
      page: PageRequest<CommissionSort>,
    ): Promise<ShownCommission[]> {
      const program = await programOf(actor);
      return show(program, await lists.list(program.id, await withTenant(program, filter), page));
    },

    async count(actor: Actor, filter: CommissionFilter & { readonly tenantId?: string | undefined }) {
      const program = await programOf(actor);
      return lists.count(program.id, await withTenant(program, filter));
    },

    async get(actor: Actor, id: string): Promise<ShownCommission> {
      const commission = owned(await store.find(id), actor.workspaceId, 'commission');
      return (await show(await programOf(actor), [commission]))[0] as ShownCommission;
    },

    update(actor: Actor, id: string, change: CommissionChange): Promise<ShownCommission> {
      return db.write(async () => {
        const changed = await applyChange(actor, id, change);
        return (await show(await programOf(actor), [changed]))[0] as ShownCommission;
      });
    },

    /** All of them or none; in the order of their ids. */
    setStatus(actor: Actor, ids: readonly string[], status: SettableStatus): Promise<Commission[]> {
      return db.write(async () => {
        const program = await programOf(actor);
        await enrolmentStore.findByPartners(program.id, await store.findPartnersOf(ids));
        const named = (await store.findByIds(ids)).filter(({ programId }) => programId === program.id);
        const missing = ids.find((id) => !named.some((each) => each.id === id));
        if (missing !== undefined) {
          throw new AppError(
            'not_found',
            `custom: commissionIds: there is no commission ${missing.slice(0, 50)}`,
          );
        }
        for (const commission of named) commissionAfter(commission, SET_EVENTS[status]);
        for (const { id } of named) {
          // One that was named with what it came from has gone the same way by now.
          const [commission] = await store.findByIds([id]);
          if (commission && commission.status !== status) {
            await ledger.change(commission, SET_EVENTS[status]);
          }
        }
        return store.findByIds(ids);
      });
    },

    /** Money that no event stands for. What is due is gathered at once. */
    async enterCustom(actor: Actor, partnerId: string, custom: CustomCommission): Promise<Commission> {
      const commission = await db.write(async () => {
        const enrolment = await enrolments.get(await programOf(actor), { partnerId });
        if (!PAYABLE.includes(enrolment.status)) {
          const text = `custom: partnerId: the partner is ${enrolment.status} and earns nothing`;
          throw new AppError('bad_request', text);
        }
        const { amount: earnings, description, atMs } = custom;
        const draft = {
          type: 'custom',
          earnings,
          description,
          userId: actor.userId,
          createdAt: atMs,
        } as const;
        return (await ledger.add(enrolment, draft)) as Commission;
      });
      await parts.aggregation.gatherSoon(commission);
      return commission;
    },
  };

  async function withTenant(
    program: Program,
    { tenantId, ...filter }: CommissionFilter & { readonly tenantId?: string | undefined },
  ): Promise<CommissionFilter> {
    if (tenantId === undefined || filter.partnerId || filter.invoiceId !== undefined) return filter;
    const { partnerId } = await enrolments.get(program, { tenantId });
    return { ...filter, partnerId: { not: false, values: [partnerId] } };
  }
}

export type Commissions = ReturnType<typeof createCommissions>;

/** Those who take part, or did: what they are owed, or owe, can still be written down. */
const PAYABLE: readonly string[] = ['approved', 'archived', 'invited', 'deactivated'];
