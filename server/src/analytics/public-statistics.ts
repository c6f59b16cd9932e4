// Statistics that anybody may see: those of links whose owner made them public. Clicks only, and nothing about who
// owns the link. Answers are kept for a minute, and questions about the same at once are answered together.
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import type { Links } from '../links/links.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { Analytics } from './analytics.ts';
import type { AnalyticsAnswer } from './analytics-rows.ts';
import { type FilterParams, readConditions, type TimeParams } from './event-params.ts';
import { assertPlanIncludes, readTime } from './event-questions.ts';
import type { GroupBy } from './query.ts';

/** Ways to group that tell nothing of the owner's other links. */
export const PUBLIC_GROUPINGS = [
  'count',
  'timeseries',
  'continents',
  'countries',
  'regions',
  'cities',
  'devices',
  'browsers',
  'os',
  'triggers',
  'referers',
  'referer_urls',
  'top_urls',
  'top_base_urls',
  'utm_sources',
  'utm_mediums',
  'utm_campaigns',
  'utm_terms',
  'utm_contents',
] as const satisfies readonly GroupBy[];

export interface PublicQuestion extends TimeParams {
  readonly domain?: string | undefined;
  readonly key?: string | undefined;
  readonly folderId?: string | undefined;
  readonly groupBy: (typeof PUBLIC_GROUPINGS)[number];
  readonly filters: FilterParams;
}

export interface PublicStatisticsParts {
  readonly analytics: Pick<Analytics, 'answer'>;
  readonly links: Pick<Links, 'findByKey'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly clock: Clock;
}

interface Kept {
  readonly untilMs: number;
  readonly answer: Promise<AnalyticsAnswer>;
}

const KEPT_MS = 60_000;
const MAX_KEPT = 500;
const MAX_ROWS = 500;

export function createPublicStatistics({ analytics, links, workspaces, clock }: PublicStatisticsParts) {
  const kept = createBoundedMap<string, Kept>(MAX_KEPT);

  async function ask(link: Link, question: PublicQuestion): Promise<AnalyticsAnswer> {
    const time = readTime(question, clock.now());
    const conditions = readConditions(question.filters);
    const { workspaceId, id: fixedLinkId } = link;
    const query = { ...conditions, workspaceId, fixedLinkId, ...time.window };
    const asked = { query, zone: time.zone, interval: time.interval };
    assertPlanIncludes(await workspaces.get(workspaceId), asked, clock.now());
    const answer = await analytics.answer(asked, { event: 'clicks', groupBy: question.groupBy });
    return Array.isArray(answer) && question.groupBy !== 'timeseries' ? answer.slice(0, MAX_ROWS) : answer;
  }

  return {
    async retrieve(question: PublicQuestion): Promise<AnalyticsAnswer> {
      const link = await findPublic(links, question);
      const name = JSON.stringify([link.id, question]);
      const known = kept.get(name);
      if (known && known.untilMs > clock.now()) return known.answer;
      const answer = ask(link, question);
      kept.set(name, { untilMs: clock.now() + KEPT_MS, answer });
      answer.catch(() => kept.delete(name));
      return answer;
    },
  };
}

export type PublicStatistics = ReturnType<typeof createPublicStatistics>;

/** Asked each time, so that an owner who takes statistics back need not wait. */
async function findPublic(links: PublicStatisticsParts['links'], question: PublicQuestion): Promise<Link> {
  const { domain, key, folderId } = question;
  if (domain && key) {
    const link = await links.findByKey(domain, key);
    if (!link) throw new AppError('not_found', 'There is no such link.');
    if (!link.publicStats) throw new AppError('forbidden', 'The statistics of this link are not public.');
    return link;
  }
  if (folderId) throw new AppError('forbidden', 'The statistics of this folder are not public.');
  const missing = domain ? 'key' : 'domain';
  throw new AppError('bad_request', `invalid_type: ${missing}: give domain and key, or folderId`);
}
