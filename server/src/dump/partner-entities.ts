// Partner programs as lines of a dump: programs, groups, rewards, partners and their places in programs. What was
// earned follows in earning-entities. What a line names beside its program and its partner may be gone.
import { sql } from 'kysely';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { ENROLMENT_STATUSES } from '../partners/enrolment-states.ts';
import { LINK_STRUCTURES } from '../partners/group.ts';
import { BAN_REASONS, fold, NETWORK_STATUSES, PAYOUT_METHODS, REAPPLICATIONS } from '../partners/partner.ts';
import { PAYOUT_MODES, REWARD_EVENTS } from '../partners/program.ts';
import { REWARD_TYPES, SPEND_INTERVALS } from '../partners/reward.ts';
import { foldName } from '../tags/tag.ts';
import type { Entity } from './entity.ts';
import {
  address,
  addressOrNull,
  count,
  countOrNull,
  type FileAddresses,
  id,
  idList,
  idOrNull,
  image,
  jsonOrNull,
  oneOf,
  oneOfOrNull,
  text,
  textOrNull,
  time,
  timeOrNull,
  times,
} from './field.ts';
import type { DraftItem, DraftRow } from './record.ts';
import { tableEntity } from './table-entity.ts';

export interface PartnerEntityParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly files: FileAddresses;
}

/** Kept as it is: what it means is read where it is used. */
export const anyJson = () => jsonOrNull(z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]));

/** Rows of a program are found by the index of their program and time. */
export const ofProgram = {
  ofWorkspace: (workspaceId: string) =>
    sql`program_id = (select id from program where workspace_id = ${workspaceId})`,
  timeColumn: 'created_at',
} as const;

export const programFields = () => ({ id: id(), programId: id(), workspaceId: id() });
export const PROGRAM_REFERENCES = { programId: 'program', workspaceId: 'workspace' } as const;

const rewardIds = () => ({
  clickRewardId: idOrNull(),
  leadRewardId: idOrNull(),
  saleRewardId: idOrNull(),
  referralRewardId: idOrNull(),
  discountId: idOrNull(),
});

const forEach = (fill: (row: DraftRow) => void) => async (items: readonly DraftItem[]) => {
  for (const { row } of items) fill(row);
};

export function partnerEntities(parts: PartnerEntityParts): Entity[] {
  return [
    programEntity(parts),
    groupEntity(parts),
    defaultLinkEntity(parts),
    ...termEntities(parts),
    personEntity(parts),
    tagEntity(parts),
    enrolmentEntity(parts),
    ...joiningEntities(parts),
    linkOfPartnerEntity(parts),
    codeEntity(parts),
  ];
}

function programEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'program',
    table: 'program',
    fields: {
      id: id(),
      workspaceId: id(),
      name: text(),
      slug: text(190),
      domain: textOrNull(255),
      url: addressOrNull(),
      logo: image(parts.files),
      description: textOrNull(),
      minPayoutAmount: count(),
      payoutMode: oneOf(PAYOUT_MODES, 'external'),
      primaryRewardEvent: oneOf(REWARD_EVENTS, 'sale'),
      defaultFolderId: idOrNull(),
      defaultGroupId: idOrNull(),
      supportEmail: textOrNull(320),
      helpUrl: addressOrNull(),
      termsUrl: addressOrNull(),
      applicationRequirements: anyJson(),
      deactivatedAt: timeOrNull(),
      ...times(),
    },
    imageFields: ['logo'],
    references: { workspaceId: 'workspace' },
    unique: [
      { field: 'slug', columns: ['slug'] },
      { field: 'workspaceId', columns: ['workspace_id'] },
    ],
  });
}

function groupEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'partnerGroup',
    table: 'partner_group',
    ...ofProgram,
    fields: {
      ...programFields(),
      name: text(),
      slug: text(190),
      color: textOrNull(50),
      holdingPeriodDays: count(),
      maxPartnerLinks: count(),
      additionalLinks: anyJson(),
      linkStructure: oneOf(LINK_STRUCTURES, 'short'),
      utmSource: textOrNull(),
      utmMedium: textOrNull(),
      utmCampaign: textOrNull(),
      utmTerm: textOrNull(),
      utmContent: textOrNull(),
      ref: textOrNull(),
      autoApproveAt: timeOrNull(),
      applicationForm: anyJson(),
      applicationFormPublishedAt: timeOrNull(),
      moveRules: anyJson(),
      ...rewardIds(),
      ...times(),
    },
    derived: ['search_text'],
    derive: forEach((row) => {
      row.search_text = foldName(`${row.name}\n${row.slug}`);
    }),
    references: PROGRAM_REFERENCES,
    unique: [
      { field: 'slug', columns: ['program_id', 'slug'] },
      ...Object.keys(rewardIds()).map((field) => ({
        field,
        columns: [field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)],
      })),
    ],
  });
}

function defaultLinkEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'groupDefaultLink',
    table: 'group_default_link',
    ...ofProgram,
    fields: { ...programFields(), groupId: id(), domain: text(255), url: address(), ...times() },
    derived: ['url_hash'],
    derive: forEach((row) => {
      row.url_hash = sha256Hex(row.url as string);
    }),
    references: { ...PROGRAM_REFERENCES, groupId: 'partnerGroup' },
    unique: [{ field: 'url', columns: ['group_id', 'url_hash'] }],
  });
}

function termEntities(parts: PartnerEntityParts): Entity[] {
  return [
    tableEntity(parts, {
      name: 'reward',
      table: 'reward',
      ...ofProgram,
      fields: {
        ...programFields(),
        event: oneOf(REWARD_EVENTS),
        kind: { ...oneOf(REWARD_TYPES), column: 'type' },
        amountCents: countOrNull(),
        amountBasisPoints: countOrNull(),
        maxDuration: countOrNull(),
        description: textOrNull(),
        modifiers: anyJson(),
        spendLimitAmount: countOrNull(),
        spendLimitInterval: oneOfOrNull(SPEND_INTERVALS),
        config: anyJson(),
        ...times(),
      },
      references: PROGRAM_REFERENCES,
    }),
    tableEntity(parts, {
      name: 'discount',
      table: 'discount',
      ...ofProgram,
      fields: {
        ...programFields(),
        kind: { ...oneOf(REWARD_TYPES), column: 'type' },
        amount: count(),
        maxDuration: countOrNull(),
        description: textOrNull(),
        couponId: textOrNull(255),
        provider: text(50),
        autoProvisionAt: timeOrNull(),
        ...times(),
      },
      references: PROGRAM_REFERENCES,
    }),
  ];
}

/** People are nobody's: a dump of one workspace has those that its program names. */
function personEntity(parts: PartnerEntityParts): Entity {
  const named = (table: string, workspaceId: string) =>
    sql`select partner_id from ${sql.table(table)} where ${ofProgram.ofWorkspace(workspaceId)}`;
  return tableEntity(parts, {
    name: 'partner',
    table: 'partner',
    fields: {
      id: id(),
      name: textOrNull(),
      email: textOrNull(320),
      username: textOrNull(255),
      image: image(parts.files),
      description: textOrNull(),
      country: textOrNull(50),
      companyName: textOrNull(),
      networkStatus: oneOf(NETWORK_STATUSES, 'draft'),
      defaultPayoutMethod: oneOfOrNull(PAYOUT_METHODS),
      paypalEmail: textOrNull(320),
      stripeConnectId: textOrNull(255),
      payoutsEnabledAt: timeOrNull(),
      identityVerifiedAt: timeOrNull(),
      trustedAt: timeOrNull(),
      website: textOrNull(),
      youtube: textOrNull(),
      twitter: textOrNull(),
      linkedin: textOrNull(),
      instagram: textOrNull(),
      tiktok: textOrNull(),
      ...times(),
    },
    derived: ['email_folded', 'search_text'],
    derive: forEach((row) => {
      const { name, email, company_name: company } = row;
      row.email_folded = email ? fold(email as string) : null;
      row.search_text = fold([name, email, company].filter(Boolean).join('\n'));
    }),
    imageFields: ['image'],
    unique: [
      { field: 'email', columns: ['email_folded'] },
      { field: 'username', columns: ['username'] },
    ],
    ofWorkspace: (workspaceId) =>
      sql`id in (${sql.join(
        ['enrolment', 'partner_application', 'commission', 'payout'].map((table) =>
          named(table, workspaceId),
        ),
        sql` union `,
      )})`,
  });
}

function tagEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'partnerTag',
    table: 'partner_tag',
    ...ofProgram,
    fields: { ...programFields(), name: text(190), ...times() },
    derived: ['name_folded'],
    derive: forEach((row) => {
      row.name_folded = foldName(row.name as string);
    }),
    references: PROGRAM_REFERENCES,
    unique: [{ field: 'name', columns: ['program_id', 'name_folded'] }],
  });
}

function enrolmentEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'enrolment',
    table: 'enrolment',
    ...ofProgram,
    fields: {
      ...programFields(),
      partnerId: id(),
      groupId: idOrNull(),
      tenantId: textOrNull(255),
      status: oneOf(ENROLMENT_STATUSES),
      partnerTagIds: idList(),
      ...rewardIds(),
      applicationId: idOrNull(),
      referredByPartnerId: idOrNull(),
      bannedAt: timeOrNull(),
      bannedReason: oneOfOrNull(BAN_REASONS),
      linksStoppedAt: timeOrNull(),
      reapplication: oneOf(REAPPLICATIONS, 'standard'),
      rejectedAt: timeOrNull(),
      riskMonitoringDisabledAt: timeOrNull(),
      groupMoveDisabledAt: timeOrNull(),
      totalClicks: count(),
      totalLeads: count(),
      totalConversions: count(),
      totalSales: count(),
      totalSaleAmount: count(),
      totalCommissions: count(),
      lastLeadAt: timeOrNull(),
      lastConversionAt: timeOrNull(),
      ...times(),
    },
    derived: ['tenant_folded'],
    derive: forEach((row) => {
      row.tenant_folded = row.tenant_id === null ? null : fold(row.tenant_id as string);
    }),
    list: {
      field: 'partnerTagIds',
      table: 'enrolment_tag',
      owner: 'enrolment_id',
      value: 'tag_id',
      position: 'position',
      copied: ['created_at'],
    },
    eventsOf: (rows) => rows.map(enrolmentChanged),
    references: { ...PROGRAM_REFERENCES, partnerId: 'partner' },
    unique: [
      { field: 'partnerId', columns: ['program_id', 'partner_id'] },
      { field: 'tenantId', columns: ['program_id', 'tenant_folded'] },
    ],
  });
}

/** What analytics filters and groups by. */
function enrolmentChanged(row: DraftRow) {
  return {
    type: 'enrolment.changed',
    payload: {
      programId: row.program_id,
      partnerId: row.partner_id,
      groupId: row.group_id ?? '',
      partnerTagIds: row.partnerTagIds ?? [],
      deleted: false,
    },
  };
}

function joiningEntities(parts: PartnerEntityParts): Entity[] {
  return [
    tableEntity(parts, {
      name: 'partnerApplication',
      table: 'partner_application',
      ...ofProgram,
      fields: {
        ...programFields(),
        partnerId: id(),
        groupId: idOrNull(),
        name: text(),
        email: text(320),
        country: textOrNull(50),
        formData: anyJson(),
        reviewedAt: timeOrNull(),
        rejectionReason: textOrNull(190),
        rejectionNote: textOrNull(),
        rejectAt: timeOrNull(),
        ...times(),
      },
      references: { ...PROGRAM_REFERENCES, partnerId: 'partner' },
    }),
    tableEntity(parts, {
      name: 'partnerInvite',
      table: 'partner_invite',
      key: ['hashedToken'],
      fields: {
        hashedToken: text(64),
        programId: id(),
        enrolmentId: id(),
        expiresAt: time('expires_at'),
        createdAt: times().createdAt,
      },
      ofWorkspace: ofProgram.ofWorkspace,
      references: { programId: 'program', enrolmentId: 'enrolment' },
      unique: [{ field: 'enrolmentId', columns: ['enrolment_id'] }],
    }),
  ];
}

function linkOfPartnerEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'partnerLink',
    table: 'partner_link',
    key: ['linkId'],
    fields: {
      linkId: id(),
      enrolmentId: id(),
      defaultLinkId: idOrNull(),
      urlHash: text(64),
      createdAt: times().createdAt,
    },
    ofWorkspace: (workspaceId) =>
      sql`enrolment_id in (select id from enrolment where ${ofProgram.ofWorkspace(workspaceId)})`,
    references: { linkId: 'link', enrolmentId: 'enrolment' },
  });
}

function codeEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'discountCode',
    table: 'discount_code',
    ...ofProgram,
    fields: {
      ...programFields(),
      code: text(190),
      discountId: idOrNull(),
      partnerId: id(),
      linkId: id(),
      disabledAt: timeOrNull(),
      ...times(),
    },
    derived: ['code_folded'],
    derive: forEach((row) => {
      row.code_folded = fold(row.code as string);
    }),
    references: { ...PROGRAM_REFERENCES, partnerId: 'partner', linkId: 'link' },
    unique: [
      { field: 'code', columns: ['program_id', 'code_folded'] },
      { field: 'linkId', columns: ['link_id'] },
    ],
  });
}
