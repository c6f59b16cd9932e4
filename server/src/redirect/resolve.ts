// From host and path to the key of a link. Pure text work; what the key leads to is for the snapshot to say.
import { lookupKey } from '../links/link-key.ts';
import { ROOT_KEY } from '../links/link.ts';
import type { VisitDomain } from '../links/visit-link.ts';

export type Resolved =
  | { readonly kind: 'key'; readonly key: string; readonly inspect: boolean }
  | { readonly kind: 'file'; readonly file: 'robots' | 'apple' | 'android' | 'none' }
  | { readonly kind: 'slash'; readonly path: string }
  | { readonly kind: 'probe' }
  | { readonly kind: 'unreadable' };

const FILES: Record<string, Resolved> = {
  '/robots.txt': { kind: 'file', file: 'robots' },
  '/favicon.ico': { kind: 'file', file: 'none' },
  '/sitemap.xml': { kind: 'file', file: 'none' },
  '/manifest.webmanifest': { kind: 'file', file: 'none' },
  '/manifest.json': { kind: 'file', file: 'none' },
  '/.well-known/apple-app-site-association': { kind: 'file', file: 'apple' },
  '/apple-app-site-association': { kind: 'file', file: 'apple' },
  '/.well-known/assetlinks.json': { kind: 'file', file: 'android' },
};

export function resolvePath(path: string): Resolved {
  const file = FILES[path];
  if (file) return file;
  if (path === '/') return { kind: 'key', key: ROOT_KEY, inspect: false };
  if (path.endsWith('/')) return { kind: 'slash', path: path.replace(/\/+$/, '') || '/' };
  const text = decode(path.slice(1));
  if (text === undefined || text.includes('\0') || text === ROOT_KEY) return { kind: 'unreadable' };
  if (text.startsWith('.well-known') || /\.php7?$/i.test(text)) return { kind: 'probe' };
  const inspect = text.endsWith('+');
  const key = inspect ? text.slice(0, -1) : text;
  return { kind: 'key', key: key === '' ? ROOT_KEY : key, inspect };
}

/** What the snapshot finds the link by. */
export function lookupOf(key: string, domain: VisitDomain): string {
  return key === ROOT_KEY ? ROOT_KEY : lookupKey(key, domain);
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
