// All links with what analytics filters and groups by, page by page in the order they were made: for a rebuild
// of the event store.
import type { Database } from '../db/database.ts';
import { ROOT_KEY } from './link.ts';

export interface DimensionPage {
  readonly links: {
    id: string;
    workspaceId: string;
    domain: string;
    key: string;
    folderId: string;
    tenantId: string;
    partnerId: string;
    programId: string;
    tagIds: string[];
    root: boolean;
    deleted: boolean;
    changeId: number;
  }[];
  /** Where the next page begins; undefined after the last. */
  readonly next: number | undefined;
}

export function createLinkDimensionStore(db: Database) {
  async function tagsOf(ids: readonly string[]): Promise<Map<string, string[]>> {
    const tags = new Map<string, string[]>();
    if (ids.length === 0) return tags;
    const rows = await db.query
      .selectFrom('link_tag')
      .select(['link_id', 'tag_id'])
      .where('link_id', 'in', ids)
      .orderBy('position')
      .execute();
    for (const { link_id, tag_id } of rows) tags.set(link_id, [...(tags.get(link_id) ?? []), tag_id]);
    return tags;
  }

  return {
    async list(after: number, limit: number): Promise<DimensionPage> {
      const rows = await db.query
        .selectFrom('link')
        .select([
          'seq',
          'id',
          'workspace_id',
          'domain',
          'key',
          'folder_id',
          'tenant_id',
          'partner_id',
          'program_id',
        ])
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(limit)
        .execute();
      const tags = await tagsOf(rows.map(({ id }) => id));
      const links = rows.map((row) => ({
        id: row.id,
        workspaceId: row.workspace_id,
        domain: row.domain,
        key: row.key,
        folderId: row.folder_id ?? '',
        tenantId: row.tenant_id ?? '',
        partnerId: row.partner_id ?? '',
        programId: row.program_id ?? '',
        tagIds: tags.get(row.id) ?? [],
        root: row.key === ROOT_KEY,
        deleted: false,
        // Older than any change: those that follow in the journal win.
        changeId: 0,
      }));
      return { links, next: rows.length < limit ? undefined : rows.at(-1)?.seq };
    },
  };
}
