// The link that a page or an app names, by domain and key or by an address, as visits find it: from memory.
import { foldSlug } from '../domains/domain.ts';
import { ROOT_KEY } from '../links/link.ts';
import { lookupKey } from '../links/link-key.ts';
import type { LinkSnapshot } from '../links/link-snapshot.ts';
import type { VisitLink } from '../links/visit-link.ts';

/** No key is longer in any spelling, and the time to bring one into its stored form grows with the square of it. */
export const MAX_KEY_LENGTH = 600;
export const MAX_DOMAIN_LENGTH = 260;

export interface LinkFinderParts {
  readonly snapshot: Pick<LinkSnapshot, 'domain' | 'link'>;
  /** The short-link domain that a host stands for. */
  readonly slugOf: (host: string) => string;
}

export function createLinkFinder({ snapshot, slugOf }: LinkFinderParts) {
  /** The name that links of the domain are kept under; undefined when it can have none. */
  function slugOfDomain(domain: string): string | undefined {
    return domain.length > MAX_DOMAIN_LENGTH ? undefined : slugOf(foldSlug(domain));
  }

  return {
    slugOfDomain,
    async find(domain: string, key: string): Promise<VisitLink | undefined> {
      const slug = slugOfDomain(domain);
      if (slug === undefined || key.length > MAX_KEY_LENGTH) return undefined;
      const served = await snapshot.domain(slug);
      if (!served) return undefined;
      const link = await snapshot.link(served, key === ROOT_KEY ? key : lookupKey(key, served));
      return link && isServed(link) ? link : undefined;
    },
  };
}

/** What was switched off is gone for visitors, and so it is here. */
function isServed({ workspaceId, disabledAt, bannedAt }: VisitLink): boolean {
  return workspaceId !== '' && disabledAt === null && bannedAt === null;
}

/** The key in the path of an address; undefined when no link can have it. */
export function keyOfPath(pathname: string): string | undefined {
  let key: string;
  try {
    key = decodeURIComponent(pathname.replace(/^\//, ''));
  } catch {
    return undefined;
  }
  if (key === '') return ROOT_KEY;
  // The name of what has no key is no key itself.
  return key === ROOT_KEY || key.includes('\0') ? undefined : key;
}
