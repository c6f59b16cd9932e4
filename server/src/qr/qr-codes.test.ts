// Every picture is read back pixel by pixel and compared with the squares that the QR library gives.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PNG } from 'pngjs';
import { create } from 'qrcode';
import { createFiles, type Files } from '../files/files.ts';
import { manualClock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { FetchResult } from '../kernel/guarded-fetch.ts';
import type { QrLink } from './logo.ts';
import { createQrCodes, type QrRequest } from './qr-codes.ts';

type Level = 'L' | 'M' | 'Q' | 'H';
type Rgb = readonly [number, number, number];

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [255, 255, 255];
const RED: Rgb = [255, 0, 0];
const LINK = 'https://go.example/known';
const REMOTE = 'https://images.example/logo';
const BASE: QrRequest = {
  url: LINK,
  size: 600,
  level: 'L',
  fgColor: '#000000',
  bgColor: '#FFFFFF',
  margin: 2,
  hideLogo: true,
  logo: undefined,
  format: 'png',
};
const JPEG = Buffer.from('\xff\xd8\xff\xe0 not really', 'latin1');
const SVG = Buffer.from('<?xml version="1.0"?>\n<!-- a logo --><svg xmlns="http://www.w3.org/2000/svg"/>');

function redPng(width: number, height: number): Buffer {
  const image = new PNG({ width, height });
  for (let i = 0; i < image.data.length; i += 4) image.data.set([...RED, 255], i);
  return PNG.sync.write(image);
}

let dataDir: string;
let files: Files;
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'linktrail-qr-'));
  files = createFiles({ dataDir, publicUrl: 'https://go.example' });
});
after(() => rm(dataDir, { recursive: true, force: true }));

const OWN_LINK: QrLink = { workspacePlan: 'pro', domainLogo: null, workspaceLogo: null, shared: false };

function open(options: { link?: Partial<QrLink>; remote?: Record<string, Buffer> } = {}) {
  const asked: string[] = [];
  const lookedUp: string[] = [];
  const clock = manualClock(0);
  const fetch = async (url: string): Promise<FetchResult> => {
    asked.push(url);
    const body = options.remote?.[url];
    return body
      ? { ok: true, status: 200, headers: {}, body, url }
      : { ok: false, reason: 'network', message: 'no such host' };
  };
  const findLinkByShortUrl = async (url: string) => {
    lookedUp.push(url);
    return url === LINK ? { ...OWN_LINK, ...options.link } : undefined;
  };
  const qrCodes = createQrCodes({ findLinkByShortUrl, files, fetch, clock });
  return {
    draw: (change: Partial<QrRequest> = {}) => qrCodes.draw({ ...BASE, ...change }),
    asked,
    lookedUp,
    clock,
  };
}

async function pixels(draw: ReturnType<typeof open>['draw'], change: Partial<QrRequest> = {}) {
  const { contentType, body } = await draw(change);
  assert.equal(contentType, 'image/png');
  const image = PNG.sync.read(body as Buffer);
  const at = (x: number, y: number) => [
    ...image.data.subarray((y * image.width + x) * 4, (y * image.width + x) * 4 + 3),
  ];
  return { width: image.width, height: image.height, at };
}

/** Fails unless every square has its colour in its middle; those under the logo are passed over. */
function assertCode(
  image: Awaited<ReturnType<typeof pixels>>,
  text: string,
  {
    level = 'L',
    margin = 2,
    dark = BLACK,
    light = WHITE,
    hole = false,
  }: {
    level?: Level;
    margin?: number;
    dark?: Rgb;
    light?: Rgb;
    hole?: boolean;
  } = {},
): void {
  const { modules } = create([{ data: Buffer.from(text), mode: 'byte' }], { errorCorrectionLevel: level });
  const total = modules.size + 2 * margin;
  const middle = (index: number) => Math.floor(((index + 0.5) * image.width) / total);
  for (let row = 0; row < total; row++) {
    for (let column = 0; column < total; column++) {
      const [r, c] = [row - margin, column - margin];
      const inCode = r >= 0 && c >= 0 && r < modules.size && c < modules.size;
      const inHole = hole && [row, column].every((i) => Math.abs(i + 0.5 - total / 2) <= total / 8 + 1);
      if (inHole) continue;
      const expected = inCode && modules.get(r, c) ? dark : light;
      assert.deepEqual(image.at(middle(column), middle(row)), [...expected], `square ${r},${c}`);
    }
  }
}

