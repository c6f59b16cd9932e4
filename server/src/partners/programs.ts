// The program of a workspace. There is at most one, so that no call has to name it; whatever is about partners
// begins here.
import { type Database, isUniqueViolation } from '../db/database.ts';
import type { Domains } from '../domains/domains.ts';
import type { Folders } from '../folders/folders.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { readDestination } from '../kernel/destination.ts';
import { AppError } from '../kernel/errors.ts';
import { type Ids, randomText } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { GroupStore } from './group.store.ts';
import { DEFAULT_GROUP_SLUG, NO_REWARDS, type PartnerGroup } from './group.ts';
import type { ProgramStore } from './program.store.ts';
import { type Program, programActor } from './program.ts';

const FOLDER_NAME = 'Partner Links';

export type ProgramChange = Partial<
  Pick<
    Program,
    | 'name'
    | 'domain'
    | 'url'
    | 'logo'
    | 'description'
    | 'minPayoutAmount'
    | 'payoutMode'
    | 'primaryRewardEvent'
    | 'supportEmail'
    | 'helpUrl'
    | 'termsUrl'
    | 'applicationRequirements'
    | 'deactivatedAt'
  >
>;

export interface ProgramsParts {
  readonly db: Database;
  readonly store: ProgramStore;
  readonly groups: GroupStore;
  readonly workspaces: Pick<Workspaces, 'get' | 'setDefaultProgram'>;
  readonly folders: Pick<Folders, 'create' | 'list'>;
  readonly domains: Pick<Domains, 'forLink'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createPrograms(parts: ProgramsParts) {
  const { db, store, groups, workspaces, folders, domains, clock, ids } = parts;

  async function find(workspaceId: string): Promise<Program | undefined> {
    return store.findByWorkspace(workspaceId);
  }

  async function get(actor: Actor, ref: string): Promise<Program> {
    const program = (await store.find(ref)) ?? (await store.findBySlug(ref.toLowerCase()));
    return owned(program, actor.workspaceId, 'program');
  }

  /** A folder of that name that is there already serves as well. */
  async function findOrCreateFolder(actor: Actor): Promise<string> {
    const page = { sortBy: 'createdAt', sortOrder: 'asc', page: 1, pageSize: 100 } as const;
    const named = await folders.list(actor, { search: FOLDER_NAME }, page);
    const same = named.find(({ name }) => name.toLowerCase() === FOLDER_NAME.toLowerCase());
    return (same ?? (await folders.create(actor, { name: FOLDER_NAME }))).id;
  }

  async function freeSlug(wanted: string): Promise<string> {
    return (await store.isSlugTaken(wanted)) ? `${wanted}-${randomText(4).toLowerCase()}` : wanted;
  }

  /** Addresses in their stored form, and the domain only if the workspace may use it. */
  async function checked(workspaceId: string, change: ProgramChange): Promise<ProgramChange> {
    const result: { -readonly [K in keyof ProgramChange]: ProgramChange[K] } = { ...change };
    for (const field of ['url', 'helpUrl', 'termsUrl'] as const) {
      const text = change[field];
      if (text != null) result[field] = readDestination(field, text);
    }
    if (change.domain != null) result.domain = (await domains.forLink(workspaceId, change.domain)).slug;
    return result;
  }

  async function insertDefaultGroup(program: Program): Promise<void> {
    const nowMs = program.createdAt;
    const group = newGroup(program, ids('grp_'), nowMs);
    await groups.insert(group);
    await groups.insertDefaultLink({
      id: ids('pgdl_'),
      programId: program.id,
      workspaceId: program.workspaceId,
      groupId: group.id,
      domain: program.domain as string,
      url: program.url as string,
      createdAt: nowMs,
      updatedAt: nowMs,
    });
    await store.update(program.id, { defaultGroupId: group.id });
  }

  return {
    /** Undefined when the workspace has none. */
    find,
    get,

    /** The program that calls about partners are about. */
    async getOfWorkspace(workspaceId: string): Promise<Program> {
      const program = await find(workspaceId);
      if (!program) throw new AppError('not_found', 'This workspace has no partner program.');
      return program;
    },

    /** A program that anybody may apply to. */
    async getPublic(slug: string): Promise<Program> {
      const program = await store.findBySlug(slug.toLowerCase());
      if (!program || program.deactivatedAt !== null) {
        throw new AppError('not_found', 'There is no such program.');
      }
      return program;
    },

    /** With a folder for its links, a default group and that group's first default link. */
    create(actor: Actor, request: ProgramChange & { readonly name: string; readonly url: string }) {
      return db.write(async (): Promise<Program> => {
        const { workspaceId } = actor;
        const workspace = await workspaces.get(workspaceId);
        if (await find(workspaceId)) throw alreadyThere();
        const given = await checked(workspaceId, request);
        const domain = given.domain ?? (await domains.forLink(workspaceId, undefined)).slug;
        const nowMs = clock.now();
        const program: Program = {
          ...EMPTY,
          ...given,
          name: request.name,
          id: ids('prog_'),
          workspaceId,
          slug: await freeSlug(workspace.slug),
          domain,
          defaultFolderId: await findOrCreateFolder(programActor(workspace, actor.userId)),
          createdAt: nowMs,
          updatedAt: nowMs,
        };
        await store.insert(program).catch((error) => {
          throw isUniqueViolation(error) ? alreadyThere(error) : error;
        });
        await insertDefaultGroup(program);
        await workspaces.setDefaultProgram(workspaceId, program.id);
        return (await store.find(program.id)) as Program;
      });
    },

    update(actor: Actor, ref: string, change: ProgramChange): Promise<Program> {
      return db.write(async () => {
        const program = await get(actor, ref);
        const given = await checked(actor.workspaceId, change);
        await store.update(program.id, { ...given, updatedAt: clock.now() });
        return (await store.find(program.id)) as Program;
      });
    },
  };
}

export type Programs = ReturnType<typeof createPrograms>;

const EMPTY = {
  url: null,
  logo: null,
  description: null,
  minPayoutAmount: 0,
  payoutMode: 'external',
  primaryRewardEvent: 'sale',
  defaultGroupId: null,
  supportEmail: null,
  helpUrl: null,
  termsUrl: null,
  applicationRequirements: null,
  deactivatedAt: null,
} as const;

function newGroup(program: Program, id: string, nowMs: number): PartnerGroup {
  const host = URL.parse(program.url as string)?.hostname;
  return {
    id,
    programId: program.id,
    workspaceId: program.workspaceId,
    name: 'Default Group',
    slug: DEFAULT_GROUP_SLUG,
    color: null,
    holdingPeriodDays: 30,
    maxPartnerLinks: 10,
    additionalLinks: host ? [{ domain: host, path: '', validationMode: 'domain' }] : null,
    linkStructure: 'short',
    utmSource: null,
    utmMedium: null,
    utmCampaign: null,
    utmTerm: null,
    utmContent: null,
    ref: null,
    autoApproveAt: null,
    applicationForm: null,
    applicationFormPublishedAt: null,
    moveRules: null,
    ...NO_REWARDS,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

function alreadyThere(cause?: unknown): AppError {
  return new AppError('conflict', 'This workspace has a partner program already.', { cause });
}
