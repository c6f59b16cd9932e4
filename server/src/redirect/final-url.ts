// The address a visitor is sent to: the chosen target with what the visit and the link add to its query. No
// parameter can replace the target itself.
import { shortLink } from '../links/link.ts';
import type { VisitLink } from '../links/visit-link.ts';
import type { Visit } from './visit.ts';

/** Parameters of the visit that say something to us and are not passed on. */
const OWN_PARAMETERS = new Set(['dub-no-track', 'redir_url']);
/** Of these the value 1 is for us; another one is the destination's. */
const SWITCHES = new Set(['qr', 'skip_deeplink_preview']);
const CLICK_PARAMETER = 'dub_id';
const CLIENT_REFERENCE = 'dub_client_reference_id';
/** How attribution networks see who sent the visitor. */
const NETWORK_PARTNER_ID = 'linktrail';

/** Destinations that get something of their own; checked as text first, since most are none of these. */
const SPECIAL_HOSTS = /\.onelink\.me|\.sng\.link|play\.google\.com/i;
const PLAY_HOST = 'play.google.com';

/** `target` is the chosen destination, `fallback` the default one or the variant that stands for it. */
export interface Destination {
  readonly target: string;
  readonly fallback: string;
}

export function finalUrl(to: Destination, link: VisitLink, visit: Visit, clickId: string): string {
  const { target } = to;
  if (!addsAnything(to, link, visit))
    return target === link.url ? target : (URL.parse(target)?.href ?? target);
  const url = URL.parse(target);
  if (!url) return target;
  const { searchParams } = url;
  const before = searchParams.toString();
  const via = isPartnerLink(link) ? link.key.toLowerCase() : undefined;
  if (via) searchParams.set('via', via);
  if (passesClickId(link, to.fallback) && !visit.noTrack) addClickId(searchParams, clickId);
  addNetwork(url, visit, clickId, via);
  if (url.hostname === PLAY_HOST) addPlayReferrer(searchParams, link, visit);
  const after = passOn(visit.query, searchParams, link.password !== null).toString();
  // Untouched text stays as it was written: serialising would turn ?flag into ?flag=.
  if (after !== before) url.search = after;
  return url.href;
}

/** Whether the destination learns the click's id. */
function passesClickId(link: VisitLink, fallback: string): boolean {
  return link.trackConversion || isPartnerLink(link) || networkOf(fallback) !== undefined;
}

function isPartnerLink({ programId, partnerId }: VisitLink): boolean {
  return programId !== null && partnerId !== null;
}

function addsAnything({ target, fallback }: Destination, link: VisitLink, { query }: Visit): boolean {
  if (query.size > 0 || link.trackConversion || isPartnerLink(link)) return true;
  return SPECIAL_HOSTS.test(target) || (fallback !== target && SPECIAL_HOSTS.test(fallback));
}

function addClickId(search: URLSearchParams, clickId: string): void {
  if (search.get(CLIENT_REFERENCE) === '1') {
    search.delete(CLIENT_REFERENCE);
    search.set('client_reference_id', `dub_id_${clickId}`);
  } else {
    search.set(CLICK_PARAMETER, clickId);
  }
}

function networkOf(target: string): 'appsflyer' | 'singular' | undefined {
  const host = SPECIAL_HOSTS.test(target) ? (URL.parse(target)?.hostname ?? '') : '';
  if (host.endsWith('.onelink.me')) return 'appsflyer';
  return host.endsWith('.sng.link') ? 'singular' : undefined;
}

function addNetwork(url: URL, visit: Visit, clickId: string, via: string | undefined): void {
  const search = url.searchParams;
  const network = networkOf(url.href);
  if (network === 'appsflyer') {
    search.set('pid', NETWORK_PARTNER_ID);
    search.set('clickid', clickId);
    if (via && !search.has('c')) search.set('c', via);
    if (via && !search.has('af_siteid')) search.set('af_siteid', via);
  }
  if (network === 'singular') {
    search.set('cl', clickId);
    search.set('ua', visit.userAgent);
    search.set('ip', visit.ip);
    if (search.get('wpcn') === '{via}') search.set('wpcn', via ?? '');
    if (search.get('wpcl') === '{dub_id}') search.set('wpcl', clickId);
  }
}

function addPlayReferrer(search: URLSearchParams, link: VisitLink, visit: Visit): void {
  const referrer = new URLSearchParams(search.get('referrer') ?? '');
  const query = visit.query.toString();
  referrer.set('deepLink', `${shortLink(link.domain, link.key)}${query && `?${query}`}`);
  search.set('referrer', referrer.toString());
}

/** Parameters of the visit win over those of the target; of repeated ones the last counts. One pass over each. */
function passOn(query: URLSearchParams, search: URLSearchParams, hasPassword: boolean): URLSearchParams {
  const values = new Map(query);
  for (const name of OWN_PARAMETERS) values.delete(name);
  if (hasPassword) values.delete('pw');
  const wins = new Set(values.keys());
  const merged: [string, string][] = [];
  for (const [name, value] of search) {
    if (!wins.has(name)) merged.push([name, value]);
    else if (values.has(name)) {
      merged.push([name, values.get(name) as string]);
      values.delete(name);
    }
  }
  return new URLSearchParams(
    [...merged, ...values].filter(([name, value]) => !(value === '1' && SWITCHES.has(name))),
  );
}
