// A group of partners: what its members earn, where their links lead and how they come to it.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Campaign } from '../links/link-url.ts';
import { CAMPAIGN_FIELDS } from '../links/link-url.ts';
import type { ApplicationForm } from './application-form.ts';
import type { RewardEvent } from './program.ts';

export const DEFAULT_GROUP_SLUG = 'default';
export const HOLDING_PERIODS_DAYS = [0, 7, 14, 30, 60, 90] as const;
export const LINK_STRUCTURES = ['short', 'query', 'path'] as const;
export type LinkStructure = (typeof LINK_STRUCTURES)[number];
export const MAX_DEFAULT_LINKS = 5;
export const MAX_ADDITIONAL_LINKS = 100;

/** Where partners may make links to, beside the default links. */
export interface AdditionalLink {
  readonly domain: string;
  readonly path: string;
  readonly validationMode: 'domain' | 'exact';
}

/** Partners whose totals fit all rules of a group are moved to it. */
export const MOVE_ATTRIBUTES = [
  'totalLeads',
  'totalConversions',
  'totalSaleAmount',
  'totalCommissions',
] as const;
export interface MoveRule {
  readonly attribute: (typeof MOVE_ATTRIBUTES)[number];
  readonly min: number;
  /** Null: no upper end. */
  readonly max: number | null;
}

type Stored = Fields<Selectable<Schema['partner_group']>>;

export interface PartnerGroup
  extends Omit<Stored, 'additionalLinks' | 'linkStructure' | 'applicationForm' | 'moveRules' | 'searchText'> {
  readonly additionalLinks: readonly AdditionalLink[] | null;
  readonly linkStructure: LinkStructure;
  readonly applicationForm: ApplicationForm | null;
  readonly moveRules: readonly MoveRule[] | null;
}

export type DefaultLink = Omit<Fields<Selectable<Schema['group_default_link']>>, 'urlHash'>;

/** What members of a group earn, as their enrolments have it. */
export type RewardIds = Pick<
  PartnerGroup,
  'clickRewardId' | 'leadRewardId' | 'saleRewardId' | 'referralRewardId' | 'discountId'
>;

export const NO_REWARDS: RewardIds = {
  clickRewardId: null,
  leadRewardId: null,
  saleRewardId: null,
  referralRewardId: null,
  discountId: null,
};

export function rewardsOf(group: RewardIds): RewardIds {
  const { clickRewardId, leadRewardId, saleRewardId, referralRewardId, discountId } = group;
  return { clickRewardId, leadRewardId, saleRewardId, referralRewardId, discountId };
}

/** The field of a group and of an enrolment that holds the reward for an event. */
export const REWARD_FIELDS = {
  click: 'clickRewardId',
  lead: 'leadRewardId',
  sale: 'saleRewardId',
  referral: 'referralRewardId',
} as const satisfies Record<RewardEvent, keyof RewardIds>;

/** The group's campaign parameters that an address does not have already. */
export function templateFor(group: PartnerGroup, url: string): Campaign {
  const given = URL.parse(url)?.searchParams ?? new URLSearchParams();
  const template: Campaign = {};
  for (const field of CAMPAIGN_FIELDS) {
    const value = utmOf(group)[field];
    if (value !== null && !given.has(field)) template[field] = value;
  }
  return template;
}

export function utmOf(group: PartnerGroup): Record<(typeof CAMPAIGN_FIELDS)[number], string | null> {
  return {
    utm_source: group.utmSource,
    utm_medium: group.utmMedium,
    utm_campaign: group.utmCampaign,
    utm_term: group.utmTerm,
    utm_content: group.utmContent,
    ref: group.ref,
  };
}
