// The links of a workspace: made, changed and deleted one or many at a time through one path. Every change
// writes its outbox event in the same transaction; a call on many refuses item by item.
import type { LinkDomain } from '../domains/domain.ts';
import type { Domains } from '../domains/domains.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Folders } from '../folders/folders.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { readDestination } from '../kernel/destination.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Tags } from '../tags/tags.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { type Link, type LinkFields, type LinkTag, ROOT_KEY, stripExternalPrefix } from './link.ts';
import { type LinkStore, type NewLink, toColumns } from './link.store.ts';
import type { LinkDraft } from './link-draft.ts';
import { DEFAULT_KEY_LENGTH, lookupKey, randomKey } from './link-key.ts';
import { applyOwnRules, applySharedRules, attempt, changesKey, type Found, type Item, keySlot, type Lookups, newItem } from './link-rules.ts';
import { CAMPAIGN_FIELDS, type Campaign, withCampaign } from './link-url.ts';
import { presentLink } from './link-wire.ts';

/** What became of one item of a call on many. */
export type Outcome = { readonly link: Link } | { readonly error: AppError };

export interface LinksParts {
  readonly db: Database;
  readonly store: LinkStore;
  readonly domains: Pick<Domains, 'forLink'>;
  readonly folders: Pick<Folders, 'assertUsable' | 'findRefused'>;
  readonly tags: Tags;
  readonly workspaces: Workspaces;
  readonly saveImage: Lookups['saveImage'];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly publicUrl: string;
}

/** Tries at free random keys, each with twice as many candidates as the one before. */
const KEY_ROUNDS = 6;

