// How links go, for whatever reason: what hangs on them is told before, the links and the count of the workspace
// change, and receivers hear of each link. All inside the caller's transaction.
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { LinkStore } from './link.store.ts';
import type { Link } from './link.ts';
import type { RecordLinks } from './link-events.ts';

/** Removes these links of one workspace; returns how many were still there. */
export type RemoveLinks = (workspaceId: string, links: readonly Link[]) => Promise<number>;

export interface LinkRemovalParts {
  readonly store: Pick<LinkStore, 'delete'>;
  readonly workspaces: Pick<Workspaces, 'addTotalLinks'>;
  readonly record: RecordLinks;
  /** Takes away what partners have by these links, and tells of it; the database would do it without a word. */
  readonly leavePartners: (linkIds: readonly string[]) => Promise<void>;
}

export function createLinkRemoval(parts: LinkRemovalParts): RemoveLinks {
  const { store, workspaces, record, leavePartners } = parts;
  return async (workspaceId, links) => {
    const owned = links.filter((link) => link.partnerId !== null);
    if (owned.length > 0) await leavePartners(owned.map((link) => link.id));
    const gone = await store.delete(links.map((link) => link.id));
    if (gone.size === 0) return 0;
    await record(
      'link.deleted',
      links.filter((link) => gone.has(link.id)),
    );
    await workspaces.addTotalLinks(workspaceId, -gone.size);
    return gone.size;
  };
}
