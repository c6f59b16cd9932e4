import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AppError } from '../kernel/errors.ts';
import { foldSlug, readChange, refusedSlug } from './domain.ts';

const label = 'a'.repeat(63);

const SLUGS: [text: string, fits: boolean][] = [
  ['go.example.com', true],
  ['example.link', true],
  ['a.io', true],
  ['1-2.example', true],
  [`${label}.example`, true],
  ['go.xn--p1ai', true],
  ['xn--bcher-kva.example', true],
  [`a${label}.example`, false],
  [`${`${label}.`.repeat(3)}example`, false],
  ['example', false],
  ['localhost', false],
  ['', false],
  ['go.example.c', false],
  ['go.example.c0m', false],
  ['192.168.0.1', false],
  ['-go.example.com', false],
  ['go-.example.com', false],
  ['go..example.com', false],
  ['.example.com', false],
  ['example.com.', false],
  ['go_x.example.com', false],
  ['go.example.com:8080', false],
  ['https://go.example.com', false],
  ['go.example.com/x', false],
  ['go example.com', false],
  ['www.example.com', false],
];

describe('domain names', () => {
  test('only names that can be a host of short links are accepted', () => {
    for (const [slug, fits] of SLUGS) assert.equal(refusedSlug(slug) === undefined, fits, slug);
  });

  test('case, spaces around it and international letters do not make another name', () => {
    assert.equal(foldSlug(' Go.EXAMPLE.com '), 'go.example.com');
    assert.equal(foldSlug('Bücher.example'), 'xn--bcher-kva.example');
    assert.equal(foldSlug('пример.рф'), 'xn--e1afmkfd.xn--p1ai');
  });
});

const refuses = (change: Parameters<typeof readChange>[0], field: string) =>
  assert.throws(
    () => readChange(change),
    (error: AppError) =>
      error.code === 'unprocessable_entity' && error.message.startsWith(`custom: ${field}: `),
    JSON.stringify(change),
  );

describe('fields of a domain', () => {
  test('addresses are completed, empty text is nothing, absent fields stay absent', () => {
    const read = readChange({
      expiredUrl: 'example.com',
      notFoundUrl: '',
      placeholder: 'https://example.com',
      logo: null,
    });
    assert.deepEqual(read, {
      expiredUrl: 'https://example.com/',
      notFoundUrl: null,
      placeholder: 'https://example.com',
      logo: null,
    });
  });

  test('every destination refuses what runs code or is no address', () => {
    for (const field of ['expiredUrl', 'notFoundUrl', 'placeholder'] as const) {
      for (const url of [
        'javascript:alert(1)',
        'data:text/html,x',
        'vbscript:x',
        'file:///x',
        'blob:x',
        'https://a.example/\n',
        'nope',
      ]) {
        refuses({ [field]: url }, field);
      }
    }
  });

  test('JSON fields are kept as typed and refused when they are not JSON', () => {
    for (const field of ['assetLinks', 'appleAppSiteAssociation', 'deepviewData'] as const) {
      assert.deepEqual(readChange({ [field]: '[ {"a":1} ]' }), { [field]: '[ {"a":1} ]' });
      assert.deepEqual(readChange({ [field]: '' }), { [field]: null });
      refuses({ [field]: '{a:1}' }, field);
    }
  });

  test('a logo is an image as data or a web address', () => {
    const data = 'data:image/png;base64,iVBORw0KGgo=';
    assert.deepEqual(readChange({ logo: data }), { logo: data });
    assert.deepEqual(readChange({ logo: 'https://example.com/a.png' }), {
      logo: 'https://example.com/a.png',
    });
    for (const logo of ['myapp://logo', 'javascript:alert(1)', 'nope']) refuses({ logo }, 'logo');
  });
});
