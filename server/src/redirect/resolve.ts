// From the host and path of a request to the key of a link. Pure text work; what the key leads to is for the
// snapshot to say.
import { ROOT_KEY } from '../links/link.ts';
import { lookupKey } from '../links/link-key.ts';
import type { VisitDomain } from '../links/visit-link.ts';

export type Resolved =
  /** `simple`: plain ASCII that needs no other form to be looked up. */
  | { readonly kind: 'key'; readonly key: string; readonly simple: boolean; readonly inspect: boolean }
  | { readonly kind: 'file'; readonly file: FileName }
  /** A path that ends with a slash; the link is at the one without. */
  | { readonly kind: 'slash'; readonly path: string }
  /** What scanners ask for on every host. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'unreadable' };

export type FileName = 'robots' | 'apple' | 'android' | 'none';

const FILES: ReadonlyMap<string, Resolved> = new Map([
  ['/robots.txt', { kind: 'file', file: 'robots' }],
  ['/favicon.ico', { kind: 'file', file: 'none' }],
  ['/sitemap.xml', { kind: 'file', file: 'none' }],
  ['/manifest.webmanifest', { kind: 'file', file: 'none' }],
  ['/manifest.json', { kind: 'file', file: 'none' }],
  ['/.well-known/apple-app-site-association', { kind: 'file', file: 'apple' }],
  ['/apple-app-site-association', { kind: 'file', file: 'apple' }],
  ['/.well-known/assetlinks.json', { kind: 'file', file: 'android' }],
]);
/** No key is longer in any form; turning text of any length into its ASCII form would take ever longer. */
const MAX_KEY_LENGTH = 600;
const ROOT: Resolved = { kind: 'key', key: ROOT_KEY, simple: false, inspect: false };
const UNREADABLE: Resolved = { kind: 'unreadable' };
const PROBE: Resolved = { kind: 'probe' };
/** Nothing to decode, no sign with a meaning of its own: what most keys look like. */
const SIMPLE = /^\/[\w-]+(?:\/[\w-]+)*$/;

export function resolvePath(path: string): Resolved {
  if (path === '/') return ROOT;
  if (SIMPLE.test(path)) {
    return path === `/${ROOT_KEY}`
      ? UNREADABLE
      : { kind: 'key', key: path.slice(1), simple: true, inspect: false };
  }
  return FILES.get(path) ?? resolveUnusual(path);
}

function resolveUnusual(path: string): Resolved {
  if (path.endsWith('/')) return { kind: 'slash', path: ownPath(path.replace(/\/+$/, '')) };
  const text = decoded(path.slice(1));
  if (text === undefined || text.length > MAX_KEY_LENGTH || text.includes('\0')) return UNREADABLE;
  if (text.startsWith('.well-known') || /\.php7?$/i.test(text)) return PROBE;
  const inspect = text.endsWith('+');
  const key = inspect ? text.slice(0, -1) : text;
  if (key === '') return { kind: 'key', key: ROOT_KEY, simple: false, inspect };
  // A slash at either end is not part of any key, and _root is the name of what has none.
  if (key.startsWith('/') || key.endsWith('/') || key === ROOT_KEY) return UNREADABLE;
  return { kind: 'key', key, simple: false, inspect };
}

/** The path as a Location on the same host: `//other.example` and `/\other.example` would lead away. */
export function ownPath(path: string): string {
  return `/${path.replace(/^[/\\]+/, '')}`.replaceAll('\\', '%5C');
}

/** What the snapshot finds the link by. */
export function lookupOf({ key, simple }: { key: string; simple: boolean }, domain: VisitDomain): string {
  if (key === ROOT_KEY) return ROOT_KEY;
  if (simple) return domain.caseSensitive ? key : key.toLowerCase();
  return lookupKey(key, domain);
}

function decoded(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export interface ServedHosts {
  /** Serves the hosts that are the service's own. */
  readonly defaultDomain: string;
  readonly isOwnHost: (host: string) => boolean;
}

/** The short-link domain that a host stands for; the service's own hosts all stand for the default one. */
export function slugServedBy(host: string, { defaultDomain, isOwnHost }: ServedHosts): string {
  return isOwnHost(host) ? defaultDomain : slugOfHost(host);
}

/** The name of a short-link domain in a Host: without port and without www. */
export function slugOfHost(host: string): string {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name.startsWith('www.') ? name.slice(4) : name;
}
