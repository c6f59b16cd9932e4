import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { PNG } from 'pngjs';
import { readPng } from './png-reader.ts';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

interface Sample {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly colorType: number;
  readonly interlaced?: boolean;
  readonly chunks?: Readonly<Record<string, Buffer>>;
  readonly raw: Uint8Array;
}

/** A PNG file around ready-made lines; the checksum is the other decoder's business and not ours. */
function png({ width, height, depth, colorType, interlaced = false, chunks = {}, raw }: Sample): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colorType, 0, 0, interlaced ? 1 : 0], 8);
  const all = { IHDR: header, ...chunks, IDAT: deflateSync(raw), IEND: Buffer.alloc(0) };
  const framed = Object.entries(all).map(([type, data]) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
  });
  return Buffer.concat([SIGNATURE, ...framed]);
}

/** Numbers that look like chance and are the same each time. */
function noise(length: number): Buffer {
  let state = 1;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 24;
    }),
  );
}

/** Lines of noise, each with its filter, in turn. */
function noisyLines(width: number, height: number, bits: number): Buffer {
  const bytes = Math.ceil((width * bits) / 8);
  const raw = noise((bytes + 1) * height);
  for (let y = 0; y < height; y++) raw[y * (bytes + 1)] = y % 5;
  return raw;
}

function reference(bytes: Buffer) {
  return PNG.sync.read(bytes, { checkCRC: false });
}

describe('reading a PNG', () => {
  const palette = noise(256 * 3);
  const kinds = [
    ...[1, 2, 4, 8, 16].map((depth) => ({ what: 'grey', colorType: 0, depth, channels: 1, chunks: {} })),
    ...[8, 16].map((depth) => ({ what: 'colour', colorType: 2, depth, channels: 3, chunks: {} })),
    ...[1, 2, 4, 8].map((depth) => ({
      what: 'a palette',
      colorType: 3,
      depth,
      channels: 1,
      chunks: { PLTE: palette, tRNS: noise(2 ** depth) },
    })),
    ...[8, 16].map((depth) => ({ what: 'grey with opacity', colorType: 4, depth, channels: 2, chunks: {} })),
    ...[8, 16].map((depth) => ({
      what: 'colour with opacity',
      colorType: 6,
      depth,
      channels: 4,
      chunks: {},
    })),
  ];
  for (const { what, colorType, depth, channels, chunks } of kinds) {
    test(`of ${what} in ${depth} bits gives what another decoder sees, with every filter`, async () => {
      const raw = noisyLines(13, 11, depth * channels);
      const bytes = png({ width: 13, height: 11, depth, colorType, chunks, raw });
      const picture = await readPng(bytes);
      const expected = reference(bytes);
      assert.deepEqual([picture?.width, picture?.height], [13, 11]);
      const differences = expected.data.map((value, i) => Math.abs(value - (picture?.pixels[i] ?? 0)));
      // Of 16 bits we keep the upper eight, where others round.
      assert.ok(Math.max(...differences) <= (depth === 16 ? 1 : 0));
    });
  }

  test('in seven passes puts every pixel in its place', async () => {
    for (const [width, height] of [
      [1, 1],
      [3, 2],
      [5, 9],
      [16, 17],
    ] as const) {
      const passes = [
        [0, 0, 8, 8],
        [4, 0, 8, 8],
        [0, 4, 4, 8],
        [2, 0, 4, 4],
        [0, 2, 2, 4],
        [1, 0, 2, 2],
        [0, 1, 1, 2],
      ] as const;
      const raw = Buffer.concat(
        passes.map(([x, y, dx, dy]) => {
          const columns = Math.max(0, Math.ceil((width - x) / dx));
          const rows = Math.max(0, Math.ceil((height - y) / dy));
          return columns === 0 ? Buffer.alloc(0) : noisyLines(columns, rows, 32);
        }),
      );
      const bytes = png({ width, height, depth: 8, colorType: 6, interlaced: true, raw });
      assert.deepEqual(
        Buffer.from((await readPng(bytes))?.pixels ?? []),
        reference(bytes).data,
        `${width}×${height}`,
      );
    }
  });

  test('with one colour that stands for clear', async () => {
    const raw = Buffer.from([0, 10, 20, 30, 1, 2, 3]);
    const tRNS = Buffer.from([0, 10, 0, 20, 0, 30]);
    const picture = await readPng(
      png({ width: 2, height: 1, depth: 8, colorType: 2, chunks: { tRNS }, raw }),
    );
    assert.deepEqual([...(picture?.pixels ?? [])], [10, 20, 30, 0, 1, 2, 3, 255]);
  });

  const good = { width: 2, height: 2, depth: 8, colorType: 6, raw: noisyLines(2, 2, 32) };
  for (const [what, bytes] of [
    ['nothing', Buffer.alloc(0)],
    ['a signature alone', SIGNATURE],
    ['half a file', png(good).subarray(0, 40)],
    ['too few lines', png({ ...good, height: 3 })],
    ['more lines than it has', png({ ...good, height: 1 })],
    ['more pixels than are read', png({ ...good, width: 1_025, height: 1_024 })],
    ['the largest size there is', png({ ...good, width: 0xffffffff, height: 0xffffffff })],
    ['no width', png({ ...good, width: 0 })],
    ['a colour type that does not exist', png({ ...good, colorType: 5 })],
    ['a depth that does not exist', png({ ...good, depth: 3 })],
    ['a small picture that unpacks to 100 MB', png({ ...good, raw: new Uint8Array(100_000_000) })],
    ['data that is not packed', Buffer.concat([png(good).subarray(0, 41), Buffer.alloc(60, 7)])],
  ] as const) {
    test(`of ${what} gives no picture`, async () => assert.equal(await readPng(bytes), undefined));
  }
});