export function createLinks(parts: LinksParts) {
  const { db, store, workspaces, clock, ids } = parts;

  async function prepare(actor: Actor, items: readonly Item[]): Promise<void> {
    const look = lookups(parts, actor);
    await attempt(items, (item) => applyOwnRules(item, actor, look));
    const found = await findOut(parts, actor.workspaceId, items.filter((item) => !item.error));
    await attempt(items, (item) => applySharedRules(item, look, found));
    await assignRandomKeys(store, items.filter((item) => !item.error && item.random));
  }

  async function record(type: string, links: readonly Link[]): Promise<void> {
    const events = links.map((link) => ({ workspaceId: link.workspaceId, type, payload: presentLink(link, parts.publicUrl) }));
    await appendOutbox(db.query, events, clock.now());
  }

  function createMany(actor: Actor, drafts: readonly LinkDraft[], addUpTags = false): Promise<Outcome[]> {
    return db.write(async () => {
      const items = drafts.map((draft) => newItem(draft, undefined, addUpTags));
      await prepare(actor, items);
      await workspaces.assertLinkQuota(actor.workspaceId, items.length);
      const created = await insert(actor, items);
      if (created.size > 0) {
        const links = [...created.values()];
        await workspaces.countLinks(actor.workspaceId, links.length);
        await store.addTags(new Map(links.map((link) => [link.id, link.tags.map((tag) => tag.id)])));
        await record('link.created', links);
      }
      return items.map((item) => (item.error ? { error: item.error } : { link: created.get(item) as Link }));
    });
  }

  /** What another request took meanwhile shows up here: a made-up key is made up again, a chosen one is refused. */
  async function insert(actor: Actor, items: readonly Item[]): Promise<Map<Item, Link>> {
    const created = new Map<Item, Link>();
    for (let open = items.filter((item) => !item.error); open.length > 0; ) {
      const made = open.map((item) => ({ item, link: newLink(actor, item, ids('link_'), clock.now()) }));
      const inserted = await store.insert(made.map(({ link }) => link));
      for (const { item, link } of made) {
        if (inserted.has(link.id)) created.set(item, toNewLink(link, item.tags ?? []));
        else if (!item.random || item.fields.externalId !== null) item.error = taken();
      }
      open = open.filter((item) => !item.error && !created.has(item));
      await assignRandomKeys(store, open);
      open = open.filter((item) => !item.error);
    }
    return created;
  }

  /** Changes links the caller may see; what does not change writes nothing and tells nobody. */
  function updateMany(actor: Actor, targets: readonly { link: Link; draft: LinkDraft }[]): Promise<Outcome[]> {
    return db.write(async () => {
      const items = targets.map(({ link, draft }) => newItem(draft, link));
      await prepare(actor, items);
      const changed = new Set<string>();
      for (const item of items) if (!item.error && (await write(item))) changed.add((item.existing as Link).id);
      const fresh = new Map((await store.findByIds([...changed])).map((link) => [link.id, link]));
      await record('link.updated', [...fresh.values()]);
      return items.map((item) => {
        const existing = item.existing as Link;
        return item.error ? { error: item.error } : { link: fresh.get(existing.id) ?? existing };
      });
    });
  }

  async function write(item: Item): Promise<boolean> {
    const existing = item.existing as Link;
    const change = changedFields(existing, item.fields);
    const retagged = item.tags !== undefined && !sameTags(item.tags, existing.tags);
    if (Object.keys(change).length === 0 && !retagged) return false;
    const lookup = item.domain && { lookup_key: lookupKey(item.fields.key, item.domain) };
    const testReset = change.testVariants !== undefined || change.testCompletedAt !== undefined ? { test_ended_at: null } : {};
    await store.update(existing.id, { ...toColumns(change), ...lookup, ...testReset, updated_at: clock.now() }).catch(asConflict);
    if (retagged) await store.setTags(new Map([[existing.id, (item.tags ?? []).map((tag) => tag.id)]]));
    return true;
  }

  /** By id, or by `ext_` and the caller's own id. */
  async function find(workspaceId: string, ref: string): Promise<Link | undefined> {
    if (!ref.startsWith('ext_')) return store.findById(ref);
    return (await store.findByExternalIds(workspaceId, [stripExternalPrefix(ref)]))[0];
  }

  async function getOwn(actor: Actor, ref: string, need: 'read' | 'write' = 'read'): Promise<Link> {
    const link = owned(await find(actor.workspaceId, ref), actor.workspaceId, 'link');
    if (link.folderId) await assertFolderOpen(parts.folders, actor, link.folderId, need);
    return link;
  }

  async function remove(links: readonly Link[]): Promise<void> {
    if (links.length === 0) return;
    await store.delete(links.map((link) => link.id));
    await workspaces.addTotalLinks((links[0] as Link).workspaceId, -links.length);
    await record('link.deleted', links);
  }

  return {
    createMany,
    updateMany,
    getOwn,

    create: async (actor: Actor, draft: LinkDraft): Promise<Link> => single(await createMany(actor, [draft])),

    async update(actor: Actor, ref: string, draft: LinkDraft): Promise<Link> {
      return db.write(async () => single(await updateMany(actor, [{ link: await getOwn(actor, ref, 'write'), draft }])));
    },

    /** Finds the link by its destination, with and without the campaign parameters sent along. */
    upsert(actor: Actor, draft: LinkDraft): Promise<Link> {
      return db.write(async () => {
        await workspaces.lock(actor.workspaceId);
        const link = draft.url ? await store.findByUrl(actor.workspaceId, destinationsOf(draft)) : undefined;
        if (!link) return single(await createMany(actor, [draft]));
        const { keyLength: _length, prefix: _prefix, ...change } = draft;
        return single(await updateMany(actor, [{ link, draft: change }]));
      });
    },

    async findMany(workspaceId: string, by: { ids?: readonly string[]; externalIds?: readonly string[] }): Promise<Link[]> {
      const byId = await store.findByIds(by.ids ?? []);
      const byExternalId = await store.findByExternalIds(workspaceId, (by.externalIds ?? []).map(stripExternalPrefix));
      return [...byId.filter((link) => link.workspaceId === workspaceId), ...byExternalId];
    },

    /** By domain and key, in the form a visitor would use or in the stored one. */
    async getByKey(actor: Actor, domain: LinkDomain, key: string): Promise<Link> {
      const found = await store.findByKey(domain.slug, key === ROOT_KEY ? ROOT_KEY : lookupKey(key, domain));
      const link = owned(found, actor.workspaceId, 'link');
      if (link.folderId) await assertFolderOpen(parts.folders, actor, link.folderId, 'read');
      return link;
    },

    async delete(actor: Actor, ref: string): Promise<Link> {
      return db.write(async () => {
        const link = await getOwn(actor, ref, 'write');
        if (link.key === ROOT_KEY) throw new AppError('forbidden', 'A root link goes with its domain: delete the domain.');
        await remove([link]);
        return link;
      });
    },

    /** Skips what is unknown, a root link, or in a folder the caller may not write to. */
    deleteMany(actor: Actor, refs: readonly string[]): Promise<number> {
      return db.write(async () => {
        const links = await this.findMany(actor.workspaceId, {
          ids: refs.filter((ref) => !ref.startsWith('ext_')),
          externalIds: refs.filter((ref) => ref.startsWith('ext_')),
        });
        const unique = [...new Map(links.map((link) => [link.id, link])).values()];
        const folderIds = unique.flatMap((link) => link.folderId ?? []);
        const refused = await parts.folders.findRefused(actor, folderIds, 'write');
        const deletable = unique.filter((link) => link.key !== ROOT_KEY && !(link.folderId && refused.has(link.folderId)));
        await remove(deletable);
        return deletable.length;
      });
    },

    /** Whether a key could be used for a new link: nothing, or what stands in the way. */
    async assertKeyFree(actor: Actor, slug: string | undefined, key: string): Promise<void> {
      const item = newItem({ url: 'https://example.com', domain: slug, key });
      await prepare(actor, [item]);
      if (item.error) throw item.error;
    },

    async freeKey(domain: string): Promise<string> {
      const item = newItem({});
      item.random = true;
      item.domain = { slug: domain, shared: false, caseSensitive: false };
      await assignRandomKeys(store, [item]);
      return item.fields.key;
    },
  };
}

