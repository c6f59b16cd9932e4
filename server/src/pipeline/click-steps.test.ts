import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClickRecord } from '../analytics/click-record.ts';
import { createEnrich } from '../events/enrich.ts';
import { type Click, createEventEncoder } from '../events/event.ts';
import { continentOf } from '../kernel/continents.ts';
import { rawClick } from '../testing/click-records.ts';
import { clickSteps } from './click-steps.ts';
import { decodePipelineEvent, type PipelineEvent } from './pipeline-event.ts';
import { createFindPlace, openPlaces } from './places.ts';
import { createReadAgent } from './user-agent.ts';

const encoder = createEventEncoder();

/** A file of places that knows three addresses, each in the form of another maker. */
const findPlace = createFindPlace([
  (ip) =>
    ({
      '1.1.1.1': { country_code: 'US', state1: 'California', city: 'Mountain View' },
      '2.2.2.2': {
        country: { iso_code: 'DE' },
        subdivisions: [{ iso_code: 'BE' }],
        city: { names: { en: 'Berlin' } },
      },
      '3.3.3.3': { country_code: 'JP', state1: 'Somewhere', city: '' },
    })[ip] ?? null,
]);
const enrich = createEnrich<PipelineEvent>({
  decode: decodePipelineEvent,
  steps: clickSteps({ readAgent: createReadAgent(), findPlace }),
  onError: assert.fail,
});

function enriched(fields: Partial<Click>): ClickRecord {
  const payload = encoder.click(rawClick(1, { ip: '1.1.1.1', ...fields }));
  const { events, drops } = enrich([Uint8Array.from(payload)]);
  assert.equal(drops.size, 0);
  const [event] = events;
  assert.ok(event?.kind === 'click');
  return event.record;
}

const CHROME_MAC =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const IPAD =
  'Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1 Mobile/15E148 Safari/604.1';
const TELEVISION =
  'Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/76.0.3809.146 TV Safari/537.36';

const TABLE: [what: string, click: Partial<Click>, expected: Partial<ClickRecord>][] = [
  [
    'a desktop browser',
    { userAgent: CHROME_MAC },
    { device: 'Desktop', browser: 'Chrome', browserVersion: '126.0.0.0', os: 'Mac OS', osVersion: '10.15.7' },
  ],
  ['a phone', { userAgent: IPHONE }, { device: 'Mobile', browser: 'Mobile Safari', os: 'iOS' }],
  ['a tablet', { userAgent: IPAD }, { device: 'Tablet', os: 'iOS' }],
  ['a television', { userAgent: TELEVISION }, { device: 'Smarttv' }],
  [
    'an unknown program',
    { userAgent: 'whatever/1' },
    { device: 'Desktop', browser: 'Unknown', os: 'Unknown', userAgent: 'whatever/1' },
  ],
  [
    'no user agent',
    { userAgent: '' },
    { device: 'Desktop', browser: 'Unknown', osVersion: 'Unknown', userAgent: 'Unknown' },
  ],
  [
    'a place with a name of a region',
    { ip: '1.1.1.1' },
    { continent: 'NA', country: 'US', region: 'CA', city: 'Mountain View', ip: '1.1.1.1' },
  ],
  [
    'a place with a code of a region; no address is kept in the Union',
    { ip: '2.2.2.2' },
    { continent: 'EU', country: 'DE', region: 'BE', city: 'Berlin', ip: '' },
  ],
  [
    'a region that the table does not have',
    { ip: '3.3.3.3' },
    { continent: 'AS', country: 'JP', region: 'Unknown', city: 'Unknown' },
  ],
  [
    'an unknown address',
    { ip: '9.9.9.9' },
    { continent: '', country: 'Unknown', region: 'Unknown', city: 'Unknown', ip: '9.9.9.9' },
  ],
  ['text that is no address', { ip: 'nonsense' }, { country: 'Unknown' }],
  ['no address', { ip: '' }, { country: 'Unknown', ip: '' }],
  [
    'a proxy that names another country',
    { ip: '1.1.1.1', countryHint: 'FR' },
    { continent: 'EU', country: 'FR', region: 'Unknown', city: 'Unknown', ip: '' },
  ],
  [
    'a proxy that names the same country',
    { ip: '1.1.1.1', countryHint: 'US' },
    { country: 'US', region: 'CA', city: 'Mountain View' },
  ],
  ['the United Kingdom', { ip: '1.1.1.1', countryHint: 'GB' }, { ip: '' }],
  ['Switzerland', { ip: '1.1.1.1', countryHint: 'CH' }, { continent: 'EU', ip: '1.1.1.1' }],
  [
    'an address in the Union that is kept on purpose',
    { ip: '2.2.2.2', ipPrivacy: 'keep' },
    { ip: '2.2.2.2' },
  ],
  [
    'an address in the Union of which the network is kept',
    { ip: '2.2.2.2', ipPrivacy: 'truncate' },
    { country: 'DE', city: 'Berlin', ip: '2.2.2.0' },
  ],
  [
    'an address elsewhere of which the network is kept',
    { ip: '1.1.1.1', ipPrivacy: 'truncate' },
    { country: 'US', city: 'Mountain View', ip: '1.1.1.0' },
  ],
  [
    'a longer address of which the network is kept',
    { ip: '2a00:1:2:3::9', ipPrivacy: 'truncate' },
    { ip: '2a00:1:2::' },
  ],
  ['an address that is dropped', { ip: '1.1.1.1', ipPrivacy: 'drop' }, { country: 'US', ip: '' }],
  [
    'an address in the Union that is dropped',
    { ip: '2.2.2.2', ipPrivacy: 'drop' },
    { country: 'DE', ip: '' },
  ],
  [
    'a destination that was told an address which is not kept',
    { ip: '2.2.2.2', url: 'https://a.sng.link/x?cl=1&ip=2.2.2.2&n=12.2.2.2' },
    { url: 'https://a.sng.link/x?cl=1&ip=&n=12.2.2.2' },
  ],
  [
    'a destination that was told an address of which the network is kept',
    { ip: '2a00:1:2:3::9', ipPrivacy: 'truncate', url: 'https://a.sng.link/x?ip=2a00%3A1%3A2%3A3%3A%3A9' },
    { url: 'https://a.sng.link/x?ip=2a00%3A1%3A2%3A%3A' },
  ],
  ['no referer', { referer: '' }, { referer: '(direct)', refererUrl: '(direct)' }],
  [
    'a referer',
    { referer: 'https://www.Example.org/a?b=c' },
    { referer: 'example.org', refererUrl: 'https://www.Example.org/a?b=c' },
  ],
  ['a referer of an app', { referer: 'android-app://com.example.mail/' }, { referer: 'com.example.mail' }],
  ['a referer that is no address', { referer: 'nonsense' }, { referer: '(direct)', refererUrl: '(direct)' }],
  ['a destination without a query', { url: 'https://a.example/p#x?utm_source=no' }, { utmSource: '' }],
  [
    'a destination with campaign parameters',
    {
      url: 'https://a.example/p?utm_source=news%20letter&utm_medium=e+mail&utm_campaign=&utm_term=t&utm_content=%C3%BC#utm_term=no',
    },
    {
      urlBase: 'https://a.example/p',
      utmSource: 'news letter',
      utmMedium: 'e mail',
      utmCampaign: '',
      utmTerm: 't',
      utmContent: 'ü',
    },
  ],
  ['no destination', { url: '' }, { url: '', urlBase: '' }],
  ['a code that was scanned', { trigger: 'qr', qr: true }, { trigger: 'qr', qr: true }],
];

