// The answers of statistics: what a row holds for each way to group, and how rows of the store become such rows.
import { z } from 'zod';
import { TAG_COLORS } from '../tags/tag.ts';
import type { AggregateRow, GroupBy } from './query.ts';

const numbers = {
  clicks: z.number(),
  leads: z.number(),
  sales: z.number(),
  saleAmount: z.number().describe('In US cents.'),
};

export const countSchema = z.strictObject(numbers).meta({ description: 'Without a grouping: the sums.' });

const rows = <S extends z.ZodRawShape>(shape: S) => z.array(z.strictObject({ ...shape, ...numbers }));
const text = z.string();
const textOrNull = z.string().nullable();
const everything = z.literal('*');

/** What a row says of its link. */
export const topLinkShape = {
  link: text.meta({ deprecated: true, description: 'Use id.' }),
  id: text,
  domain: text,
  key: text,
  shortLink: text,
  url: text,
  title: textOrNull,
  comments: textOrNull,
  folderId: textOrNull,
  partnerId: textOrNull,
  createdAt: z.iso.datetime(),
};

/** By the way to group; all but `count` are lists. */
const ROW_SCHEMAS = {
  timeseries: rows({ start: text.describe('When the hour, day or month began, with its offset from UTC.') }),
  continents: rows({ continent: z.enum(['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA']) }),
  countries: rows({ country: text, region: everything, city: everything }),
  regions: rows({ country: text, region: text, city: everything }),
  cities: rows({ country: text, region: text, city: text }),
  devices: rows({ device: text }),
  browsers: rows({ browser: text }),
  os: rows({ os: text }),
  triggers: rows({ trigger: z.enum(['qr', 'link', 'pageview', 'deeplink']) }),
  referers: rows({ referer: text }),
  referer_urls: rows({ refererUrl: text }),
  top_links: rows(topLinkShape),
  top_urls: rows({ url: text }),
  utm_sources: rows({ utm_source: text }),
  utm_mediums: rows({ utm_medium: text }),
  utm_campaigns: rows({ utm_campaign: text }),
  utm_terms: rows({ utm_term: text }),
  utm_contents: rows({ utm_content: text }),
  top_domains: rows({ domain: text }),
  top_folders: rows({
    folderId: text,
    folder: z.strictObject({ id: text, name: text, accessLevel: textOrNull }),
  }),
  top_link_tags: rows({
    tagId: text,
    tag: z.strictObject({ id: text, name: text, color: z.enum(TAG_COLORS) }),
  }),
  top_partners: rows({
    partnerId: text,
    partner: z.strictObject({
      id: text,
      name: text,
      email: textOrNull,
      image: textOrNull,
      payoutsEnabledAt: z.iso.datetime().nullable(),
      country: textOrNull,
    }),
  }),
  top_groups: rows({
    groupId: text,
    group: z.strictObject({ id: text, name: text, slug: text, color: textOrNull }),
  }),
  top_partner_tags: rows({ partnerTagId: text, partnerTag: z.strictObject({ id: text, name: text }) }),
} as const satisfies Readonly<Partial<Record<GroupBy, z.ZodType>>>;

export type Numbers = z.output<typeof countSchema>;
export type AnalyticsRow = Readonly<Record<string, unknown>> & Numbers;
export type AnalyticsAnswer = Numbers | AnalyticsRow[];

export const analyticsSchema: z.ZodType<AnalyticsAnswer, AnalyticsAnswer> = z.union([
  countSchema,
  ...Object.values(ROW_SCHEMAS),
]);

export function numbersOf({ clicks, leads, sales, saleAmount }: AggregateRow): Numbers {
  return { clicks, leads, sales, saleAmount };
}

/** Places that a grouping adds up are marked as such. */
const WHOLE: Readonly<Partial<Record<GroupBy, Readonly<Record<string, string>>>>> = {
  countries: { region: '*', city: '*' },
  regions: { city: '*' },
};

/** A row of a grouping whose values say all there is to say. */
export function plainRow(groupBy: GroupBy, row: AggregateRow): AnalyticsRow {
  return { ...row.group, ...WHOLE[groupBy], ...numbersOf(row) };
}
