// Clicks that pages and apps report: a referral that a page noticed, a visit to a page that is a link itself,
// an app opened by a deep link. They count as visits do; how is in the parts that are passed in.
import type { Trigger } from '../events/event.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { shortLink } from '../links/link.ts';
import type { VisitLink } from '../links/visit-link.ts';
import { isAllowedHost, pageHost } from './allowed-hostnames.ts';
import { createLinkFinder, keyOfPath, type LinkFinderParts } from './tracked-link.ts';

/** Who reports, as its request says. */
export interface Reporter {
  readonly ip: string;
  readonly header: (name: string) => string | undefined;
  readonly noTrack: boolean;
}

/** How clicks are counted and written. */
export interface ClickRecorder {
  /** The id of the click that was recorded for this visitor of the link within the last hour. */
  findRepeat(link: VisitLink, reporter: Reporter): string | undefined;
  /** `recorded`: a click with this id is stored, this one or an earlier one. */
  record(
    link: VisitLink,
    reporter: Reporter,
    click: { url: string; referer: string; trigger: Trigger },
  ): Promise<{ clickId: string; recorded: boolean }>;
}

export interface ClickTrackingParts extends LinkFinderParts {
  readonly clicks: ClickRecorder;
  /** The latest visit from this address that was sent from the domain to an app store, within the last hour. */
  readonly findStoreVisit: (
    ip: string,
    slug: string,
  ) => { clickId: string; linkId: string; key: string } | undefined;
  /** Whose link it is, and what customers pay less; empty for links of nobody. From memory, as a rule. */
  readonly findPartner: (link: VisitLink) => Promise<ClickPartner>;
  /** Undefined when there is no such workspace. */
  readonly findAllowedHostnames: (workspaceId: string) => Promise<readonly string[] | undefined>;
}

/** What a page is told of the partner behind a link. */
export interface ClickPartner {
  readonly partner?: {
    readonly id: string;
    readonly name: string;
    readonly image: string | null;
    readonly groupId: string | null;
    readonly tenantId: string | null;
  };
  readonly discount?: {
    readonly id: string;
    readonly amount: number;
    readonly type: 'percentage' | 'flat';
    readonly maxDuration: number | null;
    readonly couponId: string | null;
    readonly couponTestId: string | null;
  } | null;
}

export interface OpenedLink {
  readonly clickId: string | null;
  readonly link: { id: string; domain: string; key: string; url: string } | null;
}

interface Reported {
  readonly domain: string;
  readonly referrer?: string | undefined;
}

const NOTHING_OPENED: OpenedLink = { clickId: null, link: null };

export function createClickTracking(parts: ClickTrackingParts) {
  const { clicks, findStoreVisit, findAllowedHostnames, findPartner } = parts;
  const links = createLinkFinder(parts);

  async function getLink(domain: string, key: string | undefined): Promise<VisitLink> {
    const link = key === undefined ? undefined : await links.find(domain, key);
    if (!link) throw unknownLink();
    return link;
  }

  async function mayReport(
    { workspaceId }: Pick<VisitLink, 'workspaceId'>,
    { header }: Pick<Reporter, 'header'>,
  ): Promise<boolean> {
    const allowed = await findAllowedHostnames(workspaceId);
    if (!allowed) throw unknownLink();
    return isAllowedHost(allowed, pageHost(header));
  }

  async function openedLater(domain: string, { ip }: Reporter): Promise<OpenedLink> {
    const slug = links.slugOfDomain(domain);
    const visit = slug === undefined ? undefined : findStoreVisit(ip, slug);
    const link = visit && (await links.find(domain, visit.key));
    // Another link may have the key by now.
    if (link?.id !== visit?.linkId || !link || !visit) return NOTHING_OPENED;
    return { clickId: visit.clickId, link: shown(link) };
  }

  return {
    /** Refuses pages of sites that are not on the list of the workspace. */
    async assertSite(workspaceId: string, page: Pick<Reporter, 'header'>): Promise<void> {
      if (!(await mayReport({ workspaceId }, page))) throw refusedSite();
    },

    /** A page noticed that a link brought its visitor. */
    async click(
      request: Reported & { key: string; url?: string | undefined },
      reporter: Reporter,
    ): Promise<{ clickId: string } & ClickPartner> {
      const link = await getLink(request.domain, request.key);
      const earlier = clicks.findRepeat(link, reporter);
      if (earlier !== undefined) return { clickId: earlier, ...(await findPartner(link)) };
      if (!(await mayReport(link, reporter))) throw refusedSite();
      const url = pageUrl(request.url)?.href ?? link.url;
      const referer = request.referrer ?? '';
      // Before the click is recorded: one that is recorded and not answered would be lost to the page.
      const partner = await findPartner(link);
      const { clickId } = await clicks.record(link, reporter, { url, referer, trigger: 'link' });
      return { clickId, ...partner };
    },

    /** A page that is the link itself was opened. Sites that may not report are not told so. */
    async visit(request: Reported & { url: string }, reporter: Reporter): Promise<{ clickId: string }> {
      const page = pageUrl(request.url);
      if (!page) throw invalid('url', 'must be an http(s) address');
      const link = await getLink(request.domain, keyOfPath(page.pathname));
      const earlier = clicks.findRepeat(link, reporter);
      if (earlier !== undefined) return { clickId: earlier };
      const noTrack = reporter.noTrack || !(await mayReport(link, reporter));
      const click = { url: page.href, referer: request.referrer ?? '', trigger: 'pageview' } as const;
      const { clickId } = await clicks.record(link, { ...reporter, noTrack }, click);
      return { clickId };
    },

    /** An app was opened: by a deep link, or for the first time after its visitor was sent to an app store. */
    async open(
      { deepLink, dubDomain }: { deepLink?: string | undefined; dubDomain?: string | undefined },
      reporter: Reporter,
    ): Promise<OpenedLink> {
      if (deepLink === undefined) {
        if (dubDomain === undefined) throw invalid('deepLink', 'give deepLink or dubDomain');
        return openedLater(dubDomain, reporter);
      }
      const address = readDeepLink(deepLink);
      const link = await getLink(address.host, keyOfPath(address.pathname));
      const earlier = clicks.findRepeat(link, reporter);
      if (earlier !== undefined) return { clickId: earlier, link: shown(link) };
      const click = { url: link.url, referer: '', trigger: 'deeplink' } as const;
      const { clickId, recorded } = await clicks.record(link, reporter, click);
      return { clickId: recorded ? clickId : null, link: shown(link) };
    },
  };
}

export type ClickTracking = ReturnType<typeof createClickTracking>;

function refusedSite(): AppError {
  return new AppError('forbidden', 'This site is not among the allowed hostnames of the workspace.');
}

function unknownLink(): AppError {
  return new AppError('not_found', 'There is no such link.');
}

function pageUrl(text: string | undefined): URL | undefined {
  const url = text === undefined ? null : URL.parse(text);
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url : undefined;
}

function readDeepLink(text: string): URL {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (!url?.host) throw invalid('deepLink', 'must be the address of a short link');
  return url;
}

/** Whoever does not know the password gets the short link itself, which asks for it. */
function shown({ id, domain, key, url, password }: VisitLink): OpenedLink['link'] {
  return { id, domain, key, url: password === null ? url : shortLink(domain, key) };
}
