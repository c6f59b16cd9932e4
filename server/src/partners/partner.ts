// A partner, who is one and the same in all programs, and its enrolment in one of them.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../kernel/errors.ts';
import { randomText } from '../kernel/ids.ts';
import { slugify } from '../workspaces/workspace.ts';
import type { EnrolmentStatus } from './enrolment-states.ts';

export const NETWORK_STATUSES = ['draft', 'submitted', 'approved', 'rejected', 'trusted'] as const;
export const PAYOUT_METHODS = ['connect', 'stablecoin', 'paypal', 'tremendous'] as const;
export const BAN_REASONS = [
  'tos_violation',
  'inappropriate_content',
  'fake_traffic',
  'fraud',
  'spam',
  'brand_abuse',
] as const;
export type BanReason = (typeof BAN_REASONS)[number];

export const APPLICATION_REJECTIONS = [
  'needsMoreDetail',
  'doesNotMeetRequirements',
  'notTheRightFit',
  'other',
] as const;

export const REAPPLICATIONS = ['standard', 'instant', 'never'] as const;
export type Reapplication = (typeof REAPPLICATIONS)[number];

export const MAX_EMAIL_LENGTH = 190;

type StoredPartner = Fields<Selectable<Schema['partner']>>;
export interface Partner
  extends Omit<StoredPartner, 'emailFolded' | 'searchText' | 'networkStatus' | 'defaultPayoutMethod'> {
  readonly networkStatus: (typeof NETWORK_STATUSES)[number];
  readonly defaultPayoutMethod: (typeof PAYOUT_METHODS)[number] | null;
}

type StoredEnrolment = Fields<Selectable<Schema['enrolment']>>;
export interface Enrolment
  extends Omit<StoredEnrolment, 'tenantFolded' | 'status' | 'bannedReason' | 'reapplication'> {
  readonly status: EnrolmentStatus;
  readonly bannedReason: BanReason | null;
  readonly reapplication: Reapplication;
}

export interface EnrolledPartner {
  readonly partner: Partner;
  readonly enrolment: Enrolment;
}

/** What a partner has brought, and the sums a report adds to it. */
export interface Totals {
  readonly clicks?: number;
  readonly leads?: number;
  readonly conversions?: number;
  readonly sales?: number;
  readonly saleAmount?: number;
  readonly commissions?: number;
}

export function tenantTaken(cause?: unknown): AppError {
  return new AppError('conflict', 'custom: tenantId: another partner of the program has this tenantId', {
    cause,
  });
}

/** Addresses and tenants that differ only in case are the same. */
export function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** What people see: whoever gave no name is known by the address. */
export function displayName({ id, name, email }: Pick<Partner, 'id' | 'name' | 'email'>): string {
  return name || email || id;
}

/** The part of an address before the @, for names made from it. */
export function localPart(email: string): string {
  return email.slice(0, Math.max(0, email.lastIndexOf('@'))) || email;
}

/** A handle that nobody else is likely to have. */
export function newUsername(name: string | null, email: string): string {
  return `${slugify(name ?? '') || slugify(localPart(email)) || 'partner'}-${suffix()}`;
}

/** Four random letters and digits in lower case. */
export function suffix(): string {
  return randomText(4).toLowerCase();
}

/** `part` of `whole`; null where there is nothing to divide by. */
export function ratio(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null;
}
