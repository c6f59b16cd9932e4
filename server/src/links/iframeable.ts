// Whether a page lets itself be shown in a frame on another domain, by the headers that browsers obey.
// Of a page that cannot be had, the answer is no.
import type { IncomingHttpHeaders } from 'node:http';
import type { GuardedFetch } from '../kernel/guarded-fetch.ts';

const FETCH = { timeoutMs: 5_000, maxBytes: 0, truncate: true, maxRedirects: 5 } as const;
const KNOWN_OPTIONS = new Set(['deny', 'sameorigin', 'allowall']);
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

export async function checkFraming(fetch: GuardedFetch, url: string, domain: string): Promise<boolean> {
  const frame = URL.parse(`https://${domain}`);
  const result = await fetch(url, FETCH);
  return frame !== null && result.ok && allowsFraming(result.headers, { page: new URL(result.url), frame });
}

/** A policy that names frame ancestors beats X-Frame-Options; of several policies, all must allow. */
export function allowsFraming(
  headers: IncomingHttpHeaders,
  place: { readonly page: URL; readonly frame: URL },
): boolean {
  const lists = ancestorLists(String(headers['content-security-policy'] ?? ''));
  if (lists.length > 0) return lists.every((sources) => sources.some((source) => matches(source, place)));
  const options = String(headers['x-frame-options'] ?? '')
    .toLowerCase()
    .split(',');
  const said = new Set(options.map((option) => option.trim()).filter(Boolean));
  // Values that contradict each other block; a single one that nobody knows counts for nothing.
  if (said.size > 1) return ![...said].some((option) => KNOWN_OPTIONS.has(option));
  if (said.has('deny')) return false;
  return !said.has('sameorigin') || place.page.origin === place.frame.origin;
}

/** Policies are separated by commas, directives by semicolons; of a repeated directive the first counts. */
function ancestorLists(policies: string): string[][] {
  return policies.split(',').flatMap((policy) => {
    const directives = policy.split(';').map((directive) => directive.trim().toLowerCase().split(/\s+/));
    const found = directives.find(([name]) => name === 'frame-ancestors');
    return found ? [found.slice(1)] : [];
  });
}

function matches(source: string, { page, frame }: { page: URL; frame: URL }): boolean {
  if (source === '*') return true;
  if (source === "'self'") return page.origin === frame.origin;
  if (/^[a-z][a-z0-9+.-]*:$/.test(source)) return schemeFits(source, frame);
  const parts = /^(?:([a-z][a-z0-9+.-]*:)\/\/)?(\*|(?:\*\.)?[^:/*']+)(?::(\d+|\*))?(?:\/.*)?$/.exec(source);
  if (!parts) return false;
  const [, scheme, host = '', port] = parts;
  return schemeFits(scheme ?? page.protocol, frame) && hostFits(host, frame) && portFits(port, scheme, frame);
}

/** http may be https: a page that moved up is still meant. */
function schemeFits(scheme: string, frame: URL): boolean {
  return scheme === frame.protocol || (scheme === 'http:' && frame.protocol === 'https:');
}

function hostFits(host: string, frame: URL): boolean {
  if (host === '*') return true;
  return host.startsWith('*.') ? frame.hostname.endsWith(host.slice(1)) : frame.hostname === host;
}

function portFits(port: string | undefined, scheme: string | undefined, frame: URL): boolean {
  if (port === '*') return true;
  const actual = frame.port || DEFAULT_PORTS[frame.protocol];
  if (port === undefined) return actual === DEFAULT_PORTS[frame.protocol];
  return port === actual || (port === '80' && actual === '443' && scheme !== 'https:');
}