describe('enrichment', () => {
  for (const [what, click, expected] of TABLE) {
    test(`of ${what}`, () => {
      const record = enriched(click);
      const found = Object.fromEntries(
        Object.keys(expected).map((name) => [name, record[name as keyof ClickRecord]]),
      );
      assert.deepEqual(found, expected);
    });
  }

  test('a replayed click becomes the same record', () => {
    assert.deepEqual(enriched({ userAgent: IPHONE }), enriched({ userAgent: IPHONE }));
  });

  test('changes pass untouched', () => {
    const change = { outboxId: 7, workspaceId: 'ws_1', type: 'link.created', payload: '{}', createdAtMs: 1 };
    const { events } = enrich([Uint8Array.from(encoder.change(change))]);
    assert.deepEqual(events, [{ kind: 'change', change }]);
  });
});

test('the country file that comes with the product knows public addresses and no private ones', async () => {
  const find = await openPlaces({ cityFiles: [], onError: assert.fail });
  assert.equal(find('8.8.8.8').country, 'US');
  assert.equal(find('2001:4860:4860::8888').country, 'US');
  for (const ip of ['127.0.0.1', '10.1.2.3', '192.168.1.1', '169.254.1.1', '::1', 'fd00::1']) {
    assert.equal(find(ip).country, 'Unknown', ip);
  }
});

test('a file of places that cannot be read is reported and left out', async () => {
  const reported: string[] = [];
  const find = await openPlaces({ cityFiles: ['/nowhere.mmdb'], onError: (path) => reported.push(path) });
  assert.deepEqual(reported, ['/nowhere.mmdb']);
  assert.equal(find('8.8.8.8').country, 'US');
});

test('every continent has countries, and an unknown country has none', () => {
  const expected = {
    ZA: 'AF',
    AQ: 'AN',
    JP: 'AS',
    FR: 'EU',
    US: 'NA',
    AU: 'OC',
    BR: 'SA',
    XX: '',
    Unknown: '',
  };
  for (const [country, continent] of Object.entries(expected)) assert.equal(continentOf(country), continent);
});
