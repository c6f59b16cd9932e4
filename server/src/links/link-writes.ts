// The one path on which links are made, changed and deleted, one or many at a time. Every change writes its
// outbox event in the same transaction; what does not change writes nothing and tells nobody.
import { isDeepStrictEqual } from 'node:util';
import { type Database, isUniqueViolation } from '../db/database.ts';
import type { Domains } from '../domains/domains.ts';
import type { Folders } from '../folders/folders.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Tags } from '../tags/tags.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { type FreeKeysParts, findFreeKeys, keysByDomain } from './free-keys.ts';
import type { LinkStore } from './link.store.ts';
import { type Link, type LinkFields, type LinkTag, ROOT_KEY } from './link.ts';
import type { LinkDraft } from './link-draft.ts';
import type { RecordLinks } from './link-events.ts';
import { attempt, changesKey, type Item, newItem } from './link-item.ts';
import { DEFAULT_KEY_LENGTH, lookupKey } from './link-key.ts';
import type { RemoveLinks } from './link-removal.ts';
import { type NewLink, toColumns } from './link-row.ts';
import {
  applyOwnRules,
  applySharedRules,
  assertNamed,
  type Found,
  type Lookups,
  type ProgramLink,
  type ProgramWish,
} from './link-rules.ts';

/** What became of one item of a call on many. */
export type Outcome = { readonly link: Link } | { readonly error: AppError };

