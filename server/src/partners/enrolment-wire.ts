// An enrolled partner as clients and receivers of webhooks see it.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import { type Link, shortLink } from '../links/link.ts';
import type { Application } from './applications.ts';
import { ENROLMENT_STATUSES } from './enrolment-states.ts';
import {
  APPLICATION_REJECTIONS,
  BAN_REASONS,
  displayName,
  type EnrolledPartner,
  type Enrolment,
  NETWORK_STATUSES,
  PAYOUT_METHODS,
  type Partner,
  ratio,
} from './partner.ts';

const textOrNull = z.string().nullable();
const timeOrNull = z.iso.datetime().nullable();

export const partnerLinkSchema = z.object({
  id: z.string(),
  domain: z.string(),
  key: z.string(),
  shortLink: z.string(),
  url: z.string(),
  clicks: z.number(),
  leads: z.number(),
  conversions: z.number(),
  sales: z.number(),
  saleAmount: z.number().describe('In cents.'),
});

const socials = {
  website: textOrNull,
  youtube: textOrNull,
  twitter: textOrNull,
  linkedin: textOrNull,
  instagram: textOrNull,
  tiktok: textOrNull,
};

export const enrolledPartnerSchema = z
  .object({
    id: z.string().describe('The id of the partner.'),
    partnerId: z.string().describe('The same.'),
    name: z.string(),
    username: textOrNull,
    email: textOrNull,
    image: textOrNull,
    description: textOrNull,
    country: textOrNull,
    companyName: textOrNull,
    networkStatus: z.enum(NETWORK_STATUSES),
    defaultPayoutMethod: z.enum(PAYOUT_METHODS).nullable(),
    paypalEmail: textOrNull,
    stripeConnectId: textOrNull,
    payoutsEnabledAt: timeOrNull,
    identityVerifiedAt: timeOrNull,
    trustedAt: timeOrNull.meta({ deprecated: true }),
    programId: z.string(),
    groupId: textOrNull,
    tenantId: textOrNull.describe('The partner’s id in your own system.'),
    createdAt: z.iso.datetime().describe('When the partner joined the program.'),
    status: z.enum(ENROLMENT_STATUSES),
    links: z.array(partnerLinkSchema).nullable().describe('The first 100 links.'),
    clickRewardId: textOrNull,
    leadRewardId: textOrNull,
    saleRewardId: textOrNull,
    referralRewardId: textOrNull,
    discountId: textOrNull,
    applicationId: textOrNull,
    application: z
      .object({
        rejectionReason: z.enum(APPLICATION_REJECTIONS).nullable(),
        rejectionNote: textOrNull,
        reviewedAt: timeOrNull,
      })
      .nullable()
      .describe('What became of the application; null for those who did not apply.'),
    referralFormData: z
      .object({ fields: z.array(z.record(z.string(), z.unknown())) })
      .nullable()
      .describe('Null: there are no forms of referred customers.'),
    bannedAt: timeOrNull,
    bannedReason: z.enum(BAN_REASONS).nullable(),
    tags: z.array(z.object({ id: z.string(), name: z.string() })).optional(),
    totalClicks: z.number(),
    totalLeads: z.number(),
    totalConversions: z.number(),
    totalSales: z.number(),
    totalSaleAmount: z.number().describe('In cents.'),
    totalCommissions: z.number().describe('In cents.'),
    netRevenue: z.number().describe('Sale amount less commissions, in cents.'),
    earningsPerClick: z.number().nullable(),
    averageLifetimeValue: z.number().nullable(),
    clickToLeadRate: z.number().nullable(),
    clickToConversionRate: z.number().nullable(),
    leadToConversionRate: z.number().nullable(),
    returnOnAdSpend: z.number().nullable(),
    clicks: z.number().meta({ deprecated: true }),
    leads: z.number().meta({ deprecated: true }),
    conversions: z.number().meta({ deprecated: true }),
    sales: z.number().meta({ deprecated: true }),
    saleAmount: z.number().meta({ deprecated: true }),
    ...socials,
  })
  .meta({ id: 'EnrolledPartner', description: 'A partner of the program.' });

export type WireEnrolledPartner = z.input<typeof enrolledPartnerSchema>;

export interface ShownPartner extends EnrolledPartner {
  readonly links: readonly Link[];
  readonly application?: Pick<Application, 'rejectionReason' | 'rejectionNote' | 'reviewedAt'> | undefined;
  readonly tags?: readonly { readonly id: string; readonly name: string }[] | undefined;
}

const orNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

