// SQL for lists and counts of links.
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { containsPattern } from '../db/like.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Link } from './link.ts';
import type { LinkStore } from './link.store.ts';

export type LinkSort = 'createdAt' | 'clicks' | 'saleAmount' | 'lastClicked';
export const GROUPINGS = ['domain', 'tagId', 'userId', 'folderId'] as const;
export type LinkGrouping = (typeof GROUPINGS)[number];

export interface LinkFilter {
  readonly workspaceId: string;
  readonly domain?: string | undefined;
  /** Links that have any of them. */
  readonly tagIds?: readonly string[] | undefined;
  readonly withTags?: boolean | undefined;
  /** Null: links in no folder. */
  readonly folderId?: string | null | undefined;
  /** Narrows to folders that the caller may read; undefined: all. */
  readonly readable?: ((folderId: Expression<string | null>) => Expression<SqlBool>) | undefined;
  readonly search?: string | undefined;
  readonly userId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly showArchived: boolean;
}

const COLUMN = { domain: 'domain', userId: 'user_id', folderId: 'folder_id' } as const;

export function createLinkListStore(db: Database, links: LinkStore) {
  function matching(filter: LinkFilter) {
    let query = db.query.selectFrom('link').where('link.workspace_id', '=', filter.workspaceId);
    if (!filter.showArchived) query = query.where('link.archived', '=', 0);
    if (filter.domain !== undefined) query = query.where('link.domain', '=', filter.domain);
    if (filter.userId !== undefined) query = query.where('link.user_id', '=', filter.userId);
    if (filter.tenantId !== undefined) query = query.where('link.tenant_id', '=', filter.tenantId);
    if (filter.folderId === null) query = query.where('link.folder_id', 'is', null);
    else if (filter.folderId !== undefined) query = query.where('link.folder_id', '=', filter.folderId);
    const { readable, tagIds, withTags, search } = filter;
    if (readable) query = query.where(readable(sql.ref<string | null>('link.folder_id')));
    if (tagIds?.length === 0) return query.where(sql<SqlBool>`1 = 0`);
    if (tagIds || withTags) {
      query = query.where(({ exists, selectFrom }) => {
        const tags = selectFrom('link_tag').select('tag_id').whereRef('link_tag.link_id', '=', 'link.id');
        return exists(tagIds ? tags.where('tag_id', 'in', tagIds) : tags);
      });
    }
    if (search) query = query.where(matchesSearch(search));
    return query;
  }

  return {
    async list(filter: LinkFilter, page: PageRequest<LinkSort>): Promise<Link[]> {
      const rows = await listPage(
        matching(filter).selectAll('link'),
        {
          columns: {
            createdAt: 'link.created_at',
            clicks: 'link.clicks',
            saleAmount: 'link.sale_amount',
            lastClicked: 'link.last_clicked_at',
          },
          createdAt: 'link.created_at',
          id: 'link.id',
        },
        page,
        async (id) => {
          const link = await links.findById(id);
          return link?.workspaceId === filter.workspaceId ? link : undefined;
        },
      );
      return links.withTags(rows);
    },

    async count(filter: LinkFilter): Promise<number> {
      const row = await matching(filter)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** Counts per value, most first. */
    async countBy(filter: LinkFilter, grouping: LinkGrouping): Promise<{ value: string | null; count: number }[]> {
      const rows =
        grouping === 'tagId'
          ? await matching(filter)
              .innerJoin('link_tag', 'link_tag.link_id', 'link.id')
              .select((eb) => ['link_tag.tag_id as value', eb.fn.countAll<number>().as('count')])
              .groupBy('link_tag.tag_id')
              .orderBy('count', 'desc')
              .orderBy('value')
              .limit(MAX_GROUPS)
              .execute()
          : await matching(filter)
              .select((eb) => [eb.ref(`link.${COLUMN[grouping]}`).as('value'), eb.fn.countAll<number>().as('count')])
              .groupBy(`link.${COLUMN[grouping]}`)
              .orderBy('count', 'desc')
              .orderBy('value')
              .limit(MAX_GROUPS)
              .execute();
      return rows.map((row) => ({ value: row.value, count: Number(row.count) }));
    },
  };
}

export type LinkListStore = ReturnType<typeof createLinkListStore>;

/** No answer grows without bound; nobody reads more groups than this. */
const MAX_GROUPS = 10_000;

function matchesSearch(search: string): Expression<SqlBool> {
  const pattern = containsPattern(search.toLowerCase());
  return sql<SqlBool>`lower('https://' || link.domain || '/' || link.key || ' ' || link.url) like ${pattern} escape '\\'`;
}
