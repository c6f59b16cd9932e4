// The mark of the service: two stops and the trail between them, on a rounded plate. One description, drawn
// as SVG and as pixels.
import { type Picture, parseColor } from './picture.ts';

type Point = readonly [x: number, y: number];

const PLATE = '#0f766e';
const TRAIL = '#ffffff';
/** In a square of side 1. */
const INSET = 0.04;
const CORNER = 0.22;
const START: Point = [0.29, 0.71];
const END: Point = [0.71, 0.29];
const POINTS: readonly Point[] = [START, [0.5, 0.71], [0.5, 0.29], END];
const STROKE = 0.1;
const STOP = 0.13;
const HOLE = 0.055;
const MAX_KEPT = 4;

export function serviceMarkSvg(): string {
  const plate = `<rect x="${INSET}" y="${INSET}" width="${1 - 2 * INSET}" height="${1 - 2 * INSET}" rx="${CORNER}" fill="${PLATE}"/>`;
  const trail = `<polyline points="${POINTS.join(' ')}" fill="none" stroke="${TRAIL}" stroke-width="${STROKE}" stroke-linejoin="round"/>`;
  const dot = ([x, y]: Point, radius: number, fill: string) =>
    `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}"/>`;
  return plate + trail + dot(START, STOP, TRAIL) + dot(END, STOP, TRAIL) + dot(END, HOLE, PLATE);
}

/** Keeps the last few sizes: most pictures are of one. */
export function keptServiceMarks(): (side: number) => Picture {
  const kept = new Map<number, Picture>();
  return (side) => {
    const picture = kept.get(side) ?? serviceMarkPicture(side);
    const [oldest] = kept.keys();
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(side, picture);
    return picture;
  };
}

/** A pixel is covered as far as the distance of its middle to the edge says. */
function serviceMarkPicture(side: number): Picture {
  const pixels = new Uint8Array(side * side * 4);
  const plate = parseColor(PLATE);
  const trail = parseColor(TRAIL);
  const covered = (distance: number) => Math.min(1, Math.max(0, 0.5 - distance * side));
  for (let row = 0, to = 0; row < side; row++) {
    for (let column = 0; column < side; column++, to += 4) {
      const x = (column + 0.5) / side;
      const y = (row + 0.5) / side;
      const white = covered(Math.max(trailDistance(x, y), HOLE - distanceTo(END, x, y)));
      for (let c = 0; c < 3; c++) {
        pixels[to + c] = (plate[c] as number) + ((trail[c] as number) - (plate[c] as number)) * white;
      }
      pixels[to + 3] = covered(plateDistance(x, y)) * 255;
    }
  }
  return { width: side, height: side, pixels };
}

/** Negative inside, positive outside. */
function plateDistance(x: number, y: number): number {
  const half = 0.5 - INSET - CORNER;
  const dx = Math.abs(x - 0.5) - half;
  const dy = Math.abs(y - 0.5) - half;
  return length(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - CORNER;
}

function trailDistance(x: number, y: number): number {
  const stops = Math.min(distanceTo(START, x, y), distanceTo(END, x, y)) - STOP;
  let line = Number.POSITIVE_INFINITY;
  for (let i = 1; i < POINTS.length; i++) {
    line = Math.min(line, lineDistance(POINTS[i - 1] as Point, POINTS[i] as Point, x, y));
  }
  return Math.min(stops, line - STROKE / 2);
}

function distanceTo(point: Point, x: number, y: number): number {
  return length(x - point[0], y - point[1]);
}

function lineDistance(a: Point, b: Point, x: number, y: number): number {
  const dx = b[0] - a[0];
  const dy = b[1] - a[1];
  const along = Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy)));
  return length(x - a[0] - along * dx, y - a[1] - along * dy);
}

/** Much faster than `Math.hypot`, which guards against numbers larger than any here. */
function length(dx: number, dy: number): number {
  return Math.sqrt(dx * dx + dy * dy);
}