export type Links = ReturnType<typeof createLinks>;

function lookups({ domains, folders, saveImage, clock }: LinksParts, actor: Actor): Lookups {
  const domain = remembering((slug: string) => domains.forLink(actor.workspaceId, slug || undefined));
  const assertFolder = remembering((id: string) => folders.assertUsable(actor, id, 'write'));
  return {
    nowMs: clock.now(),
    domain: (slug) => domain(slug ?? ''),
    assertFolder,
    assertCurrentFolder: remembering((id: string) => assertFolderOpen(folders, actor, id, 'write')),
    saveImage,
    assertProgram: async () => {
      throw new AppError('not_found', 'custom: programId: this workspace has no such program');
    },
    assertWebhooks: async (wanted) => {
      throw new AppError('unprocessable_entity', `custom: webhookIds: there are no webhooks ${wanted.join(', ')}`);
    },
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

/** Keys, external ids and tags of all items, in one query each. */
async function findOut({ store, tags }: LinksParts, workspaceId: string, items: readonly Item[]): Promise<Found> {
  const keys = new Set<string>();
  for (const [slug, lookupKeys] of wantedKeys(items)) {
    for (const key of await store.takenKeys(slug, lookupKeys)) keys.add(`${slug}/${key}`);
  }
  const wantedIds = items.flatMap(({ draft, fields }) => (draft.externalId && fields.externalId ? [fields.externalId] : []));
  const externalIds = wantedIds.length ? await store.takenExternalIds(workspaceId, wantedIds) : new Set<string>();
  const drafts = items.map((item) => item.draft);
  const tagsById = await tags.findByIds(workspaceId, drafts.flatMap((draft) => draft.tagIds ?? (draft.tagId ? [draft.tagId] : [])));
  const tagsByName = await tags.findByNames(workspaceId, drafts.flatMap((draft) => draft.tagNames ?? []));
  return { keys, externalIds, tagsById, tagsByName };
}

function wantedKeys(items: readonly Item[]): Map<string, string[]> {
  const byDomain = new Map<string, string[]>();
  for (const item of items) {
    if (!item.domain || !changesKey(item)) continue;
    const { slug } = item.domain;
    byDomain.set(slug, [...(byDomain.get(slug) ?? []), lookupKey(item.fields.key, item.domain)]);
  }
  return byDomain;
}

/** Gives each item a key that is free now; a key that somebody takes meanwhile shows up at the insert. */
async function assignRandomKeys(store: LinkStore, items: readonly Item[]): Promise<void> {
  const used = new Set<string>();
  let open = [...items];
  for (let round = 0; open.length > 0; round++) {
    if (round === KEY_ROUNDS) {
      for (const item of open) item.error = new AppError('conflict', 'custom: keyLength: no free key of this length was found; ask for a longer one');
      return;
    }
    const candidates = open.map((item) => Array.from({ length: 2 ** round }, () => candidate(item)));
    const takenSlots = await takenSlotsOf(store, open, candidates.flat());
    open = open.filter((item, index) => {
      const free = candidates[index]?.find(({ slot }) => !takenSlots.has(slot) && !used.has(slot));
      if (!free) return true;
      used.add(free.slot);
      item.fields.key = free.key;
      return false;
    });
  }
}

interface Candidate {
  readonly key: string;
  readonly slug: string;
  readonly lookup: string;
  readonly slot: string;
}

function candidate({ draft, domain }: Item): Candidate {
  const owner = domain as NonNullable<Item['domain']>;
  const key = randomKey(draft.keyLength ?? DEFAULT_KEY_LENGTH, draft.prefix);
  return { key, slug: owner.slug, lookup: lookupKey(key, owner), slot: keySlot(owner, key) };
}

async function takenSlotsOf(store: LinkStore, items: readonly Item[], candidates: readonly Candidate[]): Promise<Set<string>> {
  const slots = new Set<string>();
  for (const slug of new Set(items.map((item) => item.domain?.slug as string))) {
    const lookupKeys = candidates.filter((entry) => entry.slug === slug).map((entry) => entry.lookup);
    for (const key of await store.takenKeys(slug, lookupKeys)) slots.add(`${slug}/${key}`);
  }
  return slots;
}

function newLink(actor: Actor, { fields, domain }: Item, id: string, nowMs: number): NewLink {
  return {
    id,
    workspaceId: actor.workspaceId,
    userId: actor.userId,
    fields,
    lookupKey: fields.key === ROOT_KEY ? ROOT_KEY : lookupKey(fields.key, domain as NonNullable<Item['domain']>),
    createdAt: nowMs,
  };
}

function toNewLink({ id, workspaceId, userId, fields, createdAt }: NewLink, tags: readonly LinkTag[]): Link {
  return {
    ...fields,
    id,
    workspaceId,
    userId,
    tags,
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
  const changed = Object.entries(fields).filter(([name, value]) => {
    const before = link[name as keyof LinkFields];
    return typeof value === 'object' && value !== null ? JSON.stringify(value) !== JSON.stringify(before) : value !== before;
  });
  return Object.fromEntries(changed);
}

function sameTags(a: readonly LinkTag[], b: readonly LinkTag[]): boolean {
  return a.length === b.length && a.every((tag, index) => tag.id === b[index]?.id);
}

function destinationsOf(draft: LinkDraft): string[] {
  const url = readDestination('url', draft.url as string);
  const campaign: Campaign = {};
  for (const field of CAMPAIGN_FIELDS) if (draft[field] !== undefined) campaign[field] = draft[field] ?? null;
  return [...new Set([url, withCampaign(url, campaign)])];
}

/** A link is as open as the folder it is in. */
async function assertFolderOpen(
  folders: Pick<Folders, 'findRefused'>,
  actor: Actor,
  id: string,
  need: 'read' | 'write',
): Promise<void> {
  const refused = await folders.findRefused(actor, [id], need);
  if (refused.size > 0) throw new AppError('forbidden', `You do not have the right to ${need} in the folder of this link.`);
}

function single(outcomes: readonly Outcome[]): Link {
  const outcome = outcomes[0] as Outcome;
  if ('error' in outcome) throw outcome.error;
  return outcome.link;
}

function taken(): AppError {
  return new AppError('conflict', 'custom: key: another request has just taken this key or external id');
}

function asConflict(error: unknown): never {
  throw isUniqueViolation(error) ? new AppError('conflict', 'custom: key: this key or external id is taken already', { cause: error }) : error;
}