describe('each parameter', () => {
  const { draw, lookedUp } = open();

  test('url is encoded as it is, and looked up without its query', async () => {
    const url = `${LINK}?qr=1&x=Ä#part`;
    assertCode(await pixels(draw, { url, size: 601 }), url);
    assert.equal(lookedUp.at(-1), LINK);
  });

  test('url gets a scheme where it has none', async () => {
    const other = open({ link: {} });
    const svg = await other.draw({ url: 'go.example/known', format: 'svg' });
    assert.equal(svg.body, (await other.draw({ url: LINK, format: 'svg' })).body);
  });

  for (const size of [64, 100, 600, 2_000]) {
    test(`size ${size} is the width and the height`, async () => {
      const image = await pixels(draw, { size });
      assert.deepEqual([image.width, image.height], [size, size]);
      assertCode(image, LINK);
    });
  }

  for (const level of ['L', 'M', 'Q', 'H'] as const) {
    test(`level ${level} decides the squares`, async () =>
      assertCode(await pixels(draw, { level }), LINK, { level }));
  }

  test('fgColor and bgColor are the colours, long and short, with and without hash', async () => {
    assertCode(await pixels(draw, { fgColor: '#112233', bgColor: '#fed' }), LINK, {
      dark: [0x11, 0x22, 0x33],
      light: [0xff, 0xee, 0xdd],
    });
    assertCode(await pixels(draw, { fgColor: 'ABC' }), LINK, { dark: [0xaa, 0xbb, 0xcc] });
  });

  for (const margin of [0, 1, 7, 50]) {
    test(`margin ${margin} is the quiet zone, within the size`, async () => {
      const image = await pixels(draw, { margin });
      assert.equal(image.width, 600);
      assertCode(image, LINK, { margin });
    });
  }

  test('format svg draws the same squares', async () => {
    const { contentType, body } = await draw({
      format: 'svg',
      size: 300,
      fgColor: '#112233',
      bgColor: 'fed',
      margin: 3,
    });
    assert.equal(contentType, 'image/svg+xml');
    const { modules } = create([{ data: Buffer.from(LINK), mode: 'byte' }], { errorCorrectionLevel: 'L' });
    const total = modules.size + 6;
    const text = String(body);
    assert.match(
      text,
      new RegExp(`^<svg xmlns="[^"]+" width="300" height="300" viewBox="0 0 ${total} ${total}">`),
    );
    assert.match(text, /<rect [^>]*fill="#fed"/);
    const dark = new Set<string>();
    const path = /<path fill="#112233"[^>]* d="([^"]+)"/.exec(text)?.[1] ?? '';
    for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
      for (let i = 0; i < Number(width); i++) dark.add(`${Number(y) - 3},${Number(x) + i - 3}`);
    }
    const expected = new Set<string>();
    for (let r = 0; r < modules.size; r++) {
      for (let c = 0; c < modules.size; c++) if (modules.get(r, c)) expected.add(`${r},${c}`);
    }
    assert.deepEqual(dark, expected);
  });
});

