// Lists and counts of links: which links a question means, and which of them the caller may see.

import type { PageRequest } from '../db/page.ts';
import type { Domains } from '../domains/domains.ts';
import type { Folders } from '../folders/folders.ts';
import type { Actor } from '../http/operation.ts';
import type { Tags } from '../tags/tags.ts';
import type { Link } from './link.ts';
import type { LinkGrouping } from './link-count.store.ts';
import type { LinkFilter } from './link-filter.ts';
import type { LinkListStore } from './link-list.store.ts';
import type { LinkSort } from './link-walk.ts';

export interface LinkQuestion {
  readonly domain?: string | undefined;
  readonly tagIds?: readonly string[] | undefined;
  readonly tagId?: string | undefined;
  readonly tagNames?: readonly string[] | undefined;
  /** `unsorted`: links in no folder. */
  readonly folderId?: string | undefined;
  readonly search?: string | undefined;
  readonly userId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly showArchived: boolean;
  readonly withTags: boolean;
}

export interface LinkListsParts {
  readonly store: LinkListStore;
  readonly domains: Pick<Domains, 'forFilter'>;
  readonly folders: Pick<Folders, 'assertUsable' | 'readableScope'>;
  readonly tags: Pick<Tags, 'findByNames'>;
}

export function createLinkLists({ store, domains, folders, tags }: LinkListsParts) {
  async function tagFilter(
    actor: Actor,
    { tagIds, tagId, tagNames }: LinkQuestion,
  ): Promise<readonly string[] | undefined> {
    const ids = tagIds?.length ? tagIds : tagId ? [tagId] : undefined;
    if (ids || !tagNames?.length) return ids;
    const found = await tags.findByNames(actor.workspaceId, tagNames);
    return [...found.values()].map((tag) => tag.id);
  }

  /** Without a folder and without a filter that cuts across folders, only links outside folders are meant. */
  async function folderFilter(
    actor: Actor,
    question: LinkQuestion,
    acrossFolders: boolean,
  ): Promise<Partial<LinkFilter>> {
    const { folderId } = question;
    if (folderId === 'unsorted') return { folderId: null };
    if (folderId) {
      await folders.assertUsable(actor, folderId, 'read');
      return { folderId };
    }
    return acrossFolders ? { readable: folders.readableScope(actor) } : { folderId: null };
  }

  async function filterFor(
    actor: Actor,
    question: LinkQuestion,
    grouping?: LinkGrouping,
  ): Promise<LinkFilter> {
    const domain = question.domain && (await domains.forFilter(actor.workspaceId, question.domain));
    const tagIds = await tagFilter(actor, question);
    const crossing = question.search || domain || tagIds || question.tenantId || grouping;
    const filter: LinkFilter = {
      workspaceId: actor.workspaceId,
      domain: domain || undefined,
      tagIds,
      withTags: question.withTags,
      search: question.search || undefined,
      userId: question.userId || undefined,
      tenantId: question.tenantId || undefined,
      showArchived: question.showArchived,
      ...(await folderFilter(actor, question, Boolean(crossing))),
    };
    return grouping ? withoutOwnFilter(filter, grouping, folders.readableScope(actor)) : filter;
  }

  return {
    async list(actor: Actor, question: LinkQuestion, page: PageRequest<LinkSort>): Promise<Link[]> {
      return store.list(await filterFor(actor, question), page);
    },

    async count(actor: Actor, question: LinkQuestion): Promise<number> {
      return store.count(await filterFor(actor, question));
    },

    async countBy(actor: Actor, question: LinkQuestion, grouping: LinkGrouping) {
      return store.countBy(await filterFor(actor, question, grouping), grouping);
    },
  };
}

export type LinkLists = ReturnType<typeof createLinkLists>;

/** What is grouped by is not also filtered by. */
function withoutOwnFilter(
  filter: LinkFilter,
  grouping: LinkGrouping,
  readable: LinkFilter['readable'],
): LinkFilter {
  if (grouping === 'folderId') return { ...filter, folderId: undefined, readable };
  if (grouping === 'tagId') return { ...filter, tagIds: undefined, withTags: false };
  return { ...filter, [grouping]: undefined };
}
