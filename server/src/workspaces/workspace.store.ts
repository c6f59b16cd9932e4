// SQL for workspaces.
import { type Selectable, sql, type Updateable } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import type { Plan } from '../http/operation.ts';
import type { IpPrivacy } from '../kernel/ip-privacy.ts';
import type { AttributionModel, Limits, Workspace, WorkspaceChange } from './workspace.ts';

export type WorkspaceSort = 'createdAt' | 'name';
type Row = Schema['workspace'];
type Stored = Selectable<Row>;

export interface WorkspaceClicks {
  readonly workspaceId: string;
  readonly clicks: number;
  /** Those that count towards the month. */
  readonly usage: number;
}

/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_UPDATE = 500;

export function createWorkspaceStore(db: Database) {
  const find = async (column: 'id' | 'slug', value: string): Promise<Workspace | undefined> => {
    const row = await db.query
      .selectFrom('workspace')
      .selectAll()
      .where(column, '=', value)
      .executeTakeFirst();
    return row && toWorkspace(row);
  };

  return {
    findById: (id: string) => find('id', id),
    findBySlug: (slug: string) => find('slug', slug),

    async list(page: PageRequest<WorkspaceSort>): Promise<Workspace[]> {
      const rows = await listPage(
        db.query.selectFrom('workspace').selectAll(),
        {
          columns: { createdAt: 'created_at', name: 'name' },
          createdAt: 'created_at',
          id: 'id',
        },
        page,
      );
      return rows.map(toWorkspace);
    },

    /** By workspace; those that do not exist are left out. */
    async findAllowedHostnames(ids: readonly string[]): Promise<Map<string, readonly string[]>> {
      const rows = await db.query
        .selectFrom('workspace')
        .select(['id', 'allowed_hostnames'])
        .where('id', 'in', ids)
        .execute();
      return new Map(rows.map((row) => [row.id, JSON.parse(row.allowed_hostnames) as string[]]));
    },

    async exists(): Promise<boolean> {
      return (await db.query.selectFrom('workspace').select('id').limit(1).executeTakeFirst()) !== undefined;
    },

    async insert(
      workspace: Pick<Workspace, 'id' | 'name' | 'slug' | 'plan' | 'inviteCode'>,
      nowMs: number,
    ): Promise<void> {
      await db.query
        .insertInto('workspace')
        .values({
          id: workspace.id,
          name: workspace.name,
          slug: workspace.slug,
          plan: workspace.plan,
          invite_code: workspace.inviteCode,
          logo: null,
          default_product: 'links',
          default_program_id: null,
          publishable_key: null,
          conversion_enabled: 0,
          webhook_enabled: 0,
          allowed_hostnames: '[]',
          limits: '{}',
          events_usage: 0,
          links_usage: 0,
          usage_month: 0,
          payouts_usage: 0,
          total_links: 0,
          total_clicks: 0,
          attribution_days: null,
          created_at: nowMs,
          updated_at: nowMs,
        })
        .execute();
    },

    async update(id: string, change: WorkspaceChange, nowMs: number): Promise<void> {
      await db.query
        .updateTable('workspace')
        .set({ ...toColumns(change), updated_at: nowMs })
        .where('id', '=', id)
        .execute();
    },

    /** Adds to the counts of a month; the first use in a new month starts them again. */
    async addUsage(
      id: string,
      month: number,
      { links = 0, payouts = 0 }: { links?: number; payouts?: number },
    ): Promise<void> {
      await db.query
        .updateTable('workspace')
        .set((eb) => {
          const sameMonth = (column: 'links_usage' | 'events_usage' | 'payouts_usage') =>
            eb.case().when('usage_month', '=', month).then(eb.ref(column)).else(0).end();
          return {
            links_usage: eb(sameMonth('links_usage'), '+', links),
            events_usage: sameMonth('events_usage'),
            payouts_usage: eb(sameMonth('payouts_usage'), '+', payouts),
            usage_month: month,
            total_links: eb('total_links', '+', links),
          };
        })
        .where('id', '=', id)
        .execute();
    },

    /**
     * Adds clicks to the counts of one month and to the total. Clicks of a month that is over no longer count
     * towards any month; the first ones of a new month start its counts.
     */
    async addClicks(month: number, rows: readonly WorkspaceClicks[]): Promise<void> {
      for (let start = 0; start < rows.length; start += ROWS_PER_UPDATE) {
        const values = rows
          .slice(start, start + ROWS_PER_UPDATE)
          .map(
            (row) => sql`(${row.workspaceId}, cast(${row.clicks} as bigint), cast(${row.usage} as bigint))`,
          );
        await sql`update workspace set
            events_usage = case
              when workspace.usage_month = ${month} then workspace.events_usage + added.column3
              when workspace.usage_month < ${month} then added.column3
              else workspace.events_usage end,
            links_usage = case when workspace.usage_month < ${month} then 0 else workspace.links_usage end,
            payouts_usage = case when workspace.usage_month < ${month} then 0 else workspace.payouts_usage end,
            usage_month = case when workspace.usage_month < ${month} then ${month} else workspace.usage_month end,
            total_clicks = workspace.total_clicks + added.column2
          from (values ${sql.join(values)}) as added
          where workspace.id = added.column1`.execute(db.query);
      }
    },

    async addTotalLinks(id: string, count: number): Promise<void> {
      await db.query
        .updateTable('workspace')
        .set((eb) => ({ total_links: eb('total_links', '+', count) }))
        .where('id', '=', id)
        .execute();
    },

    /** Makes other transactions that lock this workspace wait until this one ends. */
    async lock(id: string): Promise<void> {
      await db.query
        .updateTable('workspace')
        .set((eb) => ({ updated_at: eb.ref('updated_at') }))
        .where('id', '=', id)
        .execute();
    },
  };
}

