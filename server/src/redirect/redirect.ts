// A visit from request to answer: find the link in memory, decide, write the click to the journal, answer. One
// decision and one place that acts on it; nothing here waits for a database unless the link is not in memory.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';
import { sameSecret } from '../kernel/ids.ts';
import type { LinkSnapshot, SnapshotDomain } from '../links/link-snapshot.ts';
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import { cookieText, sendElsewhere, sendFile, sendMoved, sendPage, sendRedirect } from './answer.ts';
import { type CountingParts, createCounting, idCookie } from './counting.ts';
import { type Arrival, decide, passwordCookie, TEST_COOKIE } from './decide.ts';
import { finalUrl } from './final-url.ts';
import { renderPage } from './pages.ts';
import { createPasswordLimit, readPassword } from './password.ts';
import { lookupOf, ownPath, type Resolved, resolvePath, slugServedBy } from './resolve.ts';
import { createVisit, type Visit } from './visit.ts';

/** What visits end as; the labels of a metric. */
export const OUTCOMES = [
  'redirected',
  'page',
  'not_found',
  'expired',
  'banned',
  'password',
  'inspected',
  'previewed',
  'file',
  'moved',
  'probe',
  'refused',
  'failed',
] as const;
export type VisitOutcome = (typeof OUTCOMES)[number];

export interface RedirectParts extends CountingParts {
  readonly snapshot: LinkSnapshot;
  /** Answers for public addresses once it is ready. */
  readonly countries: { ready(): Promise<void> | undefined; find(ip: string): string | undefined };
  readonly clock: Clock;
  readonly chance: () => number;
  /** Serves the hosts that are the service's own. */
  readonly defaultDomain: string;
  readonly isOwnHost: (host: string) => boolean;
  readonly onVisit: (outcome: VisitOutcome) => void;
  readonly onError: (error: unknown) => void;
}

/** Who asks, as the HTTP side found out. */
export interface Caller {
  readonly ip: string;
  readonly host: string;
  readonly origin: string;
}

/** One request, taken apart. */
interface Ask {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  readonly path: string;
  /** With its question mark; empty without a query. */
  readonly search: string;
  readonly slug: string;
  readonly resolved: Resolved;
}

/** What the snapshot has for a request. */
interface Found {
  readonly domain: VisitDomain;
  readonly link: VisitLink | null;
}

const KEPT_HOSTS = 10_000;
const CLICK_COOKIE_SECONDS = 3_600;
const TEST_COOKIE_SECONDS = 604_800;
const WRONG_PASSWORD = 'That password is not right.';
const TOO_MANY = 'Too many wrong passwords. Try again in ten minutes.';
const METHODS = new Set(['GET', 'HEAD', 'POST']);
const FILES = {
  robots: { contentType: 'text/plain', text: 'User-agent: *\nAllow: /\n' },
  apple: { contentType: 'application/json', text: '{"applinks":{"apps":[],"details":[]}}' },
  android: { contentType: 'application/json', text: '[]' },
} as const;

