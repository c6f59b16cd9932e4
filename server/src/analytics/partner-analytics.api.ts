// Statistics of one partner over HTTP: for the seller by key, and for the partner by its embed token.
import { z } from 'zod';
import { type Actor, type Operation, operation } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { type Link, shortLink } from '../links/link.ts';
import { EMBEDDED } from '../partners/embed.api.ts';
import type { Enrolments, PartnerWish } from '../partners/enrolments.ts';
import { ANYBODY, partnerWish } from '../partners/partner-fields.ts';
import type { Programs } from '../partners/programs.ts';
import { topLinkShape } from './analytics-rows.ts';
import { INTERVALS } from './buckets.ts';
import { conversionParams, timeParams } from './event-params.ts';
import { PARTNER_GROUPINGS, type PartnerAnalytics } from './partner-analytics.ts';
import { EVENT_KINDS, type EventKind, type EventRecords } from './query.ts';

const numbers = {
  clicks: z.number(),
  leads: z.number(),
  sales: z.number(),
  saleAmount: z.number().describe('In cents.'),
  earnings: z.number().describe('What the partner has earned by sales, in cents.'),
};
const countSchema = z.strictObject(numbers).meta({ description: 'For count: the sums.' });
const start = z.string().describe('When the hour, day or month began, with its offset from UTC.');
const analyticsSchema = z.union([
  countSchema,
  z.array(z.strictObject({ start, ...numbers })),
  z.array(z.strictObject({ ...topLinkShape, ...numbers })),
]);

const time = {
  ...timeParams,
  interval: z
    .enum(INTERVALS)
    .default('all')
    .describe('The time up to now that counts; ignored where start is given.'),
};
const groupBy = z.enum(PARTNER_GROUPINGS).default('count').describe('What the numbers are grouped by.');
const { query: metadata } = conversionParams;
const statistics = { groupBy, ...time, query: metadata };

const { page, pageSize } = listQuery({ sortBy: ['createdAt'] });

const eventSchema = z.object({
  id: z.string(),
  event: z.enum(EVENT_KINDS),
  timestamp: z.iso.datetime(),
  eventName: z.string().nullable(),
  amount: z.number().nullable().describe('Of a sale, in cents.'),
  country: z.string(),
  device: z.string(),
  browser: z.string(),
  os: z.string(),
  referer: z.string(),
  link: z.object({ id: z.string(), shortLink: z.string(), url: z.string() }),
});

export interface PartnerAnalyticsOperationsParts {
  readonly partnerAnalytics: PartnerAnalytics;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
}

export function partnerAnalyticsOperations(parts: PartnerAnalyticsOperationsParts): Operation[] {
  const { partnerAnalytics, programs, enrolments } = parts;

  async function partnerOf(actor: Actor, wish: PartnerWish) {
    return enrolments.get(await programs.getOfWorkspace(actor.workspaceId), wish);
  }

  return [
    operation({
      id: 'retrievePartnerAnalytics',
      method: 'GET',
      path: '/partners/analytics',
      group: 'Partners',
      summary: 'Retrieve the statistics of a partner',
      access: ANYBODY,
      rate: 'analytics',
      query: z.object({ ...partnerWish, ...statistics }),
      response: { status: 200, description: 'One object for count, else a list.', schema: analyticsSchema },
      run: async ({ query, request }, actor) =>
        (await partnerAnalytics.retrieve(await partnerOf(actor, query), query, request.signal)) as Statistics,
    }),
    ...embeddedOperations(partnerAnalytics),
  ];
}

function embeddedOperations(partnerAnalytics: PartnerAnalytics): Operation[] {
  const common = { ...EMBEDDED, method: 'GET', cors: 'GET' } as const;
  return [
    operation({
      ...common,
      id: 'retrieveEmbedAnalytics',
      path: '/embed/referrals/analytics',
      summary: 'Retrieve your own statistics',
      query: z.object(statistics),
      response: { status: 200, description: 'One object for count, else a list.', schema: analyticsSchema },
      run: async ({ query, request }, actor) =>
        (await partnerAnalytics.retrieve(actor, query, request.signal)) as Statistics,
    }),
    operation({
      ...common,
      id: 'retrieveEmbedEarnings',
      path: '/embed/referrals/earnings/timeseries',
      summary: 'Retrieve what you have earned over time',
      query: z.object(time),
      response: {
        status: 200,
        description: 'One row per hour, day or month.',
        schema: z.array(z.object({ start, earnings: z.number().describe('In cents.') })),
      },
      run: ({ query, request }, actor) => partnerAnalytics.earningsOverTime(actor, query, request.signal),
    }),
    operation({
      ...common,
      id: 'listEmbedEvents',
      path: '/embed/referrals/events',
      summary: 'List clicks, leads or sales of your own links',
      description: 'The newest first. Who the visitors and customers are is not shown.',
      query: z.object({
        event: z.enum(EVENT_KINDS).default('leads').describe('What is listed.'),
        ...time,
        page,
        pageSize,
      }),
      response: { status: 200, description: 'The events.', schema: z.array(eventSchema) },
      run: async ({ query, request }, actor) => {
        const events = await partnerAnalytics.listEvents(actor, query, request.signal);
        return events.map(({ record, link }) => presentEvent(query.event, record, link));
      },
    }),
  ];
}

type Statistics = z.input<typeof analyticsSchema>;

function presentEvent(
  event: EventKind,
  record: EventRecords[EventKind],
  link: Link,
): z.input<typeof eventSchema> {
  const { country, device, browser, os, referer } = 'click' in record ? record.click : record;
  return {
    id: record.id,
    event,
    timestamp: isoTime(record.timeMs),
    eventName: 'eventName' in record ? record.eventName : null,
    amount: 'amount' in record ? record.amount : null,
    country,
    device,
    browser,
    os,
    referer,
    link: { id: link.id, shortLink: shortLink(link.domain, link.key), url: link.url },
  };
}
