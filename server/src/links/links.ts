// The links of a workspace, as a caller uses them: found by id, by the caller's own id or by key, and changed
// one by one or many in a call, each as far as the folder it is in is open to the caller.
import type { Domains } from '../domains/domains.ts';
import type { SaveImage } from '../files/image.ts';
import type { Actor } from '../http/operation.ts';
import { readDestination } from '../kernel/destination.ts';
import { AppError } from '../kernel/errors.ts';
import { owned } from '../kernel/resource.ts';
import { findFreeKeys } from './free-keys.ts';
import type { LinkLock } from './link.store.ts';
import { type Link, ROOT_KEY, stripExternalPrefix } from './link.ts';
import { groupCreations } from './link-creations.ts';
import type { LinkDraft } from './link-draft.ts';
import { withBulkImage, withStoredImage } from './link-image.ts';
import { checkedKey, DEFAULT_KEY_LENGTH, lookupKey } from './link-key.ts';
import { CAMPAIGN_FIELDS, type Campaign, withCampaign } from './link-url.ts';
import { assertFolderOpen, createLinkWrites, type LinkWritesParts, type Outcome } from './link-writes.ts';

export interface LinksParts extends LinkWritesParts {
  readonly domains: Pick<Domains, 'forLink' | 'forLookup'>;
  readonly saveImage: SaveImage;
}

/** A link by the caller's own id, or by where it stands. */
export type LinkName =
  | { readonly externalId: string }
  | { readonly externalId?: undefined; readonly domain: string; readonly key: string };

/** What became of a link that the caller named. */
export interface NamedOutcome {
  /** The id of the link; of an unknown one, the name it was given. */
  readonly id: string;
  readonly outcome: Outcome;
}

