import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLAIN } from '../links/packed-link.ts';
import type { VisitLink } from '../links/visit-link.ts';
import { finalUrl } from './final-url.ts';
import { createVisit } from './visit.ts';

const ID = 'Ab3Ab3Ab3Ab3Ab3A';
const BASE: VisitLink = {
  ...PLAIN,
  id: 'link_1',
  workspaceId: 'ws_1',
  domain: 'go.acme.example',
  key: 'Anna',
  lookupKey: 'anna',
  url: 'https://acme.example/',
};
const tracked = { trackConversion: true };
const partner = { programId: 'prog_1', partnerId: 'pn_1' };

function sent(
  target: string,
  link: Partial<VisitLink>,
  search = '',
  headers: Record<string, string> = {},
): string {
  const visit = createVisit({
    nowMs: 0,
    method: 'GET',
    headers: { 'user-agent': 'UA/1', ...headers },
    path: '/anna',
    search,
    inspect: false,
    ip: '8.8.8.8',
    passwordsRefused: false,
    country: () => undefined,
    chance: () => 0,
  });
  return finalUrl({ target, fallback: link.url ?? target }, { ...BASE, url: target, ...link }, visit, ID);
}

const ROWS: [name: string, target: string, link: Partial<VisitLink>, search: string, expected: string][] = [
  ['nothing to add', 'https://acme.example/?flag', {}, '', 'https://acme.example/?flag'],
  ['an empty query', 'https://acme.example/?flag', {}, '?', 'https://acme.example/?flag'],
  [
    'a query that says nothing to the target',
    'https://acme.example/?flag',
    {},
    '?dub-no-track=1&qr=1',
    'https://acme.example/?flag',
  ],
  ['a parameter', 'https://acme.example/?flag#top', {}, '?k=1', 'https://acme.example/?flag=&k=1#top'],
  [
    'a parameter that the target has',
    'https://acme.example/?a=1&b=2&a=3',
    {},
    '?a=9',
    'https://acme.example/?a=9&b=2',
  ],
  ['a repeated parameter', 'https://acme.example/', {}, '?a=1&a=2', 'https://acme.example/?a=2'],
  [
    'the id of the click',
    'https://acme.example/p?a=1',
    tracked,
    '?a=2&qr=1',
    `https://acme.example/p?a=2&dub_id=${ID}`,
  ],
  [
    'an id that is there already',
    'https://acme.example/?dub_id=old',
    tracked,
    '',
    `https://acme.example/?dub_id=${ID}`,
  ],
  [
    'an id that comes with the visit',
    'https://acme.example/',
    tracked,
    '?dub_id=mine',
    'https://acme.example/?dub_id=mine',
  ],
  [
    'no id for who must not be tracked',
    'https://acme.example/',
    tracked,
    '?dub-no-track=1',
    'https://acme.example/',
  ],
  [
    'an id as a client reference',
    'https://buy.example/?dub_client_reference_id=1',
    tracked,
    '',
    `https://buy.example/?client_reference_id=dub_id_${ID}`,
  ],
  [
    'a reference that is none',
    'https://buy.example/?dub_client_reference_id=2',
    tracked,
    '',
    `https://buy.example/?dub_client_reference_id=2&dub_id=${ID}`,
  ],
  ['a partner', 'https://acme.example/', partner, '', `https://acme.example/?via=anna&dub_id=${ID}`],
  ['half a partner', 'https://acme.example/', { programId: 'prog_1' }, '', 'https://acme.example/'],
  [
    'qr with another value',
    'https://acme.example/',
    {},
    '?qr=2&skip_deeplink_preview=0',
    'https://acme.example/?qr=2&skip_deeplink_preview=0',
  ],
  ['switches of the target', 'https://acme.example/?qr=1', {}, '?x=1', 'https://acme.example/?x=1'],
  ['a robot sign', 'https://acme.example/', {}, '?bot=1', 'https://acme.example/?bot=1'],
  ['a password', 'https://acme.example/', { password: 's3' }, '?pw=s3&k=1', 'https://acme.example/?k=1'],
  ['pw on a link without a password', 'https://acme.example/', {}, '?pw=s3', 'https://acme.example/?pw=s3'],
  [
    'AppsFlyer',
    'https://acme.onelink.me/x?c=mine',
    {},
    '',
    `https://acme.onelink.me/x?c=mine&dub_id=${ID}&pid=linktrail&clickid=${ID}`,
  ],
  [
    'AppsFlyer for a partner',
    'https://acme.onelink.me/x',
    partner,
    '',
    `https://acme.onelink.me/x?via=anna&dub_id=${ID}&pid=linktrail&clickid=${ID}&c=anna&af_siteid=anna`,
  ],
  [
    'Singular',
    'https://acme.sng.link/x?wpcn={via}&wpcl={dub_id}',
    partner,
    '',
    `https://acme.sng.link/x?wpcn=anna&wpcl=${ID}&via=anna&dub_id=${ID}&cl=${ID}&ua=UA%2F1&ip=8.8.8.8`,
  ],
  [
    'a look-alike of a network',
    'https://evil-onelink.me/x.onelink.me',
    {},
    '',
    'https://evil-onelink.me/x.onelink.me',
  ],
  [
    'the Play store',
    'https://play.google.com/store?id=a',
    {},
    '',
    'https://play.google.com/store?id=a&referrer=deepLink%3Dhttps%253A%252F%252Fgo.acme.example%252FAnna',
  ],
  [
    'the Play store with a referrer',
    'https://play.google.com/store?id=a&referrer=utm_source%3Dx',
    {},
    '?k=1',
    'https://play.google.com/store?id=a&referrer=utm_source%3Dx%26deepLink%3Dhttps%253A%252F%252Fgo.acme.example%252FAnna%253Fk%253D1&k=1',
  ],
  ['a mail address', 'mailto:a@acme.example', {}, '?subject=Hi', 'mailto:a@acme.example?subject=Hi'],
];

