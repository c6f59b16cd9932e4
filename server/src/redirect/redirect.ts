// A visit from request to answer: find the link in memory, decide, write the click to the journal, answer. One
// decision and one place that acts on it; nothing here waits for a database unless the link is not in memory.
import type { Clock } from '../kernel/clock.ts';
import type { LinkSnapshot } from '../links/link-snapshot.ts';
import { createArrivals, type Reached } from './arrivals.ts';
import { type Ask, createReadAsk, type ReadAsk } from './ask.ts';
import type { CountingParts } from './counting.ts';
import { decide } from './decide.ts';
import { createEndings } from './endings.ts';
import { createFindLink, type Found } from './find-link.ts';
import type { OnVisit } from './outcome.ts';
import { createPasswordLimit } from './password.ts';
import { createPasswordForm } from './password-form.ts';
import type { ServedHosts } from './resolve.ts';
import { createVisit } from './visit.ts';

export interface RedirectParts extends CountingParts, ServedHosts {
  readonly snapshot: LinkSnapshot;
  /** Answers for public addresses once it is ready. */
  readonly countries: { ready(): Promise<void> | undefined; find(ip: string): string | undefined };
  readonly clock: Clock;
  readonly chance: () => number;
  readonly onVisit: OnVisit;
  readonly onError: (error: unknown) => void;
}

export type Redirect = (...asked: Parameters<ReadAsk>) => void;

export function createRedirect(parts: RedirectParts): Redirect {
  const { clock, countries } = parts;
  const limit = createPasswordLimit(clock);
  const endings = createEndings(parts);
  const form = createPasswordForm({ limit, endings, onVisit: parts.onVisit });
  const arrive = createArrivals({ ...parts, onFailure: endings.failed });
  const find = createFindLink({ snapshot: parts.snapshot, countriesReady: () => countries.ready() });
  const readAsk = createReadAsk(parts);

  function visit(ask: Ask, found: Found): void {
    const { link, domain } = found;
    const { request, resolved } = ask;
    const visit = createVisit({
      nowMs: clock.now(),
      method: request.method as string,
      headers: ask.headers,
      path: ask.path,
      search: ask.search,
      inspect: resolved.kind === 'key' && resolved.inspect,
      ip: ask.caller.ip,
      passwordsRefused: link !== null && link.password !== null && limit.refuses(link.id),
      country: (ip) => countries.find(ip),
      chance: parts.chance,
    });
    const decision = decide(link, domain, visit);
    if (decision.kind === 'arrive') arrive(ask, found as Reached, visit, decision);
    else if (decision.kind === 'elsewhere') endings.elsewhere(ask, found, decision);
    else {
      const problem = decision.page === 'password' ? form.problemOf(link, visit) : undefined;
      endings.page(ask, found, decision.page, decision.status, problem);
    }
  }

  function answer(ask: Ask, found: Found) {
    const { resolved, request } = ask;
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
      return endings.refused(ask);
    if (resolved.kind === 'file') return endings.file(ask, found.domain, resolved.file);
    if (resolved.kind === 'slash') return endings.moved(ask, `${resolved.path}${ask.search}`, 308);
    if (resolved.kind === 'probe') return endings.probe(ask);
    if (request.method === 'POST') return form.take(ask, found);
    if (!found.link && ask.path.startsWith('/stats/')) return endings.moved(ask, '/', 302);
    visit(ask, found);
  }

  return (request, response, caller, headers) => {
    const ask = readAsk(request, response, caller, headers);
    try {
      const found = find(ask);
      if (!(found instanceof Promise)) return answer(ask, found);
      found.then((late) => answer(ask, late)).catch((error) => endings.failed(ask, error));
    } catch (error) {
      endings.failed(ask, error);
    }
  };
}
