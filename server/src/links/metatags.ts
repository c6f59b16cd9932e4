// What a page says about itself in its head: title, description, image. Reads at most 1 MB for at most 5 s
// and never fails: of a page that cannot be had, its address makes the title.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GuardedFetch } from '../kernel/guarded-fetch.ts';

export interface Metatags {
  readonly title: string;
  readonly description: string;
  readonly image: string | null;
}

/** What the head of a document holds; texts are decoded, nothing is resolved or chosen. */
export interface PageHead {
  readonly title: string;
  /** By name or property, in lower case; the first of each. */
  readonly meta: ReadonlyMap<string, string>;
  /** Addresses by relation, in lower case; the first of each. */
  readonly links: ReadonlyMap<string, string>;
}

export const NO_DESCRIPTION = 'No description';

const FETCH = { timeoutMs: 5_000, maxBytes: 1_000_000, truncate: true, maxRedirects: 5 } as const;
const MAX_TITLE = 500;
const MAX_DESCRIPTION = 1_000;
const MAX_ADDRESS = 32_000;
const CHARS_PER_TURN = 65_536;
const MAX_ENTRIES = 500;
const HTML = /^(?:text\/html|application\/xhtml\+xml)\b/i;
const RELATIONS = ['image_src', 'icon'];
/** Ends of names that stand for no public host. */
const LOCAL_NAMES = /\.(?:local|localhost|internal|intranet|lan|home|corp|test|invalid|arpa)$/;

export async function fetchMetatags(fetch: GuardedFetch, url: string): Promise<Metatags> {
  const result = await fetch(url, {
    ...FETCH,
    headers: { Accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.5' },
  });
  const type = result.ok ? (result.headers['content-type'] ?? 'text/html') : '';
  if (!result.ok || result.status >= 400 || !HTML.test(type)) {
    return { title: lastSegment(url), description: NO_DESCRIPTION, image: null };
  }
  const head = await readHead(decodeText(result.body, type));
  return metatagsOf(head, { asked: url, answered: result.url });
}

/** The first that is there, in the order in which pages mean it. */
export function metatagsOf(
  { title, meta, links }: PageHead,
  page: { asked: string; answered: string },
): Metatags {
  const text = (...names: string[]) => names.map((name) => meta.get(name)).find(Boolean);
  const image =
    text('og:image', 'og:image:url', 'og:image:secure_url', 'twitter:image', 'twitter:image:src') ??
    links.get('image_src') ??
    links.get('icon');
  return {
    title: clip(text('og:title', 'twitter:title') || title || page.asked, MAX_TITLE),
    description: clip(
      text('description', 'og:description', 'twitter:description') || NO_DESCRIPTION,
      MAX_DESCRIPTION,
    ),
    image: image ? publicAddress(image, page.answered) : null,
  };
}

/** Reads until the head ends; large documents let others have the thread in between. */
export async function readHead(html: string): Promise<PageHead> {
  // Loaded by the first page that is read, so that no start waits for it.
  const { Parser } = await import('htmlparser2');
  const meta = new Map<string, string>();
  const links = new Map<string, string>();
  let title: string | undefined;
  let inTitle = false;
  let ended = false;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'body') ended = true;
      if (ended) return;
      inTitle = name === 'title' && title === undefined;
      if (inTitle) title = '';
      if (name === 'meta') keepFirst(meta, attributes.property ?? attributes.name, attributes.content);
      if (name === 'link')
        for (const rel of relations(attributes.rel)) keepFirst(links, rel, attributes.href);
    },
    ontext(text) {
      if (inTitle && !ended && title !== undefined && title.length < MAX_TITLE * 4) title += text;
    },
    onclosetag(name) {
      if (name === 'title') inTitle = false;
      if (name === 'head') ended = true;
    },
  });
  for (let at = 0; at < html.length && !ended; at += CHARS_PER_TURN) {
    parser.write(html.slice(at, at + CHARS_PER_TURN));
    await nextTurn();
  }
  return { title: clip(title ?? '', MAX_TITLE), meta, links };
}

function keepFirst(map: Map<string, string>, name: string | undefined, value: string | undefined): void {
  const key = name?.trim().toLowerCase();
  const text = value?.trim();
  if (key && text && !map.has(key) && map.size < MAX_ENTRIES) map.set(key, text);
}

function relations(rel: string | undefined): string[] {
  const given = (rel ?? '').toLowerCase().split(/\s+/);
  return RELATIONS.filter(
    (name) => given.includes(name) || (name === 'icon' && given.includes('apple-touch-icon')),
  );
}

/** By byte order mark, then the header, then what the document says of itself, else UTF-8. */
export function decodeText(bytes: Buffer, contentType: string): string {
  const declared = /charset\s*=\s*["']?([\w.:-]+)/i;
  const label =
    markOf(bytes) ??
    declared.exec(contentType)?.[1] ??
    declared.exec(bytes.toString('latin1', 0, 1_024))?.[1] ??
    'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function markOf(bytes: Buffer): string | undefined {
  const mark = bytes.toString('latin1', 0, 3);
  if (mark === '\xef\xbb\xbf') return 'utf-8';
  if (mark.startsWith('\xfe\xff')) return 'utf-16be';
  return mark.startsWith('\xff\xfe') ? 'utf-16le' : undefined;
}

/** Made absolute; null for what is not on a public host, by its name. */
function publicAddress(address: string, base: string): string | null {
  const url = URL.parse(address, base);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.href.length > MAX_ADDRESS)
    return null;
  const host = url.hostname.replace(/\.$/, '');
  const isPublic = /\.[a-z][a-z0-9-]*[a-z0-9]$/.test(host) && !LOCAL_NAMES.test(host);
  return isPublic ? url.href : null;
}

function lastSegment(url: string): string {
  const segments = URL.parse(url)?.pathname.split('/').filter(Boolean) ?? [];
  const last = segments.at(-1);
  if (last === undefined) return clip(url, MAX_TITLE);
  try {
    return clip(decodeURIComponent(last), MAX_TITLE);
  } catch {
    return clip(last, MAX_TITLE);
  }
}

function clip(text: string, max: number): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, max).toWellFormed();
}
