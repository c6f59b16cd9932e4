// A link as a row of its table: fields to columns and back. Pure; the columns of a statement are those that differ
// from an empty link, so that what most links leave open is neither sent nor bound.
import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { EMPTY_FIELDS, type Link, type LinkFields, type TestVariant } from './link.ts';

export type LinkRow = Selectable<Schema['link']>;

export interface NewLink {
  readonly id: string;
  readonly workspaceId: string;
  readonly userId: string | null;
  readonly fields: Readonly<LinkFields>;
  readonly lookupKey: string;
  readonly createdAt: number;
}

export function urlHash(url: string): string {
  return sha256Hex(url).slice(0, 16);
}

/** The database folds ASCII by itself; null where nothing else is to be folded. */
function unlessAscii(url: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
  return /^[\x00-\x7f]*$/.test(url) ? null : url.toLowerCase();
}

/** Flags are numbers, and what is a structure is JSON. */
function toValue(value: LinkFields[keyof LinkFields]): string | number | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** The columns of the fields given; the others stay out of the statement. */
export function toColumns(fields: Partial<LinkFields>): Updateable<Schema['link']> {
  const columns: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields))
    columns[COLUMNS[name as keyof LinkFields]] = toValue(value);
  if (fields.url !== undefined) {
    columns.url_hash = urlHash(fields.url);
    columns.url_folded = unlessAscii(fields.url);
  }
  return columns;
}

const COLUMNS: Record<keyof LinkFields, keyof Schema['link']> = {
  domain: 'domain',
  key: 'key',
  url: 'url',
  externalId: 'external_id',
  tenantId: 'tenant_id',
  programId: 'program_id',
  partnerId: 'partner_id',
  folderId: 'folder_id',
  trackConversion: 'track_conversion',
  archived: 'archived',
  proxy: 'proxy',
  rewrite: 'rewrite',
  doIndex: 'do_index',
  publicStats: 'public_stats',
  expiresAt: 'expires_at',
  expiredUrl: 'expired_url',
  password: 'password',
  title: 'title',
  description: 'description',
  image: 'image',
  video: 'video',
  ios: 'ios',
  android: 'android',
  geo: 'geo',
  comments: 'comments',
  testVariants: 'test_variants',
  testStartedAt: 'test_started_at',
  testCompletedAt: 'test_completed_at',
  utm_source: 'utm_source',
  utm_medium: 'utm_medium',
  utm_campaign: 'utm_campaign',
  utm_term: 'utm_term',
  utm_content: 'utm_content',
};

const FIELD_NAMES = Object.keys(COLUMNS) as (keyof LinkFields)[];
const ALWAYS_WRITTEN: ReadonlySet<keyof LinkFields> = new Set(['domain', 'key', 'url']);

/** Rows for one insert, all with the same columns. The table's defaults are an empty link: what no link sets is left to them. */
export function toRows(links: readonly NewLink[]): Insertable<Schema['link']>[] {
  const names = FIELD_NAMES.filter(
    (name) => ALWAYS_WRITTEN.has(name) || links.some(({ fields }) => fields[name] !== EMPTY_FIELDS[name]),
  );
  return links.map((link) => toRow(link, names));
}

function toRow(link: NewLink, names: readonly (keyof LinkFields)[]): Insertable<Schema['link']> {
  const columns: Record<string, unknown> = {
    id: link.id,
    workspace_id: link.workspaceId,
    user_id: link.userId,
    lookup_key: link.lookupKey,
    url_hash: urlHash(link.fields.url),
    url_folded: unlessAscii(link.fields.url),
    created_at: link.createdAt,
    updated_at: link.createdAt,
  };
  for (const name of names) columns[COLUMNS[name]] = toValue(link.fields[name]);
  return columns as Insertable<Schema['link']>;
}

/** What hangs on a link in tables of its own. */
export type Attached = Pick<Link, 'tags' | 'webhookIds'>;

export const NOTHING: Attached = { tags: [], webhookIds: [] };

export function toLink(row: LinkRow, { tags, webhookIds }: Attached): Link {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    domain: row.domain,
    key: row.key,
    url: row.url,
    externalId: row.external_id,
    tenantId: row.tenant_id,
    programId: row.program_id,
    partnerId: row.partner_id,
    folderId: row.folder_id,
    trackConversion: row.track_conversion === 1,
    archived: row.archived === 1,
    proxy: row.proxy === 1,
    rewrite: row.rewrite === 1,
    doIndex: row.do_index === 1,
    publicStats: row.public_stats === 1,
    expiresAt: row.expires_at,
    expiredUrl: row.expired_url,
    disabledAt: row.disabled_at,
    bannedAt: row.banned_at,
    password: row.password,
    title: row.title,
    description: row.description,
    image: row.image,
    video: row.video,
    ios: row.ios,
    android: row.android,
    geo: row.geo === null ? null : (JSON.parse(row.geo) as Record<string, string>),
    comments: row.comments,
    utm_source: row.utm_source,
    utm_medium: row.utm_medium,
    utm_campaign: row.utm_campaign,
    utm_term: row.utm_term,
    utm_content: row.utm_content,
    testVariants: row.test_variants === null ? null : (JSON.parse(row.test_variants) as TestVariant[]),
    testStartedAt: row.test_started_at,
    testCompletedAt: row.test_completed_at,
    clicks: row.clicks,
    leads: row.leads,
    conversions: row.conversions,
    sales: row.sales,
    saleAmount: row.sale_amount,
    lastClickedAt: row.last_clicked_at === 0 ? null : row.last_clicked_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    tags,
    webhookIds,
  };
}
