// Lists and counts of enrolments. Every order has an index of its own, so that a page is read and not sorted,
// and rows that a filter looks at are looked up one by one beside it.
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { ENROLMENT_RATIOS, NET_REVENUE } from '../db/migrations/0008-partners.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import type { ListFilter } from '../kernel/list-filter.ts';
import { toEnrolment } from './enrolment.store.ts';
import { ACTIVE_STATUSES, type EnrolmentStatus } from './enrolment-states.ts';
import type { PartnerGroup } from './group.ts';
import { type Enrolment, fold } from './partner.ts';

/** What the list can be sorted by; those after the ratios are other words that older clients use. */
const ORDERS = {
  totalSaleAmount: 'total_sale_amount',
  createdAt: 'created_at',
  totalClicks: 'total_clicks',
  totalLeads: 'total_leads',
  totalConversions: 'total_conversions',
  totalSales: 'total_sales',
  totalCommissions: 'total_commissions',
  netRevenue: NET_REVENUE,
  ...ENROLMENT_RATIOS,
  clicks: 'total_clicks',
  leads: 'total_leads',
  conversions: 'total_conversions',
  sales: 'total_sales',
  saleAmount: 'total_sale_amount',
} as const;
export type EnrolmentSort = keyof typeof ORDERS;
export const ENROLMENT_SORTS = Object.keys(ORDERS) as [EnrolmentSort, ...EnrolmentSort[]];

export const RANGES = ['Clicks', 'Leads', 'Conversions', 'SaleAmount', 'Commissions'] as const;
export type RangeName = `total${(typeof RANGES)[number]}${'Min' | 'Max'}`;

export interface EnrolmentFilter extends Readonly<Partial<Record<RangeName, number | undefined>>> {
  readonly status?: EnrolmentStatus | undefined;
  readonly groupId?: ListFilter | undefined;
  readonly country?: ListFilter | undefined;
  readonly partnerTagId?: ListFilter | undefined;
  readonly partnerIds?: readonly string[] | undefined;
  readonly referredByPartnerId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly email?: string | undefined;
  readonly search?: string | undefined;
}

export const GROUPINGS = ['status', 'country', 'groupId', 'partnerTagId'] as const;
export type EnrolmentGrouping = (typeof GROUPINGS)[number];

type Query = SelectQueryBuilder<Schema, 'enrolment', object>;

/** More groups than these are of no use to anybody. */
const MAX_GROUPS = 1_000;

