// The destination of a link: campaign parameters in and out of its query, and the guard against loops.
import type { LinkDomain } from '../domains/domain.ts';
import { lookupKey } from './link-key.ts';
import { ROOT_KEY, UTM_FIELDS, type Utm } from './link.ts';

export const CAMPAIGN_FIELDS = [...UTM_FIELDS, 'ref'] as const;
export type CampaignField = (typeof CAMPAIGN_FIELDS)[number];
/** Null removes the parameter; absent leaves it as it is. */
export type Campaign = Partial<Record<CampaignField, string | null>>;

/** The address with the given parameters set or removed; unchanged text when there are none. */
export function withCampaign(url: string, campaign: Campaign): string {
  const fields = CAMPAIGN_FIELDS.filter((field) => campaign[field] !== undefined);
  if (fields.length === 0 || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  for (const field of fields) {
    const value = campaign[field];
    if (value) parsed.searchParams.set(field, value.replace('+', ' '));
    else parsed.searchParams.delete(field);
  }
  return parsed.toString();
}

export function campaignOf(url: string): Utm {
  const search = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams();
  const values = UTM_FIELDS.map((field) => [field, search.get(field) || null]);
  return Object.fromEntries(values) as Utm;
}

/** Whether a destination is the short link itself, which would send a visitor in circles. */
export function pointsAt(url: string, domain: LinkDomain, key: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, host, pathname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (host.replace(/^www\./, '') !== domain.slug) return false;
  const path = safeDecode(pathname).replaceAll(/^\/+|\/+$/g, '').replace(/\+$/, '');
  return path === '' ? key === ROOT_KEY : lookupKey(path, domain) === lookupKey(key, domain);
}

function safeDecode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
