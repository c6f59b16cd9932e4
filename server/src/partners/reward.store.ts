// SQL for rewards and discounts: both are terms of a program that a group can have.
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Discount, DiscountProvider } from './discount.ts';
import type { RewardEvent } from './program.ts';
import type { Reward, RewardType, SpendInterval } from './reward.ts';

const SPEC = { columns: { createdAt: 'created_at' }, createdAt: 'created_at', id: 'id' } as const;

export function createRewardStore(db: Database) {
  return {
    async find(id: string): Promise<Reward | undefined> {
      const row = await db.query.selectFrom('reward').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toReward(row);
    },

    async findByIds(ids: readonly string[]): Promise<Reward[]> {
      if (ids.length === 0) return [];
      return (await db.query.selectFrom('reward').selectAll().where('id', 'in', ids).execute()).map(toReward);
    },

    async list(
      programId: string,
      event: RewardEvent | undefined,
      page: PageRequest<'createdAt'>,
    ): Promise<Reward[]> {
      let query = db.query.selectFrom('reward').selectAll().where('program_id', '=', programId);
      if (event) query = query.where('event', '=', event);
      return (await listPage(query, SPEC, page)).map(toReward);
    },

    async insert(reward: Reward): Promise<void> {
      await db.query
        .insertInto('reward')
        .values(columnsOf(reward) as unknown as Insertable<Schema['reward']>)
        .execute();
    },

    async update(id: string, change: Partial<Reward>): Promise<void> {
      await db.query.updateTable('reward').set(columnsOf(change)).where('id', '=', id).execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('reward').where('id', '=', id).execute();
    },
  };
}

export type RewardStore = ReturnType<typeof createRewardStore>;

function columnsOf({ modifiers, config, ...fields }: Partial<Reward>) {
  const json = (value: unknown) => (value === undefined ? undefined : toJson(value));
  return toColumns({ ...fields, modifiers: json(modifiers), config: json(config) });
}

function toReward(row: Selectable<Schema['reward']>): Reward {
  return {
    ...toFields(row),
    event: row.event as RewardEvent,
    type: row.type as RewardType,
    modifiers: fromJson(row.modifiers),
    spendLimitInterval: row.spend_limit_interval as SpendInterval | null,
    config: fromJson(row.config),
  };
}

export function createDiscountStore(db: Database) {
  return {
    async find(id: string): Promise<Discount | undefined> {
      const row = await db.query.selectFrom('discount').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toDiscount(row);
    },

    async findByIds(ids: readonly string[]): Promise<Discount[]> {
      if (ids.length === 0) return [];
      const rows = await db.query.selectFrom('discount').selectAll().where('id', 'in', ids).execute();
      return rows.map(toDiscount);
    },

    async list(programId: string, page: PageRequest<'createdAt'>): Promise<Discount[]> {
      const query = db.query.selectFrom('discount').selectAll().where('program_id', '=', programId);
      return (await listPage(query, SPEC, page)).map(toDiscount);
    },

    async insert(discount: Discount): Promise<void> {
      await db.query
        .insertInto('discount')
        .values(toColumns(discount) as unknown as Insertable<Schema['discount']>)
        .execute();
    },

    async update(id: string, change: Partial<Discount>): Promise<void> {
      await db.query.updateTable('discount').set(toColumns(change)).where('id', '=', id).execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('discount').where('id', '=', id).execute();
    },
  };
}

export type DiscountStore = ReturnType<typeof createDiscountStore>;

function toDiscount(row: Selectable<Schema['discount']>): Discount {
  return {
    ...toFields(row),
    type: row.type as RewardType,
    provider: row.provider as DiscountProvider,
  };
}
