import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isAllowedHost, pageHost } from './allowed-hostnames.ts';

const headers = (values: Record<string, string>) => (name: string) => values[name];

describe('the host of a page', () => {
  for (const [what, values, host] of [
    ['is that of the referer', { referer: 'https://shop.example.com/a?b' }, 'shop.example.com'],
    ['has no port', { referer: 'http://localhost:5173/' }, 'localhost'],
    ['has no leading www.', { referer: 'https://www.example.com/' }, 'example.com'],
    ['keeps other names that begin with www', { referer: 'https://www2.example.com/' }, 'www2.example.com'],
    ['is in lower case', { referer: 'https://Example.COM/' }, 'example.com'],
    [
      'is that of the referer before the origin',
      { referer: 'https://a.example/', origin: 'https://b.example' },
      'a.example',
    ],
    ['is that of the origin without a referer', { origin: 'https://www.b.example' }, 'b.example'],
    [
      'is that of the origin when the referer is none',
      { referer: 'nowhere', origin: 'https://b.example' },
      'b.example',
    ],
    ['is unknown for the origin null', { origin: 'null' }, undefined],
    ['is unknown for a page without one', { referer: 'about:blank' }, undefined],
    ['is unknown when nothing is said', {}, undefined],
  ] as const) {
    test(what, () => assert.equal(pageHost(headers(values)), host));
  }
});

describe('the allowed hostnames', () => {
  const BOTH = ['example.com', '*.example.com'];
  for (const [allowed, host, isAllowed] of [
    [[], 'anything.example', true],
    [[], undefined, true],
    [['example.com'], undefined, false],
    [['example.com'], 'example.com', true],
    [['example.com'], 'shop.example.com', false],
    [['example.com'], 'notexample.com', false],
    [['example.com'], 'example.com.evil.test', false],
    [['www.example.com'], 'example.com', true],
    [['localhost'], 'localhost', true],
    [['*.example.com'], 'shop.example.com', true],
    [['*.example.com'], 'a.b.example.com', true],
    [['*.example.com'], 'example.com', false],
    [['*.example.com'], 'notexample.com', false],
    [['*.example.com'], 'shop.example.com.evil.test', false],
    [BOTH, 'example.com', true],
    [BOTH, 'shop.example.com', true],
    [BOTH, 'other.test', false],
  ] as const) {
    test(`[${allowed}] ${isAllowed ? 'allow' : 'refuse'} ${host}`, () =>
      assert.equal(isAllowedHost(allowed, host), isAllowed));
  }
});
