// The naive answer to every query, over plain arrays and in plain TypeScript: what the engines have to agree with.
// It shares nothing with the compiler but the terms of query.ts and what metadata means.

import type { ClickRecord } from './click-record.ts';
import { UNKNOWN } from './click-record.ts';
import type { LeadRecord, SaleRecord } from './conversion-record.ts';
import type { LinkRow } from './link-row.ts';
import { matchesMetadata, metadataTexts } from './metadata.ts';
import type { PartnerRow } from './partner-row.ts';
import {
  type AggregateQuery,
  type AggregateRow,
  EVENT_KINDS,
  type EventKind,
  type EventReader,
  type EventRecords,
  type Filter,
  GROUPINGS,
  type ListQuery,
  MAX_GROUPS,
  type Query,
} from './query.ts';

export interface Dataset {
  readonly clicks: readonly ClickRecord[];
  readonly leads: readonly LeadRecord[];
  readonly sales: readonly SaleRecord[];
  readonly links: readonly LinkRow[];
  readonly partners: readonly PartnerRow[];
}

/** An event of any kind. */
interface Seen {
  readonly kind: EventKind;
  readonly record: ClickRecord | LeadRecord | SaleRecord;
  readonly click: ClickRecord;
  readonly link: LinkRow | undefined;
  readonly partner: PartnerRow | undefined;
}

export function createOracle(data: Dataset): EventReader {
  const all = { clicks: seen('clicks', data), leads: seen('leads', data), sales: seen('sales', data) };
  const see = (kind: EventKind, query: Query) => all[kind].filter((event) => matches(event, query, data));
  return {
    async list<K extends EventKind>(query: ListQuery<K>) {
      const sign = query.order === 'asc' ? 1 : -1;
      const records = see(query.kind, query)
        .map(({ record }) => record)
        .sort((a, b) => sign * compare(a, b));
      const { after } = query;
      const rest = after ? records.filter((record) => sign * compare(record, after) > 0) : records;
      const start = after ? 0 : query.offset;
      return rest.slice(start, start + query.limit) as EventRecords[K][];
    },
    async aggregate(query) {
      const kinds = query.event === 'composite' ? EVENT_KINDS : [query.event];
      const events = kinds.flatMap((kind) => see(kind, query));
      return query.groupBy === 'timeseries' ? countTimes(events, query) : countGroups(events, query);
    },
  };
}

function seen(kind: EventKind, data: Dataset): Seen[] {
  return data[kind].map((record) => {
    const link = data.links.find(({ id }) => id === record.linkId);
    const partner = data.partners.find(
      (row) =>
        link && row.workspaceId === link.workspaceId && row.partnerId === link.partnerId && !row.deleted,
    );
    return { kind, record, click: 'click' in record ? record.click : record, link, partner };
  });
}

function matches(event: Seen, query: Query, data: Dataset): boolean {
  const { record } = event;
  return (
    record.workspaceId === query.workspaceId &&
    record.timeMs >= query.fromMs &&
    record.timeMs <= query.toMs &&
    matchesLink(event, query) &&
    matchesClick(event, query) &&
    matchesCustomer(event, query, data) &&
    matchesSaleType(event, query, data) &&
    matchesQueryText(event, query)
  );
}

function matchesLink({ record, link, partner }: Seen, query: Query): boolean {
  if (link?.deleted) return false;
  if (!passes([record.linkId], query.linkId)) return false;
  if (query.fixedLinkId !== undefined && record.linkId !== query.fixedLinkId) return false;
  const { domain, folderId, tagId, tenantId, partnerId, groupId, partnerTagId, programId, root } = query;
  const hidden = query.hiddenFolderIds ?? [];
  const asks = [domain, folderId, tagId, tenantId, partnerId, groupId, partnerTagId, programId, root];
  if (!link) return asks.every((part) => part === undefined) && hidden.length === 0;
  return (
    passes([link.domain], domain) &&
    passes([link.folderId], folderId) &&
    passes(link.tagIds, tagId) &&
    passes([link.tenantId], tenantId) &&
    passes([link.partnerId], partnerId) &&
    passes(partner ? [partner.groupId] : [], groupId) &&
    passes(partner?.tagIds ?? [], partnerTagId) &&
    passes([link.programId], programId) &&
    (root === undefined || link.root === root) &&
    !hidden.includes(link.folderId)
  );
}

function matchesClick({ click }: Seen, query: Query): boolean {
  return (
    passes([click.country], query.country) &&
    passes([click.region, `${click.country}-${click.region}`], query.region) &&
    passes([click.city], query.city) &&
    passes([click.continent], query.continent) &&
    passes([click.device], query.device) &&
    passes([click.browser], query.browser) &&
    passes([click.os], query.os) &&
    passes([click.trigger], query.trigger) &&
    passes([click.referer], query.referer) &&
    passes([cut(click.refererUrl)], query.refererUrl) &&
    passes([cut(click.url)], query.url) &&
    passes([click.utmSource], query.utmSource) &&
    passes([click.utmMedium], query.utmMedium) &&
    passes([click.utmCampaign], query.utmCampaign) &&
    passes([click.utmTerm], query.utmTerm) &&
    passes([click.utmContent], query.utmContent) &&
    (query.qr === undefined || click.qr === query.qr)
  );
}

function matchesCustomer({ record, click }: Seen, { customerId }: Query, { leads }: Dataset): boolean {
  if (customerId === undefined) return true;
  if ('customerId' in record) return record.customerId === customerId;
  return leads.some(
    (lead) =>
      lead.workspaceId === click.workspaceId && lead.customerId === customerId && lead.click.id === click.id,
  );
}

