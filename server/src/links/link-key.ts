// The rules about keys (slugs): which characters, which words, in what form they are stored and looked up.
import punycode from 'punycode/punycode.js';
import type { LinkDomain } from '../domains/domain.ts';
import { AppError, type ErrorCode } from '../kernel/errors.ts';
import { randomText } from '../kernel/ids.ts';
import { ROOT_KEY } from './link.ts';

export const DEFAULT_KEY_LENGTH = 7;
const MAX_KEY_LENGTH = 190;

const ALLOWED = /^[\w\-/.\u{80}-\u{FFFF}\p{Emoji}\u{200D}]+$/u;
/** Invisible, reordering or blank: a key that holds one does not read as what it is. */
const DECEPTIVE =
  /[\u{80}-\u{A0}\u{AD}\u{61C}\u{180E}\u{2000}-\u{200C}\u{200E}\u{200F}\u{2028}-\u{202F}\u{205F}-\u{206F}\u{3000}\u{FEFF}\u{FFF0}-\u{FFFF}]/u;

const RESERVED = new Set([
  'favicon.ico',
  'sitemap.xml',
  'robots.txt',
  'manifest.webmanifest',
  'manifest.json',
  'apple-app-site-association',
]);

/** First path segments that belong to the service itself on its own domain. */
const SYSTEM_SEGMENTS = new Set(['api', 'app', 'health', 'metrics', 'deeplink', 'stats', '_inspect']);
const SYSTEM_WORDS = new Set([
  'login',
  'logout',
  'register',
  'signup',
  'signin',
  'auth',
  'dashboard',
  'settings',
  'account',
  'admin',
  'links',
  'analytics',
  'events',
  'customers',
  'partners',
  'programs',
  'workspaces',
  'webhooks',
  'docs',
  'help',
  'support',
  'pricing',
  'blog',
  'about',
  'terms',
  'privacy',
  'qr',
  'invites',
  'oauth',
  'embed',
  'static',
  'assets',
  'script.js',
]);
const SCRIPT_FILE = /^script(\.[a-z-]+)*\.js$/;

/** The key in its stored form; throws when it is not allowed on this domain. */
export function checkedKey(text: string, domain: LinkDomain, mayBeShort: boolean): string {
  if (text === ROOT_KEY) return checkedRoot(domain);
  const bare = withoutOuterSlashes(text);
  const key = checkedPath('key', bare, domain);
  if (RESERVED.has(key.toLowerCase())) throw refused('forbidden', 'key', `${key} is reserved`);
  if (domain.shared) assertFreeOfService('key', [bare, key], mayBeShort);
  return key;
}

/** Every domain of a workspace has its root link; nobody may have the root of the domain that all share. */
function checkedRoot(domain: LinkDomain): string {
  if (domain.shared)
    throw refused('conflict', 'key', 'the root of this domain belongs to the service itself');
  return ROOT_KEY;
}

/** The path in front of a random key, in its stored form; undefined for none. */
export function checkedPrefix(text: string, keyLength: number, domain: LinkDomain): string | undefined {
  const bare = text.replace(/^\//, '').replace(/\/$/, '');
  if (bare === '') return undefined;
  const prefix = checkedPath('prefix', bare, domain);
  if (prefix.length + 1 + keyLength > MAX_KEY_LENGTH) throw tooLong('prefix');
  if (domain.shared) assertFreeOfService('prefix', [`${bare}/`, `${prefix}/`], true);
  return prefix;
}

/** Checked in the stored form too: punycode turns some characters into plain dots. */
function checkedPath(field: string, bare: string, domain: LinkDomain): string {
  if (bare === '' || !ALLOWED.test(bare)) {
    throw badForm(field, 'letters, digits, emoji and the characters _ - / . are allowed');
  }
  if (DECEPTIVE.test(bare)) throw badForm(field, 'invisible characters are not allowed');
  const path = storedKey(bare, domain);
  if (path.length > MAX_KEY_LENGTH) throw tooLong(field);
  if (path.startsWith('_')) throw badForm(field, 'must not begin with _');
  if (/^\.well-known/i.test(path) || /\.php7?$/i.test(path)) {
    throw badForm(field, 'must not begin with .well-known or end with .php');
  }
  if (path.split('/').some((part) => part === '.' || part === '..')) {
    throw badForm(field, 'must not have . or .. as a part of its path');
  }
  return path;
}

/** Visits come with the typed form, links are kept in the stored one: neither may be a path of the service. */
function assertFreeOfService(field: string, forms: readonly string[], mayBeShort: boolean): void {
  for (const folded of forms.map((form) => form.toLowerCase())) {
    const first = folded.split('/')[0] as string;
    if (SYSTEM_SEGMENTS.has(first) || SYSTEM_WORDS.has(folded) || SCRIPT_FILE.test(folded)) {
      throw refused('conflict', field, `${folded} is used by the service itself`);
    }
  }
  if (!mayBeShort && (forms.at(-1) as string).length <= 3) {
    throw refused('forbidden', field, 'up to three characters on this domain need the plan pro or higher');
  }
}

function withoutOuterSlashes(text: string): string {
  return text.replaceAll(/^\/+|\/+$/g, '');
}

/** ASCII: non-ASCII parts become punycode, label by label; the shared domain also drops accents. */
export function storedKey(text: string, domain: Pick<LinkDomain, 'shared'>): string {
  const key = withoutOuterSlashes(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is plain ASCII
  if (/^[\u0000-\u007f]*$/.test(key)) return key;
  const plain = domain.shared ? key.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '') : key;
  return punycode.toASCII(plain.normalize('NFC'));
}

/** What a key is found by: exact on domains that tell case apart, without case elsewhere. */
export function lookupKey(key: string, domain: LinkDomain): string {
  const stored = storedKey(key, domain);
  return domain.caseSensitive ? stored : stored.toLowerCase();
}

/** Where a key lives: two links must not have the same slot. */
export function keySlot(domain: LinkDomain, key: string): string {
  return `${domain.slug}/${lookupKey(key, domain)}`;
}

export function randomKey(length: number, prefix: string | undefined): string {
  const random = randomText(length);
  return prefix ? `${prefix}/${random}` : random;
}

function refused(code: ErrorCode, field: string, text: string): AppError {
  return new AppError(code, `custom: ${field}: ${text}`);
}

function badForm(field: string, text: string): AppError {
  return new AppError('unprocessable_entity', `invalid_format: ${field}: ${text}`);
}

function tooLong(field: string): AppError {
  return new AppError(
    'unprocessable_entity',
    `too_big: ${field}: a key has at most ${MAX_KEY_LENGTH} characters`,
  );
}
