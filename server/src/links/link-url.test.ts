import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LinkDomain } from '../domains/domain.ts';
import { type Campaign, campaignOf, pointsAt, withCampaign } from './link-url.ts';

const NONE = { utm_source: null, utm_medium: null, utm_campaign: null, utm_term: null, utm_content: null };

describe('campaign parameters', () => {
  for (const [url, campaign, expected] of [
    ['https://a.example', {}, 'https://a.example'],
    ['https://a.example', { utm_source: 'x' }, 'https://a.example/?utm_source=x'],
    [
      'https://a.example/p?q=1#f',
      { utm_medium: 'm', ref: 'r' },
      'https://a.example/p?q=1&utm_medium=m&ref=r#f',
    ],
    ['https://a.example/?utm_source=old', { utm_source: 'new' }, 'https://a.example/?utm_source=new'],
    ['https://a.example/?utm_source=old&b=1', { utm_source: null }, 'https://a.example/?b=1'],
    [
      'https://a.example/?utm_source=one&utm_source=two',
      { utm_source: 'two' },
      'https://a.example/?utm_source=two',
    ],
    ['https://a.example', { utm_source: 'a+b+c' }, 'https://a.example/?utm_source=a+b%2Bc'],
    ['https://a.example', { utm_source: null, ref: null }, 'https://a.example'],
    ['https://a.example?utm_source=x', { utm_source: 'x' }, 'https://a.example?utm_source=x'],
    ['', { utm_source: 'x' }, ''],
  ] as [string, Campaign, string][]) {
    test(`${url || 'nothing'} with ${JSON.stringify(campaign)} is ${expected || 'nothing'}`, () =>
      assert.equal(withCampaign(url, campaign), expected));
  }

  test('are read back from the address, empty ones as null', () => {
    assert.deepEqual(campaignOf('https://a.example/?utm_source=a+b&utm_term=&utm_content=%C3%A9&ref=x'), {
      ...NONE,
      utm_source: 'a b',
      utm_content: 'é',
    });
    assert.deepEqual(campaignOf(''), NONE);
  });
});

describe('links that point at themselves', () => {
  const OWN: LinkDomain = { slug: 'go.acme.example', shared: false, caseSensitive: false };
  const EXACT: LinkDomain = { ...OWN, caseSensitive: true };
  const SHARED: LinkDomain = { slug: 'localhost:3000', shared: true, caseSensitive: false };
  for (const [url, domain, key, loops] of [
    ['https://go.acme.example/spring', OWN, 'Spring', true],
    ['http://go.acme.example/spring', OWN, 'spring', true],
    ['https://www.go.acme.example/spring', OWN, 'spring', true],
    ['https://GO.acme.example./spring/', OWN, 'spring', true],
    ['https://go.acme.example/spring?x=1#y', OWN, 'spring', true],
    ['https://go.acme.example/spring+', OWN, 'spring', true],
    ['https://go.acme.example/%73pring', OWN, 'spring', true],
    ['https://go.acme.example/%E6%97%A5%E6%9C%AC', OWN, 'xn--wgv71a', true],
    ['https://user@go.acme.example/spring', OWN, 'spring', true],
    ['https://go.acme.example', OWN, '_root', true],
    ['https://go.acme.example/', OWN, 'spring', false],
    ['https://go.acme.example/spring', OWN, '_root', false],
    ['https://go.acme.example/spring', EXACT, 'Spring', false],
    ['https://go.acme.example/spring/more', OWN, 'spring', false],
    ['https://other.example/spring', OWN, 'spring', false],
    ['https://go.acme.example:8443/spring', OWN, 'spring', false],
    ['http://localhost:3000/abc', SHARED, 'abc', true],
    ['http://localhost:3001/abc', SHARED, 'abc', false],
    ['mailto:go.acme.example/spring', OWN, 'spring', false],
    ['https://go.acme.example/%zz', OWN, '%zz', true],
    ['nonsense', OWN, 'nonsense', false],
  ] as const) {
    test(`${url} as the destination of ${domain.slug}/${key} ${loops ? 'loops' : 'is fine'}`, () =>
      assert.equal(pointsAt(url, domain, key), loops));
  }
});