export function createEnrolmentListStore(db: Database) {
  function matching(programId: string, filter: EnrolmentFilter): Query {
    let query: Query = db.query.selectFrom('enrolment').where('enrolment.program_id', '=', programId);
    if (filter.status) query = query.where('enrolment.status', '=', filter.status);
    if (filter.tenantId !== undefined)
      query = query.where('enrolment.tenant_folded', '=', fold(filter.tenantId));
    if (filter.partnerIds?.length) query = query.where('enrolment.partner_id', 'in', filter.partnerIds);
    if (filter.referredByPartnerId !== undefined)
      query = query.where('enrolment.referred_by_partner_id', '=', filter.referredByPartnerId);
    if (filter.groupId) query = query.where(groupCondition(filter.groupId));
    for (const condition of [...personConditions(filter), ...rangeConditions(filter)]) {
      query = query.where(condition);
    }
    if (filter.partnerTagId) query = query.where(tagCondition(filter.partnerTagId));
    return query;
  }

  return {
    async list(
      programId: string,
      filter: EnrolmentFilter,
      page: PageRequest<EnrolmentSort>,
    ): Promise<Enrolment[]> {
      const columns = Object.fromEntries(
        ENROLMENT_SORTS.map((name) => [name, sql.raw(ORDERS[name])]),
      ) as unknown as Record<EnrolmentSort, Expression<unknown>>;
      const spec = { columns, createdAt: 'created_at', id: 'id' } as const;
      const rows = await listPage(matching(programId, filter).selectAll('enrolment'), spec, page);
      return rows.map(toEnrolment);
    },

    /** Active partners of other groups whose totals fit the rules of this one, in the order of their ids. */
    async findFitting(
      { id, programId, moveRules }: Pick<PartnerGroup, 'id' | 'programId' | 'moveRules'>,
      after: string,
      limit: number,
    ): Promise<Enrolment[]> {
      let query = matching(programId, { groupId: { not: true, values: [id] } })
        .selectAll('enrolment')
        .where('enrolment.status', 'in', ACTIVE_STATUSES)
        .where('enrolment.group_move_disabled_at', 'is', null)
        .where('enrolment.id', '>', after);
      for (const { attribute, min, max } of moveRules ?? []) {
        const column = sql.raw(`enrolment.${ORDERS[attribute]}`);
        query = query.where(sql<SqlBool>`${column} >= ${min}`);
        if (max !== null) query = query.where(sql<SqlBool>`${column} <= ${max}`);
      }
      return (await query.orderBy('enrolment.id').limit(limit).execute()).map(toEnrolment);
    },

    async count(programId: string, filter: EnrolmentFilter): Promise<number> {
      const row = await matching(programId, filter)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** The largest groups first; partners without a value are a group of their own, but for tags. */
    async countBy(
      programId: string,
      filter: EnrolmentFilter,
      grouping: EnrolmentGrouping,
    ): Promise<{ value: string | null; count: number }[]> {
      const { from, value } = groupingOf(grouping);
      const matched = matching(programId, filter).select(['enrolment.id', 'enrolment.partner_id']);
      const found = await sql<{ value: string | null; count: number }>`
        select ${sql.raw(value)} as value, count(*) as count
        from (${matched.select(['enrolment.status', 'enrolment.group_id'])}) as matched ${sql.raw(from)}
        group by ${sql.raw(value)} order by count(*) desc, ${sql.raw(value)} limit ${MAX_GROUPS}`.execute(
        db.query,
      );
      return found.rows.map((row) => ({ value: row.value, count: Number(row.count) }));
    },
  };
}

export type EnrolmentListStore = ReturnType<typeof createEnrolmentListStore>;

function groupingOf(grouping: EnrolmentGrouping): { from: string; value: string } {
  switch (grouping) {
    case 'status':
      return { from: '', value: 'matched.status' };
    case 'groupId':
      return { from: '', value: 'matched.group_id' };
    case 'country':
      return { from: 'join partner on partner.id = matched.partner_id', value: 'partner.country' };
    case 'partnerTagId':
      return {
        from: 'join enrolment_tag on enrolment_tag.enrolment_id = matched.id',
        value: 'enrolment_tag.tag_id',
      };
  }
}

const listed = (values: readonly string[]) => sql.join(values.map((value) => sql`${value}`));

/** Excluding a value keeps those that have none. */
export function groupCondition({ not, values }: ListFilter): Expression<SqlBool> {
  return not
    ? sql<SqlBool>`(enrolment.group_id is null or enrolment.group_id not in (${listed(values)}))`
    : sql<SqlBool>`enrolment.group_id in (${listed(values)})`;
}

export function tagCondition({ not, values }: ListFilter): Expression<SqlBool> {
  const tagged = sql<SqlBool>`exists (select 1 from enrolment_tag
    where enrolment_tag.enrolment_id = enrolment.id and enrolment_tag.tag_id in (${listed(values)}))`;
  return not ? sql<SqlBool>`not ${tagged}` : tagged;
}

/** Conditions on the person behind the enrolment. */
function personConditions({ country, email, search }: EnrolmentFilter): Expression<SqlBool>[] {
  const person = (condition: Expression<SqlBool>) =>
    sql<SqlBool>`exists (select 1 from partner where partner.id = enrolment.partner_id and ${condition})`;
  const hasEmail = (address: string) =>
    sql<SqlBool>`enrolment.partner_id = (select id from partner where email_folded = ${fold(address.trim())})`;
  const conditions: Expression<SqlBool>[] = [];
  if (country) {
    const within = sql<SqlBool>`partner.country in (${listed(country.values.map((code) => code.toUpperCase()))})`;
    conditions.push(
      person(country.not ? sql<SqlBool>`(partner.country is null or not (${within}))` : within),
    );
  }
  if (email !== undefined) conditions.push(hasEmail(email));
  else if (search?.includes('@')) conditions.push(hasEmail(search));
  else if (search?.startsWith('pn_')) conditions.push(sql<SqlBool>`enrolment.partner_id = ${search}`);
  else if (search) conditions.push(person(contains(sql.ref('partner.search_text'), fold(search))));
  return conditions;
}

function rangeConditions(filter: EnrolmentFilter): Expression<SqlBool>[] {
  return RANGES.flatMap((name) => {
    const column = sql.raw(`enrolment.${ORDERS[`total${name}`]}`);
    const { [`total${name}Min` as const]: min, [`total${name}Max` as const]: max } = filter;
    return [
      ...(min === undefined ? [] : [sql<SqlBool>`${column} >= ${min}`]),
      ...(max === undefined ? [] : [sql<SqlBool>`${column} <= ${max}`]),
    ];
  });
}