export function presentPartnerLink(link: Link): z.input<typeof partnerLinkSchema> {
  const { id, domain, key, url, clicks, leads, conversions, sales, saleAmount } = link;
  const short = shortLink(domain, key);
  return { id, domain, key, shortLink: short, url, clicks, leads, conversions, sales, saleAmount };
}

export function presentEnrolled({
  partner,
  enrolment,
  links,
  tags,
  application,
}: ShownPartner): WireEnrolledPartner {
  return {
    ...presentPerson(partner),
    partnerId: partner.id,
    programId: enrolment.programId,
    groupId: enrolment.groupId,
    tenantId: enrolment.tenantId,
    createdAt: isoTime(enrolment.createdAt),
    status: enrolment.status,
    links: links.map(presentPartnerLink),
    clickRewardId: enrolment.clickRewardId,
    leadRewardId: enrolment.leadRewardId,
    saleRewardId: enrolment.saleRewardId,
    referralRewardId: enrolment.referralRewardId,
    discountId: enrolment.discountId,
    applicationId: enrolment.applicationId,
    application: application ? presentOutcome(application) : null,
    referralFormData: null,
    bannedAt: orNull(enrolment.bannedAt),
    bannedReason: enrolment.bannedReason,
    ...(tags && { tags: tags.map(({ id, name }) => ({ id, name })) }),
    ...presentTotals(enrolment),
  };
}

function presentOutcome({
  rejectionReason,
  rejectionNote,
  reviewedAt,
}: NonNullable<ShownPartner['application']>) {
  return { rejectionReason, rejectionNote, reviewedAt: orNull(reviewedAt) };
}

function presentPerson(partner: Partner) {
  return {
    id: partner.id,
    name: displayName(partner),
    username: partner.username,
    email: partner.email,
    image: partner.image,
    description: partner.description,
    country: partner.country,
    companyName: partner.companyName,
    networkStatus: partner.networkStatus,
    defaultPayoutMethod: partner.defaultPayoutMethod,
    paypalEmail: partner.paypalEmail,
    stripeConnectId: partner.stripeConnectId,
    payoutsEnabledAt: orNull(partner.payoutsEnabledAt),
    identityVerifiedAt: orNull(partner.identityVerifiedAt),
    trustedAt: orNull(partner.trustedAt),
    website: partner.website,
    youtube: partner.youtube,
    twitter: partner.twitter,
    linkedin: partner.linkedin,
    instagram: partner.instagram,
    tiktok: partner.tiktok,
  };
}

/** The plain sums, as they also stand in webhooks. */
export function sumsOf(enrolment: Enrolment) {
  const { totalClicks, totalLeads, totalConversions, totalSales, totalSaleAmount, totalCommissions } =
    enrolment;
  return { totalClicks, totalLeads, totalConversions, totalSales, totalSaleAmount, totalCommissions };
}

function presentTotals(enrolment: Enrolment) {
  const sums = sumsOf(enrolment);
  const { totalClicks, totalLeads, totalConversions, totalSaleAmount, totalCommissions } = sums;
  return {
    ...sums,
    netRevenue: totalSaleAmount - totalCommissions,
    earningsPerClick: ratio(totalSaleAmount, totalClicks),
    averageLifetimeValue: ratio(totalSaleAmount, totalConversions),
    clickToLeadRate: ratio(totalLeads, totalClicks),
    clickToConversionRate: ratio(totalConversions, totalClicks),
    leadToConversionRate: ratio(totalConversions, totalLeads),
    returnOnAdSpend: ratio(totalSaleAmount, totalCommissions),
    clicks: totalClicks,
    leads: totalLeads,
    conversions: totalConversions,
    sales: sums.totalSales,
    saleAmount: totalSaleAmount,
  };
}

/** The partner beside a lead, a sale or a commission in what receivers of webhooks get. */
export const webhookPartnerSchema = z.object({
  id: z.string(),
  name: z.string(),
  email: textOrNull,
  image: textOrNull,
  payoutsEnabledAt: timeOrNull,
  country: textOrNull,
  groupId: textOrNull,
  totalClicks: z.number(),
  totalLeads: z.number(),
  totalConversions: z.number(),
  totalSales: z.number(),
  totalSaleAmount: z.number(),
  totalCommissions: z.number(),
});

export function presentWebhookPartner({
  partner,
  enrolment,
}: EnrolledPartner): z.input<typeof webhookPartnerSchema> {
  return {
    id: partner.id,
    name: displayName(partner),
    email: partner.email,
    image: partner.image,
    payoutsEnabledAt: orNull(partner.payoutsEnabledAt),
    country: partner.country,
    groupId: enrolment.groupId,
    ...sumsOf(enrolment),
  };
}