describe('a logo', () => {
  test('of the service is drawn for addresses that are no short links, at level Q', async () => {
    const url = 'https://elsewhere.example/some/long/path/to/a/page';
    for (const level of ['L', 'M', 'Q'] as const) {
      const image = await pixels(open().draw, { url, level });
      assertCode(image, url, { level: 'Q', hole: true });
      assert.deepEqual(image.at(300, 300), [255, 255, 255]);
      assert.deepEqual(image.at(255, 255), [15, 118, 110]);
    }
    const high = await pixels(open().draw, { url, level: 'H' });
    assertCode(high, url, { level: 'H', hole: true });
  });

  test('is centred and a quarter of the picture wide, on cleared ground', async () => {
    const logo = await files.saveImage(`data:image/png;base64,${redPng(40, 40).toString('base64')}`, 'logo');
    const url = `${LINK}?with=some&more=text&in=the&query=part`;
    const image = await pixels(open().draw, { url, hideLogo: false, logo, size: 800, bgColor: '#eeeeee' });
    assertCode(image, url, { level: 'Q', hole: true, light: [0xee, 0xee, 0xee] });
    for (const [x, y] of [
      [301, 301],
      [498, 301],
      [301, 498],
      [498, 498],
      [400, 400],
    ] as const) {
      assert.deepEqual(image.at(x, y), [...RED], `${x},${y}`);
    }
    for (const [x, y] of [
      [298, 400],
      [501, 400],
      [400, 298],
      [400, 501],
    ] as const) {
      assert.deepEqual(image.at(x, y), [0xee, 0xee, 0xee], `${x},${y}`);
    }
  });

  test('keeps its proportions', async () => {
    const { draw } = open({ remote: { [REMOTE]: redPng(40, 20) } });
    const image = await pixels(draw, {
      url: `${LINK}?${'x'.repeat(60)}`,
      hideLogo: false,
      logo: REMOTE,
      size: 800,
    });
    assert.deepEqual(
      [image.at(310, 400), image.at(400, 360), image.at(400, 340)],
      [[...RED], [...RED], [...WHITE]],
    );
  });

  test('covers less where the margin is wide, so that the code can be read', async () => {
    const { draw } = open({ remote: { [REMOTE]: redPng(10, 10) } });
    const image = await pixels(draw, { hideLogo: false, logo: REMOTE, margin: 50, size: 1_290 });
    // 29 squares and twice 50 on 1290 pixels: ten each, and 0.3 × 29 squares of logo.
    assert.deepEqual(image.at(645 - 42, 645), [...RED]);
    assert.deepEqual(image.at(645 - 45, 645), [...WHITE]);
  });

  for (const [what, link] of [
    ['domain', { domainLogo: REMOTE, workspaceLogo: 'https://images.example/other' }],
    ['workspace', { workspaceLogo: REMOTE }],
  ] as const) {
    test(`of the ${what} is drawn when none is asked for`, async () => {
      const { draw, asked } = open({ link, remote: { [REMOTE]: redPng(8, 8) } });
      assert.deepEqual((await pixels(draw, { hideLogo: false })).at(300, 300), [...RED]);
      assert.deepEqual(asked, [REMOTE]);
    });
  }

  test('is fetched once for a while, also when there is none', async () => {
    for (const remote of [{ [REMOTE]: redPng(8, 8) }, {}]) {
      const { draw, asked, clock } = open({ remote });
      await Promise.all([1, 2, 3].map(() => draw({ hideLogo: false, logo: REMOTE })));
      assert.equal(asked.length, 1);
      clock.advance(300_000);
      await draw({ hideLogo: false, logo: REMOTE });
      assert.equal(asked.length, 2);
    }
  });

  for (const [what, remote] of [
    ['that cannot be fetched', {}],
    ['that is no image', { [REMOTE]: Buffer.from('<html>') }],
    ['that is a broken PNG', { [REMOTE]: redPng(8, 8).subarray(0, 50) }],
    ['of a kind that cannot be turned into pixels', { [REMOTE]: JPEG }],
    ['of more than 2 MB', { [REMOTE]: Buffer.concat([redPng(8, 8), Buffer.alloc(2 * 1024 * 1024)]) }],
  ] as const) {
    test(`${what} is left out of a PNG, which is then whole`, async () => {
      assertCode(await pixels(open({ remote }).draw, { hideLogo: false, logo: REMOTE }), LINK);
    });
  }

  for (const [type, bytes] of [
    ['image/png', redPng(3, 3)],
    ['image/jpeg', JPEG],
    ['image/gif', Buffer.from('GIF89a…')],
    ['image/webp', Buffer.from('RIFF0000WEBP')],
    ['image/svg+xml', SVG],
  ] as const) {
    test(`of the type ${type} is embedded in an SVG`, async () => {
      const { draw } = open({ remote: { [REMOTE]: bytes } });
      const { body } = await draw({ format: 'svg', hideLogo: false, logo: REMOTE });
      assert.ok(String(body).includes(`href="data:${type};base64,${bytes.toString('base64')}"`));
    });
  }

  test('of the service is drawn in an SVG, and none where none is wanted', async () => {
    const { draw } = open();
    assert.match(String((await draw({ url: 'https://a.example', format: 'svg' })).body), /<polyline /);
    assert.doesNotMatch(String((await draw({ format: 'svg' })).body), /<polyline |<image /);
  });

  test('makes room for an address that fits only without it', async () => {
    const url = `https://elsewhere.example/${'x'.repeat(1_700)}`;
    assertCode(await pixels(open().draw, { url }), url);
  });
});

describe('what cannot be drawn', () => {
  const long = (bytes: number) => LINK.padEnd(bytes, 'x');
  for (const [level, bytes] of [
    ['L', 2_953],
    ['M', 2_331],
    ['Q', 1_663],
    ['H', 1_273],
  ] as const) {
    test(`${bytes} bytes fit at level ${level}, one more does not`, async () => {
      const { draw } = open();
      const fits = `${LINK}?`.padEnd(bytes, 'x');
      assertCode(await pixels(draw, { url: fits, level, size: 1_000 }), fits, { level });
      await assertRefused(draw({ url: `${fits}x`, level }), /url: .*too long/);
    });
  }

  for (const [what, change, message] of [
    ['the longest text that is accepted', { url: long(32_000) }, /url: .*too long/],
    ['text that is no address', { url: 'no address' }, /url: must/],
    ['a picture with less than a pixel per square', { size: 16 }, /size: must be at least 29/],
    ['a logo that is not on https', { logo: 'http://images.example/logo.png' }, /logo: must/],
    ['a logo that is a file', { logo: 'file:///etc/passwd' }, /logo: must/],
    ['a logo that is no address', { logo: 'logo' }, /logo: must/],
  ] as const) {
    test(`${what} is 422`, () => assertRefused(open().draw(change), message));
  }
});

function assertRefused(attempt: Promise<unknown>, message: RegExp): Promise<void> {
  return assert.rejects(
    attempt,
    (error) => error instanceof AppError && error.status === 422 && message.test(error.message),
  );
}
