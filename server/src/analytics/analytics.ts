// Statistics for callers: counts of clicks, leads and sales, added up or grouped, with the links, folders, tags and
// partners of a grouping as they are now. Groups of what no longer exists are left out.
import type { Actor } from '../http/operation.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { type Link, shortLink } from '../links/link.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { type AnalyticsAnswer, type AnalyticsRow, numbersOf, plainRow } from './analytics-rows.ts';
import { formatBucket, granularityOf, listBuckets } from './buckets.ts';
import type { FilterParams, TimeParams } from './event-params.ts';
import { assertPlanIncludes, type EventQuestions, type Question } from './event-questions.ts';
import {
  type AggregateQuery,
  type AggregateRow,
  EVENT_KINDS,
  type EventReader,
  GROUPINGS,
  type GroupBy,
  type Query,
} from './query.ts';

/** Things of a workspace by id; unknown ids are left out. */
export type FindThings<T> = (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Where the things that a grouping is by are found. */
export interface GroupThings {
  readonly findLinks: FindThings<Link>;
  readonly findFolders: FindThings<Named & { accessLevel: string | null }>;
  readonly findTags: FindThings<Named & { color: string }>;
  readonly findPartners: FindThings<
    Named & {
      email: string | null;
      image: string | null;
      payoutsEnabledAt: number | null;
      country: string | null;
    }
  >;
  readonly findGroups: FindThings<Named & { slug: string; color: string | null }>;
  readonly findPartnerTags: FindThings<Named>;
}

export interface AnalyticsParts {
  readonly reader: Pick<EventReader, 'list' | 'aggregate'>;
  readonly questions: Pick<EventQuestions, 'read'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly things: GroupThings;
  readonly clock: Clock;
}

export interface AnalyticsParams extends FilterParams, TimeParams {
  readonly event: AggregateQuery['event'];
  readonly groupBy: GroupBy;
}

/** A row of a time series, and the stretch of time that it is about; both ends inclusive. */
export interface SeriesRow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly row: AnalyticsRow & { readonly start: string };
}

/** Few enough that a statement stays below the engines' limits on parameters. */
const THINGS_PER_LOOKUP = 1_000;

