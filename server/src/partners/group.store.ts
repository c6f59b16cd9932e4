// SQL for groups of partners and their default links.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { foldName } from '../tags/tag.ts';
import type { DefaultLink, LinkStructure, PartnerGroup, RewardIds } from './group.ts';

type Row = Schema['partner_group'];

/** What the partners of a group have brought together. */
export interface GroupTotals {
  readonly totalPartners: number;
  readonly totalClicks: number;
  readonly totalLeads: number;
  readonly totalConversions: number;
  readonly totalSales: number;
  readonly totalSaleAmount: number;
  readonly totalCommissions: number;
  readonly netRevenue: number;
}

export const GROUP_SORTS = [
  'totalSaleAmount',
  'createdAt',
  'totalPartners',
  'totalClicks',
  'totalLeads',
  'totalConversions',
  'totalSales',
  'totalCommissions',
  'netRevenue',
] as const;
export type GroupSort = (typeof GROUP_SORTS)[number];

const MAX_DOMAINS = 10;

const TOTALS: readonly (keyof GroupTotals)[] = [
  'totalPartners',
  'totalClicks',
  'totalLeads',
  'totalConversions',
  'totalSales',
  'totalSaleAmount',
  'totalCommissions',
  'netRevenue',
];

export interface GroupFilter {
  readonly search?: string | undefined;
  readonly ids?: readonly string[] | undefined;
}

/** share: it stays as it is until the transaction ends. update: only this transaction changes it. */
export type GroupLock = 'share' | 'update';

