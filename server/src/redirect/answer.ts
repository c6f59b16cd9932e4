// How a visit is answered: statuses, headers and cookies. Redirects and pages are never kept by caches, since
// every visit has to reach the server to be counted and a link can change at any time.
import type { ServerResponse } from 'node:http';
import type { Page } from './pages.ts';

type Headers = Record<string, string | number | string[]>;

export interface AnswerOptions {
  /** Asks search engines to leave the address out. */
  readonly noIndex: boolean;
  readonly cookies?: string | string[] | undefined;
}

const POWERED_BY = 'Linktrail';
const ROBOTS = 'googlebot: noindex';

/** To a destination, which nearly every visit gets; a flat list of headers takes the least time to write. */
export function sendRedirect(
  response: ServerResponse,
  status: number,
  location: string,
  { noIndex, cookies }: AnswerOptions,
): void {
  const headers = [
    'Location',
    location,
    'Cache-Control',
    'no-store',
    'X-Powered-By',
    POWERED_BY,
    'Content-Length',
    '0',
  ];
  if (noIndex) headers.push('X-Robots-Tag', ROBOTS);
  if (typeof cookies === 'string') headers.push('Set-Cookie', cookies);
  else if (cookies) for (const cookie of cookies) headers.push('Set-Cookie', cookie);
  response.writeHead(status, headers);
  response.end();
}

/** To the address that a domain's owner gave for links that are gone: nothing of ours goes with it. */
export function sendElsewhere(response: ServerResponse, location: string): void {
  response.writeHead(307, { Location: location, 'Cache-Control': 'no-store', 'Content-Length': 0 }).end();
}

export function sendPage(response: ServerResponse, status: number, page: Page, options: AnswerOptions): void {
  const headers: Headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(page.html),
    'Content-Security-Policy': page.policy,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer-when-downgrade',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'X-Powered-By': POWERED_BY,
  };
  if (options.noIndex) headers['X-Robots-Tag'] = ROBOTS;
  if (options.cookies) headers['Set-Cookie'] = options.cookies;
  response.writeHead(status, headers).end(page.html);
}

export function sendFile(response: ServerResponse, status: number, contentType: string, body: string): void {
  response
    .writeHead(status, {
      'Content-Type': contentType,
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'public, max-age=300',
      'X-Content-Type-Options': 'nosniff',
      'X-Powered-By': POWERED_BY,
    })
    .end(body);
}

/** To the same path without what does not belong there. */
export function sendMoved(response: ServerResponse, location: string): void {
  response.writeHead(308, { Location: location, 'X-Powered-By': POWERED_BY, 'Content-Length': 0 }).end();
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly maxAgeSeconds?: number;
  readonly httpOnly?: boolean;
  readonly secure?: boolean;
}

export function cookieText({ name, value, path, maxAgeSeconds, httpOnly, secure }: Cookie): string {
  let text = `${name}=${encodeURIComponent(value)}; Path=${path}`;
  if (maxAgeSeconds !== undefined) text += `; Max-Age=${maxAgeSeconds}`;
  if (httpOnly) text += '; HttpOnly';
  if (secure) text += '; Secure';
  return text;
}