export function createLinks(parts: LinksParts) {
  const { db, store, domains, folders, saveImage } = parts;
  const writes = createLinkWrites(parts);
  const createTogether = groupCreations(db, (actor, drafts) =>
    writes.createMany(actor, drafts, { metered: true }),
  );

  /** By id, or by `ext_` and the caller's own id. */
  async function find(workspaceId: string, ref: string, lock?: LinkLock): Promise<Link | undefined> {
    if (!ref.startsWith('ext_')) return (await store.findByIds([ref], lock))[0];
    return (await store.findByExternalIds(workspaceId, [stripExternalPrefix(ref)], lock))[0];
  }

  async function findByKey(slug: string, key: string): Promise<Link | undefined> {
    const domain = await domains.forLookup(slug);
    return store.findByKey(domain, lookupKey(key, domain));
  }

  function findByName(workspaceId: string, name: LinkName): Promise<Link | undefined> {
    if (name.externalId === undefined) return findByKey(name.domain, name.key);
    return find(workspaceId, `ext_${stripExternalPrefix(name.externalId)}`);
  }

  async function getFor(actor: Actor, ref: string, need: 'read' | 'write'): Promise<Link> {
    const found = await find(actor.workspaceId, ref, need === 'write' ? 'update' : undefined);
    const link = owned(found, actor.workspaceId, 'link');
    if (link.folderId) await assertFolderOpen(folders, actor, link.folderId, need);
    return link;
  }

  /** The links of the workspace among those named, by the name they were given, in the order of the names. */
  async function findNamed(workspaceId: string, refs: readonly string[]): Promise<Map<string, Link>> {
    const external = refs.filter((ref) => ref.startsWith('ext_'));
    const byId = await store.findByIds(
      refs.filter((ref) => !ref.startsWith('ext_')),
      'update',
    );
    const byExternalId = await store.findByExternalIds(
      workspaceId,
      external.map(stripExternalPrefix),
      'update',
    );
    const own = byId
      .filter((link) => link.workspaceId === workspaceId)
      .map((link) => [link.id, link] as const);
    const known = new Map([...own, ...byExternalId.map((link) => [`ext_${link.externalId}`, link] as const)]);
    return new Map(refs.flatMap((ref) => (known.has(ref) ? [[ref, known.get(ref) as Link]] : [])));
  }

  /** Of these links, the ones in folders that the caller may not write to. */
  async function findClosed(actor: Actor, links: readonly Link[]): Promise<Set<Link>> {
    const refused = await folders.findRefused(
      actor,
      links.flatMap((link) => link.folderId ?? []),
      'write',
    );
    return new Set(links.filter((link) => link.folderId && refused.has(link.folderId)));
  }

  return {
    get: (actor: Actor, ref: string): Promise<Link> => getFor(actor, ref, 'read'),

    /** Undefined instead of a refusal, for a caller's own id that nobody has. */
    async findByExternalId(actor: Actor, externalId: string): Promise<Link | undefined> {
      const ref = `ext_${stripExternalPrefix(externalId)}`;
      return (await find(actor.workspaceId, ref)) && getFor(actor, ref, 'read');
    },

    /** By domain and key, in the form a visitor would use or in the stored one. */
    async getByKey(actor: Actor, slug: string, key: string): Promise<Link> {
      const link = owned(await findByKey(slug, key), actor.workspaceId, 'link');
      if (link.folderId) await assertFolderOpen(folders, actor, link.folderId, 'read');
      return link;
    },

    /** The link that a filter names: another workspace's is as unknown as none, one in a closed folder is refused. */
    async getNamed(actor: Actor, name: LinkName): Promise<Link> {
      const link = await findByName(actor.workspaceId, name);
      if (link?.workspaceId !== actor.workspaceId) throw unknownLink();
      if (link.folderId) await assertFolderOpen(folders, actor, link.folderId, 'read');
      return link;
    },

    /** By domain and key, whoever owns it; for what is open to the public. */
    findByKey,

    /** Those of the workspace, by id; for at most a page of something that belongs to links. */
    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Map<string, Link>> {
      const found = await store.findByIds([...new Set(ids)]);
      return new Map(found.filter((link) => link.workspaceId === workspaceId).map((link) => [link.id, link]));
    },

    async create(actor: Actor, draft: LinkDraft): Promise<Link> {
      return single([await createTogether(actor, await withStoredImage(draft, saveImage))]);
    },

    /** Each draft has its own outcome, in the order given; one that could not be read has failed already. */
    async createMany(actor: Actor, drafts: readonly (LinkDraft | AppError)[]): Promise<Outcome[]> {
      const stored: (LinkDraft | AppError)[] = [];
      for (const draft of drafts) {
        stored.push(draft instanceof AppError ? draft : await withBulkImage(draft, saveImage));
      }
      return writes.createMany(actor, stored, { metered: true, addUpTags: true });
    },

    /** For programs: not counted against a month's links. Images of the drafts are stored already. */
    createPrepared: (actor: Actor, drafts: readonly LinkDraft[]): Promise<Outcome[]> =>
      writes.createMany(actor, drafts, { metered: false }),

    /** In the order of the ids given; those that are gone are left out. Nobody else changes them meanwhile. */
    async findForChange(ids: readonly string[]): Promise<Link[]> {
      const found = new Map((await store.findByIds(ids, 'update')).map((link) => [link.id, link]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },

    /** For programs, of links that were read for change in the caller's transaction. */
    updatePrepared: (
      actor: Actor,
      targets: readonly { link: Link; draft: LinkDraft }[],
    ): Promise<Outcome[]> => writes.updateMany(actor, targets),

    async update(actor: Actor, ref: string, draft: LinkDraft): Promise<Link> {
      const stored = await withStoredImage(draft, saveImage);
      return db.write(async () => {
        const link = await getFor(actor, ref, 'write');
        return single(await writes.updateMany(actor, [{ link, draft: stored }]));
      });
    },

    /** Finds the link by its destination, with and without the campaign parameters sent along. */
    async upsert(actor: Actor, draft: LinkDraft): Promise<Link> {
      const stored = await withStoredImage(draft, saveImage);
      return db.write(async () => {
        const link = draft.url && (await store.claimByUrl(actor.workspaceId, destinationsOf(draft)));
        if (!link) return single(await writes.createMany(actor, [stored], { metered: false }));
        return single(await writes.updateMany(actor, [{ link, draft: withoutKeyWish(stored) }]));
      });
    },

    /** The same change for all: done first, then unknown links, links in closed folders, and broken rules. */
    async updateMany(actor: Actor, named: readonly string[], draft: LinkDraft): Promise<NamedOutcome[]> {
      const refs = [...new Set(named)];
      const stored = await withStoredImage(draft, saveImage);
      return db.write(async () => {
        await writes.assertUsable(actor, stored);
        const found = await findNamed(actor.workspaceId, refs);
        const links = distinct(found.values());
        const closed = await findClosed(actor, links);
        const open = links.filter((link) => !closed.has(link));
        const outcomes = await writes.updateMany(
          actor,
          open.map((link) => ({ link, draft: stored })),
        );
        const tried = open.map(({ id }, index) => ({ id, outcome: outcomes[index] as Outcome }));
        return [
          ...tried.filter(({ outcome }) => 'link' in outcome),
          ...refs.filter((ref) => !found.has(ref)).map((id) => ({ id, outcome: { error: unknownLink() } })),
          ...[...closed].map(({ id }) => ({ id, outcome: { error: closedFolder() } })),
          ...tried.filter(({ outcome }) => 'error' in outcome),
        ];
      });
    },

    async delete(actor: Actor, ref: string): Promise<Link> {
      return db.write(async () => {
        const link = await getFor(actor, ref, 'write');
        if (link.key === ROOT_KEY)
          throw new AppError('forbidden', 'A root link goes with its domain: delete the domain.');
        await parts.remove(actor.workspaceId, [link]);
        return link;
      });
    },

    /** Skips what is unknown, a root link, or in a folder the caller may not write to. */
    deleteMany(actor: Actor, refs: readonly string[]): Promise<number> {
      return db.write(async () => {
        const links = distinct((await findNamed(actor.workspaceId, refs)).values());
        const closed = await findClosed(actor, links);
        const deletable = links.filter((link) => link.key !== ROOT_KEY && !closed.has(link));
        return parts.remove(actor.workspaceId, deletable);
      });
    },

    /** Refuses a key that no new link of this domain could have. */
    async assertKeyFree(slug: string, key: string, mayBeShort: boolean): Promise<void> {
      const domain = await domains.forLookup(slug);
      const lookup = lookupKey(checkedKey(key, domain, mayBeShort), domain);
      const taken = await store.takenKeys(domain, [lookup]);
      if (taken.size > 0)
        throw new AppError('conflict', `custom: key: ${domain.slug}/${key} is taken already`);
    },

    async findFreeKey(slug: string): Promise<string> {
      const seeker = { domain: await domains.forLookup(slug), length: DEFAULT_KEY_LENGTH, prefix: undefined };
      const key = (await findFreeKeys(store, [seeker], new Set())).get(seeker);
      if (key === undefined) throw new AppError('conflict', 'No free key was found.');
      return key;
    },
  };
}

export type Links = ReturnType<typeof createLinks>;

/** A link that is there keeps its key unless another one is named. */
function withoutKeyWish({ keyLength: _length, prefix: _prefix, key, ...draft }: LinkDraft): LinkDraft {
  return key ? { ...draft, key } : draft;
}

function destinationsOf(draft: LinkDraft): string[] {
  const url = readDestination('url', draft.url as string);
  const campaign: Campaign = {};
  for (const field of CAMPAIGN_FIELDS) if (draft[field] !== undefined) campaign[field] = draft[field] ?? null;
  return [...new Set([url, withCampaign(url, campaign)])];
}

/** A link named twice, by its id and by the caller's own, is one link. */
function distinct(links: Iterable<Link>): Link[] {
  return [...new Map(Array.from(links, (link) => [link.id, link])).values()];
}

/** The link of a call on one; its refusal is thrown. */
export function single(outcomes: readonly Outcome[]): Link {
  const outcome = outcomes[0] as Outcome;
  if ('error' in outcome) throw outcome.error;
  return outcome.link;
}

function unknownLink(): AppError {
  return new AppError('not_found', 'There is no such link.');
}

function closedFolder(): AppError {
  return new AppError('forbidden', 'You do not have the right to write in the folder of this link.');
}
