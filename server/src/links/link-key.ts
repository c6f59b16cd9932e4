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
const DECEPTIVE = /[\u{80}-\u{A0}\u{AD}\u{61C}\u{180E}\u{2000}-\u{200C}\u{200E}\u{200F}\u{2028}-\u{202F}\u{205F}-\u{206F}\u{3000}\u{FEFF}\u{FFF0}-\u{FFFF}]/u;

const RESERVED = new Set([
  'favicon.ico', 'sitemap.xml', 'robots.txt', 'manifest.webmanifest', 'manifest.json', 'apple-app-site-association',
]);

/** First path segments that belong to the service itself on its own domain. */
const SYSTEM_SEGMENTS = new Set(['api', 'app', 'health', 'metrics', 'deeplink', 'stats', '_inspect']);
const SYSTEM_WORDS = new Set([
  'login', 'logout', 'register', 'signup', 'signin', 'auth', 'dashboard', 'settings', 'account', 'admin', 'links',
  'analytics', 'events', 'customers', 'partners', 'programs', 'workspaces', 'webhooks', 'docs', 'help', 'support',
  'pricing', 'blog', 'about', 'terms', 'privacy', 'qr', 'invites', 'oauth', 'embed', 'static', 'assets', 'script.js',
]);
const SCRIPT_FILE = /^script(\.[a-z-]+)*\.js$/;

/** The key in its stored form; throws when it is not allowed on this domain. */
export function checkedKey(text: string, domain: LinkDomain, mayBeShort: boolean): string {
  if (text === ROOT_KEY) return ROOT_KEY;
  const bare = text.replaceAll(/^\/+|\/+$/g, '');
  assertForm(bare);
  const key = storedKey(bare, domain);
  if (key.length > MAX_KEY_LENGTH) throw refused('unprocessable_entity', 'too_big', `at most ${MAX_KEY_LENGTH} characters`);
  const folded = key.toLowerCase();
  if (RESERVED.has(folded)) throw refused('forbidden', 'custom', `${key} is reserved`);
  if (domain.shared) assertShared(folded, mayBeShort);
  return key;
}

function assertForm(key: string): void {
  if (key === '' || !ALLOWED.test(key)) {
    throw refused(
      'unprocessable_entity', 'invalid_format',
      'letters, digits, emoji and the characters _ - / . are allowed',
    );
  }
  if (DECEPTIVE.test(key)) throw refused('unprocessable_entity', 'invalid_format', 'invisible characters are not allowed');
  if (key.startsWith('_')) throw refused('unprocessable_entity', 'custom', 'must not begin with _');
  if (/^\.well-known/i.test(key) || /\.php7?$/i.test(key)) {
    throw refused('unprocessable_entity', 'custom', 'must not begin with .well-known or end with .php');
  }
  if (key.split('/').some((part) => part === '.' || part === '..')) {
    throw refused('unprocessable_entity', 'custom', 'must not have . or .. as a part of its path');
  }
}

function assertShared(folded: string, mayBeShort: boolean): void {
  const first = folded.split('/')[0] as string;
  if (SYSTEM_SEGMENTS.has(first) || SYSTEM_WORDS.has(folded) || SCRIPT_FILE.test(folded)) {
    throw refused('conflict', 'custom', `${folded} is used by the service itself`);
  }
  if (!mayBeShort && folded.length <= 3) {
    throw refused('forbidden', 'custom', 'keys of up to three characters on this domain need the plan pro or higher');
  }
}

/** ASCII: non-ASCII parts become punycode, label by label; the shared domain also drops accents. */
function storedKey(key: string, domain: Pick<LinkDomain, 'shared'>): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is plain ASCII
  if (/^[\u0000-\u007f]*$/.test(key)) return key;
  const text = domain.shared ? key.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '') : key;
  return punycode.toASCII(text.normalize('NFC'));
}

/** What a key is found by: exact on domains that tell case apart, without case elsewhere. */
export function lookupKey(key: string, domain: LinkDomain): string {
  const stored = storedKey(key, domain);
  return domain.caseSensitive ? stored : stored.toLowerCase();
}

export function randomKey(length: number, prefix: string | undefined): string {
  const random = randomText(length);
  const folder = prefix?.replace(/^\//, '').replace(/\/$/, '');
  return folder ? `${folder}/${random}` : random;
}

function refused(code: ErrorCode, kind: string, text: string): AppError {
  return new AppError(code, `${kind}: key: ${text}`);
}
