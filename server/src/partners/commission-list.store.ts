// Lists and counts of commissions.
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import type { ListFilter } from '../kernel/list-filter.ts';
import { toCommission } from './commission.store.ts';
import type { Commission } from './commission.ts';
import { type CommissionStatus, HIDDEN_STATUSES } from './commission-states.ts';
import { groupCondition, tagCondition } from './enrolment-list.store.ts';

export const COMMISSION_SORTS = ['createdAt', 'amount'] as const;
export type CommissionSort = (typeof COMMISSION_SORTS)[number];

const PAGES = {
  columns: { createdAt: 'created_at', amount: 'amount' },
  createdAt: 'created_at',
  id: 'id',
} as const;

/** A condition on what was recorded with the lead or the sale. */
export type MetadataTest =
  | { readonly op: 'and' | 'or'; readonly parts: readonly MetadataTest[] }
  | { readonly path: readonly string[]; readonly operator: string; readonly value: string };

export interface CommissionFilter {
  readonly type?: ListFilter | undefined;
  readonly customerId?: string | undefined;
  readonly payoutId?: string | undefined;
  readonly partnerId?: ListFilter | undefined;
  readonly groupId?: ListFilter | undefined;
  readonly partnerTagId?: ListFilter | undefined;
  /** With it nothing else is looked at. */
  readonly invoiceId?: string | undefined;
  readonly status?: CommissionStatus | undefined;
  readonly window?: { readonly fromMs: number; readonly toMs: number } | undefined;
  readonly metadata?: MetadataTest | undefined;
}

type Query = SelectQueryBuilder<Schema, 'commission', object>;

export function createCommissionListStore(db: Database) {
  function matching(programId: string, filter: CommissionFilter): Query {
    const query: Query = db.query
      .selectFrom('commission')
      .where('commission.program_id', '=', programId)
      .where('commission.earnings', '!=', 0);
    if (filter.invoiceId !== undefined) return query.where('commission.invoice_id', '=', filter.invoiceId);
    return narrowed(query, filter);
  }

  function narrowed(start: Query, filter: CommissionFilter): Query {
    const { type, customerId, payoutId, partnerId, status, window } = filter;
    let query = start;
    if (status) query = query.where('commission.status', '=', status);
    else if (!type && !partnerId && customerId === undefined && payoutId === undefined)
      query = query.where('commission.status', 'not in', HIDDEN_STATUSES);
    if (type) query = query.where('commission.type', type.not ? 'not in' : 'in', type.values);
    if (partnerId)
      query = query.where('commission.partner_id', partnerId.not ? 'not in' : 'in', partnerId.values);
    if (customerId !== undefined) query = query.where('commission.customer_id', '=', customerId);
    if (payoutId !== undefined) query = query.where('commission.payout_id', '=', payoutId);
    if (window) {
      query = query
        .where('commission.created_at', '>=', window.fromMs)
        .where('commission.created_at', '<=', window.toMs);
    }
    for (const condition of [enrolmentCondition(filter), metadataCondition(db, filter.metadata)]) {
      if (condition) query = query.where(condition);
    }
    return query;
  }

  return {
    async list(
      programId: string,
      filter: CommissionFilter,
      page: PageRequest<CommissionSort>,
    ): Promise<Commission[]> {
      const query = matching(programId, filter).selectAll('commission');
      const findCursor = async (id: string) => {
        const row = await db.query
          .selectFrom('commission')
          .select('created_at')
          .where('id', '=', id)
          .where('program_id', '=', programId)
          .executeTakeFirst();
        return row && { createdAt: row.created_at };
      };
      return (await listPage(query, PAGES, page, findCursor)).map(toCommission);
    },

    /** By state: how many, and what they are worth. */
    async count(
      programId: string,
      filter: CommissionFilter,
    ): Promise<{ status: CommissionStatus; count: number; earnings: number; amount: number }[]> {
      const rows = await matching(programId, filter)
        .select((eb) => [
          'commission.status',
          eb.fn.countAll<number>().as('count'),
          eb.fn.sum<number>('commission.earnings').as('earnings'),
          eb.fn.sum<number>('commission.amount').as('amount'),
        ])
        .groupBy('commission.status')
        .execute();
      return rows.map(({ status, count, earnings, amount }) => ({
        status: status as CommissionStatus,
        count: Number(count),
        earnings: Number(earnings),
        amount: Number(amount),
      }));
    },

    /** When payouts were paid, by payout. */
    async findPaidTimes(payoutIds: readonly string[]): Promise<Map<string, number | null>> {
      if (payoutIds.length === 0) return new Map();
      const rows = await db.query
        .selectFrom('payout')
        .select(['id', 'paid_at'])
        .where('id', 'in', payoutIds)
        .execute();
      return new Map(rows.map(({ id, paid_at }) => [id, paid_at]));
    },
  };
}

