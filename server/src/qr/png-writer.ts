// Writes a laid-out QR code as PNG: two colours in one bit per pixel, or full colour where a logo is in it.
// Exactly the size asked for; compression runs outside the main thread.
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import type { Color, Picture } from './picture.ts';
import type { QrLayout } from './qr-layout.ts';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const INDEXED = 3;
const FULL_COLOR = 2;
/** Lines are written as the difference to the one above: zeros where they are the same. */
const AS_ABOVE = 2;

export interface PngRequest {
  readonly layout: QrLayout;
  readonly sizePx: number;
  readonly foreground: Color;
  readonly background: Color;
  /** A square picture for the place of the logo, `logoSidePx` wide. */
  readonly logo: Picture | undefined;
}

export function logoSidePx(layout: QrLayout, sizePx: number): number {
  return layout.logo ? Math.max(1, Math.round((layout.logo.side / layout.total) * sizePx)) : 0;
}

export async function writePng(request: PngRequest): Promise<Buffer<ArrayBuffer>> {
  const { sizePx, logo, background, foreground } = request;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(sizePx, 0);
  header.writeUInt32BE(sizePx, 4);
  header.set(logo ? [8, FULL_COLOR] : [1, INDEXED], 8);
  const data = await promisify(deflate)(logo ? colorLines(request, logo) : bitLines(request));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    ...(logo ? [] : [chunk('PLTE', Buffer.from([...background, ...foreground]))]),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(data.length + 12);
  framed.writeUInt32BE(data.length, 0);
  framed.write(type, 4, 'latin1');
  framed.set(data, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, 8 + data.length)), 8 + data.length);
  return framed;
}

/** The square that each pixel of a line or column belongs to. */
function squares({ layout, sizePx }: PngRequest): Uint16Array {
  return Uint16Array.from({ length: sizePx }, (_, i) => Math.floor((i * layout.total) / sizePx));
}

function bitLines(request: PngRequest): Buffer {
  const { layout, sizePx } = request;
  const columns = squares(request);
  return lines(request, Math.ceil(sizePx / 8), (line, y) => {
    const dark = darkSquares(layout, columns[y] as number);
    line.fill(0);
    for (let x = 0; x < sizePx; x++) {
      if (dark[columns[x] as number]) line[x >> 3] = (line[x >> 3] as number) | (128 >> (x & 7));
    }
  });
}

function colorLines(request: PngRequest, logo: Picture): Buffer {
  const { layout, sizePx, foreground, background } = request;
  const columns = squares(request);
  const paint = (line: Uint8Array, y: number) => {
    const dark = darkSquares(layout, columns[y] as number);
    for (let x = 0, to = 0; x < sizePx; x++, to += 3) {
      const color = dark[columns[x] as number] ? foreground : background;
      line[to] = color[0];
      line[to + 1] = color[1];
      line[to + 2] = color[2];
    }
  };
  const start = Math.round((sizePx - logo.width) / 2);
  const overlay = {
    from: start,
    to: start + logo.height,
    paint: (line: Uint8Array, y: number) => blend(line, start, logo, y - start, background),
  };
  return lines(request, sizePx * 3, paint, overlay);
}

function darkSquares(layout: QrLayout, row: number): boolean[] {
  return Array.from({ length: layout.total }, (_, column) => layout.isDark(row, column));
}

interface Overlay {
  readonly from: number;
  readonly to: number;
  paint(line: Uint8Array, y: number): void;
}

/** Paints the lines that begin a row of squares or lie under the overlay; the others are as the one above. */
function lines(
  request: PngRequest,
  bytes: number,
  paint: (line: Uint8Array, y: number) => void,
  overlay: Overlay = { from: 0, to: 0, paint() {} },
): Buffer {
  const raw = Buffer.alloc((bytes + 1) * request.sizePx);
  const columns = squares(request);
  let above = new Uint8Array(bytes);
  let line = new Uint8Array(bytes);
  for (let y = 0; y < request.sizePx; y++) {
    const at = y * (bytes + 1);
    raw[at] = AS_ABOVE;
    const isFirst = y === 0 || columns[y] !== columns[y - 1];
    const isCovered = y >= overlay.from && y < overlay.to;
    // Where the overlay ends, the squares under it show again.
    const isBare = isFirst || y === overlay.to;
    if (!isBare && !isCovered) continue;
    if (isBare) paint(line, y);
    else line.set(above);
    if (isCovered) overlay.paint(line, y);
    for (let i = 0; i < bytes; i++) raw[at + 1 + i] = (line[i] as number) - (above[i] as number);
    const spare = above;
    above = line;
    line = spare;
  }
  return raw;
}

/** One line of the picture over the ground. */
function blend(line: Uint8Array, start: number, { width, pixels }: Picture, y: number, ground: Color): void {
  for (let x = 0, to = start * 3, from = y * width * 4; x < width; x++, to += 3, from += 4) {
    const opacity = (pixels[from + 3] as number) / 255;
    for (let c = 0; c < 3; c++) {
      const under = ground[c] as number;
      line[to + c] = Math.round(under + ((pixels[from + c] as number) - under) * opacity);
    }
  }
}
