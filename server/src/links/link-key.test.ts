import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LinkDomain } from '../domains/domain.ts';
import { AppError } from '../kernel/errors.ts';
import { checkedKey, checkedPrefix, keySlot, lookupKey, randomKey } from './link-key.ts';

const OWN: LinkDomain = { slug: 'go.acme.example', shared: false, caseSensitive: false };
const EXACT: LinkDomain = { ...OWN, caseSensitive: true };
const SHARED: LinkDomain = { slug: 'localhost:3000', shared: true, caseSensitive: false };

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    return error.code;
  }
  return 'accepted';
};

describe('keys as they are stored', () => {
  for (const [domain, typed, stored] of [
    [OWN, 'Spring', 'Spring'],
    [OWN, 'a-b_c/d.e', 'a-b_c/d.e'],
    [OWN, '/sale/', 'sale'],
    [OWN, '///a/b//', 'a/b'],
    [OWN, '日本', 'xn--wgv71a'],
    [OWN, '日本.日本', 'xn--wgv71a.xn--wgv71a'],
    [OWN, 'café', 'xn--caf-dma'],
    [OWN, 'cafe\u0301', 'xn--caf-dma'],
    [OWN, '😀', 'xn--e28h'],
    [OWN, '❤️', 'xn--qei9934e'],
    [OWN, 'a#b*c', 'a#b*c'],
    [OWN, '_root', '_root'],
    [SHARED, 'Café', 'Cafe'],
    [SHARED, 'ÅNGSTRÖM', 'ANGSTROM'],
    [SHARED, '日本', 'xn--wgv71a'],
    [OWN, 'k'.repeat(190), 'k'.repeat(190)],
  ] as const) {
    test(`${typed.slice(0, 20)} on ${domain.slug} is stored as ${stored.slice(0, 20)}`, () =>
      assert.equal(checkedKey(typed, domain, true), stored));
  }
});

describe('keys that are refused on every domain', () => {
  for (const [key, code] of [
    ...[
      ' ',
      'a b',
      'a+b',
      'a%20',
      'a?b',
      'a@b',
      'a:b',
      'a~b',
      'a&b',
      'a=b',
      'a\\b',
      'a"b',
      "a'b",
      'a<b',
      'a\tb',
      'a\u0007',
    ],
    ...['', '/', '//'],
    ...['_a', '_Root', '__root', '/_root/', '_'],
    ...['.well-known', '.well-known/x', '.WELL-KNOWN', 'x.php', 'x.PHP', 'x.php7', 'a/b.php'],
    ...['.', '..', 'a/../b', 'a/.'],
    ...['zero\u200bwidth', 'right\u202eleft', 'no\u00a0break', 'soft\u00adhyphen', '\u0085', '\ufeffx'],
    // Full-width forms of the dot become plain dots in the stored form.
    ...['x。php', '．well-known', '．．/x', 'a/．．'],
  ].map((key) => [key, 'unprocessable_entity'] as const)) {
    test(`${JSON.stringify(key)} is ${code}`, () => {
      assert.equal(
        codeOf(() => checkedKey(key, OWN, true)),
        code,
      );
      assert.equal(
        codeOf(() => checkedKey(key, SHARED, true)),
        code,
      );
    });
  }
  for (const key of [
    'favicon.ico',
    'sitemap.xml',
    'robots.txt',
    'manifest.webmanifest',
    'manifest.json',
    'apple-app-site-association',
    'Robots.TXT',
  ]) {
    test(`${key} is forbidden`, () =>
      assert.equal(
        codeOf(() => checkedKey(key, OWN, true)),
        'forbidden',
      ));
  }
  test('a key that is too long once it is stored is refused, though it is short enough as typed', () => {
    assert.equal(
      codeOf(() => checkedKey('日本é'.repeat(60), OWN, true)),
      'unprocessable_entity',
    );
  });
});