export type CommissionListStore = ReturnType<typeof createCommissionListStore>;

/** By the group and the tags that the partner has now; whoever has left the program has none. */
function enrolmentCondition({ groupId, partnerTagId }: CommissionFilter): Expression<SqlBool> | undefined {
  const conditions = [
    ...(groupId ? [groupCondition(groupId)] : []),
    ...(partnerTagId ? [tagCondition(partnerTagId)] : []),
  ];
  if (conditions.length === 0) return undefined;
  return sql<SqlBool>`exists (select 1 from enrolment
    where enrolment.program_id = commission.program_id and enrolment.partner_id = commission.partner_id
      and ${sql.join(conditions, sql` and `)})`;
}

/** Texts, numbers and booleans compare by their text; those that compare sizes take numbers only. */
function metadataCondition(
  { engine }: Pick<Database, 'engine'>,
  test: MetadataTest | undefined,
): Expression<SqlBool> | undefined {
  if (!test) return undefined;
  if ('op' in test) {
    const conditions = test.parts.flatMap((part) => metadataCondition({ engine }, part) ?? []);
    return sql<SqlBool>`(${sql.join(conditions, sql.raw(` ${test.op} `))})`;
  }
  const text = engine === 'postgres' ? postgresText(test.path) : sqliteText(test.path);
  if (test.operator === '=') return sql<SqlBool>`coalesce(${text} = ${test.value}, false)`;
  if (test.operator === '!=') return sql<SqlBool>`coalesce(${text} <> ${test.value}, true)`;
  const number = Number(test.value);
  if (test.value.trim() === '' || !Number.isFinite(number)) return sql<SqlBool>`1 = 0`;
  const isNumber =
    engine === 'postgres'
      ? sql`case when ${text} ~ '^-?[0-9]+(\\.[0-9]+)?$' then cast(${text} as numeric) end`
      : sql`case when ${sqliteIsNumber(text)} then cast(${text} as real) end`;
  return sql<SqlBool>`coalesce((${isNumber}) ${sql.raw(SIZES[test.operator] ?? '=')} ${number}, false)`;
}

/** A whole or decimal number and nothing else; SQLite itself reads "12 cm" as 12. */
function sqliteIsNumber(text: ReturnType<typeof sql>) {
  const digits = sql`ltrim(${text}, '-')`;
  return sql`length(${text}) - length(${digits}) <= 1 and ${digits} glob '[0-9]*' and ${digits} not glob '*[^0-9.]*'
    and ${digits} not glob '*.*.*' and ${digits} not glob '*.'`;
}

const SIZES: Readonly<Record<string, string>> = { '>': '>', '<': '<', '>=': '>=', '<=': '<=' };

function postgresText(path: readonly string[]) {
  const value = sql`cast(commission.metadata as jsonb) #> cast(${path} as text[])`;
  return sql`case when jsonb_typeof(${value}) in ('string', 'number', 'boolean')
    then cast(commission.metadata as jsonb) #>> cast(${path} as text[]) end`;
}

function sqliteText(path: readonly string[]) {
  const at = `$${path.map((key) => `."${key.replaceAll('"', '')}"`).join('')}`;
  return sql`case json_type(commission.metadata, ${at}) when 'true' then 'true' when 'false' then 'false'
    when 'text' then json_extract(commission.metadata, ${at})
    when 'integer' then cast(json_extract(commission.metadata, ${at}) as text)
    when 'real' then cast(json_extract(commission.metadata, ${at}) as text) end`;
}