export interface LinkWritesParts {
  readonly db: Database;
  readonly store: LinkStore;
  readonly domains: Pick<Domains, 'forLink'>;
  readonly folders: Pick<Folders, 'assertUsable' | 'findRefused'>;
  readonly tags: Tags;
  readonly workspaces: Workspaces;
  /** Refuses a program that is not the workspace's, and a partner that is not in it. */
  readonly resolveProgram: (workspaceId: string, wish: ProgramWish) => Promise<ProgramLink>;
  /** Refuses webhooks that are not there, and those that do not hear of clicks on single links. */
  readonly assertWebhooks: (workspaceId: string, ids: readonly string[]) => Promise<void>;
  readonly record: RecordLinks;
  readonly remove: RemoveLinks;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface CreateOptions {
  /** Tags by id and tags by name add up, instead of ids winning. */
  readonly addUpTags?: boolean;
  /** Whether the new links count against what the workspace may make in a month. */
  readonly metered: boolean;
}

export function createLinkWrites(parts: LinkWritesParts) {
  const { db, store, workspaces, record, clock, ids } = parts;

  async function prepare(actor: Actor, items: readonly Item[]): Promise<Found> {
    const look = lookups(parts, actor);
    await attempt(items, (item) => applyOwnRules(item, actor, look));
    const found = await findOut(parts, actor.workspaceId, items);
    await attempt(items, (item) => applySharedRules(item, look, found));
    const [guessed, asked] = partition(items, mayBeGuessed);
    await assignRandomKeys(guessed, found.keys, NOTHING_TAKEN);
    await assignRandomKeys(asked, found.keys, store);
    return found;
  }

  async function assignRandomKeys(
    items: readonly Item[],
    claimed: Set<string>,
    known: FreeKeysParts,
  ): Promise<void> {
    const seekers = items.filter((item) => !item.error && item.random).map(toSeeker);
    const keys = await findFreeKeys(known, seekers, claimed);
    for (const seeker of seekers) {
      const key = keys.get(seeker);
      if (key !== undefined) seeker.item.fields.key = key;
      else seeker.item.error = noFreeKey();
    }
  }

  function createMany(
    actor: Actor,
    drafts: readonly (LinkDraft | AppError)[],
    { addUpTags = false, metered }: CreateOptions,
  ): Promise<Outcome[]> {
    return db.write(async () => {
      const limited = metered && actor.limits.links !== undefined;
      if (limited) await workspaces.assertLinkQuota(actor.workspaceId, drafts.length);
      const items = drafts.map((draft) => newItem(draft, undefined, addUpTags));
      const { keys } = await prepare(actor, items);
      const created = await insert(actor, items, keys);
      const links = [...created.values()];
      if (links.length > 0) {
        await store.addTags(new Map(links.map((link) => [link.id, link.tags.map((tag) => tag.id)])));
        const heard = links.filter((link) => link.webhookIds.length > 0);
        await store.setWebhooks(new Map(heard.map((link) => [link.id, link.webhookIds])), clock.now());
        await record('link.created', links);
        await workspaces.countLinks(actor.workspaceId, links.length);
        // Again, now that nobody else can count: requests at the same moment must not exceed it together.
        if (limited) await workspaces.assertLinkQuota(actor.workspaceId, 0);
      }
      return items.map((item) => (item.error ? { error: item.error } : { link: created.get(item) as Link }));
    });
  }

  /** What another request took meanwhile shows up here: a made-up key is made up again, a chosen one is refused. */
  async function insert(
    actor: Actor,
    items: readonly Item[],
    claimed: Set<string>,
  ): Promise<Map<Item, Link>> {
    const created = new Map<Item, Link>();
    for (let open = items.filter((item) => !item.error); open.length > 0; ) {
      const made = open.map((item) => ({ item, link: newLink(actor, item, ids('link_'), clock.now()) }));
      const inserted = await store.insert(made.map(({ link }) => link));
      for (const { item, link } of made) {
        if (inserted.has(link.id)) created.set(item, toNewLink(link, item));
        else if (!item.random || item.fields.externalId !== null) item.error = taken();
      }
      await assignRandomKeys(
        open.filter((item) => !created.has(item)),
        claimed,
        store,
      );
      open = open.filter((item) => !item.error && !created.has(item));
    }
    return created;
  }

  /** The links must have been read for change in the transaction that this runs in. */
  async function updateMany(
    actor: Actor,
    targets: readonly { link: Link; draft: LinkDraft }[],
  ): Promise<Outcome[]> {
    const items = targets.map(({ link, draft }) => newItem(draft, link));
    await prepare(actor, items);
    const changed: string[] = [];
    for (const item of items)
      if (!item.error && (await write(item))) changed.push((item.existing as Link).id);
    const fresh = new Map((await store.findByIds(changed)).map((link) => [link.id, link]));
    await record(
      'link.updated',
      changed.map((id) => fresh.get(id) as Link),
      new Map(targets.map(({ link }) => [link.id, link])),
    );
    return items.map((item) => {
      const existing = item.existing as Link;
      return item.error ? { error: item.error } : { link: fresh.get(existing.id) ?? existing };
    });
  }

  async function write(item: Item): Promise<boolean> {
    const existing = item.existing as Link;
    const change = changedFields(existing, item.fields);
    const retagged = item.tags !== undefined && !sameTags(item.tags, existing.tags);
    const reheard = item.webhookIds !== undefined && !isDeepStrictEqual(item.webhookIds, existing.webhookIds);
    if (Object.keys(change).length === 0 && !retagged && !reheard) return false;
    const lookup = item.domain && { lookup_key: lookupKey(item.fields.key, item.domain) };
    const restarted = change.testVariants !== undefined || change.testCompletedAt !== undefined;
    const columns = { ...toColumns(change), ...lookup, ...(restarted && { test_ended_at: null }) };
    await store.update(existing.id, { ...columns, updated_at: clock.now() }).catch(asConflict);
    if (reheard) await store.setWebhooks(new Map([[existing.id, item.webhookIds ?? []]]), clock.now());
    if (retagged) await store.setTags(new Map([[existing.id, (item.tags ?? []).map((tag) => tag.id)]]));
    return true;
  }

  /** Refuses a change of many links as a whole when what it names for all of them is not there. */
  async function assertUsable(actor: Actor, draft: LinkDraft): Promise<void> {
    const found = await findOut(parts, actor.workspaceId, [newItem(draft)]);
    await assertNamed(draft, lookups(parts, actor), found);
  }

  return { createMany, updateMany, assertUsable };
}

function lookups(
  { domains, folders, clock, resolveProgram, assertWebhooks }: LinkWritesParts,
  actor: Actor,
): Lookups {
  const domain = remembering((slug: string) => domains.forLink(actor.workspaceId, slug || undefined));
  return {
    nowMs: clock.now(),
    domain: (slug) => domain(slug ?? ''),
    assertFolder: remembering((id: string) => folders.assertUsable(actor, id, 'write')),
    assertCurrentFolder: remembering((id: string) => assertFolderOpen(folders, actor, id, 'write')),
    resolveProgram: (wish) => resolveProgram(actor.workspaceId, wish),
    assertWebhooks: (wanted) => assertWebhooks(actor.workspaceId, wanted),
  };
}

/** Asks once per argument. */
function remembering<T>(ask: (argument: string) => Promise<T>): (argument: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (argument) => {
    const answer = answers.get(argument) ?? ask(argument);
    answers.set(argument, answer);
    return answer;
  };
}

/** A link is as open as the folder it is in. */
export async function assertFolderOpen(
  folders: Pick<Folders, 'findRefused'>,
  actor: Actor,
  id: string,
  need: 'read' | 'write',
): Promise<void> {
  const refused = await folders.findRefused(actor, [id], need);
  if (refused.size > 0)
    throw new AppError('forbidden', `You do not have the right to ${need} in the folder of this link.`);
}

/** Keys, external ids and tags of all items, in one query each. */
async function findOut(
  { store, tags }: LinkWritesParts,
  workspaceId: string,
  all: readonly Item[],
): Promise<Found> {
  const items = all.filter((item) => !item.error);
  const keys = new Set<string>();
  for (const { domain, lookupKeys } of wantedKeys(items)) {
    for (const key of await store.takenKeys(domain, lookupKeys)) keys.add(`${domain.slug}/${key}`);
  }
  const wantedIds = items.flatMap(({ draft, fields }) => (draft.externalId && fields.externalId) || []);
  const externalIds = await store.takenExternalIds(workspaceId, wantedIds);
  const drafts = items.map((item) => item.draft);
  const tagIds = new Set(drafts.flatMap((draft) => draft.tagIds ?? draft.tagId ?? []));
  const tagNames = new Set(drafts.flatMap((draft) => draft.tagNames ?? []));
  const tagsById = await tags.findByIds(workspaceId, [...tagIds]);
  const tagsByName = await tags.findByNames(workspaceId, [...tagNames]);
  return { keys, externalIds, tagsById, tagsByName };
}

function wantedKeys(items: readonly Item[]) {
  const wanted = items.flatMap((item) =>
    item.domain && changesKey(item) ? [{ domain: item.domain, key: item.fields.key }] : [],
  );
  return keysByDomain(wanted);
}

const NOTHING_TAKEN: FreeKeysParts = { takenKeys: async () => new Set() };

/**
 * Whether a random key can do without a look at those in use: a long one is hardly ever among them, and if it is, the
 * insert says so. Not where the insert could not tell: a key on the former name of the domain, or whether it is the key
 * or the external id that is taken.
 */
function mayBeGuessed({ existing, random, domain, draft, fields }: Item): boolean {
  if (existing || !random) return false;
  const length = draft.keyLength ?? DEFAULT_KEY_LENGTH;
  return length >= DEFAULT_KEY_LENGTH && !domain?.formerSlug && fields.externalId === null;
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const { yes = [], no = [] } = Object.groupBy(items, (item) => (test(item) ? 'yes' : 'no'));
  return [yes, no];
}

function toSeeker(item: Item) {
  const domain = item.domain as NonNullable<Item['domain']>;
  return { item, domain, length: item.draft.keyLength ?? DEFAULT_KEY_LENGTH, prefix: item.prefix };
}

function newLink(actor: Actor, { fields, domain }: Item, id: string, nowMs: number): NewLink {
  return {
    id,
    workspaceId: actor.workspaceId,
    // A program that acts by itself is no user.
    userId: actor.userId || null,
    fields,
    lookupKey:
      fields.key === ROOT_KEY ? ROOT_KEY : lookupKey(fields.key, domain as NonNullable<Item['domain']>),
    createdAt: nowMs,
  };
}

function toNewLink({ id, workspaceId, userId, fields, createdAt }: NewLink, item: Item): Link {
  return {
    ...fields,
    id,
    workspaceId,
    userId,
    tags: item.tags ?? [],
    webhookIds: item.webhookIds ?? [],
    disabledAt: null,
    bannedAt: null,
    clicks: 0,
    leads: 0,
    conversions: 0,
    sales: 0,
    saleAmount: 0,
    lastClickedAt: null,
    createdAt,
    updatedAt: createdAt,
  };
}

function changedFields(link: Link, fields: LinkFields): Partial<LinkFields> {
  const names = Object.keys(fields) as (keyof LinkFields)[];
  return Object.fromEntries(
    names.filter((name) => !isDeepStrictEqual(fields[name], link[name])).map((name) => [name, fields[name]]),
  );
}

function sameTags(a: readonly LinkTag[], b: readonly LinkTag[]): boolean {
  return a.length === b.length && a.every((tag, index) => tag.id === b[index]?.id);
}

function taken(): AppError {
  return new AppError('conflict', 'custom: key: another request has just taken this key or external id');
}

function noFreeKey(): AppError {
  return new AppError(
    'conflict',
    'custom: keyLength: no free key of this length was found; ask for a longer one',
  );
}

function asConflict(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'custom: key: this key or external id is taken already', { cause: error });
}
