import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { createFiles, type Files } from './files.ts';
import { isImageDataUrl, MAX_IMAGE_BYTES } from './image.ts';

const MAGIC = {
  png: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  jpg: Buffer.from('\xff\xd8\xff\xe0', 'latin1'),
  gif: Buffer.from('GIF89a'),
  webp: Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1'),
};

function dataUrl(bytes: Uint8Array, type = 'png'): string {
  return `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`;
}

let dataDir: string;
let files: Files;
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'linktrail-files-'));
  files = createFiles({ dataDir, publicUrl: 'https://go.example' });
});
after(() => rm(dataDir, { recursive: true, force: true }));

describe('keeping an image', () => {
  for (const [kind, magic] of Object.entries(MAGIC)) {
    test(`a ${kind} image gets the address of its content`, async () => {
      const bytes = Buffer.concat([magic, Buffer.from(kind)]);
      const url = await files.saveImage(dataUrl(bytes, kind === 'jpg' ? 'jpeg' : kind), 'image');
      const name = `${sha256Hex(bytes)}.${kind}`;
      assert.equal(url, `https://go.example/api/files/${name}`);
      assert.deepEqual(await readFile(join(dataDir, 'files', name)), bytes);
      assert.equal(files.isOwn(url), true);
      assert.deepEqual(await files.findContent(url), bytes);
    });
  }

  test('the content decides what it is, not what it is called', async () => {
    const url = await files.saveImage(dataUrl(MAGIC.gif, 'png'), 'image');
    assert.match(url, /\.gif$/);
  });

  test('the same image twice, also at the same time, is one whole file and leaves no drafts', async () => {
    const bytes = Buffer.concat([MAGIC.png, Buffer.alloc(100_000, 7)]);
    const urls = await Promise.all(Array.from({ length: 5 }, () => files.saveImage(dataUrl(bytes), 'image')));
    assert.equal(new Set(urls).size, 1);
    const names = await readdir(join(dataDir, 'files'));
    assert.deepEqual(
      names.filter((name) => name.startsWith(sha256Hex(bytes))),
      [`${sha256Hex(bytes)}.png`],
    );
    assert.deepEqual(
      names.filter((name) => name.endsWith('.tmp')),
      [],
    );
  });

  const large = (extra: number) =>
    Buffer.concat([MAGIC.png, Buffer.alloc(MAX_IMAGE_BYTES - MAGIC.png.length + extra)]);
  test('an image of a person is a file of its own, which can be removed; others cannot', async () => {
    const bytes = Buffer.concat([MAGIC.png, Buffer.from('a face')]);
    const shared = await files.saveImage(dataUrl(bytes), 'image');
    const [one, other] = [
      await files.savePersonalImage(dataUrl(bytes), 'avatar'),
      await files.savePersonalImage(dataUrl(bytes), 'avatar'),
    ];
    assert.equal(new Set([shared, one, other]).size, 3);
    assert.ok(files.isOwn(one));
    for (const url of [one, shared, 'https://elsewhere.example/x.png', `${one}/../x`])
      await files.remove(url);
    assert.equal(await files.findContent(one), undefined);
    assert.deepEqual(await files.findContent(other), bytes);
    assert.deepEqual(await files.findContent(shared), bytes);
  });

  test('the largest image is kept', async () => {
    const [url, bytes] = [await files.saveImage(dataUrl(large(0)), 'image'), large(0)];
    assert.equal((await files.findContent(url))?.length, bytes.length);
  });

  for (const [what, text] of [
    ['no data URL', 'https://example.com/a.png'],
    ['an SVG', `data:image/svg+xml;base64,${Buffer.from('<svg/>').toString('base64')}`],
    ['a page', `data:text/html;base64,${Buffer.from('<p>').toString('base64')}`],
    ['not base64', 'data:image/png;base64,%%%%'],
    ['nothing', 'data:image/png;base64,'],
    ['a text that calls itself a PNG', dataUrl(Buffer.from('<script>alert(1)</script>'))],
    ['a PNG that is only half a signature', dataUrl(Buffer.from('\x89PNG', 'latin1'))],
    ['one byte too large', dataUrl(large(1))],
    ['much too large', dataUrl(large(1_000_000))],
  ] as const) {
    test(`${what} is refused, naming the field`, async () => {
      await assert.rejects(
        files.saveImage(text, 'logo'),
        (error) => error instanceof AppError && error.status === 422 && error.message.includes('logo: must'),
      );
    });
  }

  test('data URLs of images are told from other text', () => {
    assert.equal(isImageDataUrl(dataUrl(MAGIC.png)), true);
    assert.equal(isImageDataUrl('data:IMAGE/JPG;base64,AAAA'), true);
    assert.equal(isImageDataUrl('https://example.com/data:image/png;base64,'), false);
  });

  test('an address of another host, or with another path, is not our own', async () => {
    const own = await files.saveImage(dataUrl(MAGIC.png), 'image');
    for (const url of [
      own.replace('go.', 'no.'),
      `${own}/../x`,
      `${own}?a`,
      own.replace('/api/files/', '/api/files/../'),
    ]) {
      assert.equal(files.isOwn(url), false, url);
      assert.equal(await files.findContent(url), undefined, url);
    }
  });
});

describe('GET /files/{name}', () => {
  let t: TestApp;
  let path: string;
  const bytes = Buffer.concat([MAGIC.webp, Buffer.alloc(70_000, 65)]);
  before(async () => {
    t = await openTestApp();
    path = new URL(await t.app.services.files.saveImage(dataUrl(bytes, 'webp'), 'image')).pathname.slice(
      '/api'.length,
    );
    await writeFile(join(t.app.config.dataDir, 'files', 'secret.txt'), 'secret');
  });
  after(() => t.close());

  test('answers with the image, to be kept for ever and run nowhere', async () => {
    const reply = await t.request('GET', path);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'image/webp');
    assert.equal(reply.headers.get('content-length'), String(bytes.length));
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    assert.match(reply.headers.get('content-security-policy') ?? '', /sandbox/);
    assert.equal(reply.headers.get('etag'), `"${sha256Hex(bytes)}"`);
    assert.equal(reply.text, bytes.toString());
  });

  test('answers HEAD, and 304 to who has it already', async () => {
    const head = await t.request('HEAD', path);
    assert.deepEqual(
      [head.status, head.text, head.headers.get('content-length')],
      [200, '', String(bytes.length)],
    );
    const again = await t.request('GET', path, { headers: { 'If-None-Match': `"${sha256Hex(bytes)}"` } });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  test('knows only names that it gave out', async () => {
    const name = path.slice('/files/'.length);
    for (const other of [
      'secret.txt',
      '..%2Flinktrail.db',
      '%2e%2e%2flinktrail.db',
      '..%5Clinktrail.db',
      '%2Fetc%2Fpasswd',
      `${'0'.repeat(64)}.png`,
      name.toUpperCase(),
      name.replace('.webp', '.png'),
      name.replace('.webp', '.webp.tmp'),
      `${name}%0a`,
    ]) {
      const reply = await t.request('GET', `/files/${other}`);
      assert.equal(reply.status, 404, other);
      assert.equal(reply.json.error.code, 'not_found');
    }
  });
});
