// SQL for what was watched for fraud: rules of a program, and findings in groups of one partner and kind.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { type Fields, fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Earner } from './commission.store.ts';
import type { FraudType, RuleConfig } from './fraud-rules.ts';

export const FRAUD_GROUP_STATUSES = ['pending', 'resolved', 'expired'] as const;
export type FraudGroupStatus = (typeof FRAUD_GROUP_STATUSES)[number];

export interface FraudGroup extends Omit<Fields<Selectable<Schema['fraud_group']>>, 'type' | 'status'> {
  readonly type: FraudType;
  readonly status: FraudGroupStatus;
}

export interface FraudEvent extends Omit<Fields<Selectable<Schema['fraud_event']>>, 'type' | 'metadata'> {
  readonly type: FraudType;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

export interface StoredRule {
  readonly type: FraudType;
  readonly config: RuleConfig | null;
  readonly disabledAt: number | null;
}

export type FraudGroupSort = 'lastEventAt' | 'createdAt';
const GROUP_PAGES = {
  columns: { lastEventAt: 'last_event_at', createdAt: 'created_at' },
  createdAt: 'created_at',
  id: 'id',
} as const;
const EVENT_PAGES = { columns: { createdAt: 'created_at' }, createdAt: 'created_at', id: 'id' } as const;

export interface FraudGroupFilter {
  readonly status?: FraudGroupStatus | undefined;
  readonly type?: FraudType | undefined;
  readonly partnerId?: string | undefined;
}

export function createFraudStore(db: Database) {
  const groups = () => db.query.selectFrom('fraud_group').selectAll();
  const pendingOf = ({ programId, partnerId }: Earner) =>
    groups()
      .where('program_id', '=', programId)
      .where('partner_id', '=', partnerId)
      .where('status', '=', 'pending');

  return {
    async findRules(programId: string): Promise<StoredRule[]> {
      const rows = await db.query
        .selectFrom('fraud_rule')
        .selectAll()
        .where('program_id', '=', programId)
        .execute();
      return rows.map(({ type, config, disabled_at: disabledAt }) => ({
        type: type as FraudType,
        config: fromJson<RuleConfig>(config),
        disabledAt,
      }));
    },

    async putRule(row: Insertable<Schema['fraud_rule']>): Promise<void> {
      const { config, disabled_at, updated_at } = row;
      await db.query
        .insertInto('fraud_rule')
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(['program_id', 'type']).doUpdateSet({ config, disabled_at, updated_at }),
        )
        .execute();
    },

    async findGroup(id: string): Promise<FraudGroup | undefined> {
      const row = await groups().where('id', '=', id).executeTakeFirst();
      return row && toGroup(row);
    },

    async findPending(earner: Earner): Promise<FraudGroup[]> {
      return (await pendingOf(earner).execute()).map(toGroup);
    },

    /** One more event in the open group of its kind, which is made if there is none. Returns the group's id. */
    async addToGroup(group: FraudGroup): Promise<string> {
      const { lastEventAt: last_event_at, updatedAt: updated_at } = group;
      const row = await db.query
        .insertInto('fraud_group')
        .values(toColumns(group) as unknown as Insertable<Schema['fraud_group']>)
        .onConflict((conflict) =>
          conflict
            .columns(['program_id', 'partner_id', 'type'])
            // Written out: the engines find the index by its own words.
            .where('status', '=', sql.lit('pending'))
            .doUpdateSet((eb) => ({
              event_count: eb('fraud_group.event_count', '+', 1),
              last_event_at,
              updated_at,
            })),
        )
        .returning('id')
        .executeTakeFirstOrThrow();
      return row.id;
    },

    async insertEvent(event: FraudEvent): Promise<void> {
      const columns = toColumns({ ...event, metadata: toJson(event.metadata) });
      await db.query
        .insertInto('fraud_event')
        .values(columns as unknown as Insertable<Schema['fraud_event']>)
        .execute();
    },

    /** False when it is not pending any more. */
    async closeGroup(id: string, change: Partial<FraudGroup>): Promise<boolean> {
      const { numUpdatedRows } = await db.query
        .updateTable('fraud_group')
        .set(toColumns(change))
        .where('id', '=', id)
        .where('status', '=', 'pending')
        .executeTakeFirst();
      return Number(numUpdatedRows) === 1;
    },

    /** Open groups, but for those of one kind, without an event since that time, the oldest first. */
    async findStale(before: number, except: FraudType, limit: number): Promise<FraudGroup[]> {
      const query = groups()
        .where('status', '=', 'pending')
        .where('last_event_at', '<', before)
        .where('type', '!=', except)
        .orderBy('last_event_at')
        .orderBy('id')
        .limit(limit);
      return (await query.execute()).map(toGroup);
    },

    async listGroups(
      programId: string,
      { status, type, partnerId }: FraudGroupFilter,
      page: PageRequest<FraudGroupSort>,
    ): Promise<FraudGroup[]> {
      let query = groups().where('program_id', '=', programId);
      if (status) query = query.where('status', '=', status);
      if (type) query = query.where('type', '=', type);
      if (partnerId !== undefined) query = query.where('partner_id', '=', partnerId);
      return (await listPage(query, GROUP_PAGES, page)).map(toGroup);
    },

    async listEvents(
      programId: string,
      filter: {
        readonly groupId?: string | undefined;
        readonly partnerId?: string | undefined;
        readonly type?: FraudType | undefined;
      },
      page: PageRequest<'createdAt'>,
    ): Promise<FraudEvent[]> {
      let query = db.query.selectFrom('fraud_event').selectAll().where('program_id', '=', programId);
      if (filter.groupId !== undefined) query = query.where('fraud_group_id', '=', filter.groupId);
      if (filter.partnerId !== undefined) query = query.where('partner_id', '=', filter.partnerId);
      if (filter.type) query = query.where('type', '=', filter.type);
      return (await listPage(query, EVENT_PAGES, page)).map(toEvent);
    },

    /** Addresses of the customers of the partner's latest commissions, of which there may be any number. */
    async findRecentEmails(
      { programId, partnerId }: Earner,
      exceptCustomerId: string,
      limit: number,
    ): Promise<string[]> {
      const recent = db.query
        .selectFrom('commission')
        .select('customer_id')
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .as('recent');
      const rows = await db.query
        .selectFrom(recent)
        .innerJoin('customer', 'customer.id', 'recent.customer_id')
        .select('customer.email')
        .where('customer.id', '!=', exceptCustomerId)
        .where('customer.email', 'is not', null)
        .execute();
      return rows.map(({ email }) => email as string);
    },

    /** Takes away what was recorded with events of a customer, of at most so many; returns of how many. */
    async forgetCustomer(customerId: string, limit: number): Promise<number> {
      const some = db.query
        .selectFrom('fraud_event')
        .select('id')
        .where('customer_id', '=', customerId)
        .where('metadata', 'is not', null)
        .limit(limit);
      const { numUpdatedRows } = await db.query
        .updateTable('fraud_event')
        .set({ metadata: null })
        .where('id', 'in', some)
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },

    /** Where else the partner takes part, at most so many places. */
    async findElsewhere(
      { programId, partnerId }: Earner,
      limit: number,
    ): Promise<{ programId: string; workspaceId: string; partnerId: string }[]> {
      return db.query
        .selectFrom('enrolment')
        .select(['program_id as programId', 'workspace_id as workspaceId', 'partner_id as partnerId'])
        .where('partner_id', '=', partnerId)
        .where('program_id', '!=', programId)
        .where('status', 'in', ['approved', 'archived', 'invited', 'pending'])
        .limit(limit)
        .execute();
    },
  };
}

export type FraudStore = ReturnType<typeof createFraudStore>;

function toGroup(row: Selectable<Schema['fraud_group']>): FraudGroup {
  return { ...toFields(row), type: row.type as FraudType, status: row.status as FraudGroupStatus };
}

function toEvent(row: Selectable<Schema['fraud_event']>): FraudEvent {
  return { ...toFields(row), type: row.type as FraudType, metadata: fromJson(row.metadata) };
}
