// Small pictures in memory: four bytes per pixel, red, green, blue and opacity.
import { setImmediate as nextTurn } from 'node:timers/promises';

const PIXELS_PER_TURN = 65_536;

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

export type Color = readonly [red: number, green: number, blue: number];

/** `#rgb` or `#rrggbb`, with or without the hash. */
export function parseColor(hex: string): Color {
  const digits = hex.replace('#', '');
  const full = digits.length === 3 ? digits.replaceAll(/./g, '$&$&') : digits;
  const value = Number.parseInt(full, 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The picture scaled to fit into a square, in its middle, with its proportions kept. */
export async function fitInto(picture: Picture, side: number): Promise<Picture> {
  const scale = side / Math.max(picture.width, picture.height);
  const width = Math.max(1, Math.round(picture.width * scale));
  const height = Math.max(1, Math.round(picture.height * scale));
  const scaled = await resize(picture, width, height);
  const pixels = new Uint8Array(side * side * 4);
  const [left, top] = [Math.floor((side - width) / 2), Math.floor((side - height) / 2)];
  for (let y = 0; y < height; y++) {
    const row = scaled.subarray(y * width * 4, (y + 1) * width * 4);
    pixels.set(row, ((top + y) * side + left) * 4);
  }
  return { width: side, height: side, pixels };
}

/**
 * First across, then down. Colours count by their opacity, so that clear pixels do not darken edges. Large
 * pictures let others have the thread in between.
 */
async function resize(
  { width, height, pixels }: Picture,
  toWidth: number,
  toHeight: number,
): Promise<Uint8Array> {
  const across = new Float32Array(toWidth * height * 4);
  const linesPerTurn = Math.ceil(PIXELS_PER_TURN / width);
  const line = new Float32Array(width * 4);
  for (let y = 0; y < height; y++) {
    weigh(pixels.subarray(y * width * 4, (y + 1) * width * 4), line);
    stretch(line, across.subarray(y * toWidth * 4, (y + 1) * toWidth * 4), width, toWidth, 4);
    if ((y + 1) % linesPerTurn === 0) await nextTurn();
  }
  const down = new Float32Array(toWidth * toHeight * 4);
  stretch(across, down, height, toHeight, toWidth * 4);
  return unweighted(down);
}

function weigh(pixels: Uint8Array, line: Float32Array): void {
  for (let i = 0; i < line.length; i += 4) {
    const opacity = pixels[i + 3] as number;
    const share = opacity / 255;
    line[i] = (pixels[i] as number) * share;
    line[i + 1] = (pixels[i + 1] as number) * share;
    line[i + 2] = (pixels[i + 2] as number) * share;
    line[i + 3] = opacity;
  }
}

/**
 * From so many units to so many others: linear between neighbours when growing, the weighted mean of all that
 * fall together when shrinking. A unit is a pixel across, or a whole line down.
 */
function stretch(source: Float32Array, target: Float32Array, from: number, to: number, unit: number): void {
  const ratio = from / to;
  const reach = Math.max(1, ratio);
  for (let i = 0; i < to; i++) {
    const middle = (i + 0.5) * ratio - 0.5;
    const first = Math.max(0, Math.ceil(middle - reach));
    const last = Math.min(from - 1, Math.floor(middle + reach));
    let sum = 0;
    for (let j = first; j <= last; j++) sum += 1 - Math.abs(j - middle) / reach;
    for (let j = first; j <= last; j++) {
      const weight = (1 - Math.abs(j - middle) / reach) / sum;
      for (let k = 0, a = j * unit, b = i * unit; k < unit; k++, a++, b++) {
        target[b] = (target[b] as number) + (source[a] as number) * weight;
      }
    }
  }
}

function unweighted(weighted: Float32Array): Uint8Array {
  const pixels = new Uint8Array(weighted.length);
  for (let i = 0; i < weighted.length; i += 4) {
    const opacity = weighted[i + 3] as number;
    if (opacity === 0) continue;
    for (let c = 0; c < 3; c++)
      pixels[i + c] = Math.min(255, Math.round(((weighted[i + c] as number) * 255) / opacity));
    pixels[i + 3] = Math.min(255, Math.round(opacity));
  }
  return pixels;
}
