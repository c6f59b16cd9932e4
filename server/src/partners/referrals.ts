// The program as one of its partners sees it, with a token of its own: its links, what it has earned, and where it
// stands among the others, of whom it learns nothing but numbers.
import type { Database } from '../db/database.ts';
import type { PartnerActor } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import type { Links } from '../links/links.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentListStore } from './enrolment-list.store.ts';
import { isActive } from './enrolment-states.ts';
import type { Groups } from './groups.ts';
import type { Enrolment } from './partner.ts';
import type { PartnerEarningStore } from './partner-earnings.store.ts';
import type { Earning } from './partner-earnings.ts';
import type { NewPartnerLink, PartnerLinks } from './partner-links.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';

export interface ReferralsParts {
  readonly db: Database;
  readonly programs: Programs;
  readonly groups: Groups;
  readonly enrolments: EnrolmentStore;
  readonly lists: EnrolmentListStore;
  readonly earnings: PartnerEarningStore;
  readonly links: Pick<Links, 'findByIds'>;
  readonly linksOfPartners: Pick<LinksOfPartners, 'list' | 'count'>;
  readonly partnerLinks: PartnerLinks;
}

interface Page {
  readonly page: number;
  readonly pageSize: number;
}

type Wish = Pick<NewPartnerLink, 'url' | 'key'>;

const LEADERS = 20;

export function createReferrals(parts: ReferralsParts) {
  const { db, programs, groups, enrolments, lists, earnings, links, linksOfPartners, partnerLinks } = parts;

  /** The partner's own place; locked while in a transaction. */
  async function placeOf(actor: PartnerActor): Promise<{ program: Program; enrolment: Enrolment }> {
    const program = await programs.getOfWorkspace(actor.workspaceId);
    const enrolment = await enrolments.findByPartner(actor.programId, actor.partnerId);
    if (enrolment?.programId === program.id) return { program, enrolment };
    throw new AppError('not_found', 'This partner is not in the program any more.');
  }

  /** The same, for what only those may do who take part in the program now. */
  async function activePlaceOf(actor: PartnerActor) {
    const place = await placeOf(actor);
    if (isActive(place.enrolment.status)) return place;
    throw new AppError('forbidden', `This partner is ${place.enrolment.status} in the program.`);
  }

  return {
    activePlaceOf,

    listLinks: (actor: PartnerActor, page: Page): Promise<Link[]> => linksOfPartners.list(actor, page),

    /** As many as the group allows. */
    createLink(actor: PartnerActor, wish: Wish): Promise<Link> {
      return db.write(async () => {
        const { program, enrolment } = await activePlaceOf(actor);
        const { maxPartnerLinks } = await groups.getOf(program, enrolment);
        if ((await linksOfPartners.count(actor)) >= maxPartnerLinks) {
          throw new AppError('bad_request', `custom: url: a partner has at most ${maxPartnerLinks} links`);
        }
        return partnerLinks.createFor(program, enrolment, wish);
      });
    },

    updateLink(actor: PartnerActor, linkId: string, wish: Wish): Promise<Link> {
      return db.write(async () => {
        const { program, enrolment } = await activePlaceOf(actor);
        return partnerLinks.updateFor(program, enrolment, linkId, wish);
      });
    },

    /** The newest first, each with its link while that is there. */
    async listEarnings(actor: PartnerActor, page: Page): Promise<(Earning & { link: Link | undefined })[]> {
      const found = await earnings.list(actor, page);
      const linkIds = found.flatMap(({ linkId }) => linkId ?? []);
      const byId = await links.findByIds(actor.workspaceId, linkIds);
      return found.map((earning) => ({ ...earning, link: byId.get(earning.linkId ?? '') }));
    },

    /** Those who have earned most. */
    listLeaders: (actor: PartnerActor): Promise<Enrolment[]> =>
      lists.list(
        actor.programId,
        { status: 'approved' },
        { sortBy: 'totalCommissions', sortOrder: 'desc', page: 1, pageSize: LEADERS },
      ),
  };
}

export type Referrals = ReturnType<typeof createReferrals>;