export function createGroupStore(db: Database) {
  const links = createDefaultLinkStore(db);

  const all = () => db.query.selectFrom('partner_group').selectAll();

  /** SQLite has one writer and needs no lock. */
  async function first(query: ReturnType<typeof all>, lock: GroupLock): Promise<PartnerGroup | undefined> {
    const held = db.engine === 'postgres' && db.inTransaction;
    const locked = held ? (lock === 'share' ? query.forShare() : query.forUpdate()) : query;
    const row = await locked.executeTakeFirst();
    return row && toGroup(row);
  }

  /** Groups with the sums over their partners, under the names that the list is sorted by. */
  function withTotals(programId: string, filter: GroupFilter) {
    const sums = db.query
      .selectFrom('enrolment')
      .select(({ fn }) => [
        'group_id',
        fn.countAll<number>().as('partners'),
        ...(['clicks', 'leads', 'conversions', 'sales', 'sale_amount', 'commissions'] as const).map((name) =>
          fn.sum<number>(`total_${name}`).as(name),
        ),
      ])
      .where('program_id', '=', programId)
      .where('group_id', 'is not', null)
      .groupBy('group_id')
      .as('sums');
    const total = (name: string) => sql<number>`cast(coalesce(${sql.ref(`sums.${name}`)}, 0) as bigint)`;
    let query = db.query
      .selectFrom('partner_group')
      .leftJoin(sums, 'sums.group_id', 'partner_group.id')
      .selectAll('partner_group')
      .select([
        total('partners').as('totalPartners'),
        total('clicks').as('totalClicks'),
        total('leads').as('totalLeads'),
        total('conversions').as('totalConversions'),
        total('sales').as('totalSales'),
        total('sale_amount').as('totalSaleAmount'),
        total('commissions').as('totalCommissions'),
        sql<number>`${total('sale_amount')} - ${total('commissions')}`.as('netRevenue'),
      ])
      .where('partner_group.program_id', '=', programId);
    if (filter.search) query = query.where(contains(sql.ref('search_text'), foldName(filter.search)));
    if (filter.ids?.length) query = query.where('partner_group.id', 'in', filter.ids);
    return db.query.selectFrom(query.as('listed')).selectAll();
  }

  return {
    ...links,

    /** In a transaction it is locked: whoever joins a group gets what it rewards with when the transaction ends. */
    find: (id: string, lock: GroupLock = 'share'): Promise<PartnerGroup | undefined> =>
      first(all().where('id', '=', id), lock),

    /** The same. */
    findBySlug: (
      programId: string,
      slug: string,
      lock: GroupLock = 'share',
    ): Promise<PartnerGroup | undefined> =>
      first(all().where('program_id', '=', programId).where('slug', '=', slug), lock),

    async findByIds(programId: string, ids: readonly string[]): Promise<PartnerGroup[]> {
      if (ids.length === 0) return [];
      const query = db.query.selectFrom('partner_group').selectAll().where('program_id', '=', programId);
      return (await query.where('id', 'in', ids).execute()).map(toGroup);
    },

    /** The group that has this reward or discount. In a transaction nobody else changes it meanwhile. */
    findByReward(field: keyof RewardIds, id: string): Promise<PartnerGroup | undefined> {
      const column = Object.keys(toColumns({ [field]: id }))[0] as 'sale_reward_id';
      return first(all().where(column, '=', id), 'update');
    },

    async list(
      programId: string,
      filter: GroupFilter,
      page: PageRequest<GroupSort>,
    ): Promise<(PartnerGroup & GroupTotals)[]> {
      const columns = Object.fromEntries(
        GROUP_SORTS.map((name) => [name, sql.ref(name === 'createdAt' ? 'created_at' : name)]),
      ) as Record<GroupSort, ReturnType<typeof sql.ref>>;
      const spec = { columns, createdAt: 'created_at', id: 'id' } as const;
      const rows = await listPage(withTotals(programId, filter), spec, page);
      return rows.map((row) => ({ ...toGroup(row), ...totalsOf(row) }));
    },

    /** Groups whose partners come by their totals. */
    async findWithMoveRules(after: string, limit: number): Promise<PartnerGroup[]> {
      const rows = await db.query
        .selectFrom('partner_group')
        .selectAll()
        .where('move_rules', 'is not', null)
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(toGroup);
    },

    async count(programId: string): Promise<number> {
      const row = await db.query
        .selectFrom('partner_group')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('program_id', '=', programId)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    async insert(group: PartnerGroup): Promise<void> {
      await db.query
        .insertInto('partner_group')
        .values(columnsOf(group) as unknown as Insertable<Row>)
        .execute();
    },

    async update(id: string, change: Partial<PartnerGroup>): Promise<void> {
      await db.query.updateTable('partner_group').set(columnsOf(change)).where('id', '=', id).execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('partner_group').where('id', '=', id).execute();
    },
  };
}

export type GroupStore = ReturnType<typeof createGroupStore>;

function createDefaultLinkStore(db: Database) {
  return {
    /** In the order in which they were made. */
    async findDefaultLinks(groupId: string): Promise<DefaultLink[]> {
      const rows = await db.query
        .selectFrom('group_default_link')
        .selectAll()
        .where('group_id', '=', groupId)
        .orderBy('created_at')
        .orderBy('id')
        .execute();
      return rows.map(toDefaultLink);
    },

    /** Of all groups of the program; at most a few. */
    async findDefaultDomains(programId: string): Promise<string[]> {
      const rows = await db.query
        .selectFrom('group_default_link')
        .select('domain')
        .distinct()
        .where('program_id', '=', programId)
        .orderBy('domain')
        .limit(MAX_DOMAINS)
        .execute();
      return rows.map(({ domain }) => domain);
    },

    async insertDefaultLink(link: DefaultLink): Promise<void> {
      await db.query
        .insertInto('group_default_link')
        .values({
          ...(toColumns(link) as unknown as Insertable<Schema['group_default_link']>),
          url_hash: sha256Hex(link.url),
        })
        .execute();
    },

    async findDefaultLink(id: string): Promise<DefaultLink | undefined> {
      const query = db.query.selectFrom('group_default_link').selectAll().where('id', '=', id);
      const row = await query.executeTakeFirst();
      return row && toDefaultLink(row);
    },

    async deleteDefaultLink(id: string): Promise<void> {
      await db.query.deleteFrom('group_default_link').where('id', '=', id).execute();
    },
  };
}

function columnsOf({ additionalLinks, applicationForm, moveRules, ...fields }: Partial<PartnerGroup>) {
  const json = (value: unknown) => (value === undefined ? undefined : toJson(value));
  const { name, slug } = fields;
  return toColumns({
    ...fields,
    additionalLinks: json(additionalLinks),
    applicationForm: json(applicationForm),
    moveRules: json(moveRules),
    searchText: name === undefined || slug === undefined ? undefined : foldName(`${name}\n${slug}`),
  });
}

function toGroup(row: Selectable<Row>): PartnerGroup {
  const { searchText: _, ...fields } = toFields(row);
  return {
    ...fields,
    additionalLinks: fromJson(row.additional_links),
    linkStructure: row.link_structure as LinkStructure,
    applicationForm: fromJson(row.application_form),
    moveRules: fromJson(row.move_rules),
  };
}

/** PostgreSQL gives large sums as text. */
function totalsOf(row: GroupTotals): GroupTotals {
  return Object.fromEntries(TOTALS.map((name) => [name, Number(row[name])])) as unknown as GroupTotals;
}

function toDefaultLink(row: Selectable<Schema['group_default_link']>): DefaultLink {
  const { urlHash: _, ...link } = toFields(row);
  return link;
}
