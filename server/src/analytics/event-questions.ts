// Turns what a caller asks about events into a query: finds the link that was named, keeps to folders the caller
// may read, and refuses what the plan or the limits of the workspace do not include.
import type { Folders } from '../folders/folders.ts';
import type { Actor, Plan } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { LinkName, Links } from '../links/links.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { Interval } from './buckets.ts';
import { type FilterParams, readConditions, readLinkName, type TimeParams } from './event-params.ts';
import type { Query } from './query.ts';
import { readWindow } from './time-window.ts';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const DAY_MS = 86_400_000;

export interface EventQuestionsParts {
  readonly links: Pick<Links, 'getNamed'>;
  readonly folders: Pick<Folders, 'assertReadable' | 'findHidden'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly clock: Clock;
}

export interface Question {
  readonly query: Query;
  readonly zone: TimeZone;
  /** Undefined where the caller named start and end. */
  readonly interval: Interval | undefined;
}

export function createEventQuestions({ links, folders, workspaces, clock }: EventQuestionsParts) {
  /** Everything but the time. */
  async function scopeOf(actor: Actor, params: FilterParams): Promise<Omit<Query, 'fromMs' | 'toMs'>> {
    const conditions = readConditions(params);
    const name = readLinkName(params);
    const link = name && (await links.getNamed(actor, checkedName(name)));
    if (conditions.folderId) await folders.assertReadable(actor, conditions.folderId.values);
    const hiddenFolderIds = await folders.findHidden(actor);
    return {
      ...conditions,
      workspaceId: actor.workspaceId,
      ...(link && { fixedLinkId: link.id }),
      ...(hiddenFolderIds.length > 0 && { hiddenFolderIds }),
    };
  }

  return {
    async read(actor: Actor, params: FilterParams & TimeParams): Promise<Question> {
      const time = readTime(params, clock.now());
      const query = { ...(await scopeOf(actor, params)), ...time.window };
      return { query, zone: time.zone, interval: time.interval };
    },

    /** For those who wait for events that are yet to come. */
    async readTimeless(actor: Actor, params: FilterParams): Promise<Query> {
      return { ...(await scopeOf(actor, params)), fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
    },

    /** Most workspaces have no quota: then nothing is asked. */
    async assertWithinUsage({ limits, workspaceId }: Actor): Promise<void> {
      if (limits.events === undefined) return;
      const { usage } = await workspaces.get(workspaceId);
      if (usage.events <= limits.events) return;
      throw new AppError(
        'forbidden',
        `This workspace is limited to ${limits.events} events a month; it has had ${usage.events}.`,
      );
    },
  };
}

export type EventQuestions = ReturnType<typeof createEventQuestions>;

export function readTime(params: TimeParams, nowMs: number) {
  const zone = findTimeZone(params.timezone) as TimeZone;
  const interval = params.start === undefined ? params.interval : undefined;
  return { zone, interval, window: readWindow(params, zone, nowMs) };
}

function checkedName(name: LinkName): LinkName {
  if (name.externalId !== undefined && !name.externalId.startsWith('ext_'))
    throw new AppError('bad_request', 'custom: externalId: must begin with ext_');
  return name;
}

/** How far back a plan looks; those that are not here look back for ever. */
const MAX_DAYS: Readonly<Partial<Record<Plan, number>>> = { free: 31, pro: 366 };
const LONG_FOR_FREE: readonly (Interval | undefined)[] = ['90d', '1y', 'ytd'];

/** Refuses more time than the plan includes. */
export function assertPlanIncludes(
  { plan, createdAt }: Pick<Workspace, 'plan' | 'createdAt'>,
  { query: { fromMs, toMs }, interval }: Question,
  nowMs: number,
): void {
  const maxDays = MAX_DAYS[plan];
  if (maxDays === undefined) return;
  const tooLong =
    interval === undefined
      ? toMs - fromMs > maxDays * DAY_MS
      : (interval === 'all' && nowMs - createdAt > maxDays * DAY_MS) ||
        (plan === 'free' && LONG_FOR_FREE.includes(interval));
  if (!tooLong) return;
  throw new AppError(
    'forbidden',
    `The plan ${plan} includes statistics of at most ${maxDays} days at a time.`,
  );
}
