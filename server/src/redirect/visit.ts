// A visit as plain values: everything the decision looks at. What costs time to find out (query, cookies,
// system, country) is found out when it is first asked for, which most visits never do.
import { isRobot, readCookies, systemOf, type VisitorHeaders } from './visitor.ts';

export type System = 'ios' | 'android' | 'other';

export interface Visit {
  readonly nowMs: number;
  /** The query as it was sent, in order. */
  readonly query: URLSearchParams;
  /** The path of the request as it was sent, for cookies. */
  readonly path: string;
  /** The address ended with +: the visitor wants to see where it leads. */
  readonly inspect: boolean;
  readonly bot: boolean;
  /** The visitor asked not to be counted. */
  readonly noTrack: boolean;
  readonly userAgent: string;
  readonly referer: string;
  readonly ip: string;
  /** Too many wrong passwords were tried: one in the query is not looked at. */
  readonly passwordsRefused: boolean;
  cookie(name: string): string | undefined;
  system(): System;
  /** Two letters, or undefined when unknown. */
  country(): string | undefined;
  /** From 0 to 1, for the choice between variants. */
  chance(): number;
}

export interface VisitFacts {
  readonly nowMs: number;
  readonly method: string;
  readonly headers: VisitorHeaders;
  readonly path: string;
  /** With its question mark; empty without a query. */
  readonly search: string;
  readonly inspect: boolean;
  readonly ip: string;
  readonly passwordsRefused: boolean;
  readonly country: (ip: string) => string | undefined;
  readonly chance: () => number;
}

const NO_QUERY = new URLSearchParams();

export function createVisit(facts: VisitFacts): Visit {
  const { headers, ip } = facts;
  const userAgent = headers['user-agent'] ?? '';
  const query = facts.search.length > 1 ? new URLSearchParams(facts.search) : NO_QUERY;
  let cookies: ReadonlyMap<string, string> | undefined;
  return {
    nowMs: facts.nowMs,
    query,
    path: facts.path,
    inspect: facts.inspect,
    bot: isRobot(facts.method, headers, query),
    noTrack: headers['dub-no-track'] !== undefined || (query !== NO_QUERY && query.has('dub-no-track')),
    userAgent,
    referer: headers.referer ?? '',
    ip,
    passwordsRefused: facts.passwordsRefused,
    cookie(name) {
      if (headers.cookie === undefined) return undefined;
      cookies ??= readCookies(headers.cookie);
      return cookies.get(name);
    },
    system: () => systemOf(userAgent),
    country: () => facts.country(ip),
    chance: facts.chance,
  };
}
