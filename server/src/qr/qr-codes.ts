// QR codes of addresses: finds the logo that belongs in, picks the error correction that can bear it, and
// draws. A logo that cannot be had, or that would leave no room for the address, is left out.

import type { Files } from '../files/files.ts';
import type { Clock } from '../kernel/clock.ts';
import { completeUrl } from '../kernel/destination.ts';
import { invalid } from '../kernel/errors.ts';
import { createGate } from '../kernel/gate.ts';
import type { GuardedFetch } from '../kernel/guarded-fetch.ts';
import { chooseLogo, type LogoChoice, type QrLink } from './logo.ts';
import { createLogoImages } from './logo-images.ts';
import { type Picture, parseColor } from './picture.ts';
import { logoSidePx, writePng } from './png-writer.ts';
import { layOut, type QrLayout } from './qr-layout.ts';
import { findQrMatrix, QR_CAPACITY_BYTES, type QrLevel } from './qr-matrix.ts';
import { keptServiceMarks, serviceMarkSvg } from './service-mark.ts';
import { embeddedImage, writeSvg } from './svg-writer.ts';

/** Drawing takes memory and the thread: a few at once, some waiting. */
const DRAWING = { running: 4, waiting: 200 };

export interface QrRequest {
  readonly url: string;
  readonly size: number;
  readonly level: QrLevel;
  readonly fgColor: string;
  readonly bgColor: string;
  /** In squares, within the size. */
  readonly margin: number;
  readonly hideLogo: boolean;
  readonly logo: string | undefined;
  readonly format: 'png' | 'svg';
}

export type QrImage =
  | { readonly contentType: 'image/png'; readonly body: Buffer<ArrayBuffer> }
  | { readonly contentType: 'image/svg+xml'; readonly body: string };

export interface QrCodesParts {
  /** The short link at an address without query, if there is one. */
  readonly findLinkByShortUrl: (url: string) => Promise<QrLink | undefined>;
  readonly files: Files;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
}

export function createQrCodes(parts: QrCodesParts) {
  const findImage = createLogoImages(parts);
  const gate = createGate(DRAWING);
  const mark = keptServiceMarks();
  const serviceLogo: QrLogo = { svg: serviceMarkSvg, picture: async (sidePx) => mark(sidePx) };

  async function findLogo(choice: LogoChoice): Promise<QrLogo | undefined> {
    if (choice.from === 'service') return serviceLogo;
    const image = choice.from === 'url' ? await findImage(choice.url) : undefined;
    return image && { svg: () => embeddedImage(image.contentType, image.bytes), picture: image.picture };
  }

  return {
    async draw(request: QrRequest): Promise<QrImage> {
      const url = completeUrl(request.url);
      if (url === undefined) throw invalid('url', 'must be an address such as https://example.com/page');
      assertLogo(request.logo, parts.files);
      const link = await parts.findLinkByShortUrl(url.replace(/[?#].*$/s, ''));
      const logo = await findLogo(chooseLogo(link, request));
      const draw = request.format === 'svg' ? drawSvg : drawPng;
      return gate(() => draw({ ...request, url }, logo));
    },
  };
}

export type QrCodes = ReturnType<typeof createQrCodes>;

interface QrLogo {
  /** Drawn in a square of side 1. */
  svg(): string;
  /** Undefined when it cannot be shown as pixels. */
  picture(sidePx: number): Promise<Picture | undefined>;
}

function assertLogo(logo: string | undefined, files: Files): void {
  if (!logo || files.isOwn(logo)) return;
  if (URL.parse(logo)?.protocol !== 'https:') throw invalid('logo', 'must be an https address');
}

async function drawSvg(request: QrRequest, logo: QrLogo | undefined): Promise<QrImage> {
  const layout = place(request, logo !== undefined);
  const body = writeSvg({
    layout,
    sizePx: request.size,
    foreground: hex(request.fgColor),
    background: hex(request.bgColor),
    logo: layout.logo && logo?.svg(),
  });
  return { contentType: 'image/svg+xml', body };
}

async function drawPng(request: QrRequest, logo: QrLogo | undefined): Promise<QrImage> {
  let layout = place(request, logo !== undefined);
  const picture = layout.logo && (await logo?.picture(logoSidePx(layout, request.size)));
  // Found only now that it cannot be shown: then the code needs no hole either.
  if (layout.logo && !picture) layout = place(request, false);
  const body = await writePng({
    layout,
    sizePx: request.size,
    foreground: parseColor(request.fgColor),
    background: parseColor(request.bgColor),
    logo: picture,
  });
  return { contentType: 'image/png', body };
}

/** With a logo where that is wished and the address still fits at the level that can bear one. */
function place({ url, level, margin, size }: QrRequest, withLogo: boolean): QrLayout {
  const raised = level === 'L' || level === 'M' ? 'Q' : level;
  const bearing = withLogo ? findQrMatrix(url, raised, true) : undefined;
  const matrix = bearing ?? findQrMatrix(url, level);
  if (!matrix) {
    throw invalid(
      'url',
      `is too long for a QR code: at most ${QR_CAPACITY_BYTES[level]} bytes fit at level ${level}`,
    );
  }
  const layout = layOut(matrix, margin, bearing !== undefined);
  if (layout.total > size) throw invalid('size', `must be at least ${layout.total} for this url and margin`);
  return layout;
}

function hex(color: string): string {
  return `#${color.replace('#', '')}`;
}
