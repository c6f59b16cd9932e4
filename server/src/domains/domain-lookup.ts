// What links and visits ask about domains.
import { AppError } from '../kernel/errors.ts';
import type { DomainStore } from './domain.store.ts';
import { foldSlug, type LinkDomain, type ServingDomain } from './domain.ts';

/** `defaultDomain` belongs to no workspace, and all may use it. */
export function createDomainLookup({ store, defaultDomain }: { store: DomainStore; defaultDomain: string }) {
  const shared: LinkDomain = { slug: defaultDomain, shared: true, caseSensitive: false };

  return {
    /**
     * The domain of a new or changed link: the named one, else the workspace's primary one, else the shared one.
     * In the transaction that writes the link, so that the domain cannot go away before it ends.
     */
    async forLink(workspaceId: string, slug: string | undefined): Promise<LinkDomain> {
      const name = slug === undefined ? await store.findPrimarySlug(workspaceId) : foldSlug(slug);
      if (name === undefined || name === defaultDomain) return shared;
      const domain = await store.find(name, 'share');
      if (domain?.workspaceId !== workspaceId) {
        throw new AppError('forbidden', `The domain ${name} does not belong to this workspace.`);
      }
      return { slug: domain.slug, shared: false, caseSensitive: domain.caseSensitive };
    },

    /** How keys of any domain are looked up; whose links they are is for the caller to check. */
    async forLookup(slug: string): Promise<LinkDomain> {
      const name = foldSlug(slug);
      if (name === defaultDomain) return shared;
      return { slug: name, shared: false, caseSensitive: (await store.find(name))?.caseSensitive ?? false };
    },

    /** A domain named in a list filter, as links have it; not found when this workspace cannot have links on it. */
    async forFilter(workspaceId: string, slug: string): Promise<string> {
      const name = foldSlug(slug);
      if (name === defaultDomain) return name;
      const domain = await store.find(name);
      if (domain?.workspaceId !== workspaceId) throw new AppError('not_found', `There is no domain ${name}.`);
      return name;
    },

    /** The given domains as visits see them, by slug; those that do not exist are left out. */
    async findServing(slugs: readonly string[]): Promise<Map<string, ServingDomain>> {
      return new Map((await store.findMany(slugs)).map((domain) => [domain.slug, domain]));
    },
  };
}
