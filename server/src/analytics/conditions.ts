// The conditions of a query as SQL, written once for every kind of event and every engine. Values go beside the
// text, never into it; whole numbers, which are checked, are the exception.
import type { Dialect } from './dialect.ts';
import { METADATA_TEXTS } from './event-columns.ts';
import { metadataKey, readDecimal } from './metadata.ts';
import type { EventField, EventKind, Filter, LinkField, MetadataCondition, Query } from './query.ts';

/** SQL and the texts that go beside it. */
export interface Statement {
  readonly sql: string;
  readonly texts: readonly string[];
  /** Of wide rows: an engine may bring them over as text and fill these in itself. */
  readonly columns?: readonly string[];
}

/** Texts that go beside the SQL; the same text gets the same place. */
export interface Values {
  readonly texts: readonly string[];
  /** Where the text stands in the SQL. */
  bind(text: string): string;
}

export function createValues({ placeholder }: Dialect): Values {
  const places = new Map<string, string>();
  const texts: string[] = [];
  return {
    texts,
    bind(text) {
      const known = places.get(text);
      if (known) return known;
      const place = placeholder(texts.push(text));
      places.set(text, place);
      return place;
    },
  };
}

export interface ConditionParts {
  readonly query: Query;
  readonly kind: EventKind;
  readonly values: Values;
  readonly dialect: Dialect;
}

/** Everything after `where`. */
export function eventConditions(parts: ConditionParts): string {
  const { query, values } = parts;
  return [
    `workspace_id = ${values.bind(query.workspaceId)}`,
    `time_ms between ${whole(query.fromMs)} and ${whole(query.toMs)}`,
    ...eventFilters(parts),
    ...linkFilters(parts),
    ...customerConditions(parts),
    ...saleConditions(parts),
    ...metadataConditions(parts),
  ].join(' and ');
}

export function whole(value: number): string {
  if (!Number.isSafeInteger(value)) throw new Error(`${value} is no whole number`);
  return String(value);
}

const EVENT_COLUMN: Readonly<Record<Exclude<EventField, 'region' | 'refererUrl'>, string>> = {
  country: 'country',
  city: 'city',
  continent: 'continent',
  device: 'device',
  browser: 'browser',
  os: 'os',
  trigger: 'trigger',
  referer: 'referer',
  url: 'url_base',
  utmSource: 'utm_source',
  utmMedium: 'utm_medium',
  utmCampaign: 'utm_campaign',
  utmTerm: 'utm_term',
  utmContent: 'utm_content',
};

const COUNTRY_REGION = "concat(country, '-', region)";

function eventFilters({ query, values, dialect }: ConditionParts): string[] {
  const conditions = filters(query, EVENT_COLUMN, values);
  if (query.refererUrl) conditions.push(among(dialect.beforeQuery('referer_url'), query.refererUrl, values));
  if (query.region) {
    const { not, values: items } = query.region;
    const either = ['region', COUNTRY_REGION].map((sql) => among(sql, { not: false, values: items }, values));
    conditions.push(`${not ? 'not ' : ''}(${either.join(' or ')})`);
  }
  if (query.qr !== undefined) conditions.push(query.qr ? 'qr' : 'not qr');
  return conditions;
}

const LINK_COLUMN = {
  domain: 'domain',
  folderId: 'folder_id',
  tenantId: 'tenant_id',
  partnerId: 'partner_id',
  programId: 'program_id',
} as const satisfies Partial<Record<LinkField, string>>;

/**
 * Ids of links are compared with the event itself. Where nothing else is asked of links, the deleted ones are taken
 * out, which are few; else those that match are looked for.
 */
function linkFilters(parts: ConditionParts): string[] {
  const { query, values, dialect } = parts;
  const conditions: string[] = [];
  if (query.linkId) conditions.push(among('link_id', query.linkId, values));
  if (query.fixedLinkId !== undefined) conditions.push(`link_id = ${values.bind(query.fixedLinkId)}`);
  const wanted = wantedLinks(parts);
  const links = `select id from ${dialect.table('link')} where workspace_id = ${values.bind(query.workspaceId)}`;
  conditions.push(
    wanted.length === 0
      ? `link_id not in (${links} and deleted)`
      : `link_id in (${[links, 'not deleted', ...wanted].join(' and ')})`,
  );
  return conditions;
}

