// What a request says about its visitor: robot or person, system, cookies, and the identity by which a
// returning visitor is recognised.
import type { IncomingHttpHeaders } from 'node:http';
import { isbot } from 'isbot';
import { sha256Hex } from '../kernel/ids.ts';
import type { System } from './visit.ts';

/** Programs that fetch links for somebody else and that the detector does not know as such. */
const MORE_ROBOTS = /scraper|fetch|axios|embedly|iframely|quora link preview|skypeuripreview|vkshare|bluesky/i;

export function isRobot(method: string, headers: IncomingHttpHeaders, query: URLSearchParams): boolean {
  if (method === 'HEAD' || query.get('bot')) return true;
  if (isPrefetch(headers)) return true;
  const userAgent = headers['user-agent'] ?? '';
  return userAgent !== '' && (isbot(userAgent) || MORE_ROBOTS.test(userAgent));
}

/** A page that a browser loads ahead of a visit which may never come. */
function isPrefetch(headers: IncomingHttpHeaders): boolean {
  const purpose = `${headers.purpose ?? ''} ${headers['sec-purpose'] ?? ''} ${headers['x-purpose'] ?? ''} ${headers['x-moz'] ?? ''}`;
  return /prefetch|prerender|preview/i.test(purpose);
}

export function systemOf(userAgent: string): System {
  if (/iphone|ipad|ipod/i.test(userAgent)) return 'ios';
  return /android/i.test(userAgent) ? 'android' : 'other';
}

export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const part of header?.split(';') ?? []) {
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

export function identityOf(ip: string, userAgent: string): string {
  return sha256Hex(`${ip}-${userAgent}`);
}
