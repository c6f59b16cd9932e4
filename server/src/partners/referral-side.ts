// Puts together what partners hold, do and see of their own: codes, bounties, and pages that they open with a token.
import type { Database } from '../db/database.ts';
import type { SaveImage } from '../files/image.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Links } from '../links/links.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createBounties } from './bounties.ts';
import { createBountyStore } from './bounty.store.ts';
import { createBountyProgress } from './bounty-progress.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import type { DiscountCodeStore } from './discount-code.store.ts';
import { createDiscountCodes } from './discount-codes.ts';
import { createEmbedTokenStore } from './embed-token.store.ts';
import { createEmbedTokens } from './embed-tokens.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentEffects } from './enrolment-effects.ts';
import type { EnrolmentListStore } from './enrolment-list.store.ts';
import type { Enrolments } from './enrolments.ts';
import type { Groups } from './groups.ts';
import type { PartnerStore } from './partner.store.ts';
import { createPartnerEarningStore } from './partner-earnings.store.ts';
import type { PartnerEarnings } from './partner-earnings.ts';
import type { PartnerLinks } from './partner-links.ts';
import type { PartnerTagStore } from './partner-tag.store.ts';
import type { PartnerTags } from './partner-tags.ts';
import type { Partners } from './partners.ts';
import type { Programs } from './programs.ts';
import { createReferrals } from './referrals.ts';
import type { Discounts } from './rewards.ts';
import { createSubmissionStore } from './submission.store.ts';
import { createSubmissions } from './submissions.ts';

export interface ReferralSideParts {
  readonly db: Database;
  readonly codes: DiscountCodeStore;
  readonly programs: Programs;
  readonly groups: Groups;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: EnrolmentStore;
  readonly lists: EnrolmentListStore;
  readonly people: PartnerStore;
  readonly partners: Partners;
  readonly partnerLinks: PartnerLinks;
  readonly discounts: Discounts;
  readonly tags: PartnerTags;
  readonly tagStore: PartnerTagStore;
  readonly ledger: CommissionLedger;
  readonly saveImage: SaveImage;
  readonly links: Links;
  readonly linksOfPartners: LinksOfPartners;
  readonly workspaces: Workspaces;
  /** What is made here adds its effects. */
  readonly effects: EnrolmentEffects[];
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createReferralSide(parts: ReferralSideParts) {
  const { db, effects, enrolmentStore, tagStore } = parts;
  const earnings = createPartnerEarningStore(db);
  const partnerEarnings: PartnerEarnings = earnings;
  const discountCodes = createDiscountCodes({ ...parts, store: parts.codes });
  const referrals = createReferrals({ ...parts, enrolments: enrolmentStore, earnings });
  const bountyStore = createBountyStore(db);
  const submissionStore = createSubmissionStore(db);
  const progress = createBountyProgress({
    ...parts,
    bounties: bountyStore,
    submissions: submissionStore,
    enrolments: enrolmentStore,
    tags: tagStore,
  });
  const bounties = createBounties({ ...parts, store: bountyStore, submissions: submissionStore, progress });
  effects.push(discountCodes.effects, progress.effects);
  return {
    discountCodes,
    partnerEarnings,
    /** For reports of one partner. */
    linksOfPartners: parts.linksOfPartners,
    embedTokens: createEmbedTokens({
      ...parts,
      store: createEmbedTokenStore(db),
      enrolments: enrolmentStore,
    }),
    referrals,
    bounties,
    bountyProgress: progress,
    submissions: createSubmissions({
      ...parts,
      store: submissionStore,
      bounties,
      bountyStore,
      tags: tagStore,
      referrals,
    }),
  };
}
