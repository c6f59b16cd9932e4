// Reads PNG logos of every colour type and depth into pixels. The input is hostile: size is judged before
// anything is unpacked, unpacking is bounded and runs outside the main thread, and what does not fit the
// format is no picture rather than an error.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import type { Picture } from './picture.ts';

export const MAX_PNG_PIXELS = 1024 * 1024;
/** After so many the thread goes to others for a moment. */
const PIXELS_PER_TURN = 65_536;

const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
const INDEXED = 3;
const FULL_WITH_OPACITY = 6;
/** Offset and distance of the pixels of each pass: x, y, dx, dy. */
const WHOLE: readonly Pass[] = [[0, 0, 1, 1]];
const ADAM7: readonly Pass[] = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
];
type Pass = readonly [x: number, y: number, dx: number, dy: number];

interface Header {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly colorType: number;
  readonly channels: number;
  readonly passes: readonly Pass[];
}

interface Parts {
  readonly header: Header;
  readonly palette: Buffer;
  readonly transparency: Buffer;
  readonly data: Buffer;
}

export async function readPng(bytes: Buffer): Promise<Picture | undefined> {
  try {
    const parts = partsOf(bytes);
    if (!parts) return undefined;
    const rawBytes = parts.header.passes.reduce((sum, pass) => sum + passBytes(parts.header, pass), 0);
    const raw = await promisify(inflate)(parts.data, {
      maxOutputLength: rawBytes,
      chunkSize: Math.max(64, rawBytes),
    });
    return raw.length === rawBytes ? await paint(parts, raw) : undefined;
  } catch {
    return undefined;
  }
}

function partsOf(bytes: Buffer): Parts | undefined {
  const data: Buffer[] = [];
  let header: Header | undefined;
  let palette: Buffer = Buffer.alloc(0);
  let transparency: Buffer = Buffer.alloc(0);
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const content = bytes.subarray(at + 8, at + 8 + length);
    if (type === 'IEND') break;
    if (type === 'IHDR') header = headerOf(content);
    if (type === 'PLTE') palette = content;
    if (type === 'tRNS') transparency = content;
    if (type === 'IDAT') data.push(content);
    at += 12 + length;
  }
  return header && { header, palette, transparency, data: Buffer.concat(data) };
}

function headerOf(content: Buffer): Header | undefined {
  const [width, height] = [content.readUInt32BE(0), content.readUInt32BE(4)];
  const [depth = 0, colorType = 0, , , interlace] = content.subarray(8);
  const channels = CHANNELS[colorType];
  const fits = width > 0 && height > 0 && width * height <= MAX_PNG_PIXELS;
  if (!fits || !channels || !DEPTHS[colorType]?.includes(depth)) return undefined;
  return { width, height, depth, colorType, channels, passes: interlace === 1 ? ADAM7 : WHOLE };
}

function passSize({ width, height }: Header, [x, y, dx, dy]: Pass): { columns: number; rows: number } {
  return {
    columns: Math.max(0, Math.ceil((width - x) / dx)),
    rows: Math.max(0, Math.ceil((height - y) / dy)),
  };
}

function lineBytes({ channels, depth }: Header, columns: number): number {
  return Math.ceil((columns * channels * depth) / 8);
}

function passBytes(header: Header, pass: Pass): number {
  const { columns, rows } = passSize(header, pass);
  return columns === 0 ? 0 : rows * (lineBytes(header, columns) + 1);
}

async function paint(parts: Parts, raw: Buffer): Promise<Picture> {
  const { width, height, passes } = parts.header;
  const pixels = new Uint8Array(width * height * 4);
  const put = pixelWriter(parts, pixels);
  let at = 0;
  for (const pass of passes) {
    const [left, top, dx, dy] = pass;
    const { columns, rows } = passSize(parts.header, pass);
    const bytes = lineBytes(parts.header, columns);
    let above: Uint8Array = new Uint8Array(bytes);
    for (let row = 0; columns > 0 && row < rows; row++, at += bytes + 1) {
      const line = raw.subarray(at + 1, at + 1 + bytes);
      unfilter(
        raw[at] as number,
        line,
        above,
        Math.max(1, (parts.header.channels * parts.header.depth) >> 3),
      );
      const start = (top + row * dy) * width + left;
      for (let column = 0; column < columns; column++) put(line, column, (start + column * dx) * 4);
      above = line;
      if (((row + 1) * columns) % PIXELS_PER_TURN < columns) await nextTurn();
    }
  }
  return { width, height, pixels };
}

