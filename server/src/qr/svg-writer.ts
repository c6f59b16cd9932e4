// Writes a laid-out QR code as SVG: one path for the dark squares, sharp at every size.
import type { QrLayout } from './qr-layout.ts';

export interface SvgRequest {
  readonly layout: QrLayout;
  readonly sizePx: number;
  readonly foreground: string;
  readonly background: string;
  /** Drawn in a square of side 1. */
  readonly logo: string | undefined;
}

export function writeSvg({ layout, sizePx, foreground, background, logo }: SvgRequest): string {
  const { total } = layout;
  const place = layout.logo;
  const drawing =
    logo && place
      ? `<g transform="translate(${place.start} ${place.start}) scale(${place.side})">${logo}</g>`
      : '';
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${sizePx}" height="${sizePx}" viewBox="0 0 ${total} ${total}">` +
    `<rect width="${total}" height="${total}" fill="${background}"/>` +
    `<path fill="${foreground}" shape-rendering="crispEdges" d="${darkPath(layout)}"/>${drawing}</svg>`
  );
}

/** Dark squares side by side become one box. */
function darkPath({ total, isDark }: QrLayout): string {
  let path = '';
  for (let row = 0; row < total; row++) {
    for (let column = 0; column < total; column++) {
      if (!isDark(row, column)) continue;
      const start = column;
      while (column + 1 < total && isDark(row, column + 1)) column += 1;
      const width = column + 1 - start;
      path += `M${start} ${row}h${width}v1h-${width}z`;
    }
  }
  return path;
}

/** An image of any kind, with its proportions kept. The address must be a data URL: nothing is loaded. */
export function embeddedImage(contentType: string, bytes: Buffer): string {
  return `<image width="1" height="1" href="data:${contentType};base64,${bytes.toString('base64')}"/>`;
}
