// What memory has for a request: its domain and its link. A promise only when something has to be loaded first.
import type { LinkSnapshot, SnapshotDomain } from '../links/link-snapshot.ts';
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import type { Ask } from './ask.ts';
import { lookupOf } from './resolve.ts';

export interface Found {
  readonly domain: VisitDomain;
  readonly link: VisitLink | null;
}

export interface FindLinkParts {
  readonly snapshot: LinkSnapshot;
  /** Resolves when countries are known; undefined when they are already. */
  readonly countriesReady: () => Promise<void> | undefined;
}

export type FindLink = (ask: Ask) => Found | Promise<Found>;

export function createFindLink({ snapshot, countriesReady }: FindLinkParts): FindLink {
  function linkOn(domain: SnapshotDomain | null, { slug, resolved }: Ask): Found | Promise<Found> {
    if (!domain || resolved.kind !== 'key') return { domain: domain ?? unknownDomain(slug), link: null };
    const link = snapshot.link(domain, lookupOf(resolved, domain));
    if (link instanceof Promise) return link.then((late) => withCountries({ domain, link: late }));
    return withCountries({ domain, link });
  }

  function withCountries(found: Found): Found | Promise<Found> {
    const loading = found.link?.geo ? countriesReady() : undefined;
    return loading ? loading.then(() => found) : found;
  }

  return (ask) => {
    const domain = snapshot.domain(ask.slug);
    return domain instanceof Promise ? domain.then((late) => linkOn(late, ask)) : linkOn(domain, ask);
  };
}

export function unknownDomain(slug: string): VisitDomain {
  return {
    slug,
    shared: false,
    caseSensitive: false,
    notFoundUrl: null,
    expiredUrl: null,
    logo: null,
    assetLinks: null,
    appleAppSiteAssociation: null,
  };
}
