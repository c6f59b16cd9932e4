import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PNG } from 'pngjs';
import { logoSidePx, writePng } from './png-writer.ts';
import { layOut } from './qr-layout.ts';
import { findQrMatrix, type QrMatrix } from './qr-matrix.ts';

const matrix = findQrMatrix('https://go.example/a/page', 'Q', true) as QrMatrix;
const foreground = [1, 2, 3] as const;
const background = [200, 210, 220] as const;

/** Grey, and half clear in its lower half. */
function halfClear(side: number) {
  const pixels = new Uint8Array(side * side * 4).fill(100);
  for (let i = 0; i < side * side; i++) pixels[i * 4 + 3] = i < (side * side) / 2 ? 255 : 51;
  return { width: side, height: side, pixels };
}

describe('a PNG of a QR code', () => {
  for (const sizePx of [33, 64, 100, 264, 601, 777]) {
    for (const withLogo of [false, true]) {
      test(`of ${sizePx} pixels ${withLogo ? 'with' : 'without'} a logo has every pixel right`, async () => {
        const layout = layOut(matrix, 2, withLogo);
        const side = logoSidePx(layout, sizePx);
        const logo = withLogo ? halfClear(side) : undefined;
        const image = PNG.sync.read(await writePng({ layout, sizePx, foreground, background, logo }));
        assert.deepEqual([image.width, image.height], [sizePx, sizePx]);
        const square = (pixel: number) => Math.floor((pixel * layout.total) / sizePx);
        const start = Math.round((sizePx - side) / 2);
        const expected = Buffer.alloc(sizePx * sizePx * 4, 255);
        for (let y = 0; y < sizePx; y++) {
          for (let x = 0; x < sizePx; x++) {
            let color: readonly number[] = layout.isDark(square(y), square(x)) ? foreground : background;
            const [lx, ly] = [x - start, y - start];
            if (logo && lx >= 0 && ly >= 0 && lx < side && ly < side) {
              const opacity = (logo.pixels[(ly * side + lx) * 4 + 3] as number) / 255;
              color = background.map((under) => Math.round(under + (100 - under) * opacity));
            }
            expected.set(color, (y * sizePx + x) * 4);
          }
        }
        assert.ok(image.data.equals(expected));
      });
    }
  }

  test('in two colours is small', async () => {
    const request = {
      layout: layOut(matrix, 2, false),
      sizePx: 600,
      foreground,
      background,
      logo: undefined,
    };
    assert.ok((await writePng(request)).length < 2_000);
  });
});
