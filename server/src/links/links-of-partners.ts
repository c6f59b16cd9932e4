// Links as partners have them: found by partner, and stopped, resumed and deleted when its place in the program
// changes. Steps are bounded: a partner may have any number of links.
import type { Clock } from '../kernel/clock.ts';
import type { LinkStore } from './link.store.ts';
import type { RecordLinks } from './link-events.ts';
import type { RemoveLinks } from './link-removal.ts';
import type { PartnerLinkStore, PartnerRef } from './partner-link.store.ts';

export interface LinksOfPartnersParts {
  readonly store: LinkStore;
  readonly partnerLinks: PartnerLinkStore;
  readonly record: RecordLinks;
  readonly remove: RemoveLinks;
  readonly clock: Clock;
}

export function createLinksOfPartners(parts: LinksOfPartnersParts) {
  const { store, partnerLinks, record, remove, clock } = parts;
  const idsOf = (links: readonly { id: string }[]) => links.map((link) => link.id);

  return {
    findOfPartners: partnerLinks.findOfPartners,
    list: partnerLinks.list,
    listAfter: partnerLinks.listAfter,
    count: partnerLinks.count,
    findByUrls: partnerLinks.findByUrls,
    findBest: partnerLinks.findBest,

    // Each of these changes at most `limit` links and returns how many, inside the caller's transaction.

    /** `atMs` marks the links, so that the same ones can be resumed. */
    async stopSome(
      partner: PartnerRef,
      how: 'disable' | 'expire',
      atMs: number,
      limit: number,
    ): Promise<number> {
      const ids = idsOf(await partnerLinks.findWorking(partner, how, limit));
      await partnerLinks.stop(ids, how, atMs, clock.now());
      await record('link.updated', await store.findByIds(ids));
      return ids.length;
    },

    async resumeSome(partner: PartnerRef, atMs: number, limit: number): Promise<number> {
      const ids = idsOf(await partnerLinks.findStopped(partner, atMs, limit));
      await partnerLinks.resume(ids, atMs, clock.now());
      await record('link.updated', await store.findByIds(ids));
      return ids.length;
    },

    async deleteSome(workspaceId: string, partner: PartnerRef, limit: number): Promise<number> {
      const links = await partnerLinks.findSome(partner, limit);
      await remove(workspaceId, links);
      return links.length;
    },
  };
}

export type LinksOfPartners = ReturnType<typeof createLinksOfPartners>;
