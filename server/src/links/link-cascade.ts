// What happens to links when something they hang on changes: their domain or their folder. Each step is
// bounded, so that a million links never make one transaction.
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { DomainLinks } from '../domains/domains.ts';
import type { FolderLinks } from '../folders/folders.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { EMPTY_FIELDS, type Link, ROOT_KEY } from './link.ts';
import type { LinkStore } from './link.store.ts';
import { presentLink } from './link-wire.ts';

export interface CascadeParts {
  readonly db: Database;
  readonly store: LinkStore;
  readonly workspaces: Workspaces;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly publicUrl: string;
}

export function createLinkCascade({ db, store, workspaces, clock, ids, publicUrl }: CascadeParts): DomainLinks & FolderLinks {
  async function record(type: string, links: readonly Link[]): Promise<void> {
    const events = links.map((link) => ({ workspaceId: link.workspaceId, type, payload: presentLink(link, publicUrl) }));
    await appendOutbox(db.query, events, clock.now());
  }

  return {
    async createRoot(workspaceId, userId, slug) {
      const fields = { ...EMPTY_FIELDS, domain: slug, key: ROOT_KEY };
      const id = ids('link_');
      await store.insert([{ id, workspaceId, userId, fields, lookupKey: ROOT_KEY, createdAt: clock.now() }]);
      await workspaces.addTotalLinks(workspaceId, 1);
      await record('link.created', await store.findByIds([id]));
    },

    rename: (workspaceId, from, to) => store.moveDomain(workspaceId, from, to, clock.now()),

    async deleteSome(workspaceId, slug, limit) {
      const links = await store.findSome({ workspaceId, domain: slug }, limit);
      if (links.length === 0) return 0;
      await store.delete(links.map((link) => link.id));
      await workspaces.addTotalLinks(workspaceId, -links.length);
      await record('link.deleted', links);
      return links.length;
    },

    hasLinks: (slug) => store.hasKeyedLinks(slug),

    async leaveFolder(workspaceId, folderId, limit) {
      const links = await store.findSome({ workspaceId, folderId }, limit);
      if (links.length === 0) return 0;
      const linkIds = links.map((link) => link.id);
      await store.clearFolder(linkIds, clock.now());
      await record('link.updated', await store.findByIds(linkIds));
      return links.length;
    },
  };
}
