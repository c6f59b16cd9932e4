// Visits that reach their destination: counted, written to the journal, and only then answered. Those that wait
// for the same write wait together and leave in the order they came.
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import { cookieText, sendPage, sendRedirect } from './answer.ts';
import type { Ask } from './ask.ts';
import { type CountingParts, createCounting, idCookie } from './counting.ts';
import { type Arrival, TEST_COOKIE } from './decide.ts';
import { isHidden } from './endings.ts';
import { finalUrl } from './final-url.ts';
import type { OnVisit } from './outcome.ts';
import { renderPage } from './pages.ts';
import type { Visit } from './visit.ts';

export interface ArrivalParts extends CountingParts {
  readonly onVisit: OnVisit;
  readonly onFailure: (ask: Ask, error: unknown) => void;
}

/** Where a visit arrives. */
export interface Reached {
  readonly domain: VisitDomain;
  readonly link: VisitLink;
}

/** An answer that is ready to leave. */
interface Departure extends Reached {
  readonly ask: Ask;
  readonly decision: Arrival;
  readonly url: string;
  readonly cookies: string | string[];
}

const CLICK_COOKIE_SECONDS = 3_600;
const TEST_COOKIE_SECONDS = 604_800;

export function createArrivals(parts: ArrivalParts) {
  const { onVisit, onCounted, onFailure } = parts;
  const counting = createCounting(parts);
  const leaveAfter = createWaitingRoom<Departure>({
    leave(departure, stored) {
      onCounted(stored ? 'recorded' : 'lost');
      try {
        send(departure);
      } catch (error) {
        onFailure(departure.ask, error);
      }
    },
    fail: ({ ask }, error) => onFailure(ask, error),
  });

  function send({ ask, link, domain, decision, url, cookies }: Departure) {
    const options = { noIndex: isHidden(link, domain), cookies };
    onVisit(decision.page ? 'page' : 'redirected');
    if (!decision.page) return sendRedirect(ask.response, decision.status, url, options);
    sendPage(ask.response, 200, renderPage(decision.page, { link, domain, target: url }), options);
  }

  return (ask: Ask, { link, domain }: Reached, visit: Visit, decision: Arrival): void => {
    const counted = counting.begin(link, visit);
    const destination = { target: decision.target, fallback: decision.variant ?? link.url };
    const url = finalUrl(destination, link, visit, counted.clickId);
    const written = counting.finish(counted, link, visit, url);
    const cookies = arrivalCookies(link, ask.path, counted.clickId, decision.variant);
    const departure = { ask, link, domain, decision, url, cookies };
    if (written) leaveAfter(written, departure);
    else send(departure);
  };
}

/** One reaction for all who wait for the same promise: one each is a good part of what a visit costs. */
function createWaitingRoom<T>(on: {
  leave: (item: T, stored: boolean) => void;
  fail: (item: T, error: unknown) => void;
}) {
  let current: Promise<boolean> | undefined;
  let group: T[] = [];

  function gather(written: Promise<boolean>): void {
    const together: T[] = [];
    const end = () => {
      if (current === written) current = undefined;
    };
    current = written;
    group = together;
    written.then(
      (stored) => {
        end();
        for (const item of together) on.leave(item, stored);
      },
      (error: unknown) => {
        end();
        for (const item of together) on.fail(item, error);
      },
    );
  }

  return (written: Promise<boolean>, item: T): void => {
    if (written !== current) gather(written);
    group.push(item);
  };
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
