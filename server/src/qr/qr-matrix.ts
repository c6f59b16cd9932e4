// The dark and light squares of a QR code.
import { createRequire } from 'node:module';
import type * as QrCode from 'qrcode';

const require = createRequire(import.meta.url);

export const QR_LEVELS = ['L', 'M', 'Q', 'H'] as const;
/** How much of the code may be damaged or covered: 7, 15, 25 or 30 percent. */
export type QrLevel = (typeof QR_LEVELS)[number];

/** What the largest code holds, in bytes of UTF-8. */
export const QR_CAPACITY_BYTES: Record<QrLevel, number> = { L: 2953, M: 2331, Q: 1663, H: 1273 };

export interface QrMatrix {
  /** Squares per side. */
  readonly side: number;
  isDark(row: number, column: number): boolean;
}

/** What a code of the smallest version that can bear a logo holds; below it, too few squares are left. */
const BEARING = { version: 3, bytes: { L: 53, M: 42, Q: 32, H: 24 } };

/** Undefined when the text does not fit. The text is encoded byte by byte, as it is. */
export function findQrMatrix(text: string, level: QrLevel, forLogo = false): QrMatrix | undefined {
  const data = Buffer.from(text);
  if (data.length > QR_CAPACITY_BYTES[level]) return undefined;
  const isSmall = forLogo && data.length <= BEARING.bytes[level];
  // Loaded by the first code that is asked for, so that no start waits for it.
  const { create } = require('qrcode') as typeof QrCode;
  const { modules } = create([{ data, mode: 'byte' }], {
    errorCorrectionLevel: level,
    ...(isSmall && { version: BEARING.version }),
  });
  return { side: modules.size, isDark: (row, column) => modules.get(row, column) === 1 };
}
