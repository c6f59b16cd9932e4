// A workspace: its type, its limits and the pure rules about its fields.
import type { Plan } from '../http/operation.ts';
import { randomText } from '../kernel/ids.ts';
import type { IpPrivacy } from '../kernel/ip-privacy.ts';

/** What an operator can cap. A limit that is not set does not apply. */
export const LIMITS = [
  'links',
  'events',
  'payouts',
  'domains',
  'tags',
  'partnerTags',
  'folders',
  'groups',
  'partners',
  'users',
  'requestsPerMinute',
  'analyticsPerSecond',
] as const;
export type LimitName = (typeof LIMITS)[number];
export type Limits = Readonly<Partial<Record<LimitName, number>>>;

export const ATTRIBUTION = ['last_click', 'first_click'] as const;
export type AttributionModel = (typeof ATTRIBUTION)[number];

/** How clients are told "no limit". */
export const UNLIMITED = 1_000_000_000;

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly logo: string | null;
  readonly plan: Plan;
  readonly defaultProduct: 'links' | 'program';
  readonly defaultProgramId: string | null;
  readonly inviteCode: string | null;
  readonly publishableKey: string | null;
  readonly conversionEnabled: boolean;
  readonly webhookEnabled: boolean;
  readonly allowedHostnames: readonly string[];
  readonly limits: Limits;
  readonly ipPrivacy: IpPrivacy;
  /** Which click of a customer gets the credit. */
  readonly attribution: AttributionModel;
  /** How long after it a click still gets credit; null: for ever. */
  readonly attributionDays: number | null;
  /** Counts of one month; in another month they are over. */
  readonly usage: {
    readonly month: number;
    readonly events: number;
    readonly links: number;
    readonly payouts: number;
  };
  readonly totalLinks: number;
  readonly totalClicks: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The fields a caller may set; absent ones stay as they are. */
export type WorkspaceChange = Partial<
  Pick<
    Workspace,
    | 'name'
    | 'slug'
    | 'logo'
    | 'plan'
    | 'defaultProduct'
    | 'defaultProgramId'
    | 'conversionEnabled'
    | 'webhookEnabled'
    | 'allowedHostnames'
    | 'publishableKey'
    | 'limits'
    | 'ipPrivacy'
    | 'attribution'
    | 'attributionDays'
  >
>;

/** Months in a row, so that a change of month is a change of number. */
export function usageMonth(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Slugs that would read as something else in an address. */
const RESERVED_SLUGS = new Set([
  'api',
  'app',
  'admin',
  'health',
  'metrics',
  'login',
  'register',
  'settings',
  'new',
  'ws',
]);

/** Lower case, words joined by hyphens; '' when nothing usable is left. */
export function slugify(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
}

export function isReservedSlug(slug: string): boolean {
  return RESERVED_SLUGS.has(slug) || slug.startsWith('ws_');
}

/** Both our own form and the one existing installations bring along. */
export const PUBLISHABLE_KEY = /^(lt|dub)_pk_[A-Za-z0-9_-]{16,64}$/;

export function newPublishableKey(): string {
  return `lt_pk_${randomText(24)}`;
}

/** `example.com`, `*.example.com` or `localhost`, in lower case. */
export const ALLOWED_HOSTNAME = /^(localhost|(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63})$/;
export const MAX_ALLOWED_HOSTNAMES = 10;
