// Puts the services of partner programs together, for the composition root.
import type { Database } from '../db/database.ts';
import type { Domains } from '../domains/domains.ts';
import type { SaveImage } from '../files/image.ts';
import type { Folders } from '../folders/folders.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Links } from '../links/links.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createAdmissions } from './admissions.ts';
import { createApplicationStore } from './application.store.ts';
import { createApplications } from './applications.ts';
import { createCommissionStore } from './commission.store.ts';
import { createCommissionLedger } from './commission-ledger.ts';
import { createDefaultLinks } from './default-links.ts';
import { createDiscountCodeStore } from './discount-code.store.ts';
import { createEnrolmentStore } from './enrolment.store.ts';
import { createEnrolmentChanges } from './enrolment-changes.ts';
import type { EnrolmentEffects } from './enrolment-effects.ts';
import { createEnrolmentListStore } from './enrolment-list.store.ts';
import { createEnrolments } from './enrolments.ts';
import { createGroupStore } from './group.store.ts';
import { createGroupDefaultLinks } from './group-default-links.ts';
import { createGroupMoves } from './group-moves.ts';
import { createGroups } from './groups.ts';
import { createInvitations } from './invitations.ts';
import { createPartnerStore } from './partner.store.ts';
import { createPartnerLinkRowStore } from './partner-link-rows.store.ts';
import { createPartnerLinks } from './partner-links.ts';
import { createPartnerLookups } from './partner-lookups.ts';
import { createPartnerTagStore } from './partner-tag.store.ts';
import { createPartnerTags } from './partner-tags.ts';
import { createPartners } from './partners.ts';
import { createPayoutStore } from './payout.store.ts';
import { createProgramStore } from './program.store.ts';
import { createPrograms } from './programs.ts';
import { createReferralSide } from './referral-side.ts';
import { createReferrers, type ReferrersParts } from './referrers.ts';
import { createDiscountStore, createRewardStore } from './reward.store.ts';
import { createDiscounts, createRewards } from './rewards.ts';

export interface PartnerSideParts {
  readonly db: Database;
  readonly workspaces: Workspaces;
  readonly domains: Domains;
  readonly folders: Folders;
  readonly links: Links;
  readonly linksOfPartners: LinksOfPartners;
  readonly findClickedLink: ReferrersParts['findClickedLink'];
  readonly saveImage: SaveImage;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createPartnerSide(parts: PartnerSideParts) {
  const { db, links, linksOfPartners, workspaces, clock } = parts;
  const programStore = createProgramStore(db);
  const groupStore = createGroupStore(db);
  const enrolmentStore = createEnrolmentStore(db);
  const people = createPartnerStore(db);
  const tagStore = createPartnerTagStore(db);
  const applications = createApplicationStore(db);
  const rows = createPartnerLinkRowStore(db);
  /** Filled below by those who need the services that run it. */
  const effects: EnrolmentEffects[] = [];

  const programs = createPrograms({ ...parts, store: programStore, groups: groupStore });
  const enrolments = createEnrolments({
    db,
    store: enrolmentStore,
    partners: people,
    tags: tagStore,
    applications,
    links: linksOfPartners,
    effects,
    clock,
  });
  const defaultLinks = createDefaultLinks({ links, groups: groupStore, rows, clock });
  const admissions = createAdmissions({
    ...parts,
    store: enrolmentStore,
    partners: people,
    enrolments,
    defaultLinks,
    effects,
  });
  const changes = createEnrolmentChanges({
    db,
    store: enrolmentStore,
    groups: groupStore,
    enrolments,
    defaultLinks,
    cascade: linksOfPartners,
    effects,
    workspaces,
    clock,
  });
  const groupDefaultLinks = createGroupDefaultLinks({
    ...parts,
    groups: groupStore,
    programs: programStore,
    enrolments,
    enrolmentStore,
    defaultLinks,
    rows,
  });
  const groups = createGroups({
    ...parts,
    store: groupStore,
    programs,
    programStore,
    enrolments: enrolmentStore,
    changes,
    defaultLinks: groupDefaultLinks,
  });
  const lists = createEnrolmentListStore(db);
  const terms = { ...parts, groupStore, enrolments: enrolmentStore, groups, programs };
  const tags = createPartnerTags({ ...parts, store: tagStore, enrolmentStore, enrolments, programs });
  const referrers = createReferrers({ ...parts, enrolments, groups: groupStore });
  const joining = {
    ...parts,
    store: applications,
    enrolmentStore,
    programs,
    programStore,
    groups,
    enrolments,
    admissions,
    changes,
    referrers,
    effects,
  };
  const ledger = createCommissionLedger({
    ...parts,
    store: createCommissionStore(db),
    payouts: createPayoutStore(db),
    enrolments,
  });
  const codes = createDiscountCodeStore(db);
  const discounts = createDiscounts({
    ...terms,
    store: createDiscountStore(db),
    codes,
    provideCodes: (group) => referralSide.discountCodes.provideTo(group),
  });
  const partners = createPartners({
    ...parts,
    programs,
    groups,
    tags,
    people,
    store: enrolmentStore,
    lists,
    enrolments,
    admissions,
    changes,
    referrers,
  });
  const partnerLinks = createPartnerLinks({
    ...parts,
    programs,
    groups,
    groupStore,
    enrolments,
    linksOfPartners,
    rows,
  });
  const referralSide = createReferralSide({
    ...parts,
    codes,
    programs,
    groups,
    enrolments,
    enrolmentStore,
    lists,
    people,
    partners,
    partnerLinks,
    discounts,
    tags,
    tagStore,
    ledger,
    effects,
  });
  return {
    programs,
    groups,
    groupDefaultLinks,
    enrolments,
    enrolmentChanges: changes,
    groupMoves: createGroupMoves({
      db,
      programs: programStore,
      groups: groupStore,
      enrolments: enrolmentStore,
      lists,
      changes,
    }),
    partnerLookups: createPartnerLookups({ programs, enrolments, groups, tags, discounts }),
    rewards: createRewards({ ...terms, store: createRewardStore(db) }),
    discounts,
    partnerTags: tags,
    partners,
    partnerLinks,
    ...referralSide,
    /** The one way to commissions, for all that makes or changes them. */
    commissionLedger: ledger,
    applications: createApplications(joining),
    invitations: createInvitations(joining),
    /** For what is composed after this: effects of changes of enrolments. */
    addEnrolmentEffects: (more: EnrolmentEffects): void => void effects.push(more),
  };
}

export type PartnerSide = ReturnType<typeof createPartnerSide>;
