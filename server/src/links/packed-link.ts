// Links in little memory: most have nothing but a destination, and become one short text. About 100 bytes for
// one of these, instead of 400; the others are kept as they are. What belongs to their workspace is kept once.
import type { IpPrivacy } from '../kernel/ip-privacy.ts';
import type { VisitDomain, VisitLink } from './visit-link.ts';

export type PackedLink = string | VisitLink;

export interface LinkPacker {
  /** Also takes up the settings of the link's workspace, for all of its links. */
  pack(link: VisitLink): PackedLink;
  /** Undefined when the settings of the link's workspace are not known any more. */
  unpack(packed: PackedLink, domain: Pick<VisitDomain, 'slug'>, lookupKey: string): VisitLink | undefined;
  forgetWorkspace(workspaceId: string): void;
  forgetWorkspaces(): void;
}

/** A link of which only the destination was set, in a workspace with the usual settings. */
export const PLAIN = {
  ipPrivacy: 'standard',
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

type OwnField = Exclude<keyof typeof PLAIN, 'ipPrivacy'>;
const FIELDS = Object.keys(PLAIN).filter((field) => field !== 'ipPrivacy') as OwnField[];
const SEPARATOR = '\n';

interface Workspace {
  readonly id: string;
  readonly number: number;
  /** Undefined after a change, until one of its links is loaded again. */
  ipPrivacy: IpPrivacy | undefined;
}

export function createLinkPacker(): LinkPacker {
  // Never dropped: there are far fewer workspaces than links.
  const workspaces: Workspace[] = [];
  const byId = new Map<string, Workspace>();

  function workspaceOf(id: string): Workspace {
    const known = byId.get(id);
    if (known) return known;
    const added = { id, number: workspaces.length, ipPrivacy: undefined };
    workspaces.push(added);
    byId.set(id, added);
    return added;
  }

  /** The others were kept with the settings of their time. */
  function upToDate(link: VisitLink): VisitLink | undefined {
    const ipPrivacy = byId.get(link.workspaceId)?.ipPrivacy;
    if (ipPrivacy === undefined) return undefined;
    return ipPrivacy === link.ipPrivacy ? link : { ...link, ipPrivacy };
  }

  return {
    pack(link) {
      const workspace = workspaceOf(link.workspaceId);
      workspace.ipPrivacy = link.ipPrivacy;
      if (FIELDS.some((field) => link[field] !== PLAIN[field])) return link;
      const key = link.key === link.lookupKey ? '' : link.key;
      return [link.id, workspace.number, key, link.url].join(SEPARATOR);
    },
    unpack(packed, domain, lookupKey) {
      if (typeof packed !== 'string') return upToDate(packed);
      const first = packed.indexOf(SEPARATOR);
      const second = packed.indexOf(SEPARATOR, first + 1);
      const third = packed.indexOf(SEPARATOR, second + 1);
      const { id: workspaceId, ipPrivacy } = workspaces[Number(packed.slice(first + 1, second))] as Workspace;
      if (ipPrivacy === undefined) return undefined;
      return {
        ...PLAIN,
        id: packed.slice(0, first),
        workspaceId,
        ipPrivacy,
        domain: domain.slug,
        lookupKey,
        key: third === second + 1 ? lookupKey : packed.slice(second + 1, third),
        url: packed.slice(third + 1),
      };
    },
    forgetWorkspace(workspaceId) {
      const workspace = byId.get(workspaceId);
      if (workspace) workspace.ipPrivacy = undefined;
    },
    forgetWorkspaces() {
      for (const workspace of workspaces) workspace.ipPrivacy = undefined;
    },
  };
}
