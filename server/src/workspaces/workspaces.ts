// Workspaces: made by the operator, read and changed by their members, and the place where limits are kept.
import type { Users } from '../access/users.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import { type Actor, type Plan, planIncludes } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { type Ids, randomText } from '../kernel/ids.ts';
import type { WorkspaceSort, WorkspaceStore } from './workspace.store.ts';
import {
  isReservedSlug,
  type LimitName,
  slugify,
  usageMonth,
  type Workspace,
  type WorkspaceChange,
} from './workspace.ts';

export interface WorkspacesParts {
  readonly db: Database;
  readonly store: WorkspaceStore;
  readonly users: Users;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createWorkspaces({ db, store, users, clock, ids }: WorkspacesParts) {
  async function find(ref: string): Promise<Workspace | undefined> {
    const workspace = (await store.findById(ref)) ?? (await store.findBySlug(ref.toLowerCase()));
    return workspace && thisMonth(workspace, usageMonth(clock.now()));
  }

  async function get(ref: string): Promise<Workspace> {
    const workspace = await find(ref);
    if (!workspace) throw new AppError('not_found', `There is no workspace ${ref}.`);
    return workspace;
  }

  async function getOwn(actor: Actor, ref: string): Promise<Workspace> {
    const workspace = await get(ref);
    if (workspace.id !== actor.workspaceId) {
      throw new AppError('forbidden', 'This key belongs to another workspace.');
    }
    return workspace;
  }

  async function change(id: string, values: WorkspaceChange): Promise<Workspace> {
    try {
      await store.update(id, values, clock.now());
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const field = (['slug', 'publishableKey'] as const).filter((name) => values[name]).join(' or ');
      throw new AppError('conflict', `Another workspace has this ${field}.`, { cause: error });
    }
    // Those who keep something of a workspace drop it and read it again.
    await appendOutbox(
      db.query,
      [{ workspaceId: id, type: 'workspace.updated', payload: { id } }],
      clock.now(),
    );
    return get(id);
  }

  /** Refuses when the count has reached the workspace's limit; without a limit nothing is asked. */
  async function assertBelow(name: LimitName, actor: Actor, count: () => Promise<number>): Promise<void> {
    const limit = actor.limits[name];
    if (limit !== undefined && (await count()) >= limit) {
      throw new AppError('forbidden', `This workspace is limited to ${limit} ${name}.`);
    }
  }

  return {
    find,
    get,
    getOwn,
    list: (page: PageRequest<WorkspaceSort>): Promise<Workspace[]> => store.list(page),
    exists: (): Promise<boolean> => store.exists(),

    /** A workspace and the user that owns it. */
    create(request: { name: string; slug?: string | undefined; plan: Plan; ownerName?: string | undefined }) {
      return db.write(async () => {
        const slug = checkedSlug(request.slug ?? request.name);
        const nowMs = clock.now();
        const workspace = {
          id: ids('ws_'),
          name: request.name,
          slug,
          plan: request.plan,
          inviteCode: randomText(24),
        };
        try {
          await store.insert(workspace, nowMs);
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          throw new AppError('conflict', `Another workspace has the slug ${slug}.`, { cause: error });
        }
        const ownerId = await users.addMember(workspace.id, {
          name: request.ownerName ?? 'Owner',
          role: 'owner',
        });
        return { workspace: await get(workspace.id), ownerId };
      });
    },

    update(actor: Actor, ref: string, values: WorkspaceChange): Promise<Workspace> {
      return db.write(async () => {
        const { id } = await getOwn(actor, ref);
        if (values.conversionEnabled && !planIncludes(actor.plan, 'business')) {
          throw new AppError(
            'forbidden',
            `conversionEnabled needs the plan business or higher; yours is ${actor.plan}.`,
          );
        }
        const slug = values.slug === undefined ? {} : { slug: checkedSlug(values.slug) };
        return change(id, { ...values, ...slug });
      });
    },

    setPlan(ref: string, plan: Plan): Promise<Workspace> {
      return db.write(async () => change((await get(ref)).id, { plan }));
    },

    /** Whether it has any webhook; for those who make and delete them, in their transaction. */
    async setWebhookEnabled(id: string, webhookEnabled: boolean): Promise<void> {
      await change(id, { webhookEnabled });
    },

    /** Null takes the limit away. */
    setLimit(ref: string, name: LimitName, value: number | null): Promise<Workspace> {
      return db.write(async () => {
        const { id, limits } = await get(ref);
        const { [name]: _, ...others } = limits;
        return change(id, { limits: value === null ? others : { ...others, [name]: value } });
      });
    },

    /** The program that calls about partners are about. */
    async setDefaultProgram(id: string, programId: string): Promise<void> {
      await change(id, { defaultProgramId: programId });
    },

    assertBelow,
    lock: (id: string): Promise<void> => store.lock(id),
    addTotalLinks: (id: string, count: number): Promise<void> => store.addTotalLinks(id, count),

    /** Refuses when so many more links would go beyond what the workspace may make in a month. */
    async assertLinkQuota(id: string, count: number): Promise<void> {
      const { limits, usage } = await get(id);
      if (limits.links === undefined) return;
      if (usage.links + count <= limits.links) return;
      throw new AppError(
        'forbidden',
        `This workspace is limited to ${limits.links} new links a month; ${usage.links} are used.`,
      );
    },

    /** Counts new links; in the transaction that makes them, after the quota was checked under a lock. */
    countLinks: (id: string, count: number): Promise<void> =>
      store.addUsage(id, usageMonth(clock.now()), { links: count }),

    /** Counts the cents of payouts towards the month; in the transaction that confirms them. */
    countPayouts: (id: string, cents: number): Promise<void> =>
      store.addUsage(id, usageMonth(clock.now()), { payouts: cents }),

    /** Counts recorded events towards the month; in their transaction. */
    countEvents: (id: string, events: number): Promise<void> =>
      store.addClicks(usageMonth(clock.now()), [{ workspaceId: id, clicks: 0, usage: events }]),

    /** The same inside the transaction that adds one: concurrent additions wait for each other. */
    async reserve(name: LimitName, actor: Actor, count: () => Promise<number>): Promise<void> {
      if (actor.limits[name] === undefined) return;
      await store.lock(actor.workspaceId);
      await assertBelow(name, actor, count);
    },
  };
}

export type Workspaces = ReturnType<typeof createWorkspaces>;

/** Counts of an earlier month are over. */
function thisMonth(workspace: Workspace, month: number): Workspace {
  if (workspace.usage.month === month) return workspace;
  return { ...workspace, usage: { month, events: 0, links: 0, payouts: 0 } };
}

function checkedSlug(text: string): string {
  const slug = slugify(text);
  if (slug.length < 3 || slug.length > 48)
    throw invalid('slug', 'must have 3 to 48 letters, digits and hyphens');
  if (isReservedSlug(slug)) throw invalid('slug', `${slug} is reserved`);
  return slug;
}
