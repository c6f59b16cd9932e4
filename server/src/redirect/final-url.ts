// The address a visitor is sent to: the chosen target with what the visit and the link add to its query. No
// parameter can replace the target itself.
import type { VisitLink } from '../links/visit-link.ts';
import type { Visit } from './visit.ts';

/** Parameters of the visit that say something to us and are not passed on. */
const OWN_PARAMETERS = new Set(['dub-no-track', 'redir_url']);
const CLICK_PARAMETER = 'dub_id';
const CLIENT_REFERENCE = 'dub_client_reference_id';
/** How attribution networks see who sent the visitor. */
const NETWORK_PARTNER_ID = 'linktrail';

/** Whether the destination learns the click's id. */
export function passesClickId(link: VisitLink, target: string): boolean {
  return link.trackConversion || isPartnerLink(link) || networkOf(target) !== undefined;
}

function isPartnerLink({ programId, partnerId }: VisitLink): boolean {
  return programId !== null && partnerId !== null;
}

export function finalUrl(target: string, link: VisitLink, visit: Visit, clickId: string): string {
  if (!URL.canParse(target)) return target;
  if (!addsAnything(link, target, visit)) return target;
  const url = new URL(target);
  const { searchParams } = url;
  const before = searchParams.toString();
  const via = isPartnerLink(link) ? link.key.toLowerCase() : undefined;
  if (via) searchParams.set('via', via);
  if (passesClickId(link, link.url) && !visit.noTrack) addClickId(searchParams, clickId);
  addNetwork(url, visit, clickId, via);
  if (url.hostname === 'play.google.com') addPlayReferrer(searchParams, link, visit);
  passOn(visit.query, searchParams, link.password !== null);
  // Untouched text stays as it was written: serialising would turn ?flag into ?flag=.
  return searchParams.toString() === before ? target : url.toString();
}

function addsAnything(link: VisitLink, target: string, { query }: Visit): boolean {
  return query.size > 0 || passesClickId(link, target) || passesClickId(link, link.url) || target.includes('play.google.com');
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
  const host = URL.parse(target)?.hostname ?? '';
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
  referrer.set('deepLink', `https://${link.domain}/${link.key}${query && `?${query}`}`);
  search.set('referrer', referrer.toString());
}

/** Parameters of the visit win over those of the target; of repeated ones the last counts. */
function passOn(query: URLSearchParams, search: URLSearchParams, hasPassword: boolean): void {
  for (const [name, value] of query) {
    if (!OWN_PARAMETERS.has(name) && !(hasPassword && name === 'pw')) search.set(name, value);
  }
  if (search.get('qr') === '1') search.delete('qr');
  if (search.get('skip_deeplink_preview') === '1') search.delete('skip_deeplink_preview');
}
