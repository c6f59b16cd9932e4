// A click as it is stored for analytics: enriched, filtered for privacy, every field a plain value. The table
// of columns is the one place that says what is stored, under which name and in which order.
import type { Trigger } from '../events/event.ts';

export interface ClickRecord {
  id: string;
  timeMs: number;
  workspaceId: string;
  linkId: string;
  domain: string;
  key: string;
  /** Where the visitor was sent. */
  url: string;
  /** The same, cut at the first question mark. */
  urlBase: string;
  utmSource: string;
  utmMedium: string;
  utmCampaign: string;
  utmTerm: string;
  utmContent: string;
  /** Empty where it may not be kept. */
  ip: string;
  /** AF AN AS EU NA OC SA, or empty. */
  continent: string;
  /** Two letters, or `Unknown`, as all that follow. */
  country: string;
  /** The part after the hyphen of an ISO 3166-2 code. */
  region: string;
  city: string;
  device: string;
  browser: string;
  browserVersion: string;
  os: string;
  osVersion: string;
  userAgent: string;
  trigger: Trigger;
  qr: boolean;
  /** The host without `www.`, or `(direct)`. */
  referer: string;
  refererUrl: string;
}

export const UNKNOWN = 'Unknown';
export const DIRECT = '(direct)';

export type ColumnType = 'VARCHAR' | 'BIGINT' | 'BOOLEAN';

export interface ClickColumn {
  readonly name: string;
  readonly field: keyof ClickRecord;
  readonly type: ColumnType;
}

const text = (name: string, field: keyof ClickRecord): ClickColumn => ({ name, field, type: 'VARCHAR' });

/** New columns are added at the end: stored files are read by name, and what they lack is empty. */
export const CLICK_COLUMNS: readonly ClickColumn[] = [
  { name: 'time_ms', field: 'timeMs', type: 'BIGINT' },
  text('workspace_id', 'workspaceId'),
  text('link_id', 'linkId'),
  text('id', 'id'),
  text('domain', 'domain'),
  text('key', 'key'),
  text('url', 'url'),
  text('url_base', 'urlBase'),
  text('utm_source', 'utmSource'),
  text('utm_medium', 'utmMedium'),
  text('utm_campaign', 'utmCampaign'),
  text('utm_term', 'utmTerm'),
  text('utm_content', 'utmContent'),
  text('ip', 'ip'),
  text('continent', 'continent'),
  text('country', 'country'),
  text('region', 'region'),
  text('city', 'city'),
  text('device', 'device'),
  text('browser', 'browser'),
  text('browser_version', 'browserVersion'),
  text('os', 'os'),
  text('os_version', 'osVersion'),
  text('user_agent', 'userAgent'),
  text('trigger', 'trigger'),
  { name: 'qr', field: 'qr', type: 'BOOLEAN' },
  text('referer', 'referer'),
  text('referer_url', 'refererUrl'),
];

/**
 * The values in the order of the columns, as one text. `plain` takes the separator out of what people have
 * written; everything else comes from closed sets. Spelled out: this runs for every click, and going through
 * the table of columns takes several times as long.
 */
export function joinClick(click: ClickRecord, separator: string, plain: (text: string) => string): string {
  const s = separator;
  const utm = `${plain(click.utmSource)}${s}${plain(click.utmMedium)}${s}${plain(click.utmCampaign)}${s}${plain(click.utmTerm)}${s}${plain(click.utmContent)}`;
  const place = `${click.continent}${s}${click.country}${s}${click.region}${s}${plain(click.city)}`;
  const agent = `${click.device}${s}${plain(click.browser)}${s}${plain(click.browserVersion)}${s}${plain(click.os)}${s}${plain(click.osVersion)}${s}${plain(click.userAgent)}`;
  return `${click.timeMs}${s}${click.workspaceId}${s}${click.linkId}${s}${plain(click.id)}${s}${plain(click.domain)}${s}${plain(click.key)}${s}${plain(click.url)}${s}${plain(click.urlBase)}${s}${utm}${s}${plain(click.ip)}${s}${place}${s}${agent}${s}${click.trigger}${s}${click.qr}${s}${plain(click.referer)}${s}${plain(click.refererUrl)}`;
}
