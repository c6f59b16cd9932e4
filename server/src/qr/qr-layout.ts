// Where everything goes in the picture of a QR code: pure geometry, the same for every output format.
import type { QrMatrix } from './qr-matrix.ts';

export interface QrLayout {
  /** Squares per side, with the margin. */
  readonly total: number;
  /** Whether the square is dark, counted with the margin; those under the logo are not. */
  isDark(row: number, column: number): boolean;
  /** The logo's place in squares; undefined when there is none. */
  readonly logo: { readonly start: number; readonly side: number } | undefined;
}

/** A quarter of the picture, but never so much of the code itself that it could not be read any more. */
const LOGO_SHARE = 1 / 4;
const MAX_CODE_SHARE = 0.3;

export function layOut(matrix: QrMatrix, margin: number, withLogo: boolean): QrLayout {
  const total = matrix.side + 2 * margin;
  const side = Math.min(total * LOGO_SHARE, matrix.side * MAX_CODE_SHARE);
  const start = (total - side) / 2;
  const covered = (index: number) => withLogo && index + 1 > start && index < start + side;
  const inside = (index: number) => index >= margin && index < margin + matrix.side;
  return {
    total,
    isDark: (row, column) =>
      inside(row) &&
      inside(column) &&
      !(covered(row) && covered(column)) &&
      matrix.isDark(row - margin, column - margin),
    logo: withLogo ? { start, side } : undefined,
  };
}
