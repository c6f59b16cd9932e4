// SQL for domains.
import { type Insertable, sql, type Updateable } from 'kysely';
import type { Database } from '../db/database.ts';
import { contains } from '../db/like.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import type { Domain } from './domain.ts';

export type DomainSort = 'createdAt' | 'slug';
type Row = Schema['domain'];

export interface DomainFilter {
  readonly archived?: boolean | undefined;
  readonly search?: string | undefined;
}

export function createDomainStore(db: Database) {
  const matching = (workspaceId: string, { archived, search }: DomainFilter) => {
    let query = db.query.selectFrom('domain').where('workspace_id', '=', workspaceId);
    if (archived !== undefined) query = query.where('archived', '=', archived ? 1 : 0);
    if (search) query = query.where(contains(sql.ref('slug'), search.toLowerCase()));
    return query;
  };

  /** `lock` keeps the row as it is until the transaction ends; SQLite has one writer and needs no lock. */
  const find = async (slug: string, lock?: 'share' | 'update'): Promise<Domain | undefined> => {
    let query = db.query.selectFrom('domain').selectAll().where('slug', '=', slug);
    if (db.engine === 'postgres' && lock) query = lock === 'share' ? query.forShare() : query.forUpdate();
    const row = await query.executeTakeFirst();
    return row && toDomain(row);
  };

  return {
    find,

    /** The domains that had these names, while links of them are still to follow. */
    async findRenamed(formerSlugs: readonly string[]): Promise<Domain[]> {
      if (formerSlugs.length === 0) return [];
      const query = db.query.selectFrom('domain').selectAll().where('former_slug', 'in', formerSlugs);
      return (await query.execute()).map(toDomain);
    },

    /** The names of some domains whose links are still to follow. */
    async findRenamedSlugs(limit: number): Promise<string[]> {
      const query = db.query.selectFrom('domain').select('slug').where('former_slug', 'is not', null);
      return (await query.limit(limit).execute()).map((row) => row.slug);
    },

    async findPrimarySlug(workspaceId: string): Promise<string | undefined> {
      const row = await db.query
        .selectFrom('domain')
        .select('slug')
        .where('workspace_id', '=', workspaceId)
        .where('is_primary', '=', 1)
        .executeTakeFirst();
      return row?.slug;
    },

    async findMany(slugs: readonly string[]): Promise<Domain[]> {
      if (slugs.length === 0) return [];
      const rows = await db.query.selectFrom('domain').selectAll().where('slug', 'in', slugs).execute();
      return rows.map(toDomain);
    },

    async list(workspaceId: string, filter: DomainFilter, page: PageRequest<DomainSort>): Promise<Domain[]> {
      const spec = {
        columns: { createdAt: 'created_at', slug: 'slug' },
        createdAt: 'created_at',
        id: 'id',
      } as const;
      const rows = await listPage(matching(workspaceId, filter).selectAll(), spec, page);
      return rows.map(toDomain);
    },

    async count(workspaceId: string, filter: DomainFilter = {}): Promise<number> {
      const row = await matching(workspaceId, filter)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    async insert(domain: Domain): Promise<void> {
      await db.query.insertInto('domain').values(toRow(domain)).execute();
    },

    async update(domain: Domain): Promise<void> {
      const { id, workspace_id: _, created_at: __, ...columns } = toRow(domain);
      const set: Updateable<Row> = columns;
      await db.query.updateTable('domain').set(set).where('id', '=', id).execute();
    },

    /** Returns the domain that was the primary one. */
    async clearPrimary(workspaceId: string, nowMs: number): Promise<Domain | undefined> {
      const row = await db.query
        .updateTable('domain')
        .set({ is_primary: 0, updated_at: nowMs })
        .where('workspace_id', '=', workspaceId)
        .where('is_primary', '=', 1)
        .returningAll()
        .executeTakeFirst();
      return row && toDomain(row);
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('domain').where('id', '=', id).execute();
    },
  };
}

export type DomainStore = ReturnType<typeof createDomainStore>;

function toRow(domain: Domain): Insertable<Row> {
  return {
    id: domain.id,
    workspace_id: domain.workspaceId,
    slug: domain.slug,
    former_slug: domain.formerSlug,
    is_primary: domain.primary ? 1 : 0,
    verified: domain.verified ? 1 : 0,
    verification_code: domain.verificationCode,
    archived: domain.archived ? 1 : 0,
    case_sensitive: domain.caseSensitive ? 1 : 0,
    placeholder: domain.placeholder,
    expired_url: domain.expiredUrl,
    not_found_url: domain.notFoundUrl,
    logo: domain.logo,
    asset_links: domain.assetLinks,
    apple_app_site_association: domain.appleAppSiteAssociation,
    deepview_data: domain.deepviewData,
    created_at: domain.createdAt,
    updated_at: domain.updatedAt,
  };
}

function toDomain(row: Row): Domain {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    slug: row.slug,
    formerSlug: row.former_slug,
    primary: row.is_primary === 1,
    verified: row.verified === 1,
    verificationCode: row.verification_code,
    archived: row.archived === 1,
    caseSensitive: row.case_sensitive === 1,
    placeholder: row.placeholder,
    expiredUrl: row.expired_url,
    notFoundUrl: row.not_found_url,
    logo: row.logo,
    assetLinks: row.asset_links,
    appleAppSiteAssociation: row.apple_app_site_association,
    deepviewData: row.deepview_data,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