export function createRedirect(parts: RedirectParts) {
  const { snapshot, clock, countries, onVisit } = parts;
  const counting = createCounting(parts);
  const limit = createPasswordLimit(clock);
  const slugOf = createSlugs(parts);

  /** A promise only when something has to be loaded first. */
  function find(ask: Ask): Found | Promise<Found> {
    const domain = snapshot.domain(ask.slug);
    return domain instanceof Promise ? domain.then((late) => findLink(ask, late)) : findLink(ask, domain);
  }

  function findLink({ slug, resolved }: Ask, domain: SnapshotDomain | null): Found | Promise<Found> {
    if (!domain || resolved.kind !== 'key') return { domain: domain ?? unknownDomain(slug), link: null };
    const link = snapshot.link(domain, lookupOf(resolved, domain));
    if (link instanceof Promise) return link.then((late) => withCountries({ domain, link: late }));
    return withCountries({ domain, link });
  }

  function withCountries(found: Found): Found | Promise<Found> {
    const loading = found.link?.geo ? countries.ready() : undefined;
    return loading ? loading.then(() => found) : found;
  }

  function answer(ask: Ask, found: Found) {
    const { resolved, request, response } = ask;
    if (!METHODS.has(request.method ?? '')) return refuse(ask);
    if (resolved.kind === 'file') return sendNamedFile(ask, found.domain, resolved.file);
    if (resolved.kind === 'slash') return move(ask, `${resolved.path}${ask.search}`);
    if (resolved.kind === 'probe') {
      onVisit('probe');
      return sendRedirect(response, 302, '/?dub-no-track=1', { noIndex: true });
    }
    if (request.method === 'POST') return takeForm(ask, found);
    if (!found.link && ask.path.startsWith('/stats/')) return move(ask, '/', 302);
    visit(ask, found);
  }

  function visit(ask: Ask, { link, domain }: Found) {
    const { request, caller, path, search, resolved } = ask;
    const visit = createVisit({
      nowMs: clock.now(),
      method: request.method as string,
      headers: request.headers,
      path,
      search,
      inspect: resolved.kind === 'key' && resolved.inspect,
      ip: caller.ip,
      passwordsRefused: link !== null && link.password !== null && limit.refuses(link.id),
      country: countries.find,
      chance: parts.chance,
    });
    const decision = decide(link, domain, visit);
    if (decision.kind === 'arrive') return arrive(ask, { domain, link: link as VisitLink }, visit, decision);
    onVisit(OUTCOME_OF[decision.kind === 'page' ? decision.page : decision.insteadOf]);
    if (decision.kind === 'page')
      return showPage(ask, { link, domain }, decision, passwordProblem(link, visit));
    const location = URL.parse(decision.location)?.href ?? decision.location;
    if (decision.status === 307) sendElsewhere(ask.response, location);
    else sendRedirect(ask.response, decision.status, location, { noIndex: hidden(link, domain) });
  }

  /** Also counts a wrong one that came in the address. */
  function passwordProblem(link: VisitLink | null, visit: Visit): string | undefined {
    if (!link || link.password === null) return undefined;
    if (visit.passwordsRefused) return TOO_MANY;
    if (!visit.query.has('pw')) return undefined;
    limit.failed(link.id);
    return WRONG_PASSWORD;
  }

  function showPage(ask: Ask, found: Found, { page, status }: PageDecision, problem?: string) {
    const noIndex = page !== 'not_found' && (page === 'banned' || hidden(found.link, found.domain));
    const finalStatus = problem === TOO_MANY ? 429 : status;
    sendPage(ask.response, finalStatus, renderPage(page, { ...found, problem }), { noIndex });
  }

  /** The click first, then the answer. */
  function arrive(ask: Ask, found: Arrived, visit: Visit, decision: Arrival) {
    const { link } = found;
    const counted = counting.begin(link, visit);
    const destination = { target: decision.target, fallback: decision.variant ?? link.url };
    const url = finalUrl(destination, link, visit, counted.clickId);
    const written = counting.finish(counted, link, visit, url);
    const cookies = arrivalCookies(link, ask.path, counted.clickId, decision.variant);
    if (!written) return sendArrival(ask, found, decision, url, cookies);
    const send = (stored: boolean) => {
      parts.onCounted(stored ? 'recorded' : 'lost');
      guarded(ask, () => sendArrival(ask, found, decision, url, cookies));
    };
    written.then(send, (error) => fail(ask, error));
  }

  function sendArrival(
    ask: Ask,
    { link, domain }: Arrived,
    decision: Arrival,
    url: string,
    cookies: string | string[],
  ) {
    const options = { noIndex: hidden(link, domain), cookies };
    onVisit(decision.page ? 'page' : 'redirected');
    if (!decision.page) return sendRedirect(ask.response, decision.status, url, options);
    sendPage(ask.response, 200, renderPage(decision.page, { link, domain, target: url }), options);
  }

  function takeForm(ask: Ask, found: Found) {
    const { link } = found;
    const back = `${ownPath(ask.path)}${ask.search}`;
    if (!link || link.password === null) return seeOther(ask, back);
    const password = link.password;
    onVisit('password');
    if (limit.refuses(link.id)) return showPage(ask, found, PASSWORD_PAGE, TOO_MANY);
    readPassword(ask.request)
      .then((given) => {
        if (given !== undefined && !limit.refuses(link.id) && sameSecret(given, password)) {
          const secure = ask.caller.origin.startsWith('https:');
          const name = passwordCookie(link.id);
          return seeOther(ask, back, [
            cookieText({ name, value: given, path: ask.path, httpOnly: true, secure }),
          ]);
        }
        if (given !== undefined) limit.failed(link.id);
        showPage(ask, found, PASSWORD_PAGE, WRONG_PASSWORD);
      })
      .catch((error) => fail(ask, error));
  }

  function move(ask: Ask, location: string, status = 308) {
    onVisit('moved');
    if (status === 308) sendMoved(ask.response, location);
    else sendRedirect(ask.response, status, location, { noIndex: true });
  }

  function sendNamedFile({ response }: Ask, domain: VisitDomain, name: keyof typeof FILES | 'none') {
    onVisit('file');
    if (name === 'none') return sendFile(response, 404, 'text/plain', '');
    const own = { robots: null, apple: domain.appleAppSiteAssociation, android: domain.assetLinks }[name];
    sendFile(response, 200, FILES[name].contentType, own ?? FILES[name].text);
  }

  function guarded(ask: Ask, work: () => void) {
    try {
      work();
    } catch (error) {
      fail(ask, error);
    }
  }

  function refuse({ response }: Ask) {
    onVisit('refused');
    response.writeHead(405, { Allow: 'GET, HEAD', 'Content-Length': 0 }).end();
  }

  function fail({ response, slug }: Ask, error: unknown) {
    onVisit('failed');
    parts.onError(error);
    if (response.headersSent) return response.destroy();
    response.setHeader('Retry-After', '2');
    const page = renderPage('unavailable', { link: null, domain: unknownDomain(slug) });
    sendPage(response, 503, page, { noIndex: true });
  }

  return (request: IncomingMessage, response: ServerResponse, caller: Caller) => {
    const ask = readAsk(request, response, caller, slugOf(caller.host));
    guarded(ask, () => {
      const found = find(ask);
      if (!(found instanceof Promise)) return answer(ask, found);
      found.then((late) => answer(ask, late)).catch((error) => fail(ask, error));
    });
  };
}

