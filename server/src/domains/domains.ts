// The short-link domains of a workspace and their rules. A domain's links follow it: made, renamed and
// deleted with it. Every change writes its outbox event in the same transaction.
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import type { SaveImage } from '../files/image.ts';
import { type Actor, planIncludes } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { type Ids, randomText } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { DomainFilter, DomainSort, DomainStore } from './domain.store.ts';
import { type Domain, type DomainChange, foldSlug, PAID_FIELDS, readChange, refusedSlug } from './domain.ts';
import { createDomainLookup } from './domain-lookup.ts';
import { createDomainRename } from './domain-rename.ts';
import type { DnsRecord, SetupCheck, SetupStatus } from './verify.ts';

/** What domains need of links. All of them run inside the caller's transaction. */
export interface DomainLinks {
  /** The link at the domain's root (key `_root`, no destination yet). */
  createRoot(workspaceId: string, userId: string, slug: string): Promise<void>;
  /** Moves at most `limit` links of one domain to its new name, its root included; returns how many. */
  moveSome(workspaceId: string, from: string, to: string, limit: number): Promise<number>;
  /** Deletes at most `limit` links of the domain, its root included; returns how many. */
  deleteSome(workspaceId: string, slug: string, limit: number): Promise<number>;
  /** Whether it has a link other than its root. */
  hasLinks(slug: string): Promise<boolean>;
}

