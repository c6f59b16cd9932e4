import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lookupOf, ownPath, resolvePath, slugOfHost } from './resolve.ts';

const key = (text: string, inspect = false) => ({ kind: 'key', key: text, inspect });

const PATHS: [path: string, expected: object][] = [
  ['/', key('_root')],
  ['/+', key('_root', true)],
  ['/spring', key('spring')],
  ['/Spring', key('Spring')],
  ['/a/b', key('a/b')],
  ['/a.b', key('a.b')],
  ['/spring+', key('spring', true)],
  ['/spring%2B', key('spring', true)],
  ['/spring++', key('spring+', true)],
  ['/a%20b', key('a b')],
  ['/caf%C3%A9', key('café')],
  ['/%F0%9F%9A%80', key('🚀')],
  ['/a/', { kind: 'slash', path: '/a' }],
  ['/a///', { kind: 'slash', path: '/a' }],
  ['//', { kind: 'slash', path: '/' }],
  ['//evil.example/', { kind: 'slash', path: '/evil.example' }],
  ['/\\evil.example/', { kind: 'slash', path: '/evil.example' }],
  ['//evil.example', { kind: 'unreadable' }],
  ['/%2Fspring', { kind: 'unreadable' }],
  ['/spring%2F', { kind: 'unreadable' }],
  ['/spring/+', { kind: 'unreadable' }],
  [`/${'%C3%A9'.repeat(601)}`, { kind: 'unreadable' }],
  ['/%', { kind: 'unreadable' }],
  ['/%ff', { kind: 'unreadable' }],
  ['/a%00', { kind: 'unreadable' }],
  ['/_root', { kind: 'unreadable' }],
  ['/%5Froot', { kind: 'unreadable' }],
  ['/_root+', { kind: 'unreadable' }],
  ['/__proto__', key('__proto__')],
  ['/robots.txt', { kind: 'file', file: 'robots' }],
  ['/favicon.ico', { kind: 'file', file: 'none' }],
  ['/sitemap.xml', { kind: 'file', file: 'none' }],
  ['/manifest.webmanifest', { kind: 'file', file: 'none' }],
  ['/.well-known/apple-app-site-association', { kind: 'file', file: 'apple' }],
  ['/.well-known/assetlinks.json', { kind: 'file', file: 'android' }],
  ['/.well-known/security.txt', { kind: 'probe' }],
  ['/wp-login.php', { kind: 'probe' }],
  ['/index.PHP7', { kind: 'probe' }],
];

describe('a path', () => {
  for (const [path, expected] of PATHS) {
    test(`${path} is ${JSON.stringify(expected)}`, () => {
      const resolved = resolvePath(path);
      if (resolved.kind !== 'key') return assert.deepEqual(resolved, expected);
      const { simple: _, ...rest } = resolved;
      assert.deepEqual(rest, expected);
    });
  }

  const domain = {
    slug: 'go.acme.example',
    notFoundUrl: null,
    expiredUrl: null,
    logo: null,
    assetLinks: null,
    appleAppSiteAssociation: null,
  };
  const find = (path: string, shared: boolean, caseSensitive: boolean) => {
    const resolved = resolvePath(path);
    assert.equal(resolved.kind, 'key');
    return resolved.kind === 'key' ? lookupOf(resolved, { ...domain, shared, caseSensitive }) : '';
  };

  test('is looked up without case, unless the domain tells case apart', () => {
    assert.equal(find('/Spring', false, false), 'spring');
    assert.equal(find('/Spring', false, true), 'Spring');
    assert.equal(find('/Caf%C3%A9', false, false), find('/caf%C3%A9', false, false));
    assert.notEqual(find('/Spring.x', false, true), find('/spring.x', false, true));
    assert.equal(find('/', false, false), '_root');
  });

  test('that looks simple gets the same form as one that does not', () => {
    for (const [simple, other] of [
      ['/A-b_9', '/%41-b_9'],
      ['/a/B', '/a%2FB'],
    ] as const) {
      assert.equal(find(simple, true, false), find(other, true, false));
      assert.equal(find(simple, false, true), find(other, false, true));
    }
  });
});

test('a place on the same host never leads to another one', () => {
  for (const path of [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    '////evil.example/x',
  ]) {
    const { host } = new URL(ownPath(path), 'https://go.acme.example');
    assert.equal(host, 'go.acme.example', path);
  }
});

test('a host names its domain without port, case and www', () => {
  assert.equal(slugOfHost('WWW.Go.Acme.Example:8443'), 'go.acme.example');
  assert.equal(slugOfHost('go.acme.example'), 'go.acme.example');
  assert.equal(slugOfHost('wwwgo.acme.example'), 'wwwgo.acme.example');
});
