// What links and visits ask about domains.
import { AppError } from '../kernel/errors.ts';
import type { DomainStore } from './domain.store.ts';
import { type Domain, foldSlug, type LinkDomain, type ServingDomain } from './domain.ts';

/** `defaultDomain` belongs to no workspace, and all may use it. */
export function createDomainLookup({ store, defaultDomain }: { store: DomainStore; defaultDomain: string }) {
  const shared: LinkDomain = { slug: defaultDomain, shared: true, caseSensitive: false };

  /** A link that has not followed the change of its domain's name still says the former one. */
  async function findByFormerSlug(name: string): Promise<Domain | undefined> {
    const [renamed] = await store.findRenamed([name]);
    return renamed && store.find(renamed.slug, 'share');
  }

  return {
    /**
     * The domain of a new or changed link: the named one, else the workspace's primary one, else the shared one.
     * In the transaction that writes the link, so that the domain cannot go away before it ends.
     */
    async forLink(workspaceId: string, slug: string | undefined): Promise<LinkDomain> {
      const name = slug === undefined ? await store.findPrimarySlug(workspaceId) : foldSlug(slug);
      if (name === undefined || name === defaultDomain) return shared;
      const domain = (await store.find(name, 'share')) ?? (await findByFormerSlug(name));
      if (domain?.workspaceId !== workspaceId) {
        throw new AppError('forbidden', `The domain ${name} does not belong to this workspace.`);
      }
      return asLinkDomain(domain);
    },

    /** How keys of any domain are looked up; whose links they are is for the caller to check. */
    async forLookup(slug: string): Promise<LinkDomain> {
      const name = foldSlug(slug);
      if (name === defaultDomain) return shared;
      const domain = await store.find(name);
      return domain ? asLinkDomain(domain) : { slug: name, shared: false, caseSensitive: false };
    },

    /** A domain named in a list filter, as links have it; not found when this workspace cannot have links on it. */
    async forFilter(workspaceId: string, slug: string): Promise<string> {
      const name = foldSlug(slug);
      if (name === defaultDomain) return name;
      const domain = await store.find(name);
      if (domain?.workspaceId !== workspaceId) throw new AppError('not_found', `There is no domain ${name}.`);
      return name;
    },

    /** Former name → present name, of those that links of renamed domains are still kept under. */
    async findPresentNames(formerSlugs: readonly string[]): Promise<Map<string, string>> {
      const renamed = await store.findRenamed(formerSlugs);
      return new Map(renamed.map(({ formerSlug, slug }) => [formerSlug as string, slug]));
    },

    /** The given domains as visits see them, by slug; those that do not exist are left out. */
    async findServing(slugs: readonly string[]): Promise<Map<string, ServingDomain>> {
      return new Map((await store.findMany(slugs)).map((domain) => [domain.slug, domain]));
    },
  };
}

function asLinkDomain({ slug, formerSlug, caseSensitive }: Domain): LinkDomain {
  return { slug, formerSlug, shared: false, caseSensitive };
}