export type WorkspaceStore = ReturnType<typeof createWorkspaceStore>;

function toColumns(change: WorkspaceChange): Updateable<Row> {
  const columns: Updateable<Row> = {};
  if (change.name !== undefined) columns.name = change.name;
  if (change.slug !== undefined) columns.slug = change.slug;
  if (change.logo !== undefined) columns.logo = change.logo;
  if (change.plan !== undefined) columns.plan = change.plan;
  if (change.defaultProduct !== undefined) columns.default_product = change.defaultProduct;
  if (change.defaultProgramId !== undefined) columns.default_program_id = change.defaultProgramId;
  if (change.conversionEnabled !== undefined) columns.conversion_enabled = change.conversionEnabled ? 1 : 0;
  if (change.webhookEnabled !== undefined) columns.webhook_enabled = change.webhookEnabled ? 1 : 0;
  if (change.allowedHostnames !== undefined)
    columns.allowed_hostnames = JSON.stringify(change.allowedHostnames);
  if (change.publishableKey !== undefined) columns.publishable_key = change.publishableKey;
  if (change.limits !== undefined) columns.limits = JSON.stringify(change.limits);
  if (change.ipPrivacy !== undefined) columns.ip_privacy = change.ipPrivacy;
  if (change.attribution !== undefined) columns.attribution = change.attribution;
  if (change.attributionDays !== undefined) columns.attribution_days = change.attributionDays;
  return columns;
}

function toWorkspace(row: Stored): Workspace {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    logo: row.logo,
    plan: row.plan as Plan,
    defaultProduct: row.default_product === 'program' ? 'program' : 'links',
    defaultProgramId: row.default_program_id,
    inviteCode: row.invite_code,
    publishableKey: row.publishable_key,
    conversionEnabled: row.conversion_enabled === 1,
    webhookEnabled: row.webhook_enabled === 1,
    allowedHostnames: JSON.parse(row.allowed_hostnames) as string[],
    limits: JSON.parse(row.limits) as Limits,
    ipPrivacy: row.ip_privacy as IpPrivacy,
    attribution: row.attribution as AttributionModel,
    attributionDays: row.attribution_days,
    usage: {
      month: row.usage_month,
      events: row.events_usage,
      links: row.links_usage,
      payouts: row.payouts_usage,
    },
    totalLinks: row.total_links,
    totalClicks: row.total_clicks,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
