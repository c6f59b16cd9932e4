// The query parameters that lists, statistics, exports and the stream of events share, and what they ask for.
// Which links, folders and programs a caller may name is not decided here.
import { z } from 'zod';
import { invalid } from '../kernel/errors.ts';
import { readListFilter } from '../kernel/list-filter.ts';
import type { LinkName } from '../links/links.ts';
import { readNameFilter } from './advanced-filter.ts';
import { INTERVALS } from './buckets.ts';
import { parseMetadataQuery } from './metadata-query.ts';
import type { EventField, Filter, LinkField, Query } from './query.ts';
import { findTimeZone } from './time-zone.ts';

const MAX_QUERY_LENGTH = 10_000;

const several = 'One value, several separated by commas for any of them, or a leading - to exclude them all.';
const filter = (what: string) => z.string().optional().describe(`${what} ${several}`);
const text = (what: string) => z.string().optional().describe(what);
const flag = (what: string) => z.boolean().optional().describe(what);

/** Narrow by what the link is now. */
const linkParams = {
  domain: filter('The domain of the link.'),
  key: text('The key of the link. Needs domain.'),
  linkId: filter('The id of the link.'),
  externalId: text('Your own id of the link, with ext_ before it.'),
  tenantId: filter('The tenant that the link belongs to.'),
  tagId: filter('A tag of the link.'),
  folderId: filter('The folder of the link. Without it, links in all folders count.'),
  partnerTagId: filter('A tag of the partner that the link belongs to.'),
  groupId: filter('The group of the partner that the link belongs to.'),
  partnerId: filter('The partner that the link belongs to.'),
  root: flag('true: only links at the root of a domain; false: only others.'),
  tagIds: filter('Use tagId.').meta({ deprecated: true }),
  programId: text('The program of the link.').meta({ deprecated: true }),
};

/** Narrow by what was recorded with the click. */
export const clickParams = {
  country: filter('The country, two letters as in ISO 3166-1.'),
  city: filter('The city.'),
  region: filter('The region as in ISO 3166-2, with or without its country: US-CA or CA.'),
  continent: filter('The continent: AF, AN, AS, EU, NA, OC or SA.'),
  device: filter('The kind of device, such as Desktop, Mobile or Tablet.'),
  browser: filter('The browser.'),
  os: filter('The operating system.'),
  trigger: filter('How the click came about: qr, link, pageview or deeplink.'),
  referer: filter('The host that the visitor came from, or (direct).'),
  refererUrl: filter('The address that the visitor came from, without its query.'),
  url: filter('The destination, without its query.'),
  utm_source: filter('The utm_source of the destination.'),
  utm_medium: filter('The utm_medium of the destination.'),
  utm_campaign: filter('The utm_campaign of the destination.'),
  utm_term: filter('The utm_term of the destination.'),
  utm_content: filter('The utm_content of the destination.'),
  qr: flag('Use trigger. true: only scans of QR codes; false: only other clicks.').meta({ deprecated: true }),
};

export const conversionParams = {
  customerId: text('The id of a customer: its leads and sales, or the clicks before its leads.'),
  saleType: z
    .enum(['new', 'recurring'])
    .optional()
    .describe('For sales: only the first of a customer by a link, or only later ones.'),
  query: z
    .string()
    .max(MAX_QUERY_LENGTH)
    .optional()
    .describe("For leads and sales: a search in their metadata, such as metadata['plan']:'pro'."),
};

export const timeParams = {
  interval: z
    .enum(INTERVALS)
    .default('24h')
    .describe('The time up to now that counts; ignored where start is given.'),
  start: text(
    'The first moment, such as 2027-01-15, 2027-01-15T10:00:00Z or 2 hours ago. A day counts whole.',
  ),
  end: text('The last moment, together with start. Now by default.'),
  timezone: z
    .string()
    .refine((name) => findTimeZone(name) !== undefined, 'must be the IANA name of a time zone')
    .default('UTC')
    .describe('The time zone in which days, weeks and months begin.'),
};

export const filterParams = { ...linkParams, ...clickParams, ...conversionParams };

const filterShape = z.object(filterParams);
const timeShape = z.object(timeParams);
export type FilterParams = z.output<typeof filterShape>;
export type TimeParams = z.output<typeof timeShape>;

type Conditions = Omit<Query, 'workspaceId' | 'fromMs' | 'toMs' | 'fixedLinkId' | 'hiddenFolderIds'>;

/** The conditions that the parameters state by themselves. */
export function readConditions(params: FilterParams): Conditions {
  return withoutUndefined({
    ...linkFilters(params),
    ...clickFilters(params),
    root: params.root,
    // A scan is the trigger qr, so a trigger says all there is to say.
    qr: readListFilter(params.trigger) ? undefined : params.qr,
    customerId: params.customerId || undefined,
    saleType: params.saleType,
    metadata: params.query === undefined ? undefined : parseMetadataQuery(params.query),
  });
}

function linkFilters(params: FilterParams): Partial<Record<LinkField, Filter | undefined>> {
  return {
    linkId: readListFilter(params.linkId),
    // With a key it names the one link.
    domain: params.key ? undefined : readListFilter(params.domain),
    folderId: readListFilter(params.folderId),
    tagId: readListFilter(params.tagId) ?? readListFilter(params.tagIds),
    tenantId: readListFilter(params.tenantId),
    partnerId: readListFilter(params.partnerId),
    groupId: readListFilter(params.groupId),
    partnerTagId: readListFilter(params.partnerTagId),
    programId: params.programId ? { not: false, values: [params.programId] } : undefined,
  };
}

function clickFilters(params: FilterParams): Partial<Record<EventField, Filter | undefined>> {
  return {
    country: readListFilter(params.country),
    region: readListFilter(params.region),
    city: readListFilter(params.city),
    continent: readListFilter(params.continent),
    device: readNameFilter(params.device),
    browser: readNameFilter(params.browser),
    os: readNameFilter(params.os),
    trigger: readListFilter(params.trigger),
    referer: readListFilter(params.referer),
    refererUrl: readListFilter(params.refererUrl),
    url: readListFilter(params.url),
    utmSource: readListFilter(params.utm_source),
    utmMedium: readListFilter(params.utm_medium),
    utmCampaign: readListFilter(params.utm_campaign),
    utmTerm: readListFilter(params.utm_term),
    utmContent: readListFilter(params.utm_content),
  };
}

/** How the one link that a question is about was named, if in another way than by its id. */
export function readLinkName(params: FilterParams): LinkName | undefined {
  const { key, externalId } = params;
  const domain = readListFilter(params.domain);
  if (key && (!domain || domain.not)) throw invalid('key', 'must be used together with one domain');
  if (readListFilter(params.linkId)) return undefined;
  if (externalId) return { externalId };
  return key ? { domain: domain?.values[0] as string, key } : undefined;
}

function withoutUndefined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}