describe('the address a visitor is sent to', () => {
  for (const [name, target, link, search, expected] of ROWS) {
    test(name, () => assert.equal(sent(target, link, search), expected));
  }

  test('the header that forbids tracking counts like the parameter', () => {
    assert.equal(
      sent('https://acme.example/', tracked, '', { 'dub-no-track': '1' }),
      'https://acme.example/',
    );
  });

  test('a click id goes to a device target when the default one is of a network', () => {
    const link = { url: 'https://acme.onelink.me/x', ios: 'https://apps.apple.com/app/1' };
    assert.equal(sent('https://apps.apple.com/app/1', link), `https://apps.apple.com/app/1?dub_id=${ID}`);
  });

  const HOSTILE = [
    'redir_url=https://evil.example',
    'redir_url=https://evil.example&redir_url=//evil.example',
    'url=https://evil.example',
    'target=javascript:alert(1)',
    '__proto__=x&constructor=y&toString=z',
    'a=%0d%0aLocation:%20https://evil.example',
    '%0d%0aSet-Cookie:x=1',
    '#@evil.example',
    '@evil.example/',
    '/../../evil.example',
    '%00',
    'a=%ff%fe',
    `x=${'y'.repeat(8_000)}`,
  ];
  for (const search of HOSTILE) {
    for (const link of [{}, tracked, partner]) {
      test(`no parameter replaces the target: ${search.slice(0, 40)} ${JSON.stringify(link)}`, () => {
        const text = sent('https://user@acme.example:8443/p/q?a=1#frag', link, `?${search}`);
        const url = new URL(text);
        assert.equal(`${url.origin}${url.pathname}${url.hash}`, 'https://acme.example:8443/p/q#frag');
        assert.match(text, /^[\x21-\x7e]*$/, 'fit for a header');
        assert.equal(url.searchParams.has('redir_url'), false);
      });
    }
  }

  test('thousands of parameters are passed on in one go', () => {
    const search = `?${Array.from({ length: 4_000 }, (_, i) => `p${i}=${i}`).join('&')}`;
    assert.equal(new URL(sent('https://acme.example/?p7=x', {}, search)).searchParams.size, 4_000);
  });
});
