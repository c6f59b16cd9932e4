// A link: its type and the pure rules about its fields. No store, no rights, no clock.
import type { TagColor } from '../tags/tag.ts';

export const ROOT_KEY = '_root';
export const MAX_URL_LENGTH = 32_000;
export const MAX_BULK = 100;
export const UTM_FIELDS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;
export type UtmField = (typeof UTM_FIELDS)[number];
export type Utm = Record<UtmField, string | null>;

export interface TestVariant {
  readonly url: string;
  readonly percentage: number;
}

export interface LinkTag {
  readonly id: string;
  readonly name: string;
  readonly color: TagColor;
}

/** What a caller can set, in its stored form. */
export interface LinkFields extends Utm {
  domain: string;
  key: string;
  url: string;
  externalId: string | null;
  tenantId: string | null;
  programId: string | null;
  partnerId: string | null;
  folderId: string | null;
  trackConversion: boolean;
  archived: boolean;
  proxy: boolean;
  rewrite: boolean;
  doIndex: boolean;
  publicStats: boolean;
  expiresAt: number | null;
  expiredUrl: string | null;
  password: string | null;
  title: string | null;
  description: string | null;
  image: string | null;
  video: string | null;
  ios: string | null;
  android: string | null;
  geo: Readonly<Record<string, string>> | null;
  comments: string | null;
  testVariants: readonly TestVariant[] | null;
  testStartedAt: number | null;
  testCompletedAt: number | null;
}

export interface Link extends Readonly<LinkFields> {
  readonly id: string;
  readonly workspaceId: string;
  readonly userId: string | null;
  readonly disabledAt: number | null;
  readonly bannedAt: number | null;
  readonly clicks: number;
  readonly leads: number;
  readonly conversions: number;
  readonly sales: number;
  readonly saleAmount: number;
  readonly lastClickedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly tags: readonly LinkTag[];
  /** Those that hear of clicks on this link in particular. */
  readonly webhookIds: readonly string[];
}

/** The counters that conversions raise. */
export type LinkConversions = Pick<Link, 'leads' | 'conversions' | 'sales' | 'saleAmount'>;

/** A link with nothing set. */
export const EMPTY_FIELDS: LinkFields = {
  domain: '',
  key: '',
  url: '',
  externalId: null,
  tenantId: null,
  programId: null,
  partnerId: null,
  folderId: null,
  trackConversion: false,
  archived: false,
  proxy: false,
  rewrite: false,
  doIndex: false,
  publicStats: false,
  expiresAt: null,
  expiredUrl: null,
  password: null,
  title: null,
  description: null,
  image: null,
  video: null,
  ios: null,
  android: null,
  geo: null,
  comments: null,
  testVariants: null,
  testStartedAt: null,
  testCompletedAt: null,
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_term: null,
  utm_content: null,
};

export function shortLink(domain: string, key: string): string {
  return key === ROOT_KEY ? `https://${domain}` : `https://${domain}/${key}`;
}

/** Text cut to a length, the last three characters then being dots. */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  // Half a surrogate pair is no character.
  return `${text.slice(0, length - 3).replace(/[\uD800-\uDBFF]$/, '')}...`;
}

export function stripExternalPrefix(id: string): string {
  return id.startsWith('ext_') ? id.slice(4) : id;
}
