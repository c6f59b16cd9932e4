// Domains, folders, tags and links as lines of a dump. A link on the default domain of its instance says no
// domain: it goes to the default domain of the instance it is imported into.
import { sql } from 'kysely';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import { foldSlug, type LinkDomain } from '../domains/domain.ts';
import { ACCESS_LEVELS, FOLDER_ROLES, FOLDER_TYPES } from '../folders/folder.ts';
import type { Clock } from '../kernel/clock.ts';
import { randomText } from '../kernel/ids.ts';
import { ROOT_KEY } from '../links/link.ts';
import { lookupKey } from '../links/link-key.ts';
import { foldName, TAG_COLORS } from '../tags/tag.ts';
import type { Entity, ImportedEvent } from './entity.ts';
import {
  address,
  addressOrNull,
  count,
  destination,
  type Field,
  type FileAddresses,
  flag,
  id,
  idList,
  idOrNull,
  image,
  jsonOrNull,
  oneOf,
  oneOfOrNull,
  text,
  textOr,
  textOrNull,
  timeOrNull,
  timeOrZero,
  times,
} from './field.ts';
import { type DraftItem, type DraftRow, inGroups, type Row } from './record.ts';
import { reject, type TableSpec, tableEntity } from './table-entity.ts';

export interface LinkEntityParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly files: FileAddresses;
  /** The domain that belongs to no workspace. */
  readonly defaultDomain: string;
  readonly findDomains: (
    slugs: readonly string[],
  ) => Promise<ReadonlyMap<string, { readonly caseSensitive: boolean; readonly formerSlug: string | null }>>;
  /** Present names of domains by the former ones that some of their links are still kept under. */
  readonly findPresentNames: (formerSlugs: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** The columns that a destination is found by. */
  readonly urlColumns: (url: string) => { readonly url_hash: string; readonly url_folded: string | null };
  readonly addTotalLinks: (workspaceId: string, count: number) => Promise<void>;
}

/** So few that a change stays small, however many links there are. */
const LINKS_PER_EVENT = 100;

/** The index of a workspace's rows by time has this column first. */
const ARCHIVED = { column: 'archived', values: [0, 1] };

/** What links hang on. */
export function sortingEntities(parts: LinkEntityParts): Entity[] {
  const named = {
    derived: ['name_folded'],
    unique: [{ field: 'name', columns: ['workspace_id', 'name_folded'] }],
    references: { workspaceId: 'workspace' },
    derive: async (items: readonly DraftItem[]) => {
      for (const { row } of items) row.name_folded = foldName(row.name as string);
    },
  };
  return [
    tableEntity(parts, domainSpec(parts)),
    tableEntity(parts, {
      name: 'folder',
      table: 'folder',
      fields: {
        id: id(),
        workspaceId: id(),
        name: text(),
        description: textOrNull(),
        kind: { ...oneOf(FOLDER_TYPES, 'default'), column: 'type' },
        accessLevel: oneOfOrNull(ACCESS_LEVELS),
        ...times(),
      },
      ...named,
    }),
    tableEntity(parts, {
      name: 'tag',
      table: 'tag',
      fields: { id: id(), workspaceId: id(), name: text(), color: oneOf(TAG_COLORS), ...times() },
      ...named,
    }),
  ];
}

export function folderRoleEntity(parts: Pick<LinkEntityParts, 'db' | 'clock'>): Entity {
  return tableEntity(parts, {
    name: 'folderRole',
    table: 'folder_user',
    key: ['folderId', 'userId'],
    fields: { folderId: id(), userId: id(), role: oneOf(FOLDER_ROLES), ...times() },
    references: { folderId: 'folder', userId: 'user' },
    ofWorkspace: (workspaceId) => sql`folder_id in (select id from folder where workspace_id = ${workspaceId})
      and user_id in (select user_id from member where workspace_id = ${workspaceId})`,
  });
}

function domainSpec({ files, defaultDomain }: LinkEntityParts): TableSpec {
  const slug = text(190);
  return {
    name: 'domain',
    table: 'domain',
    partition: ARCHIVED,
    fields: {
      id: id(),
      workspaceId: id(),
      slug: { ...slug, schema: (slug.schema as z.ZodType<string>).transform(foldSlug) },
      primary: flag('is_primary'),
      verified: flag(),
      verificationCode: textOr(() => `linktrail-${randomText(32)}`),
      archived: flag(),
      caseSensitive: flag(),
      placeholder: addressOrNull(),
      expiredUrl: addressOrNull(),
      notFoundUrl: addressOrNull(),
      logo: image(files),
      assetLinks: textOrNull(),
      appleAppSiteAssociation: textOrNull(),
      deepviewData: textOrNull(),
      ...times(),
    },
    references: { workspaceId: 'workspace' },
    unique: [
      { field: 'slug', columns: ['slug'] },
      { field: 'primary', columns: ['workspace_id'], where: (row) => row.is_primary === 1 },
    ],
    imageFields: ['logo'],
    fixed: { slug: 'its links would not follow: rename the domain itself' },
    derive: async (items) => {
      const own = items.filter(({ row }) => row.slug === defaultDomain);
      const reason = `${defaultDomain} is the default domain of this instance and belongs to no workspace`;
      reject(
        { name: 'domain' },
        own.map(({ line }) => ({ line, field: 'slug', reason })),
      );
    },
  };
}

const geo = z.record(z.string().length(2), destination);
const testVariants = z
  .array(z.strictObject({ url: destination, percentage: z.number().min(0).max(100) }))
  .max(10);

