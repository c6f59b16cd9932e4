// A link as clients see it, in answers and in events.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import { tagSchema } from '../tags/tag.api.ts';
import { type Link, shortLink } from './link.ts';

const time = z.iso.datetime();
const textOrNull = z.string().nullable();

export const linkSchema = z
  .object({
    id: z.string().describe('The id of the link.'),
    domain: z.string(),
    key: z.string().describe('The key; _root for the root of a domain.'),
    url: z.string().describe('The destination.'),
    trackConversion: z.boolean(),
    externalId: textOrNull,
    tenantId: textOrNull,
    programId: textOrNull,
    partnerId: textOrNull,
    archived: z.boolean(),
    expiresAt: time.nullable(),
    expiredUrl: textOrNull,
    disabledAt: time.nullable(),
    password: textOrNull,
    proxy: z.boolean(),
    title: textOrNull,
    description: textOrNull,
    image: textOrNull,
    video: textOrNull,
    rewrite: z.boolean(),
    doIndex: z.boolean(),
    ios: textOrNull,
    android: textOrNull,
    geo: z.record(z.string(), z.string()).nullable(),
    publicStats: z.boolean(),
    tags: z.array(tagSchema).nullable(),
    folderId: textOrNull,
    webhookIds: z.array(z.string()),
    comments: textOrNull,
    shortLink: z.string().describe('The whole short address.'),
    qrCode: z.string().describe('The address of the QR code of the short link.'),
    utm_source: textOrNull,
    utm_medium: textOrNull,
    utm_campaign: textOrNull,
    utm_term: textOrNull,
    utm_content: textOrNull,
    testVariants: z
      .array(z.object({ url: z.string(), percentage: z.number().min(10).max(90) }))
      .min(2)
      .max(4)
      .nullable()
      .optional(),
    testStartedAt: time.nullable(),
    testCompletedAt: time.nullable(),
    userId: textOrNull,
    workspaceId: z.string(),
    clicks: z.number(),
    leads: z.number(),
    conversions: z.number(),
    sales: z.number(),
    saleAmount: z.number().describe('In cents.'),
    lastClicked: time.nullable(),
    createdAt: time,
    updatedAt: time,
    tagId: textOrNull.meta({ deprecated: true }),
    projectId: z.string().meta({ deprecated: true }),
  })
  .meta({ id: 'Link', description: 'A link.' });

export type WireLink = z.input<typeof linkSchema>;

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/** `origin` is the address under which the caller, or the public, reaches the service. */
export function presentLink(link: Link, origin: string): WireLink {
  const short = shortLink(link.domain, link.key);
  return {
    id: link.id,
    domain: link.domain,
    key: link.key,
    url: link.url,
    trackConversion: link.trackConversion,
    externalId: link.externalId,
    tenantId: link.tenantId,
    programId: link.programId,
    partnerId: link.partnerId,
    archived: link.archived,
    expiresAt: timeOrNull(link.expiresAt),
    expiredUrl: link.expiredUrl,
    disabledAt: timeOrNull(link.disabledAt),
    password: link.password,
    proxy: link.proxy,
    title: link.title,
    description: link.description,
    image: link.image,
    video: link.video,
    rewrite: link.rewrite,
    doIndex: link.doIndex,
    ios: link.ios,
    android: link.android,
    geo: link.geo,
    publicStats: link.publicStats,
    tags: link.tags.map(({ id, name, color }) => ({ id, name, color })),
    folderId: link.folderId,
    webhookIds: [...link.webhookIds],
    comments: link.comments,
    shortLink: short,
    qrCode: `${origin}/api/qr?url=${short}?qr=1`,
    utm_source: link.utm_source,
    utm_medium: link.utm_medium,
    utm_campaign: link.utm_campaign,
    utm_term: link.utm_term,
    utm_content: link.utm_content,
    testVariants: link.testVariants && [...link.testVariants],
    testStartedAt: timeOrNull(link.testStartedAt),
    testCompletedAt: timeOrNull(link.testCompletedAt),
    userId: link.userId,
    workspaceId: link.workspaceId,
    clicks: link.clicks,
    leads: link.leads,
    conversions: link.conversions,
    sales: link.sales,
    saleAmount: link.saleAmount,
    lastClicked: timeOrNull(link.lastClickedAt),
    createdAt: isoTime(link.createdAt),
    updatedAt: isoTime(link.updatedAt),
    tagId: link.tags[0]?.id ?? null,
    projectId: link.workspaceId,
  };
}
