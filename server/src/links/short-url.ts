// The link behind a short address, for whoever shows something about it to the public.
import type { Domains } from '../domains/domains.ts';
import type { Plan } from '../http/operation.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { LinkStore } from './link.store.ts';
import { ROOT_KEY } from './link.ts';
import { lookupKey } from './link-key.ts';

export interface ShortUrlOwner {
  readonly workspacePlan: Plan;
  readonly workspaceLogo: string | null;
  readonly domainLogo: string | null;
  /** The domain belongs to the service and not to the workspace. */
  readonly shared: boolean;
}

export interface ShortUrlParts {
  readonly store: LinkStore;
  readonly domains: Pick<Domains, 'forLookup' | 'findServing'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
}

export function createShortUrlLookup({ store, domains, workspaces }: ShortUrlParts) {
  return async (url: string): Promise<ShortUrlOwner | undefined> => {
    const parsed = URL.parse(url);
    if (!parsed) return undefined;
    const domain = await domains.forLookup(parsed.host.replace(/^www\./, ''));
    const key = keyOf(parsed.pathname);
    const link = key && (await store.findByKey(domain, key === ROOT_KEY ? key : lookupKey(key, domain)));
    if (!link) return undefined;
    const { plan, logo } = await workspaces.get(link.workspaceId);
    const serving = domain.shared ? undefined : (await domains.findServing([domain.slug])).get(domain.slug);
    return {
      workspacePlan: plan,
      workspaceLogo: logo,
      domainLogo: serving?.logo ?? null,
      shared: domain.shared,
    };
  };
}

function keyOf(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname.slice(1)) || ROOT_KEY;
  } catch {
    return undefined;
  }
}
