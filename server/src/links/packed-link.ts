// Links in little memory: most have nothing but a destination, and become one short text. About 100 bytes for
// one of these, instead of 400; the others are kept as they are.
import type { VisitDomain, VisitLink } from './visit-link.ts';

export type PackedLink = string | VisitLink;

export interface LinkPacker {
  pack(link: VisitLink): PackedLink;
  unpack(packed: PackedLink, domain: Pick<VisitDomain, 'slug'>, lookupKey: string): VisitLink;
}

/** A link of which only the destination was set. */
export const PLAIN = {
  password: null,
  bannedAt: null,
  disabledAt: null,
  expiresAt: null,
  expiredUrl: null,
  proxy: false,
  title: null,
  description: null,
  image: null,
  video: null,
  rewrite: false,
  doIndex: false,
  ios: null,
  android: null,
  geo: null,
  trackConversion: false,
  programId: null,
  partnerId: null,
  testVariants: null,
  testCompletedAt: null,
} as const satisfies Partial<VisitLink>;

const FIELDS = Object.keys(PLAIN) as (keyof typeof PLAIN)[];
const SEPARATOR = '\n';

export function createLinkPacker(): LinkPacker {
  // Never forgotten: there are far fewer workspaces than links.
  const workspaces: string[] = [];
  const numbers = new Map<string, number>();

  function numberOf(workspaceId: string): number {
    const known = numbers.get(workspaceId);
    if (known !== undefined) return known;
    numbers.set(workspaceId, workspaces.length);
    return workspaces.push(workspaceId) - 1;
  }

  return {
    pack(link) {
      if (FIELDS.some((field) => link[field] !== PLAIN[field])) return link;
      const key = link.key === link.lookupKey ? '' : link.key;
      return [link.id, numberOf(link.workspaceId), key, link.url].join(SEPARATOR);
    },
    unpack(packed, domain, lookupKey) {
      if (typeof packed !== 'string') return packed;
      const first = packed.indexOf(SEPARATOR);
      const second = packed.indexOf(SEPARATOR, first + 1);
      const third = packed.indexOf(SEPARATOR, second + 1);
      return {
        ...PLAIN,
        id: packed.slice(0, first),
        workspaceId: workspaces[Number(packed.slice(first + 1, second))] as string,
        domain: domain.slug,
        lookupKey,
        key: third === second + 1 ? lookupKey : packed.slice(second + 1, third),
        url: packed.slice(third + 1),
      };
    },
  };
}
