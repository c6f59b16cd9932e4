// Who has brought somebody into the program: named by a caller, who is told when there is no such partner, or by an
// applicant, who is told nothing.
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import type { Links } from '../links/links.ts';
import { mayEarn } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { GroupStore } from './group.store.ts';
import type { Program } from './program.ts';

export interface ReferrersParts {
  readonly enrolments: Pick<Enrolments, 'findEnrolled'>;
  readonly groups: Pick<GroupStore, 'findDefaultDomains'>;
  readonly links: Pick<Links, 'findByKey' | 'findByIds'>;
  /** The link that was visited with a click of this id. */
  readonly findClickedLink: (workspaceId: string, clickId: string) => Promise<string | undefined>;
}

export function createReferrers({ enrolments, groups, links, findClickedLink }: ReferrersParts) {
  /** Nobody's money is touched here, so that nothing has to be locked. */
  async function takesPart({ id }: Program, partnerId: string): Promise<boolean> {
    const found = (await enrolments.findEnrolled(id, [partnerId])).get(partnerId);
    return found !== undefined && mayEarn(found.enrolment.status);
  }

  const partnerOf = (program: Program, link: Link | undefined): string | undefined =>
    link?.programId === program.id ? (link.partnerId ?? undefined) : undefined;

  /** Under the domain of the program first, then under those that its default links are on. */
  async function findByKey(program: Program, key: string): Promise<string | undefined> {
    const domains = new Set([program.domain, ...(await groups.findDefaultDomains(program.id))]);
    for (const domain of domains) {
      const partnerId = domain === null ? undefined : partnerOf(program, await links.findByKey(domain, key));
      if (partnerId !== undefined) return partnerId;
    }
    return undefined;
  }

  async function findByClick(program: Program, clickId: string): Promise<string | undefined> {
    const { workspaceId } = program;
    // Nobody is kept from applying because clicks cannot be read at the moment.
    const linkId = await findClickedLink(workspaceId, clickId).catch((error) => {
      if (error instanceof AppError) return undefined;
      throw error;
    });
    if (linkId === undefined) return undefined;
    return partnerOf(program, (await links.findByIds(workspaceId, [linkId])).get(linkId));
  }

  return {
    /** Refuses a partner that does not take part in the program; nobody need be named. */
    async assertKnown(program: Program, partnerId: string | undefined): Promise<void> {
      if (partnerId === undefined || (await takesPart(program, partnerId))) return;
      throw new AppError('not_found', 'custom: referredByPartnerId: the program has no such partner');
    },

    /**
     * By the key of one of the partner's links, or by the id of a click on one; null for everything else. Not in a
     * transaction: clicks are looked for outside of it.
     */
    async findVia(program: Program, via: string | undefined): Promise<string | null> {
      if (!via) return null;
      const partnerId = (await findByKey(program, via)) ?? (await findByClick(program, via));
      return partnerId !== undefined && (await takesPart(program, partnerId)) ? partnerId : null;
    },
  };
}

export type Referrers = ReturnType<typeof createReferrers>;
