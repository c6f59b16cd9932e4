// What a request says about its visitor: robot or person, system, cookies.
import { isbot } from 'isbot';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { System } from './visit.ts';

/** What is read of a request's headers; names are Node's. */
export type VisitorHeaders = Readonly<
  Partial<Record<(typeof TELLING_HEADERS)[number] | 'referer' | 'cookie', string | undefined>>
>;

/** Programs that fetch links for somebody else and that the detector does not know as such. */
const MORE_ROBOTS =
  /scraper|fetch|axios|embedly|iframely|quora link preview|skypeuripreview|vkshare|bluesky/i;
const KEPT_USER_AGENTS = 10_000;
/** A longer text is no browser's; it is judged anew each time, so that the memory for verdicts stays bounded. */
const MAX_KEPT_LENGTH = 512;

const verdicts = createBoundedMap<string, boolean>(KEPT_USER_AGENTS);

export function isRobot(method: string, headers: VisitorHeaders, query: URLSearchParams): boolean {
  if (method === 'HEAD' || (query.size > 0 && query.get('bot'))) return true;
  return isPrefetch(headers) || isRobotAgent(headers['user-agent'] ?? '');
}

/** Without a name nothing can be told; such visits count. */
export function isRobotAgent(userAgent: string): boolean {
  if (userAgent === '') return false;
  const known = verdicts.get(userAgent);
  if (known !== undefined) return known;
  const verdict = isbot(userAgent) || MORE_ROBOTS.test(userAgent);
  if (userAgent.length <= MAX_KEPT_LENGTH) verdicts.set(userAgent, verdict);
  return verdict;
}

/** The headers that tell a robot, or somebody who asks not to be tracked, from others. */
export const TELLING_HEADERS = [
  'user-agent',
  'dub-no-track',
  'sec-purpose',
  'purpose',
  'x-purpose',
  'x-moz',
] as const;

const PREFETCH = /prefetch|prerender|preview/i;

/** A page that a browser loads ahead of a visit which may never come. */
function isPrefetch(headers: VisitorHeaders): boolean {
  return (
    saysPrefetch(headers['sec-purpose']) ||
    saysPrefetch(headers.purpose) ||
    saysPrefetch(headers['x-purpose']) ||
    saysPrefetch(headers['x-moz'])
  );
}

function saysPrefetch(header: string | undefined): boolean {
  return header !== undefined && PREFETCH.test(header);
}

export function systemOf(userAgent: string): System {
  if (/windows phone/i.test(userAgent)) return 'other';
  if (/iphone|ipad|ipod/i.test(userAgent)) return 'ios';
  return /android/i.test(userAgent) ? 'android' : 'other';
}

export function readCookies(header: string): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const part of header.split(';')) {
    const mark = part.indexOf('=');
    if (mark === -1) continue;
    const name = part.slice(0, mark).trim();
    if (!cookies.has(name)) cookies.set(name, safeDecode(part.slice(mark + 1).trim()));
  }
  return cookies;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