function wantedLinks(parts: ConditionParts): string[] {
  const { query, values } = parts;
  const { tagId, groupId, partnerTagId, root, hiddenFolderIds = [] } = query;
  const conditions = filters(query, LINK_COLUMN, values);
  if (tagId) conditions.push(tagged('tag_ids', tagId, parts));
  if (groupId) conditions.push(ofPartner(among('group_id', positive(groupId), values), groupId.not, parts));
  if (partnerTagId) {
    const has = tagged('tag_ids', positive(partnerTagId), parts);
    conditions.push(ofPartner(has, partnerTagId.not, parts));
  }
  if (root !== undefined) conditions.push(root ? 'root' : 'not root');
  if (hiddenFolderIds.length > 0)
    conditions.push(among('folder_id', { not: true, values: hiddenFolderIds }, values));
  return conditions;
}

/** The link's partner is one of those, or with `not` it is none of them or the link has no partner. */
function ofPartner(condition: string, not: boolean, { query, values, dialect }: ConditionParts): string {
  const partners = `select partner_id from ${dialect.table('partner')} where workspace_id = ${values.bind(query.workspaceId)} and not deleted and ${condition}`;
  return `partner_id ${not ? 'not ' : ''}in (${partners})`;
}

function positive({ values }: Filter): Filter {
  return { not: false, values };
}

function tagged(list: string, { not, values: tags }: Filter, { values, dialect }: ConditionParts): string {
  return `${not ? 'not ' : ''}${dialect.hasAny(
    list,
    tags.map((tag) => values.bind(tag)),
  )}`;
}

function customerConditions({ query, kind, values, dialect }: ConditionParts): string[] {
  if (query.customerId === undefined) return [];
  const customer = `customer_id = ${values.bind(query.customerId)}`;
  if (kind !== 'clicks') return [customer];
  const leads = `${dialect.table('lead')} where workspace_id = ${values.bind(query.workspaceId)} and ${customer}`;
  // The times say nothing that the ids do not, but by them engines skip most of the table.
  return [`time_ms in (select click_time_ms from ${leads})`, `id in (select click_id from ${leads})`];
}

function saleConditions({ query, kind, values, dialect }: ConditionParts): string[] {
  if (query.saleType === undefined || kind !== 'sales') return [];
  const first = `select link_id, customer_id, min(time_ms) from ${dialect.table('sale')} where workspace_id = ${values.bind(query.workspaceId)} group by link_id, customer_id`;
  return [`(link_id, customer_id, time_ms) ${query.saleType === 'new' ? '' : 'not '}in (${first})`];
}

function metadataConditions({ query, kind, values, dialect }: ConditionParts): string[] {
  if (!query.metadata || kind === 'clicks') return [];
  return [metadataSql(query.metadata, values, dialect)];
}

function metadataSql(condition: MetadataCondition, values: Values, dialect: Dialect): string {
  if ('op' in condition) {
    const parts = condition.parts.map((part) => metadataSql(part, values, dialect));
    return `(${parts.join(` ${condition.op} `)})`;
  }
  const { path, operator, value } = condition;
  const ordered = operator !== '=' && operator !== '!=';
  // Engines refuse a text beside the SQL that has no place in it.
  if (ordered && readDecimal(value) === undefined) return '1 = 0';
  const text = dialect.textOf(METADATA_TEXTS, values.bind(metadataKey(path)));
  if (operator === '=') return `coalesce(${text} = ${values.bind(value)}, false)`;
  if (operator === '!=') return `coalesce(${text} <> ${values.bind(value)}, true)`;
  return `coalesce(${dialect.numberOf(text)} ${operator} cast(${values.bind(value)} as DOUBLE), false)`;
}

function filters<F extends LinkField | EventField>(
  query: Query,
  columns: Readonly<Record<F, string>>,
  values: Values,
): string[] {
  return (Object.keys(columns) as F[]).flatMap((field) => {
    const filter = query[field];
    return filter ? [among(columns[field], filter, values)] : [];
  });
}

function among(sql: string, { not, values: items }: Filter, values: Values): string {
  return `${sql} ${not ? 'not ' : ''}in (${items.map((item) => values.bind(item)).join(', ')})`;
}
