// What happens to links when something they hang on changes: their domain, folder or tags. Each step is
// bounded, so that a million links never make one transaction.
import type { DomainLinks } from '../domains/domains.ts';
import type { FolderLinks } from '../folders/folders.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { TagLinks } from '../tags/tags.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { LinkStore } from './link.store.ts';
import { EMPTY_FIELDS, ROOT_KEY } from './link.ts';
import type { RecordLinks } from './link-events.ts';
import type { RemoveLinks } from './link-removal.ts';

export interface CascadeParts {
  readonly store: LinkStore;
  readonly workspaces: Workspaces;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly record: RecordLinks;
  readonly remove: RemoveLinks;
}

export function createLinkCascade({
  store,
  workspaces,
  clock,
  ids,
  record,
  remove,
}: CascadeParts): DomainLinks & FolderLinks & TagLinks {
  return {
    async createRoot(workspaceId, userId, slug) {
      const fields = { ...EMPTY_FIELDS, domain: slug, key: ROOT_KEY };
      const id = ids('link_');
      await store.insert([{ id, workspaceId, userId, fields, lookupKey: ROOT_KEY, createdAt: clock.now() }]);
      await workspaces.addTotalLinks(workspaceId, 1);
      await record('link.created', await store.findByIds([id]));
    },

    async moveSome(workspaceId, from, to, limit) {
      const links = await store.findSome({ workspaceId, domain: from }, limit);
      if (links.length === 0) return 0;
      const moved = await store.moveDomain(
        from,
        to,
        links.map((link) => link.id),
        clock.now(),
      );
      const before = new Map(links.map((link) => [link.id, link]));
      await record('link.updated', await store.findByIds(moved), before);
      return links.length;
    },

    async deleteSome(workspaceId, slug, limit) {
      const links = await store.findSome({ workspaceId, domain: slug }, limit);
      if (links.length === 0) return 0;
      await remove(workspaceId, links);
      return links.length;
    },

    hasLinks: (slug) => store.hasKeyedLinks(slug),

    async leaveFolder(workspaceId, folderId, limit) {
      const links = await store.findSome({ workspaceId, folderId }, limit);
      if (links.length === 0) return 0;
      const left = await store.clearFolder(
        folderId,
        links.map((link) => link.id),
        clock.now(),
      );
      await record('link.updated', await store.findByIds(left));
      return links.length;
    },

    async loseTag(tagId, limit) {
      const changed = await store.removeTag(tagId, limit, clock.now());
      await record('link.updated', await store.findByIds(changed));
      return changed.length;
    },
  };
}
