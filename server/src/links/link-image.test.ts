import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import { withBulkImage, withStoredImage } from './link-image.ts';

const DATA = 'data:image/png;base64,AAAA';
const save = async (dataUrl: string, field: string) => `saved ${field} ${dataUrl.length}`;

describe('preview images', () => {
  for (const [image, kept] of [
    [undefined, undefined],
    [null, null],
    ['', null],
    ['no address', null],
    ['images/a.png', null],
    ['ftp://images.example.com/a.png', null],
    ['javascript:alert(1)', null],
    ['https://images.example.com/a.png', 'https://images.example.com/a.png'],
    ['http://images.example.com/a.png?x=1', 'http://images.example.com/a.png?x=1'],
    [DATA, `saved image ${DATA.length}`],
  ] as const) {
    test(`${image} is kept as ${kept}`, async () => {
      assert.equal((await withStoredImage({ image }, save)).image, kept);
    });
  }

  for (const image of [
    'http://localhost/a.png',
    'https://127.0.0.1/a.png',
    'https://[::1]/a.png',
    'https://intranet/a.png',
    'https://2130706433/',
    `https://a.example/${'x'.repeat(32_000)}`,
  ]) {
    test(`${image.slice(0, 40)} is refused`, async () => {
      await assert.rejects(withStoredImage({ image }, save), {
        code: 'unprocessable_entity',
        message: /^custom: image: /,
      });
    });
  }

  test('many links with proxy at once need images on the web, by https', async () => {
    for (const image of [DATA, 'http://images.example.com/a.png', 'text']) {
      const refused = await withBulkImage({ proxy: true, image }, save);
      assert.ok(refused instanceof AppError && refused.code === 'unprocessable_entity', image);
      assert.ok(!((await withBulkImage({ proxy: false, image }, save)) instanceof AppError), image);
    }
    const draft = { proxy: true, image: 'https://images.example.com/a.png' };
    assert.deepEqual(await withBulkImage(draft, save), draft);
    assert.ok((await withBulkImage({ image: 'http://localhost/' }, save)) instanceof AppError);
  });

  test('a failure that is not the caller’s is not taken for a refusal', async () => {
    const broken = () => Promise.reject(new Error('disk full'));
    await assert.rejects(withBulkImage({ image: DATA }, broken), /disk full/);
  });
});