export function linkEntity(parts: LinkEntityParts): Entity {
  const entity = tableEntity(parts, linkSpec(parts));
  return {
    ...entity,
    list: async (...page) => withPresentNames(parts, (await entity.list?.(...page)) ?? []),
  };
}

/** A link that has not followed the change of its domain's name yet is written as if it had. */
async function withPresentNames(
  { findPresentNames }: LinkEntityParts,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const names = await findPresentNames([...new Set(rows.map((row) => row.domain as string))]);
  if (names.size === 0) return rows;
  return rows.map((row): Row => {
    const { domain } = row as { domain: string };
    return { ...row, domain: names.get(domain) ?? domain };
  });
}

function linkSpec(parts: LinkEntityParts): TableSpec {
  return {
    name: 'link',
    table: 'link',
    fields: linkFields(parts),
    derived: ['lookup_key', 'url_hash', 'url_folded'],
    partition: ARCHIVED,
    list: {
      field: 'tagIds',
      table: 'link_tag',
      owner: 'link_id',
      value: 'tag_id',
      position: 'position',
      copied: ['archived', 'created_at'],
    },
    references: {
      workspaceId: 'workspace',
      domain: { to: 'domain', toColumn: 'slug', isFree: (slug) => slug === parts.defaultDomain },
      folderId: 'folder',
      tagIds: 'tag',
    },
    unique: [
      { field: 'key', columns: ['domain', 'lookup_key'] },
      { field: 'externalId', columns: ['workspace_id', 'external_id'] },
    ],
    imageFields: ['image'],
    derive: (items) => deriveLinks(parts, items),
    onInsert: (rows) => countLinks(parts, rows),
    eventsOf: importedLinks,
  };
}

function linkFields({ files, defaultDomain }: LinkEntityParts): Record<string, Field> {
  return {
    id: id(),
    workspaceId: id(),
    domain: domainName(defaultDomain),
    key: text(1_000),
    url: address(),
    tagIds: idList(),
    externalId: textOrNull(255),
    tenantId: textOrNull(255),
    programId: idOrNull(),
    partnerId: idOrNull(),
    folderId: idOrNull(),
    // Kept as it is: whoever made the link may be long gone.
    userId: idOrNull(),
    trackConversion: flag(),
    archived: flag(),
    proxy: flag(),
    rewrite: flag(),
    doIndex: flag(),
    publicStats: flag(),
    expiresAt: timeOrNull(),
    expiredUrl: addressOrNull(),
    disabledAt: timeOrNull(),
    bannedAt: timeOrNull(),
    password: textOrNull(),
    title: textOrNull(),
    description: textOrNull(),
    image: image(files),
    video: textOrNull(),
    ios: addressOrNull(),
    android: addressOrNull(),
    geo: jsonOrNull(geo),
    comments: textOrNull(),
    ...Object.fromEntries(
      ['source', 'medium', 'campaign', 'term', 'content'].map((part) => [`utm_${part}`, textOrNull()]),
    ),
    testVariants: jsonOrNull(testVariants),
    testStartedAt: timeOrNull(),
    testCompletedAt: timeOrNull(),
    testEndedAt: timeOrNull(),
    clicks: count(),
    leads: count(),
    conversions: count(),
    sales: count(),
    saleAmount: count(),
    lastClicked: timeOrZero('last_clicked_at'),
    ...times(),
  };
}

function domainName(defaultDomain: string): Field {
  const { schema } = text(255);
  return {
    schema: (schema as z.ZodType<string>)
      .optional()
      .transform((slug) => (slug === undefined ? defaultDomain : foldSlug(slug))),
    show: (slug) => (slug === defaultDomain ? null : slug),
  };
}

async function deriveLinks(parts: LinkEntityParts, items: readonly DraftItem[]): Promise<void> {
  const slugs = [...new Set(items.map(({ row }) => row.domain as string))];
  const domains = await parts.findDomains(slugs);
  const early = items.filter(({ row }) => domains.get(row.domain as string)?.formerSlug);
  const reason = 'the links of this domain are still following its change of name: try again soon';
  reject(
    { name: 'link' },
    early.map(({ line }) => ({ line, field: 'domain', reason })),
  );
  for (const { row } of items) {
    const slug = row.domain as string;
    const domain: LinkDomain = {
      slug,
      shared: slug === parts.defaultDomain,
      caseSensitive: domains.get(slug)?.caseSensitive ?? false,
    };
    const key = row.key as string;
    row.lookup_key = key === ROOT_KEY ? ROOT_KEY : lookupKey(key, domain);
    const { url_hash, url_folded } = parts.urlColumns(row.url as string);
    Object.assign(row, { url_hash, url_folded });
  }
}

/** As much of a link as analytics reads from its changes. */
function importedLinks(rows: readonly DraftRow[]): ImportedEvent[] {
  const links = rows.map((row) => ({
    id: row.id,
    domain: row.domain,
    key: row.key,
    folderId: row.folder_id,
    tenantId: row.tenant_id,
    partnerId: row.partner_id,
    programId: row.program_id,
    tags: (row.tagIds as readonly string[]).map((tagId) => ({ id: tagId })),
  }));
  return inGroups(links, LINKS_PER_EVENT).map((some) => ({
    type: 'links.imported',
    payload: { links: some },
  }));
}

async function countLinks({ addTotalLinks }: LinkEntityParts, rows: readonly DraftRow[]): Promise<void> {
  const counts = new Map<string, number>();
  for (const { workspace_id: workspaceId } of rows as { workspace_id: string }[]) {
    counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + 1);
  }
  for (const [workspaceId, added] of counts) await addTotalLinks(workspaceId, added);
}