/** Undoes the difference to the left, above, their mean, or the nearest of left, above and above left. */
function unfilter(filter: number, line: Uint8Array, above: Uint8Array, step: number): void {
  const { length } = line;
  if (filter === 1) {
    for (let i = step; i < length; i++) line[i] = (line[i] as number) + (line[i - step] as number);
  } else if (filter === 2) {
    for (let i = 0; i < length; i++) line[i] = (line[i] as number) + (above[i] as number);
  } else if (filter === 3 || filter === 4) {
    const guess = filter === 3 ? mean : nearest;
    for (let i = 0; i < length; i++) {
      const left = i >= step ? (line[i - step] as number) : 0;
      const corner = i >= step ? (above[i - step] as number) : 0;
      line[i] = (line[i] as number) + guess(left, above[i] as number, corner);
    }
  }
}

function mean(left: number, up: number): number {
  return (left + up) >> 1;
}

function nearest(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner);
  const toUp = Math.abs(left - corner);
  const toCorner = Math.abs(left + up - 2 * corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

type PutPixel = (line: Uint8Array, column: number, to: number) => void;

function pixelWriter(parts: Parts, pixels: Uint8Array): PutPixel {
  const { colorType, depth } = parts.header;
  if (colorType === INDEXED) return indexedWriter(parts, pixels);
  return colorType === FULL_WITH_OPACITY && depth === 8 ? copier(pixels) : directWriter(parts, pixels);
}

/** What most logos are, and already in the form we want. */
function copier(pixels: Uint8Array): PutPixel {
  return (line, column, to) => {
    const from = column * 4;
    pixels[to] = line[from] as number;
    pixels[to + 1] = line[from + 1] as number;
    pixels[to + 2] = line[from + 2] as number;
    pixels[to + 3] = line[from + 3] as number;
  };
}

function indexedWriter({ header: { depth }, palette, transparency }: Parts, pixels: Uint8Array): PutPixel {
  return (line, column, to) => {
    const index = sampleAt(line, column, depth);
    for (let c = 0; c < 3; c++) pixels[to + c] = palette[index * 3 + c] ?? 0;
    pixels[to + 3] = transparency[index] ?? 255;
  };
}

function directWriter(
  { header: { depth, colorType, channels }, transparency }: Parts,
  pixels: Uint8Array,
): PutPixel {
  const colors = channels < 3 ? 1 : 3;
  const opacityAt = colorType >= 4 ? channels - 1 : undefined;
  const full = 2 ** Math.min(depth, 8) - 1;
  // One colour may stand for "clear". In 16 bits its upper half is what we compare.
  const clear =
    opacityAt === undefined && transparency.length >= colors * 2
      ? Array.from({ length: colors }, (_, c) => transparency.readUInt16BE(c * 2) >> (depth === 16 ? 8 : 0))
      : undefined;
  return (line, column, to) => {
    let isClear = clear !== undefined;
    for (let c = 0; c < 3; c++) {
      const value = sampleAt(line, column * channels + Math.min(c, colors - 1), depth);
      if (clear && value !== clear[Math.min(c, colors - 1)]) isClear = false;
      pixels[to + c] = (value * 255) / full;
    }
    const opacity = opacityAt === undefined ? 255 : sampleAt(line, column * channels + opacityAt, depth);
    pixels[to + 3] = isClear ? 0 : opacity;
  };
}

/** Of 16 bits, the upper eight. */
function sampleAt(line: Uint8Array, index: number, depth: number): number {
  if (depth === 8) return line[index] as number;
  if (depth === 16) return line[index * 2] as number;
  const bit = index * depth;
  return ((line[bit >> 3] as number) >> (8 - depth - (bit & 7))) & (2 ** depth - 1);
}
