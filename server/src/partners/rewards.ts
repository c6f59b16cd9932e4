// Rewards and discounts of a program. Each belongs to at most one group; what a group has, its partners have.
import { announce, type Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Discount } from './discount.ts';
import type { DiscountCodeStore } from './discount-code.store.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { GroupStore } from './group.store.ts';
import { type PartnerGroup, REWARD_FIELDS, type RewardIds } from './group.ts';
import type { Groups } from './groups.ts';
import type { RewardEvent } from './program.ts';
import type { Programs } from './programs.ts';
import type { DiscountStore, RewardStore } from './reward.store.ts';
import { type GivenTerms, type Reward, type RewardTerms, readTerms } from './reward.ts';

export interface RewardsParts {
  readonly db: Database;
  readonly store: RewardStore;
  readonly groupStore: GroupStore;
  readonly enrolments: EnrolmentStore;
  readonly groups: Groups;
  readonly programs: Programs;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Puts what a group rewards with onto the group and its partners, and takes it off. */
function createTermsOfGroup({ db, groupStore, enrolments, clock }: Omit<RewardsParts, 'store'>) {
  async function set(group: PartnerGroup, field: keyof RewardIds, id: string | null): Promise<void> {
    await groupStore.update(group.id, { [field]: id, updatedAt: clock.now() });
    await enrolments.setRewards(group.id, group.programId, { [field]: id });
    if (field === 'discountId') announceDiscounts(db, group);
  }

  async function takeOff(field: keyof RewardIds, id: string): Promise<void> {
    const group = await groupStore.findByReward(field, id);
    if (group) await set(group, field, null);
  }

  return { set, takeOff };
}

/** For those who keep what partners' customers pay less. */
function announceDiscounts(db: Database, { workspaceId }: { readonly workspaceId: string }): void {
  announce(db.query, [{ workspaceId, type: 'discount.changed', payload: {} }]);
}

export function createRewards(parts: RewardsParts) {
  const { db, store, groupStore, groups, programs, clock, ids } = parts;
  const terms = createTermsOfGroup(parts);

  async function get(actor: Actor, id: string): Promise<Reward> {
    return owned(await store.find(id), actor.workspaceId, 'reward');
  }

  return {
    get,

    async list(
      actor: Actor,
      filter: { readonly event?: RewardEvent | undefined },
      page: PageRequest<'createdAt'>,
    ): Promise<Reward[]> {
      return store.list((await programs.getOfWorkspace(actor.workspaceId)).id, filter.event, page);
    },

    /** By id, whatever program they are of; for those who have an enrolment that names them. */
    async findByIds(rewardIds: readonly string[]): Promise<Map<string, Reward>> {
      const found = await store.findByIds([...new Set(rewardIds)]);
      return new Map(found.map((reward) => [reward.id, reward]));
    },

    /** The group that has it; undefined when none does. */
    findGroup: (reward: Reward): Promise<PartnerGroup | undefined> =>
      groupStore.findByReward(REWARD_FIELDS[reward.event], reward.id),

    /** For a group that has no reward for this event yet. */
    create(
      actor: Actor,
      event: RewardEvent,
      given: GivenTerms & { readonly groupId?: string | undefined },
    ): Promise<Reward> {
      return db.write(async () => {
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const group = await groups.getFor(program, given.groupId, 'update');
        if (group[REWARD_FIELDS[event]] !== null) {
          throw new AppError(
            'conflict',
            `custom: event: the group ${group.slug} has a ${event} reward already`,
          );
        }
        const nowMs = clock.now();
        const reward: Reward = {
          ...readTerms(event, given, actor.plan, () => ids('mod_')),
          id: ids('rw_'),
          programId: program.id,
          workspaceId: program.workspaceId,
          createdAt: nowMs,
          updatedAt: nowMs,
        };
        await store.insert(reward);
        await terms.set(group, REWARD_FIELDS[event], reward.id);
        return reward;
      });
    },

    /** What is absent stays; what is there is checked together with it. */
    update(actor: Actor, id: string, change: Partial<GivenTerms>): Promise<Reward> {
      return db.write(async () => {
        const reward = await get(actor, id);
        const given = { ...presentTerms(reward), ...withoutOtherAmount(change) };
        const values = readTerms(reward.event, given, actor.plan, () => ids('mod_'));
        await store.update(id, { ...values, updatedAt: clock.now() });
        return (await store.find(id)) as Reward;
      });
    },

    /** Partners no longer earn by it; what they have earned stays. */
    delete(actor: Actor, id: string): Promise<Reward> {
      return db.write(async () => {
        const reward = await get(actor, id);
        await terms.takeOff(REWARD_FIELDS[reward.event], id);
        await store.delete(id);
        return reward;
      });
    },
  };
}

export type Rewards = ReturnType<typeof createRewards>;

/** The terms as a caller would give them. */
export function presentTerms(reward: RewardTerms) {
  const { type, maxDuration, description, spendLimitAmount, spendLimitInterval, config } = reward;
  return {
    type,
    ...amounts(reward),
    maxDuration,
    description,
    modifiers:
      reward.modifiers?.map(({ amountCents, amountBasisPoints, conditions, ...modifier }) => ({
        ...modifier,
        conditions: conditions.map((condition) => ({ ...condition })) as GivenConditions,
        ...amounts({ amountCents, amountBasisPoints }),
      })) ?? null,
    spendLimitAmount,
    spendLimitInterval,
    config,
  };
}

type GivenConditions = NonNullable<GivenTerms['modifiers']>[number]['conditions'];

function amounts({ amountCents, amountBasisPoints }: Pick<Reward, 'amountCents' | 'amountBasisPoints'>) {
  return {
    amountInCents: amountCents,
    amountInPercentage: amountBasisPoints === null ? null : amountBasisPoints / 100,
  };
}

/** A change of type or amount replaces both amounts. */
function withoutOtherAmount(change: Partial<GivenTerms>): Partial<GivenTerms> {
  const touched = ['type', 'amountInCents', 'amountInPercentage'].some((name) => name in change);
  return touched ? { amountInCents: null, amountInPercentage: null, ...change } : change;
}

export interface DiscountsParts extends Omit<RewardsParts, 'store'> {
  readonly store: DiscountStore;
  readonly codes: Pick<DiscountCodeStore, 'detach'>;
  /** Makes the codes of the group's partners worth its discount, and new ones where it says so. */
  readonly provideCodes: (group: PartnerGroup) => Promise<void>;
}

export type DiscountTerms = Pick<
  Discount,
  'type' | 'amount' | 'maxDuration' | 'description' | 'couponId' | 'provider' | 'autoProvisionAt'
>;

export function createDiscounts(parts: DiscountsParts) {
  const { db, store, groupStore, groups, programs, clock, ids } = parts;
  const terms = createTermsOfGroup(parts);

  async function get(actor: Actor, id: string): Promise<Discount> {
    return owned(await store.find(id), actor.workspaceId, 'discount');
  }

  return {
    get,

    async list(actor: Actor, page: PageRequest<'createdAt'>): Promise<Discount[]> {
      return store.list((await programs.getOfWorkspace(actor.workspaceId)).id, page);
    },

    async findByIds(discountIds: readonly string[]): Promise<Map<string, Discount>> {
      const found = await store.findByIds([...new Set(discountIds)]);
      return new Map(found.map((discount) => [discount.id, discount]));
    },

    findGroup: (discount: Discount): Promise<PartnerGroup | undefined> =>
      groupStore.findByReward('discountId', discount.id),

    create(
      actor: Actor,
      given: DiscountTerms & { readonly groupId?: string | undefined },
    ): Promise<Discount> {
      return db.write(async () => {
        const { groupId, ...values } = given;
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const group = await groups.getFor(program, groupId, 'update');
        if (group.discountId !== null) {
          throw new AppError('conflict', `custom: groupId: the group ${group.slug} has a discount already`);
        }
        const times = { createdAt: clock.now(), updatedAt: clock.now() };
        const { id: programId, workspaceId } = program;
        const discount: Discount = { ...values, id: ids('disc_'), programId, workspaceId, ...times };
        await store.insert(discount);
        await terms.set(group, 'discountId', discount.id);
        await parts.provideCodes(group);
        return discount;
      });
    },

    update(actor: Actor, id: string, change: Partial<DiscountTerms>): Promise<Discount> {
      return db.write(async () => {
        const before = await get(actor, id);
        announceDiscounts(db, before);
        const { autoProvisionAt, ...rest } = change;
        const begins = autoProvisionAt != null && before.autoProvisionAt === null;
        const provision = begins || autoProvisionAt === null ? { autoProvisionAt } : {};
        await store.update(id, { ...rest, ...provision, updatedAt: clock.now() });
        const group = begins ? await groupStore.findByReward('discountId', id) : undefined;
        if (group) await parts.provideCodes(group);
        return (await store.find(id)) as Discount;
      });
    },

    delete(actor: Actor, id: string): Promise<Discount> {
      return db.write(async () => {
        const discount = await get(actor, id);
        await terms.takeOff('discountId', id);
        await parts.codes.detach(id, clock.now());
        await store.delete(id);
        return discount;
      });
    },
  };
}

export type Discounts = ReturnType<typeof createDiscounts>;