export function createAnalytics({ reader, questions, workspaces, things, clock }: AnalyticsParts) {
  const describers = describe(things);

  /** Rows of a grouping by things, with the things; in the same order. */
  async function withThings(query: AggregateQuery, rows: readonly AggregateRow[]): Promise<AnalyticsRow[]> {
    const { groupBy, workspaceId } = query;
    const find = describers[groupBy];
    if (!find) return rows.map((row) => plainRow(groupBy, row));
    const [name] = GROUPINGS[groupBy] as readonly [string];
    const ids = rows.map(({ group }) => group[name] as string);
    const found = new Map<string, object>();
    for (let start = 0; start < ids.length; start += THINGS_PER_LOOKUP) {
      const part = await find(workspaceId, ids.slice(start, start + THINGS_PER_LOOKUP));
      for (const [id, thing] of part) found.set(id, thing);
    }
    return rows.flatMap((row) => {
      const thing = found.get(row.group[name] as string);
      return thing ? [{ ...row.group, ...thing, ...numbersOf(row) }] : [];
    });
  }

  async function series(
    question: Question,
    event: AggregateQuery['event'],
    signal: AbortSignal | undefined,
  ): Promise<SeriesRow[]> {
    const { zone, interval } = question;
    const query = interval === 'all' ? await fromBeginning(question.query, event, signal) : question.query;
    const granularity = granularityOf(query, interval, zone);
    const buckets = listBuckets(query, granularity, zone);
    const rows = await reader.aggregate({ ...query, event, groupBy: 'timeseries', buckets }, signal);
    return rows.map((row, i) => ({
      fromMs: Math.max(query.fromMs, buckets[i] as number),
      toMs: (buckets[i + 1] ?? query.toMs + 1) - 1,
      row: { start: formatBucket(buckets[i] as number, granularity, zone), ...numbersOf(row) },
    }));
  }

  /** All time begins with the workspace, or with events that are older because they were brought along. */
  async function fromBeginning(
    query: Query,
    event: AggregateQuery['event'],
    signal: AbortSignal | undefined,
  ) {
    const { createdAt } = await workspaces.get(query.workspaceId);
    const kinds = event === 'composite' ? EVENT_KINDS : [event];
    const firsts = await Promise.all(
      kinds.map((kind) => reader.list({ ...query, kind, order: 'asc', limit: 1, offset: 0 }, signal)),
    );
    return { ...query, fromMs: Math.min(createdAt, ...firsts.flat().map(({ timeMs }) => timeMs)) };
  }

  async function answer(
    question: Question,
    { event, groupBy }: Pick<AnalyticsParams, 'event' | 'groupBy'>,
    signal?: AbortSignal,
  ): Promise<AnalyticsAnswer> {
    if (groupBy === 'timeseries') return (await series(question, event, signal)).map(({ row }) => row);
    const query = { ...question.query, event, groupBy };
    const rows = await reader.aggregate(query, signal);
    return groupBy === 'count' ? numbersOf(rows[0] as AggregateRow) : withThings(query, rows);
  }

  /** What is asked for, as far as the caller may ask it. */
  async function open(actor: Actor, params: FilterParams & TimeParams): Promise<Question> {
    const question = await questions.read(actor, params);
    if (params.programId || question.interval === 'all') {
      const workspace = await workspaces.get(actor.workspaceId);
      if (params.programId) assertProgram(workspace, params.programId);
      assertPlanIncludes(workspace, question, clock.now());
    } else assertPlanIncludes({ plan: actor.plan, createdAt: 0 }, question, clock.now());
    return question;
  }

  return {
    open,
    answer,
    series,
    retrieve: async (actor: Actor, params: AnalyticsParams, signal?: AbortSignal): Promise<AnalyticsAnswer> =>
      answer(await open(actor, params), params, signal),
  };
}

export type Analytics = ReturnType<typeof createAnalytics>;

function assertProgram({ defaultProgramId }: Workspace, programId: string): void {
  if (defaultProgramId === null) throw new AppError('not_found', 'This workspace has no program.');
  if (defaultProgramId !== programId)
    throw new AppError('forbidden', 'This program does not belong to the workspace.');
}

/** By the way to group: what a row says of the thing behind an id. */
function describe(things: GroupThings): Readonly<Partial<Record<GroupBy, FindThings<object>>>> {
  return {
    top_links: described(things.findLinks, describeLink),
    top_folders: described(things.findFolders, ({ id, name, accessLevel }) => ({
      folder: { id, name, accessLevel },
    })),
    top_link_tags: described(things.findTags, ({ id, name, color }) => ({ tag: { id, name, color } })),
    top_partners: described(
      things.findPartners,
      ({ id, name, email, image, payoutsEnabledAt: enabledAt, country }) => {
        const payoutsEnabledAt = enabledAt === null ? null : isoTime(enabledAt);
        return { partner: { id, name, email, image, payoutsEnabledAt, country } };
      },
    ),
    top_groups: described(things.findGroups, ({ id, name, slug, color }) => ({
      group: { id, name, slug, color },
    })),
    top_partner_tags: described(things.findPartnerTags, ({ id, name }) => ({ partnerTag: { id, name } })),
  };
}

function described<T>(find: FindThings<T>, show: (thing: T) => object): FindThings<object> {
  return async (workspaceId, ids) => {
    const found = await find(workspaceId, ids);
    return new Map(Array.from(found, ([id, thing]) => [id, show(thing)]));
  };
}

export function describeLink({
  id,
  domain,
  key,
  url,
  title,
  comments,
  folderId,
  partnerId,
  createdAt,
}: Link) {
  return {
    link: id,
    id,
    domain,
    key,
    shortLink: shortLink(domain, key),
    url,
    title,
    comments,
    folderId,
    partnerId,
    createdAt: isoTime(createdAt),
  };
}
