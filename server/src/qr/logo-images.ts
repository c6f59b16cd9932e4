// Logos by address: our own files from the disk, others over https. What was found is kept for a while, in
// bounded number and size, also that nothing was found, so that a slow host is not asked for every code.

import type { Files } from '../files/files.ts';
import { IMAGE_TYPES, imageKind } from '../files/image.ts';
import type { Clock } from '../kernel/clock.ts';
import { createGate } from '../kernel/gate.ts';
import type { GuardedFetch } from '../kernel/guarded-fetch.ts';
import { fitInto, type Picture } from './picture.ts';
import { readPng } from './png-reader.ts';

export const MAX_LOGO_BYTES = 2 * 1024 * 1024;
const MAX_KEPT = 16;
const KEEP_MS = 5 * 60_000;
const FETCH_TIMEOUT_MS = 3_000;
const MAX_REDIRECTS = 3;
const LOADING = { running: 20, waiting: 100 };
const SVG_START = /^(?:\uFEFF|\s|<\?xml[^>]*>|<!--[\s\S]*?-->|<!doctype[^>]*>)*<svg[\s>]/i;

export interface LogoImage {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Its pixels in a square; undefined when it is no PNG, the only kind that is decoded here. */
  picture(sidePx: number): Promise<Picture | undefined>;
}

export type FindLogo = (url: string) => Promise<LogoImage | undefined>;

export function createLogoImages(parts: { files: Files; fetch: GuardedFetch; clock: Clock }): FindLogo {
  const gate = createGate(LOADING);
  const kept = new Map<string, { untilMs: number; image: Promise<LogoImage | undefined> }>();
  return (url) => {
    const found = kept.get(url);
    const nowMs = parts.clock.now();
    if (found && found.untilMs > nowMs) return found.image;
    kept.delete(url);
    const [oldest] = kept.keys();
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    const image = gate(() => load(parts, url)).then((bytes) => (bytes ? logoImage(bytes) : undefined));
    kept.set(url, { untilMs: nowMs + KEEP_MS, image });
    // A disk that failed, or a full house, is asked again.
    image.catch(() => kept.delete(url));
    return image;
  };
}

async function load(
  { files, fetch }: { files: Files; fetch: GuardedFetch },
  url: string,
): Promise<Buffer | undefined> {
  if (files.isOwn(url)) return files.findContent(url);
  if (!url.startsWith('https://')) return undefined;
  const result = await fetch(url, {
    timeoutMs: FETCH_TIMEOUT_MS,
    maxBytes: MAX_LOGO_BYTES,
    maxRedirects: MAX_REDIRECTS,
    headers: { Accept: 'image/*' },
  });
  return result.ok && result.status === 200 ? result.body : undefined;
}

function logoImage(bytes: Buffer): LogoImage | undefined {
  if (bytes.length > MAX_LOGO_BYTES) return undefined;
  const kind = imageKind(bytes);
  const isSvg = !kind && SVG_START.test(bytes.toString('utf8', 0, 1_000));
  if (!kind && !isSvg) return undefined;
  let last: { sidePx: number; picture: Promise<Picture | undefined> } | undefined;
  return {
    contentType: kind ? IMAGE_TYPES[kind] : 'image/svg+xml',
    bytes,
    picture(sidePx) {
      if (last?.sidePx !== sidePx) {
        const picture = kind === 'png' ? readPng(bytes) : Promise.resolve(undefined);
        last = { sidePx, picture: picture.then((whole) => whole && fitInto(whole, sidePx)) };
      }
      return last.picture;
    },
  };
}
