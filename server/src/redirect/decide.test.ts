import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLAIN } from '../links/packed-link.ts';
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import { type Decision, decide, passwordCookie, TEST_COOKIE } from './decide.ts';
import type { Visit } from './visit.ts';

const NOW = Date.UTC(2027, 0, 15, 10);
const URL_ = 'https://acme.example/';
const IOS = 'https://apps.apple.com/app/1';
const ANDROID = 'https://play.google.com/store/apps/details?id=a';
const VARIANTS = [
  { url: 'https://acme.example/a', percentage: 30 },
  { url: 'https://acme.example/b', percentage: 70 },
];

const LINK: VisitLink = {
  ...PLAIN,
  id: 'link_1',
  workspaceId: 'ws_1',
  domain: 'go.acme.example',
  key: 'spring',
  lookupKey: 'spring',
  url: URL_,
};
const DOMAIN: VisitDomain = {
  slug: 'go.acme.example',
  shared: false,
  caseSensitive: false,
  notFoundUrl: null,
  expiredUrl: null,
  logo: null,
  assetLinks: null,
  appleAppSiteAssociation: null,
};

interface Asked extends Partial<Omit<Visit, 'system' | 'country' | 'cookie' | 'query'>> {
  readonly query?: string;
  readonly cookies?: Record<string, string>;
  readonly system?: 'ios' | 'android';
  readonly country?: string;
}

function visitOf({ query = '', cookies = {}, system, country, ...rest }: Asked): Visit {
  return {
    nowMs: NOW,
    query: new URLSearchParams(query),
    path: '/spring',
    inspect: false,
    bot: false,
    noTrack: false,
    userAgent: 'Mozilla/5.0',
    referer: '',
    ip: '8.8.8.8',
    passwordsRefused: false,
    cookie: (name) => cookies[name],
    system: () => system ?? 'other',
    country: () => country,
    chance: () => 0.5,
    ...rest,
  };
}

const page = (name: string, status: number) => ({ kind: 'page', page: name, status });
const to = (target: string, more: object = {}) => ({ kind: 'arrive', target, status: 302, ...more });
const secret = { password: 's3cret' };
const test2 = { testVariants: VARIANTS, testCompletedAt: NOW + 1 };

type Row = [
  name: string,
  link: Partial<VisitLink> | null,
  visit: Asked,
  domain: Partial<VisitDomain>,
  expected: object,
];

