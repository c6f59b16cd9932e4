// The destination of a link: campaign parameters in and out of its query, and the guard against loops.
import type { LinkDomain } from '../domains/domain.ts';
import { ROOT_KEY, UTM_FIELDS, type Utm } from './link.ts';
import { lookupKey } from './link-key.ts';

export const CAMPAIGN_FIELDS = [...UTM_FIELDS, 'ref'] as const;
export type CampaignField = (typeof CAMPAIGN_FIELDS)[number];
/** Null removes the parameter; absent leaves it as it is. */
export type Campaign = Partial<Record<CampaignField, string | null>>;

/** The address with the given parameters set or removed; the same text when they are so already. */
export function withCampaign(url: string, campaign: Campaign): string {
  const given = CAMPAIGN_FIELDS.filter((field) => campaign[field] !== undefined);
  const parsed = given.length === 0 ? null : URL.parse(url);
  if (!parsed) return url;
  const { searchParams } = parsed;
  const wanted = given.map((field) => [field, campaign[field]?.replace('+', ' ') || null] as const);
  const changes = wanted.filter(([field, value]) => {
    const values = searchParams.getAll(field);
    return value === null ? values.length > 0 : values.length !== 1 || values[0] !== value;
  });
  if (changes.length === 0) return url;
  for (const [field, value] of changes) {
    if (value === null) searchParams.delete(field);
    else searchParams.set(field, value);
  }
  return parsed.href;
}

export function campaignOf(url: string): Utm {
  const search = URL.parse(url)?.searchParams ?? new URLSearchParams();
  const values = UTM_FIELDS.map((field) => [field, search.get(field) || null]);
  return Object.fromEntries(values) as Utm;
}

/** Whether a destination is the short link itself, which would send a visitor in circles. */
export function pointsAt(url: string, domain: LinkDomain, key: string): boolean {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return false;
  const { host, pathname } = parsed;
  if (host.replace(/^www\./, '').replace(/\.(?=:|$)/, '') !== domain.slug) return false;
  const path = safeDecode(pathname)
    .replaceAll(/^\/+|\/+$/g, '')
    .replace(/\+$/, '');
  return path === '' ? key === ROOT_KEY : lookupKey(path, domain) === lookupKey(key, domain);
}

function safeDecode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
