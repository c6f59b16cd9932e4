// A short-link domain of a workspace: its type and the pure rules about its fields.
import { domainToASCII } from 'node:url';
import { readDestination } from '../kernel/destination.ts';
import { invalid } from '../kernel/errors.ts';

export interface Domain {
  readonly id: string;
  readonly workspaceId: string;
  readonly slug: string;
  /** The name before a change, while links are still to follow; null otherwise. */
  readonly formerSlug: string | null;
  readonly primary: boolean;
  readonly verified: boolean;
  /** What the owner puts into the domain's TXT record. */
  readonly verificationCode: string;
  readonly archived: boolean;
  /** Keys that differ only in case are different links. */
  readonly caseSensitive: boolean;
  readonly placeholder: string | null;
  readonly expiredUrl: string | null;
  readonly notFoundUrl: string | null;
  readonly logo: string | null;
  /** JSON as text, served as it is. */
  readonly assetLinks: string | null;
  readonly appleAppSiteAssociation: string | null;
  readonly deepviewData: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The fields a caller may set; absent ones stay as they are. */
export type DomainChange = {
  readonly [K in
    | 'slug'
    | 'archived'
    | 'caseSensitive'
    | 'placeholder'
    | 'expiredUrl'
    | 'notFoundUrl'
    | 'logo'
    | 'assetLinks'
    | 'appleAppSiteAssociation'
    | 'deepviewData']?: Domain[K] | undefined;
};

/** What a link has to know of its domain. */
export interface LinkDomain {
  readonly slug: string;
  /** Where links may still be that have not followed a change of the name. */
  readonly formerSlug?: string | null;
  /** The service's default domain, which belongs to nobody. */
  readonly shared: boolean;
  readonly caseSensitive: boolean;
}

/** What a visit has to know of a domain. */
export type ServingDomain = Pick<
  Domain,
  | 'workspaceId'
  | 'formerSlug'
  | 'placeholder'
  | 'expiredUrl'
  | 'notFoundUrl'
  | 'logo'
  | 'caseSensitive'
  | 'assetLinks'
  | 'appleAppSiteAssociation'
  | 'deepviewData'
>;

/** The names that links of the domain are kept under: one, but for a while after a change of the name. */
export function namesOf({ slug, formerSlug }: Pick<LinkDomain, 'slug' | 'formerSlug'>): readonly string[] {
  return formerSlug ? [slug, formerSlug] : [slug];
}

/** Fields that a workspace on the free plan cannot set. */
export const PAID_FIELDS = [
  'logo',
  'expiredUrl',
  'notFoundUrl',
  'assetLinks',
  'appleAppSiteAssociation',
] as const satisfies (keyof DomainChange)[];

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const SLUG = new RegExp(`^(?:${LABEL}\\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,58}[a-z0-9])$`);
const MAX_SLUG_LENGTH = 190;

/** The form in which domains are kept and compared: lower case, international names in their ASCII form. */
export function foldSlug(text: string): string {
  const trimmed = text.trim().toLowerCase();
  const ascii = /^[\0-\x7f]*$/.test(trimmed) ? trimmed : domainToASCII(trimmed);
  return ascii || trimmed;
}

/** Why a folded name cannot be a short-link domain; undefined when it can. */
export function refusedSlug(slug: string): string | undefined {
  if (slug.length > MAX_SLUG_LENGTH) return `must have at most ${MAX_SLUG_LENGTH} characters`;
  if (!SLUG.test(slug)) return 'must be a domain name such as go.example.com';
  if (slug.startsWith('www.')) return 'must not start with www.; visits to www. reach the name without it';
  return undefined;
}

const DESTINATIONS = ['expiredUrl', 'notFoundUrl', 'placeholder'] as const satisfies (keyof DomainChange)[];
const JSON_TEXTS = [
  'assetLinks',
  'appleAppSiteAssociation',
  'deepviewData',
] as const satisfies (keyof DomainChange)[];

/** The given fields in the form they are kept in: addresses complete, nothing instead of empty text. */
export function readChange(change: DomainChange): DomainChange {
  return {
    ...change,
    ...mapGiven(change, DESTINATIONS, readDestination),
    ...mapGiven(change, JSON_TEXTS, readJsonText),
    ...mapGiven(change, ['logo'], readLogo),
  };
}

type TextField = (typeof DESTINATIONS)[number] | (typeof JSON_TEXTS)[number] | 'logo';

function mapGiven(
  change: DomainChange,
  fields: readonly TextField[],
  read: (field: string, text: string) => string,
): Partial<Record<TextField, string | null>> {
  const given = fields.filter((field) => change[field] !== undefined);
  return Object.fromEntries(given.map((field) => [field, change[field] ? read(field, change[field]) : null]));
}

function readJsonText(field: string, text: string): string {
  try {
    JSON.parse(text);
  } catch {
    throw invalid(field, 'must be JSON as text');
  }
  return text;
}

/** Images given as data are looked at where they are stored. */
function readLogo(field: string, text: string): string {
  if (text.startsWith('data:')) return text;
  const url = readDestination(field, text);
  if (!/^https?:/i.test(url))
    throw invalid(field, 'must be an image as a base64 data URL, or its http(s) address');
  return url;
}