const ROWS: Row[] = [
  ['no link', null, {}, {}, page('not_found', 404)],
  [
    'no link, with an address for it',
    null,
    {},
    { notFoundUrl: 'https://acme.example/404' },
    { kind: 'elsewhere', status: 307, location: 'https://acme.example/404', insteadOf: 'not_found' },
  ],
  ['inspected', {}, { inspect: true }, {}, page('inspect', 200)],
  [
    'inspected, even when expired or banned',
    { expiresAt: 1, bannedAt: 1 },
    { inspect: true },
    {},
    page('inspect', 200),
  ],
  ['inspected with a password: the form first', secret, { inspect: true }, {}, page('password', 200)],
  ['a password that is not given', secret, {}, {}, page('password', 200)],
  ['a wrong password', secret, { query: 'pw=S3cret' }, {}, page('password', 200)],
  ['an empty password', secret, { query: 'pw=' }, {}, page('password', 200)],
  ['the password in the address', secret, { query: 'pw=s3cret' }, {}, to(URL_)],
  [
    'the password in the address after too many tries',
    secret,
    { query: 'pw=s3cret', passwordsRefused: true },
    {},
    page('password', 200),
  ],
  ['the password in the cookie', secret, { cookies: { [passwordCookie('link_1')]: 's3cret' } }, {}, to(URL_)],
  [
    'the cookie after too many tries',
    secret,
    { cookies: { [passwordCookie('link_1')]: 's3cret' }, passwordsRefused: true },
    {},
    to(URL_),
  ],
  [
    "another link's cookie",
    secret,
    { cookies: { [passwordCookie('link_2')]: 's3cret' } },
    {},
    page('password', 200),
  ],
  [
    'a password before all else',
    { ...secret, bannedAt: 1, disabledAt: 1, expiresAt: 1 },
    {},
    {},
    page('password', 200),
  ],
  ['banned', { bannedAt: 1 }, {}, {}, page('banned', 410)],
  [
    'banned and disabled',
    { bannedAt: 1, disabledAt: 1 },
    {},
    { notFoundUrl: 'https://x.example' },
    page('banned', 410),
  ],
  ['disabled', { disabledAt: 1 }, {}, {}, page('not_found', 404)],
  [
    'disabled, with an address for it',
    { disabledAt: 1, expiresAt: 1 },
    {},
    { notFoundUrl: 'https://acme.example/404' },
    { kind: 'elsewhere', status: 307, location: 'https://acme.example/404', insteadOf: 'not_found' },
  ],
  ['expired a moment ago', { expiresAt: NOW - 1 }, {}, {}, page('expired', 410)],
  ['expiring this moment', { expiresAt: NOW }, {}, {}, to(URL_)],
  [
    "expired, with the link's address before the domain's",
    { expiresAt: 1, expiredUrl: 'https://acme.example/gone' },
    { query: 'a=1' },
    { expiredUrl: 'https://acme.example/old' },
    { kind: 'elsewhere', status: 302, location: 'https://acme.example/gone', insteadOf: 'expired' },
  ],
  [
    "expired, with the domain's address",
    { expiresAt: 1 },
    {},
    { expiredUrl: 'https://acme.example/old' },
    { kind: 'elsewhere', status: 307, location: 'https://acme.example/old', insteadOf: 'expired' },
  ],
  ['no destination', { key: '_root', url: '' }, {}, {}, to('', { status: 301, page: 'placeholder' })],
  [
    'no destination, for a robot',
    { url: '', proxy: true },
    { bot: true },
    {},
    to('', { page: 'placeholder' }),
  ],
  [
    'a robot on a link with a preview',
    { proxy: true, rewrite: true },
    { bot: true },
    {},
    page('preview', 200),
  ],
  ['a person on a link with a preview', { proxy: true }, {}, {}, to(URL_)],
  ['a robot on another link', {}, { bot: true }, {}, to(URL_)],
  ...[
    'mailto:a@acme.example',
    'sms:+15550100',
    'TEL:+15550100',
    'tg://resolve?x',
    'whatsapp://send',
    'xmpp:a@b',
  ].map(
    (url): Row => [
      `an app: ${url}`,
      { url, rewrite: true, ios: IOS },
      { system: 'ios' },
      {},
      to(url, { page: 'app' }),
    ],
  ),
  [
    'cloaked beats device and country',
    { rewrite: true, ios: IOS, geo: { US: URL_ } },
    { system: 'ios', country: 'US' },
    {},
    to(URL_, { page: 'cloaked' }),
  ],
  ['iOS', { ios: IOS, android: ANDROID, geo: { US: URL_ } }, { system: 'ios', country: 'US' }, {}, to(IOS)],
  [
    'Android',
    { ios: IOS, android: ANDROID, geo: { US: URL_ } },
    { system: 'android', country: 'US' },
    {},
    to(ANDROID),
  ],
  ['another system', { ios: IOS, android: ANDROID }, {}, {}, to(URL_)],
  [
    'a country beats a test',
    { geo: { US: 'https://us.example/' }, ...test2 },
    { country: 'US' },
    {},
    to('https://us.example/'),
  ],
  ['another country', { geo: { US: 'https://us.example/' } }, { country: 'DE' }, {}, to(URL_)],
  ['no country', { geo: { US: 'https://us.example/' } }, {}, {}, to(URL_)],
  [
    'a name every object has is no country',
    { geo: { US: 'https://us.example/' } },
    { country: 'constructor' },
    {},
    to(URL_),
  ],
  ['a root', { key: '_root' }, {}, {}, to(URL_, { status: 301 })],
  [
    'a test, low chance',
    test2,
    { chance: () => 0.29 },
    {},
    to(VARIANTS[0]!.url, { variant: VARIANTS[0]!.url }),
  ],
  [
    'a test, high chance',
    test2,
    { chance: () => 0.31 },
    {},
    to(VARIANTS[1]!.url, { variant: VARIANTS[1]!.url }),
  ],
  [
    'a test, chance just below one',
    test2,
    { chance: () => 1 - Number.EPSILON / 2 },
    {},
    to(VARIANTS[1]!.url, { variant: VARIANTS[1]!.url }),
  ],
  [
    'a test the visitor is in',
    test2,
    { cookies: { [TEST_COOKIE]: VARIANTS[0]!.url } },
    {},
    to(VARIANTS[0]!.url, { variant: VARIANTS[0]!.url }),
  ],
  [
    'a test the visitor was in with another variant',
    test2,
    { cookies: { [TEST_COOKIE]: 'https://evil.example' } },
    {},
    to(VARIANTS[1]!.url, { variant: VARIANTS[1]!.url }),
  ],
  ['a test that is over', { ...test2, testCompletedAt: NOW }, {}, {}, to(URL_)],
  ['a test without an end', { ...test2, testCompletedAt: null }, {}, {}, to(URL_)],
  ['a test of one variant', { ...test2, testVariants: [VARIANTS[0]!] }, {}, {}, to(URL_)],
  [
    'a test on a cloaked link',
    { ...test2, rewrite: true },
    { chance: () => 0 },
    {},
    to(VARIANTS[0]!.url, { variant: VARIANTS[0]!.url, page: 'cloaked' }),
  ],
];

describe('what a visit gets', () => {
  for (const [name, link, visit, domain, expected] of ROWS) {
    test(name, () => {
      const given = link && { ...LINK, ...link };
      assert.deepEqual(decide(given, { ...DOMAIN, ...domain }, visitOf(visit)), expected as Decision);
    });
  }

  test('over many visitors, variants come in the parts asked for', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 1_000; i++) {
      const decision = decide({ ...LINK, ...test2 }, DOMAIN, visitOf({ chance: () => i / 1_000 }));
      const target = (decision as { target: string }).target;
      counts.set(target, (counts.get(target) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(counts), { [VARIANTS[0]!.url]: 300, [VARIANTS[1]!.url]: 700 });
  });
});
