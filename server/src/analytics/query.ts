// A question about events, parsed and checked, in terms that no engine and no request knows. What each condition
// means is said here once; the compiler and the naive recount in oracle.ts both follow it.
import type { ClickRecord } from './click-record.ts';
import type { LeadRecord, SaleRecord } from './conversion-record.ts';

export const EVENT_KINDS = ['clicks', 'leads', 'sales'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** One of the values, or with `not` none of them. Never without values. Compared exactly. */
export interface Filter {
  readonly not: boolean;
  readonly values: readonly string[];
}

/**
 * Compared with what the link is now. `not` keeps links that have no such value. `tagId` and `partnerTagId` ask for
 * at least one of the tags, or with `not` for none of them. Group and partner tags are those of the link's partner.
 */
export const LINK_FIELDS = [
  'linkId',
  'domain',
  'folderId',
  'tagId',
  'tenantId',
  'partnerId',
  'groupId',
  'partnerTagId',
  'programId',
] as const;
export type LinkField = (typeof LINK_FIELDS)[number];

/**
 * Compared with what was recorded at the click, also for leads and sales. `url` and `refererUrl` compare without
 * their query. An item of `region` is a region (`CA`) or one of a country (`US-CA`).
 */
export const EVENT_FIELDS = [
  'country',
  'region',
  'city',
  'continent',
  'device',
  'browser',
  'os',
  'trigger',
  'referer',
  'refererUrl',
  'url',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmTerm',
  'utmContent',
] as const;
export type EventField = (typeof EVENT_FIELDS)[number];

/** All conditions must hold. Events of deleted links never match. */
export interface Query extends Readonly<Partial<Record<LinkField | EventField, Filter>>> {
  readonly workspaceId: string;
  /** Both inclusive, on the event's own time. */
  readonly fromMs: number;
  readonly toMs: number;
  /** The one link that the caller named in another way than by `linkId`. */
  readonly fixedLinkId?: string;
  /** Only links at the root of a domain, or only others. */
  readonly root?: boolean;
  /** Links in these folders never match: the caller may not see them. */
  readonly hiddenFolderIds?: readonly string[];
  readonly qr?: boolean;
  /** Leads and sales of the customer; clicks that one of its leads followed. */
  readonly customerId?: string;
  /** New: at the time of the first sale of the customer by that link, ever. Says nothing of clicks and leads. */
  readonly saleType?: 'new' | 'recurring';
  /** Says nothing of clicks, which have none. */
  readonly metadata?: MetadataCondition;
}

export type MetadataCondition = MetadataGroup | MetadataComparison;

export interface MetadataGroup {
  readonly op: 'and' | 'or';
  /** Never empty. */
  readonly parts: readonly MetadataCondition[];
}

/**
 * `=` and `!=` compare the text of a text, number or boolean; whatever else is there, or nothing, has no text and
 * only satisfies `!=`. The others compare as numbers; what is no number matches none of them.
 */
export interface MetadataComparison {
  /** The keys to follow, never empty. An item of a list cannot be named. */
  readonly path: readonly string[];
  readonly operator: '=' | '!=' | '>' | '<' | '>=' | '<=';
  readonly value: string;
}

/** By time, then by id, in the same direction. */
export interface ListQuery<K extends EventKind = EventKind> extends Query {
  readonly kind: K;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** Ignored where `after` is given. */
  readonly offset: number;
  /** Only what follows this event in the order: pages that neither shift nor grow slower. */
  readonly after?: { readonly timeMs: number; readonly id: string };
}

/** What a list gives, in the form it was stored. */
export interface EventRecords {
  readonly clicks: ClickRecord;
  readonly leads: LeadRecord;
  readonly sales: SaleRecord;
}

/**
 * The names of the values that make a group. Region is `CC-RR`. Events whose value is empty or `Unknown` are in no
 * group, except that a region may be `CC-Unknown`; an event of a link with several tags is in each of their groups.
 * `top_urls` leaves out the id of the click, which some destinations are given and no two clicks share.
 */
export const GROUPINGS = {
  count: [],
  timeseries: [],
  continents: ['continent'],
  countries: ['country'],
  regions: ['country', 'region'],
  cities: ['country', 'region', 'city'],
  devices: ['device'],
  browsers: ['browser'],
  os: ['os'],
  triggers: ['trigger'],
  referers: ['referer'],
  referer_urls: ['refererUrl'],
  top_urls: ['url'],
  top_base_urls: ['url'],
  utm_sources: ['utm_source'],
  utm_mediums: ['utm_medium'],
  utm_campaigns: ['utm_campaign'],
  utm_terms: ['utm_term'],
  utm_contents: ['utm_content'],
  top_links: ['id'],
  top_domains: ['domain'],
  top_folders: ['folderId'],
  top_link_tags: ['tagId'],
  top_partners: ['partnerId'],
  top_groups: ['groupId'],
  top_partner_tags: ['partnerTagId'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type GroupBy = keyof typeof GROUPINGS;

export const MAX_GROUPS = 5_000;

export interface AggregateQuery extends Query {
  readonly event: EventKind | 'composite';
  readonly groupBy: GroupBy;
  /** For `timeseries`: where each stretch of time begins, ascending. The last one ends with the window. */
  readonly buckets?: readonly number[];
}

/**
 * `count`: one row. `timeseries`: one per bucket, in their order. Otherwise the largest groups first, at most
 * MAX_GROUPS; a group is there if any of the counted events is in it. What `event` does not count is 0.
 */
export interface AggregateRow {
  /** By the names in GROUPINGS. */
  readonly group: Readonly<Record<string, string>>;
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  /** In US cents. */
  readonly saleAmount: number;
}

/** What the rest of the server asks events with. Aborting stops the work for it. */
export interface EventReader {
  list<K extends EventKind>(query: ListQuery<K>, signal?: AbortSignal): Promise<readonly EventRecords[K][]>;
  aggregate(query: AggregateQuery, signal?: AbortSignal): Promise<readonly AggregateRow[]>;
}