export interface DomainsParts {
  readonly db: Database;
  readonly store: DomainStore;
  readonly workspaces: Workspaces;
  readonly links: DomainLinks;
  readonly saveImage: SaveImage;
  readonly setup: SetupCheck;
  /** The domain that belongs to no workspace and that all may use, with its port where it has one. */
  readonly defaultDomain: string;
  /** Host names the service itself answers to: nobody's domain. */
  readonly ownHosts: readonly string[];
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface Verification {
  readonly status: SetupStatus;
  readonly domain: Domain;
  readonly records: readonly DnsRecord[];
}

type DomainEvent = 'domain.created' | 'domain.updated' | 'domain.deleted';

export function createDomains(parts: DomainsParts) {
  const { db, store, workspaces, links, setup, defaultDomain, clock, ids } = parts;
  const cleanup = createCleanup({ db, kind: 'domain', step: links.deleteSome });
  const rename = createDomainRename({
    db,
    store,
    moveSome: links.moveSome,
    tell: (domain) => tell('domain.updated', domain),
  });
  const ownNames = new Set(parts.ownHosts.map(withoutPort));

  async function getOwn(workspaceId: string, slug: string, lock?: 'update'): Promise<Domain> {
    return owned(await store.find(foldSlug(slug), lock), workspaceId, 'domain');
  }

  async function tell(type: DomainEvent, domain: Domain, previousSlug = domain.slug): Promise<void> {
    const { id, slug, primary, verified, archived, caseSensitive, workspaceId } = domain;
    const renamed = previousSlug === slug ? {} : { previousSlug };
    const payload = { id, slug, ...renamed, primary, verified, archived, caseSensitive };
    await appendOutbox(db.query, [{ workspaceId, type, payload }], clock.now());
  }

  function checkedSlug(text: string): string {
    const slug = foldSlug(text);
    const refusal = refusedSlug(slug) ?? (ownNames.has(slug) ? 'is a host name of this service' : undefined);
    if (refusal) throw invalid('slug', refusal);
    return slug;
  }

  /** Once the name is taken in this transaction: only then can no deletion or change of name of its last holder come in between. */
  async function assertFree(slug: string): Promise<void> {
    if (await cleanup.pending(slug)) {
      throw new AppError(
        'conflict',
        `The links of the deleted domain ${slug} are still being removed. Try again soon.`,
      );
    }
    if (await rename.pending(slug)) {
      throw new AppError('conflict', `Links are still being moved away from ${slug}. Try again soon.`);
    }
  }

  /** An image becomes an address; other values pass. */
  async function withStoredLogo(change: DomainChange): Promise<DomainChange> {
    if (!change.logo?.startsWith('data:')) return change;
    return { ...change, logo: await parts.saveImage(change.logo, 'logo') };
  }

  async function changed(before: Domain, change: DomainChange): Promise<Domain> {
    const asked = change.slug === undefined ? before.slug : foldSlug(change.slug);
    const slug = asked === before.slug ? asked : checkedSlug(asked);
    const caseSensitive = change.caseSensitive ?? before.caseSensitive;
    if (slug !== before.slug || caseSensitive !== before.caseSensitive) rename.assertDone(before);
    if (caseSensitive !== before.caseSensitive && (await links.hasLinks(before.slug))) {
      throw invalid('caseSensitive', 'can only be changed while the domain has no links');
    }
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const verified = before.verified && slug === before.slug;
    return { ...before, ...given, slug, verified, caseSensitive, updatedAt: clock.now() };
  }

  return {
    ...createDomainLookup({ store, defaultDomain }),

    list: (workspaceId: string, filter: DomainFilter, page: PageRequest<DomainSort>): Promise<Domain[]> =>
      store.list(workspaceId, filter, page),

    count: (workspaceId: string, filter: DomainFilter): Promise<number> => store.count(workspaceId, filter),

    get: (workspaceId: string, slug: string): Promise<Domain> => getOwn(workspaceId, slug),

    assertRoom: (actor: Actor): Promise<void> =>
      workspaces.assertBelow('domains', actor, () => store.count(actor.workspaceId)),

    async create(actor: Actor, request: DomainChange & { readonly slug: string }): Promise<Domain> {
      assertPlan(actor, request);
      const { workspaceId, userId } = actor;
      const slug = checkedSlug(request.slug);
      const fields = await withStoredLogo(readChange(request));
      return db.write(async () => {
        await workspaces.reserve('domains', actor, () => store.count(workspaceId));
        await workspaces.lock(workspaceId);
        const primary = (await store.count(workspaceId)) === 0;
        const domain = newDomain(
          { ...fields, slug },
          { id: ids('dom_'), workspaceId, primary, nowMs: clock.now() },
        );
        await store.insert(domain).catch(slugTaken);
        await assertFree(slug);
        await links.createRoot(workspaceId, userId, slug);
        await tell('domain.created', domain);
        return domain;
      });
    },

    async update(actor: Actor, slug: string, request: DomainChange): Promise<Domain> {
      const { workspaceId } = actor;
      await getOwn(workspaceId, slug);
      assertPlan(actor, request);
      const change = await withStoredLogo(readChange(request));
      return db.write(async () => {
        const before = await getOwn(workspaceId, slug, 'update');
        const domain = await changed(before, change);
        if (domain.slug === before.slug) await store.update(domain);
        else {
          await store.update({ ...domain, formerSlug: before.slug }).catch(slugTaken);
          await assertFree(domain.slug);
          await rename.begin(domain, before.slug);
        }
        await tell('domain.updated', domain, before.slug);
        return domain;
      });
    },

    /** The domain is gone at once, and with it its links for visitors; many links take a while to be removed. */
    delete(workspaceId: string, slug: string): Promise<Domain> {
      return db.write(async () => {
        const domain = await getOwn(workspaceId, slug, 'update');
        rename.assertDone(domain);
        await store.delete(domain.id);
        await cleanup.begin(workspaceId, domain.slug, clock.now());
        await tell('domain.deleted', domain);
        return domain;
      });
    },

    /** Goes on removing the links of deleted domains and moving those of renamed ones; for a job. */
    async cleanUp(signal: AbortSignal): Promise<void> {
      await cleanup.run(signal);
      await rename.run(signal);
    },

    setPrimary(workspaceId: string, slug: string): Promise<Domain> {
      return db.write(async () => {
        await getOwn(workspaceId, slug);
        await workspaces.lock(workspaceId);
        const before = await store.clearPrimary(workspaceId, clock.now());
        const domain = {
          ...(await getOwn(workspaceId, slug, 'update')),
          primary: true,
          updatedAt: clock.now(),
        };
        await store.update(domain);
        if (before && before.id !== domain.id) await tell('domain.updated', before);
        await tell('domain.updated', domain);
        return domain;
      });
    },

    async verify(workspaceId: string, slug: string): Promise<Verification> {
      const asked = await getOwn(workspaceId, slug);
      const records = setup.records(asked.slug, asked.verificationCode);
      const status = await setup.check(asked.slug, asked.verificationCode);
      // No answer says nothing about the domain.
      const verified = status === 'Unknown Error' ? asked.verified : status === 'Valid Configuration';
      if (verified === asked.verified) return { status, domain: asked, records };
      return db.write(async () => {
        const before = await getOwn(workspaceId, slug, 'update');
        const domain = { ...before, verified, updatedAt: clock.now() };
        await store.update(domain);
        await tell('domain.updated', domain);
        return { status, domain, records };
      });
    },
  };
}

export type Domains = ReturnType<typeof createDomains>;

function newDomain(
  request: DomainChange & { readonly slug: string },
  made: { id: string; workspaceId: string; primary: boolean; nowMs: number },
): Domain {
  return {
    id: made.id,
    workspaceId: made.workspaceId,
    slug: request.slug,
    formerSlug: null,
    primary: made.primary,
    verified: false,
    verificationCode: `linktrail-${randomText(32)}`,
    archived: false,
    caseSensitive: request.caseSensitive ?? false,
    placeholder: request.placeholder ?? null,
    expiredUrl: request.expiredUrl ?? null,
    notFoundUrl: request.notFoundUrl ?? null,
    logo: request.logo ?? null,
    assetLinks: request.assetLinks ?? null,
    appleAppSiteAssociation: request.appleAppSiteAssociation ?? null,
    deepviewData: request.deepviewData ?? null,
    createdAt: made.nowMs,
    updatedAt: made.nowMs,
  };
}

function assertPlan(actor: Actor, change: DomainChange): void {
  if (planIncludes(actor.plan, 'pro')) return;
  const field = PAID_FIELDS.find((name) => change[name]);
  if (field)
    throw new AppError(
      'forbidden',
      `${field} needs the plan pro or higher; the workspace has ${actor.plan}.`,
    );
}

function withoutPort(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '');
}

function slugTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'This domain is in use already.', { cause: error });
}