interface Arrived extends Found {
  readonly link: VisitLink;
}

type PageDecision = Pick<Extract<ReturnType<typeof decide>, { kind: 'page' }>, 'page' | 'status'>;

const PASSWORD_PAGE: PageDecision = { page: 'password', status: 200 };

const OUTCOME_OF: Record<PageDecision['page'], VisitOutcome> = {
  not_found: 'not_found',
  inspect: 'inspected',
  password: 'password',
  banned: 'banned',
  expired: 'expired',
  preview: 'previewed',
};

function readAsk(request: IncomingMessage, response: ServerResponse, caller: Caller, slug: string): Ask {
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const search = mark === -1 ? '' : target.slice(mark);
  return { request, response, caller, path, search, slug, resolved: resolvePath(path) };
}

function createSlugs(parts: Pick<RedirectParts, 'defaultDomain' | 'isOwnHost'>) {
  const slugs = createBoundedMap<string, string>(KEPT_HOSTS);
  return (host: string): string => {
    const known = slugs.get(host);
    if (known !== undefined) return known;
    const slug = slugServedBy(host, parts);
    slugs.set(host, slug);
    return slug;
  };
}

/** Search engines see links of the service's own domain, and others when their owner wants it. */
function hidden(link: VisitLink | null, domain: VisitDomain): boolean {
  return !domain.shared && !link?.doIndex;
}

function arrivalCookies(
  link: VisitLink,
  path: string,
  clickId: string,
  variant: string | undefined,
): string | string[] {
  const id = `${idCookie(link)}=${clickId}; Path=${path}; Max-Age=${CLICK_COOKIE_SECONDS}`;
  if (variant === undefined) return id;
  return [id, cookieText({ name: TEST_COOKIE, value: variant, path, maxAgeSeconds: TEST_COOKIE_SECONDS })];
}

function seeOther({ response }: Ask, location: string, cookies?: string[]): void {
  sendRedirect(response, 303, location, { noIndex: true, cookies });
}

function unknownDomain(slug: string): VisitDomain {
  return {
    slug,
    shared: false,
    caseSensitive: false,
    notFoundUrl: null,
    expiredUrl: null,
    logo: null,
    assetLinks: null,
    appleAppSiteAssociation: null,
  };
}
