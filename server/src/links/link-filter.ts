// Which links a list or a count means, and the same as SQL: the conditions that decide, and the scopes, each
// with an index of its own, among which the store looks for the smallest.
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { contains } from '../db/like.ts';

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

/** A set of links that one index (or one per tag) holds in order of creation. */
export type Scope =
  | { readonly by: 'workspace' }
  | { readonly by: 'folder'; readonly value: string | null }
  | { readonly by: 'domain' | 'user' | 'tenant'; readonly value: string }
  | { readonly by: 'tags'; readonly values: readonly string[] };

/** More tags than this are not merged in order: the statement would grow too long. */
const MAX_MERGED_TAGS = 20;

/** The scopes that hold every link of the filter; never none. */
export function scopesOf(filter: LinkFilter): Scope[] {
  const scopes: Scope[] = [];
  if (filter.folderId !== undefined) scopes.push({ by: 'folder', value: filter.folderId });
  if (filter.domain !== undefined) scopes.push({ by: 'domain', value: filter.domain });
  if (filter.userId !== undefined) scopes.push({ by: 'user', value: filter.userId });
  if (filter.tenantId !== undefined) scopes.push({ by: 'tenant', value: filter.tenantId });
  if (filter.tagIds && filter.tagIds.length <= MAX_MERGED_TAGS)
    scopes.push({ by: 'tags', values: [...new Set(filter.tagIds)] });
  return scopes.length > 0 ? scopes : [{ by: 'workspace' }];
}

/** Whether the scope, within its workspace, is all that the filter asks for. */
export function isWholeFilter(filter: LinkFilter, scope: Scope): boolean {
  // A tag may be another workspace's: its links have to be looked at.
  if (scope.by === 'tags' || filter.tagIds || filter.withTags || filter.readable || filter.search)
    return false;
  return scope.by === 'workspace' ? scopesOf(filter)[0]?.by === 'workspace' : scopesOf(filter).length === 1;
}

const COLUMNS = { folder: 'folder_id', domain: 'domain', user: 'user_id', tenant: 'tenant_id' } as const;

export function inScope(filter: LinkFilter, scope: Exclude<Scope, { by: 'tags' }>): RawBuilder<SqlBool> {
  const ofWorkspace = sql<SqlBool>`workspace_id = ${filter.workspaceId}`;
  if (scope.by === 'workspace') return ofWorkspace;
  const column = sql.ref(COLUMNS[scope.by]);
  return scope.value === null
    ? sql`${ofWorkspace} and ${column} is null`
    : sql`${ofWorkspace} and ${column} = ${scope.value}`;
}

/** Everything the filter says, about a row of `link`. */
export function conditions(filter: LinkFilter): RawBuilder<SqlBool> {
  const { readable, tagIds, withTags, search } = filter;
  const all: Expression<SqlBool>[] = [sql<SqlBool>`link.workspace_id = ${filter.workspaceId}`];
  if (!filter.showArchived) all.push(sql`link.archived = 0`);
  if (filter.domain !== undefined) all.push(sql`link.domain = ${filter.domain}`);
  if (filter.userId !== undefined) all.push(sql`link.user_id = ${filter.userId}`);
  if (filter.tenantId !== undefined) all.push(sql`link.tenant_id = ${filter.tenantId}`);
  if (filter.folderId === null) all.push(sql`link.folder_id is null`);
  else if (filter.folderId !== undefined) all.push(sql`link.folder_id = ${filter.folderId}`);
  if (readable) all.push(readable(sql.ref<string | null>('link.folder_id')));
  if (tagIds) {
    all.push(
      sql`exists (select 1 from link_tag where link_tag.link_id = link.id and link_tag.tag_id in (${sql.join(tagIds)}))`,
    );
  } else if (withTags) all.push(sql`exists (select 1 from link_tag where link_tag.link_id = link.id)`);
  // Short link and destination are two lines: what spans lines is in neither.
  if (search?.includes('\n')) all.push(sql`1 = 0`);
  else if (search) all.push(contains(sql.ref('link.search_text'), search.toLowerCase()));
  return sql.join(all, sql` and `);
}

/** The values of `archived` that the filter lets through. */
export function archivedValues({ showArchived }: LinkFilter): number[] {
  return showArchived ? [0, 1] : [0];
}
