// The operations that count events: for callers with a key, for older clients by path, as a file, and those that
// are open to the public.
import { z } from 'zod';
import { type Actor, type Operation, operation, repliesWith, requires } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { Analytics, AnalyticsParams } from './analytics.ts';
import { type ExportAnalytics, ZIP_TYPE } from './analytics-export.ts';
import { analyticsSchema } from './analytics-rows.ts';
import { clickParams, filterParams, timeParams } from './event-params.ts';
import type { EventQuestions } from './event-questions.ts';
import { PUBLIC_GROUPINGS, type PublicStatistics } from './public-statistics.ts';
import { EVENT_KINDS, GROUPINGS, type GroupBy } from './query.ts';

const EVENTS = [...EVENT_KINDS, 'composite'] as const;
const GROUP_NAMES = Object.keys(GROUPINGS) as [GroupBy, ...GroupBy[]];
const EXPORT_WINDOW = { limit: 1, windowMs: 30_000, by: 'workspace' } as const;
const PUBLIC_WINDOW = { limit: 120, windowMs: 60_000, by: 'ip' } as const;

const event = z
  .enum(EVENTS)
  .default('clicks')
  .describe('What is counted; composite: clicks, leads and sales side by side.');
const groupBy = z
  .enum([...GROUP_NAMES, 'trigger'])
  .default('count')
  .describe('What the numbers are grouped by; trigger is an older name of triggers.');

const analyticsQuery = z.object({ event, groupBy, ...filterParams, ...timeParams });
type AnalyticsQuery = z.output<typeof analyticsQuery>;
const exportQuery = z.object({ ...filterParams, ...timeParams });
const publicQuery = z.object({
  domain: z.string().optional().describe('The domain of the link.'),
  key: z.string().optional().describe('The key of the link.'),
  folderId: z.string().optional().describe('A folder; none has public statistics yet.'),
  groupBy: z.enum(PUBLIC_GROUPINGS).default('count').describe('What the clicks are grouped by.'),
  ...clickParams,
  ...timeParams,
});

/** Names that older clients use in paths, beside those of today. */
const OLD_GROUPINGS: Readonly<Record<string, GroupBy>> = {
  clicks: 'count',
  country: 'countries',
  city: 'cities',
  device: 'devices',
  browser: 'browsers',
  trigger: 'triggers',
  referer: 'referers',
};

const groupOf = (name: GroupBy | 'trigger'): GroupBy => (name === 'trigger' ? 'triggers' : name);

function findGrouping(name: string): GroupBy | undefined {
  if (Object.hasOwn(GROUPINGS, name)) return name as GroupBy;
  return Object.hasOwn(OLD_GROUPINGS, name) ? OLD_GROUPINGS[name] : undefined;
}

/** One part of a path is a kind of event or a grouping; of two, the second is the grouping. */
function readPath(path: readonly string[]): Partial<Pick<AnalyticsParams, 'event' | 'groupBy'>> {
  const [first, second] = path as [string, string | undefined];
  const named = EVENTS.find((name) => name === first);
  if (named && second === undefined) return { event: named };
  const grouping = findGrouping(second ?? first);
  if (!grouping || (second !== undefined && !named))
    throw new AppError('not_found', `There are no statistics of ${path.join('/')}.`);
  return named ? { event: named, groupBy: grouping } : { groupBy: grouping };
}

export interface AnalyticsOperationsParts {
  readonly analytics: Analytics;
  readonly exportAnalytics: ExportAnalytics;
  readonly publicStatistics: PublicStatistics;
  readonly eventQuestions: EventQuestions;
}

export function analyticsOperations(parts: AnalyticsOperationsParts): Operation[] {
  const { analytics, exportAnalytics, publicStatistics, eventQuestions } = parts;
  const common = {
    method: 'GET',
    group: 'Analytics',
    access: requires('analytics.read', 'pro'),
    before: eventQuestions.assertWithinUsage,
  } as const;
  return [
    operation({
      ...common,
      id: 'retrieveAnalytics',
      path: '/analytics',
      summary: 'Retrieve statistics',
      description: 'Numbers of clicks, leads and sales, added up or grouped. All filters must match.',
      rate: 'analytics',
      query: analyticsQuery,
      response: { status: 200, description: 'One object for count, else a list.', schema: analyticsSchema },
      run: ({ query, request }, actor) =>
        analytics.retrieve(actor, { ...query, groupBy: groupOf(query.groupBy) }, request.signal),
    }),
    operation({
      ...common,
      id: 'exportAnalytics',
      path: '/analytics/export',
      summary: 'Download statistics',
      description: 'A ZIP file with one CSV file for each grouping that is not empty. Once in 30 seconds.',
      throttle: EXPORT_WINDOW,
      query: exportQuery,
      response: { status: 200, description: 'The file.', ...repliesWith(ZIP_TYPE) },
      run: ({ query, request }, actor) => exportAnalytics(actor, query, request.signal),
    }),
    operation({
      id: 'retrievePublicAnalytics',
      method: 'GET',
      path: '/analytics/dashboard',
      group: 'Analytics',
      summary: 'Retrieve the public statistics of a link',
      description: 'Clicks of a link with publicStats. No key is needed; answers may be a minute old.',
      access: { by: 'nobody' },
      throttle: PUBLIC_WINDOW,
      query: publicQuery,
      response: { status: 200, description: 'One object for count, else a list.', schema: analyticsSchema },
      run: ({ query: { domain, key, folderId, groupBy: by, interval, start, end, timezone, ...filters } }) =>
        publicStatistics.retrieve({
          domain,
          key,
          folderId,
          groupBy: by,
          interval,
          start,
          end,
          timezone,
          filters,
        }),
    }),
    ...pathOperations(common, analytics),
  ];
}

type Common = Pick<Operation, 'group'> & {
  readonly method: 'GET';
  readonly access: ReturnType<typeof requires>;
  readonly before: EventQuestions['assertWithinUsage'];
};

/** How older clients ask. */
function pathOperations(common: Common, analytics: Analytics): Operation[] {
  const shared = {
    ...common,
    rate: 'analytics',
    description: 'Kept for older clients; use GET /analytics. Of clicks, count is a bare number.',
    query: analyticsQuery,
    response: {
      status: 200,
      description: 'As of GET /analytics.',
      schema: z.union([z.number(), analyticsSchema]),
    },
  } as const;
  const eventType = z.string().describe('What is counted, or what it is grouped by.');
  const endpoint = z.string().describe('What the numbers are grouped by.');

  async function run(actor: Actor, path: readonly string[], query: AnalyticsQuery, signal: AbortSignal) {
    const asked = { ...query, ...readPath(path) };
    const params = { ...asked, groupBy: groupOf(asked.groupBy) };
    const answer = await analytics.retrieve(actor, params, signal);
    return params.event === 'clicks' && !Array.isArray(answer) ? answer.clicks : answer;
  }

  return [
    operation({
      ...shared,
      id: 'retrieveAnalyticsOf',
      path: '/analytics/{eventType}',
      summary: 'Retrieve statistics by event or grouping',
      params: z.object({ eventType }),
      run: ({ params, query, request }, actor) => run(actor, [params.eventType], query, request.signal),
    }),
    operation({
      ...shared,
      id: 'retrieveAnalyticsOfBy',
      path: '/analytics/{eventType}/{endpoint}',
      summary: 'Retrieve statistics by event and grouping',
      params: z.object({ eventType, endpoint }),
      run: ({ params, query, request }, actor) =>
        run(actor, [params.eventType, params.endpoint], query, request.signal),
    }),
  ];
}
