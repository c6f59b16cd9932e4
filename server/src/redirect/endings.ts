// Answers of visits that do not reach a destination: pages, files, other addresses, refusals and failures.
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import { sendElsewhere, sendFile, sendMoved, sendPage, sendRedirect } from './answer.ts';
import type { Ask } from './ask.ts';
import type { Decision, EndPage } from './decide.ts';
import { type Found, unknownDomain } from './find-link.ts';
import type { OnVisit, VisitOutcome } from './outcome.ts';
import { renderPage } from './pages.ts';
import type { FileName } from './resolve.ts';

export interface EndingParts {
  readonly onVisit: OnVisit;
  readonly onError: (error: unknown) => void;
}

/** What stands in the way of a password; told on the page that asks for it. */
export interface PasswordProblem {
  readonly text: string;
  readonly status: 200 | 429;
}

export type Endings = ReturnType<typeof createEndings>;

const FILES = {
  robots: { contentType: 'text/plain', text: 'User-agent: *\nAllow: /\n' },
  apple: { contentType: 'application/json', text: '{"applinks":{"apps":[],"details":[]}}' },
  android: { contentType: 'application/json', text: '[]' },
} as const;

const OUTCOME_OF: Record<EndPage, VisitOutcome> = {
  not_found: 'not_found',
  inspect: 'inspected',
  password: 'password',
  banned: 'banned',
  expired: 'expired',
  preview: 'previewed',
};

export function createEndings({ onVisit, onError }: EndingParts) {
  function page(ask: Ask, found: Found, name: EndPage, status: number, problem?: PasswordProblem): void {
    onVisit(OUTCOME_OF[name]);
    const noIndex = name !== 'not_found' && (name === 'banned' || isHidden(found.link, found.domain));
    const rendered = renderPage(name, { ...found, problem: problem?.text });
    sendPage(ask.response, problem?.status ?? status, rendered, { noIndex });
  }

  function elsewhere(ask: Ask, { link, domain }: Found, decision: Elsewhere): void {
    onVisit(OUTCOME_OF[decision.insteadOf]);
    const location = URL.parse(decision.location)?.href ?? decision.location;
    if (decision.status === 307) sendElsewhere(ask.response, location);
    else sendRedirect(ask.response, decision.status, location, { noIndex: isHidden(link, domain) });
  }

  return {
    page,
    elsewhere,

    file({ response }: Ask, domain: VisitDomain, name: FileName) {
      onVisit('file');
      if (name === 'none') return sendFile(response, 404, 'text/plain', '');
      const own = { robots: null, apple: domain.appleAppSiteAssociation, android: domain.assetLinks }[name];
      sendFile(response, 200, FILES[name].contentType, own ?? FILES[name].text);
    },

    probe({ response }: Ask): void {
      onVisit('probe');
      sendRedirect(response, 302, '/?dub-no-track=1', { noIndex: true });
    },

    moved({ response }: Ask, location: string, status: 302 | 308): void {
      onVisit('moved');
      if (status === 308) sendMoved(response, location);
      else sendRedirect(response, status, location, { noIndex: true });
    },

    refused({ response }: Ask): void {
      onVisit('refused');
      response.writeHead(405, { Allow: 'GET, HEAD', 'Content-Length': 0 }).end();
    },

    failed({ response, slug }: Ask, error: unknown): void {
      onVisit('failed');
      onError(error);
      if (response.headersSent) return void response.destroy();
      response.setHeader('Retry-After', '2');
      const page = renderPage('unavailable', { link: null, domain: unknownDomain(slug) });
      sendPage(response, 503, page, { noIndex: true });
    },
  };
}

type Elsewhere = Extract<Decision, { kind: 'elsewhere' }>;

/** Search engines see links of the service's own domain, and others when their owner wants it. */
export function isHidden(link: VisitLink | null, domain: VisitDomain): boolean {
  return !domain.shared && !link?.doIndex;
}
