import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseLogo } from './logo.ts';

const D = 'https://files.example/domain.png';
const W = 'https://files.example/workspace.png';
const L = 'https://files.example/asked.png';
const own = { workspacePlan: 'pro', domainLogo: D, workspaceLogo: W, shared: false } as const;
const url = (address: string) => ({ from: 'url', url: address }) as const;
const service = { from: 'service' } as const;

describe('the logo of a QR code', () => {
  for (const [what, link, wish, expected] of [
    ['an address that is no short link', undefined, {}, service],
    ['no short link, whatever is asked for', undefined, { hideLogo: true, logo: L }, service],
    ['a free workspace', { ...own, workspacePlan: 'free' }, {}, service],
    [
      'a free workspace, whatever is asked for',
      { ...own, workspacePlan: 'free' },
      { hideLogo: true, logo: L },
      service,
    ],
    ['hideLogo', own, { hideLogo: true }, { from: 'nowhere' }],
    ['hideLogo and a logo', own, { hideLogo: true, logo: L }, { from: 'nowhere' }],
    ['a logo that is asked for', own, { logo: L }, url(L)],
    ['a logo that is asked for, on a shared domain', { ...own, shared: true }, { logo: L }, url(L)],
    ['a shared domain without a workspace logo', { ...own, workspaceLogo: null, shared: true }, {}, service],
    ['a shared domain with a workspace logo', { ...own, domainLogo: null, shared: true }, {}, url(W)],
    ['a domain logo', own, {}, url(D)],
    ['no domain logo', { ...own, domainLogo: null }, {}, url(W)],
    ['no logo at all', { ...own, domainLogo: null, workspaceLogo: null }, {}, service],
  ] as const) {
    test(`with ${what}: ${expected.from === 'url' ? expected.url : expected.from}`, () => {
      assert.deepEqual(chooseLogo(link, { hideLogo: false, logo: undefined, ...wish }), expected);
    });
  }
});