function matchesSaleType({ kind, record }: Seen, { saleType }: Query, { sales }: Dataset): boolean {
  if (saleType === undefined || kind !== 'sales' || !('customerId' in record)) return true;
  const same = sales.filter(
    (sale) =>
      sale.workspaceId === record.workspaceId &&
      sale.linkId === record.linkId &&
      sale.customerId === record.customerId,
  );
  const first = Math.min(...same.map(({ timeMs }) => timeMs));
  return (record.timeMs === first) === (saleType === 'new');
}

function matchesQueryText({ record }: Seen, { metadata }: Query): boolean {
  if (!metadata || !('metadata' in record)) return true;
  return matchesMetadata(metadata, metadataTexts(record.metadata));
}

function passes(has: readonly string[], filter: Filter | undefined): boolean {
  return !filter || has.some((value) => filter.values.includes(value)) !== filter.not;
}

function cut(url: string): string {
  return url.split('?')[0] ?? '';
}

function withoutClickId({ id, url }: ClickRecord): string {
  const given = `dub_id=${id}`;
  return url.replace(`?${given}&`, '?').replace(`&${given}`, '').replace(`?${given}`, '');
}

/** By time, then by the bytes of the id. */
function compare(a: { timeMs: number; id: string }, b: { timeMs: number; id: string }): number {
  return a.timeMs - b.timeMs || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}

type Counted = { -readonly [K in keyof AggregateRow]: AggregateRow[K] };

const emptyRow = (group: AggregateRow['group']): Counted => ({
  group,
  clicks: 0,
  leads: 0,
  sales: 0,
  saleAmount: 0,
});

function add(row: Counted, { kind, record }: Seen): void {
  row[kind] += 1;
  if ('amount' in record) row.saleAmount += record.amount;
}

function countTimes(events: readonly Seen[], { buckets = [] }: AggregateQuery): AggregateRow[] {
  const rows = buckets.map(() => emptyRow({}));
  for (const event of events) {
    const row = rows[buckets.findLastIndex((start) => start <= event.record.timeMs)];
    if (row) add(row, event);
  }
  return rows;
}

function countGroups(events: readonly Seen[], query: AggregateQuery): AggregateRow[] {
  const rows = new Map<string, Counted>();
  if (query.groupBy === 'count') rows.set('[]', emptyRow({}));
  for (const event of events) {
    for (const values of groupsOf(event, query)) {
      const key = JSON.stringify(values);
      const names = GROUPINGS[query.groupBy];
      const row =
        rows.get(key) ?? emptyRow(Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])));
      rows.set(key, row);
      add(row, event);
    }
  }
  return [...rows.values()].sort((a, b) => compareRows(a, b, query)).slice(0, MAX_GROUPS);
}

const LINK_GROUPINGS = [
  'top_domains',
  'top_folders',
  'top_link_tags',
  'top_partners',
  'top_groups',
  'top_partner_tags',
];

function compareRows(a: AggregateRow, b: AggregateRow, { event, groupBy }: AggregateQuery): number {
  const money = b.saleAmount - a.saleAmount;
  const ofLinks = LINK_GROUPINGS.includes(groupBy);
  const size = {
    clicks: b.clicks - a.clicks,
    leads: b.leads - a.leads,
    sales: money,
    composite: (ofLinks ? money : 0) || b.clicks - a.clicks,
  }[event];
  const names = ({ group }: AggregateRow) => Buffer.from(Object.values(group).join('\0'));
  return size || Buffer.compare(names(a), names(b));
}

/** The groups that an event is in, each by its values. */
function groupsOf({ record, click, link, partner }: Seen, { groupBy }: AggregateQuery): string[][] {
  const { country, city } = click;
  const region = `${country}-${click.region || UNKNOWN}`;
  const known = (...values: string[]) => values.every((value) => value !== '' && value !== UNKNOWN);
  const one = (value: string) => (known(value) ? [[value]] : []);
  const each = (values: readonly string[] = []) =>
    values.filter((value) => value !== '').map((value) => [value]);
  const groups: Record<string, () => string[][]> = {
    count: () => [[]],
    continents: () => one(click.continent),
    countries: () => one(country),
    regions: () => (known(country) ? [[country, region]] : []),
    cities: () => (known(country, city) ? [[country, region, city]] : []),
    devices: () => one(click.device),
    browsers: () => one(click.browser),
    os: () => one(click.os),
    triggers: () => one(click.trigger),
    referers: () => one(click.referer),
    referer_urls: () => one(cut(click.refererUrl)),
    top_urls: () => one(withoutClickId(click)),
    top_base_urls: () => one(cut(click.url)),
    utm_sources: () => one(click.utmSource),
    utm_mediums: () => one(click.utmMedium),
    utm_campaigns: () => one(click.utmCampaign),
    utm_terms: () => one(click.utmTerm),
    utm_contents: () => one(click.utmContent),
    top_links: () => [[record.linkId]],
    top_domains: () => each(link && [link.domain]),
    top_folders: () => each(link && [link.folderId]),
    top_link_tags: () => each(link?.tagIds),
    top_partners: () => each(link && [link.partnerId]),
    top_groups: () => each(partner && [partner.groupId]),
    top_partner_tags: () => each(partner?.tagIds),
  };
  return groups[groupBy]?.() ?? [];
}
