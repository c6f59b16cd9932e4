// A link and its domain as visits need them: what decides the answer, and nothing else.
import type { IpPrivacy } from '../kernel/ip-privacy.ts';
import type { TestVariant } from './link.ts';

export interface VisitLink {
  readonly id: string;
  readonly workspaceId: string;
  /** What the workspace keeps of its visitors' addresses. */
  readonly ipPrivacy: IpPrivacy;
  readonly domain: string;
  readonly key: string;
  /** The key as visits look it up. */
  readonly lookupKey: string;
  /** In normal form: what a Location header can carry. Empty for a root without a destination. */
  readonly url: string;
  readonly password: string | null;
  readonly bannedAt: number | null;
  readonly disabledAt: number | null;
  readonly expiresAt: number | null;
  readonly expiredUrl: string | null;
  readonly proxy: boolean;
  readonly title: string | null;
  readonly description: string | null;
  readonly image: string | null;
  readonly video: string | null;
  readonly rewrite: boolean;
  readonly doIndex: boolean;
  readonly ios: string | null;
  readonly android: string | null;
  readonly geo: Readonly<Record<string, string>> | null;
  readonly trackConversion: boolean;
  readonly programId: string | null;
  readonly partnerId: string | null;
  readonly testVariants: readonly TestVariant[] | null;
  readonly testCompletedAt: number | null;
}

export interface VisitDomain {
  readonly slug: string;
  /** Where links may still be that have not followed a change of the name. */
  readonly formerSlug?: string | null;
  /** The service's default domain, which belongs to nobody. */
  readonly shared: boolean;
  readonly caseSensitive: boolean;
  readonly notFoundUrl: string | null;
  readonly expiredUrl: string | null;
  readonly logo: string | null;
  readonly assetLinks: string | null;
  readonly appleAppSiteAssociation: string | null;
}