describe('keys on the shared domain', () => {
  for (const key of [
    'api',
    'API',
    'api/x',
    'app',
    'app/anything',
    'health',
    'metrics',
    'login',
    'Settings',
    'links',
    'docs',
    'script.js',
    'script.outbound-domains.js',
    '_root',
    'api/日本',
    'ápi',
  ]) {
    test(`${key} belongs to the service there, and to anybody elsewhere`, () => {
      assert.equal(
        codeOf(() => checkedKey(key, SHARED, true)),
        'conflict',
      );
      assert.equal(
        codeOf(() => checkedKey(key, OWN, true)),
        'accepted',
      );
    });
  }
  test('a key that only begins like one of them is free', () => {
    for (const key of ['apis', 'login/x', 'myapi', 'scripts.js'])
      assert.equal(checkedKey(key, SHARED, true), key);
  });
  test('up to three characters need the right plan there only', () => {
    assert.equal(
      codeOf(() => checkedKey('abc', SHARED, false)),
      'forbidden',
    );
    assert.equal(
      codeOf(() => checkedKey('abc', SHARED, true)),
      'accepted',
    );
    assert.equal(
      codeOf(() => checkedKey('abcd', SHARED, false)),
      'accepted',
    );
    assert.equal(
      codeOf(() => checkedKey('abc', OWN, false)),
      'accepted',
    );
  });
});

describe('how keys are found', () => {
  for (const [domain, one, other, same] of [
    [OWN, 'Spring', 'sPRING', true],
    [EXACT, 'Spring', 'spring', false],
    [EXACT, 'Spring', 'Spring', true],
    [OWN, '日本', 'xn--wgv71a', true],
    [OWN, 'café', 'cafe', false],
    [SHARED, 'café', 'CAFE', true],
    [OWN, '/a/', 'a', true],
    [OWN, 'a/b', 'ab', false],
  ] as const) {
    test(`${one} and ${other} are ${same ? 'one key' : 'two keys'} on ${domain.slug}${domain.caseSensitive ? ', case-sensitive' : ''}`, () =>
      assert.equal(lookupKey(one, domain) === lookupKey(other, domain), same));
  }
  test('the same key on two domains is two places', () => {
    assert.notEqual(keySlot(OWN, 'a'), keySlot(SHARED, 'a'));
  });
});

describe('random keys', () => {
  test('have the length asked for, of letters and digits', () => {
    for (const length of [3, 7, 190])
      assert.match(randomKey(length, undefined), new RegExp(`^[0-9A-Za-z]{${length}}$`));
  });
  test('follow their prefix after a slash', () =>
    assert.match(randomKey(4, 'a/b'), /^a\/b\/[0-9A-Za-z]{4}$/));

  for (const [typed, stored] of [
    ['', undefined],
    ['/', undefined],
    ['/c/', 'c'],
    ['c/d', 'c/d'],
    ['日本', 'xn--wgv71a'],
  ] as const) {
    test(`the prefix ${JSON.stringify(typed)} is ${stored}`, () =>
      assert.equal(checkedPrefix(typed, 7, OWN), stored));
  }
  for (const [domain, prefix, length, code] of [
    [OWN, 'a b', 7, 'unprocessable_entity'],
    [OWN, '../x', 7, 'unprocessable_entity'],
    [OWN, '_x', 7, 'unprocessable_entity'],
    [OWN, '.well-known', 7, 'unprocessable_entity'],
    [OWN, 'p'.repeat(100), 90, 'unprocessable_entity'],
    [OWN, 'p'.repeat(100), 89, 'accepted'],
    [SHARED, 'api', 7, 'conflict'],
    [SHARED, 'App/x', 7, 'conflict'],
    [SHARED, 'login', 7, 'accepted'],
    [OWN, 'api', 7, 'accepted'],
  ] as const) {
    test(`the prefix ${prefix.slice(0, 20)} in front of ${length} characters on ${domain.slug} is ${code}`, () =>
      assert.equal(
        codeOf(() => checkedPrefix(prefix, length, domain)),
        code,
      ));
  }
});
