// Keeps the snapshot true: tells from the events of a committed transaction, on this node or another, which
// links, domains and settings of workspaces it must not serve any more.
import type { Follower } from '../db/database.ts';
import type { LinkSnapshot } from './link-snapshot.ts';

interface Place {
  readonly domain: string;
  readonly key: string;
}

/** What changed: places of links, and whole domains; or the workspace with this id. */
type Places = readonly (readonly [slug: string, key?: string])[];
type Digest = Places | string;

export function followChanges(snapshot: LinkSnapshot): Follower {
  return {
    name: 'visits',
    digest({ type, payload, previous, workspaceId }) {
      if (type.startsWith('link.'))
        return JSON.stringify(linkDigest(payload as Place, previous as Place | undefined));
      if (type.startsWith('domain.'))
        return JSON.stringify(domainDigest(payload as { slug: string; previousSlug?: string }));
      return type.startsWith('workspace.') ? JSON.stringify(workspaceId) : undefined;
    },
    receive(digests) {
      for (const text of digests) {
        const digest = JSON.parse(text) as Digest;
        if (typeof digest === 'string') snapshot.forgetWorkspace(digest);
        else for (const place of digest) forgetPlace(snapshot, place);
      }
    },
    lost: snapshot.forgetAll,
  };
}

function forgetPlace(snapshot: LinkSnapshot, [slug, key]: Places[number]): void {
  if (key === undefined) snapshot.forgetDomain(slug);
  else snapshot.forgetLink(slug, key);
}

function linkDigest(now: Place, before: Place | undefined): Digest {
  const moved = before && (before.domain !== now.domain || before.key !== now.key);
  const places = moved ? [now, before] : [now];
  return places.map(({ domain, key }) => [domain, key]);
}

function domainDigest({ slug, previousSlug }: { slug: string; previousSlug?: string }): Digest {
  return previousSlug === undefined ? [[slug]] : [[slug], [previousSlug]];
}
