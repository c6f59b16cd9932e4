import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Click } from '../events/event.ts';
import { manualClock } from '../kernel/clock.ts';
import { rawClick } from '../testing/click-records.ts';
import { createStoreVisits } from './store-visits.ts';
import { WINDOW_MS } from './window.ts';

const START = Date.UTC(2027, 0, 15, 10);
const STORE = 'https://apps.apple.com/app/id1';
const IP = '8.8.8.8';
const GO = 'go.example.com';

function open(capacity?: number) {
  const clock = manualClock(START);
  const visits = createStoreVisits({ clock, ...(capacity && { capacity }) });
  const click = (n: number, fields: Partial<Click> = {}) =>
    rawClick(n, { url: STORE, ip: IP, domain: GO, timeMs: clock.now(), ...fields });
  return { clock, visits, click };
}

test('a visit to an app store is found for an hour, by its address and domain alone', () => {
  const { clock, visits, click } = open();
  const { id, linkId, key } = click(1);
  visits.note(click(1));
  clock.advance(WINDOW_MS - 1);
  const found = visits.find(IP, GO);
  assert.deepEqual([found?.clickId, found?.linkId, found?.key], [id, linkId, key]);
  assert.equal(visits.find('8.8.4.4', GO), undefined);
  assert.equal(visits.find(IP, 'other.example.com'), undefined);
  clock.advance(1);
  assert.equal(visits.find(IP, GO), undefined);
});

test('of several visits the latest counts', () => {
  const { visits, click } = open();
  visits.note(click(1));
  visits.note(click(2));
  assert.equal(visits.find(IP, GO)?.clickId, click(2).id);
});

for (const [url, isStore] of [
  ['https://apps.apple.com/app/id1?x=1', true],
  ['https://play.google.com/store/apps/details?id=a&referrer=b', true],
  ['HTTPS://PLAY.GOOGLE.COM/store', true],
  ['https://apps.apple.com', true],
  ['https://apps.apple.com.evil.test/', false],
  ['https://acme.example/?to=https://apps.apple.com/', false],
  ['https://acme.example/', false],
  ['', false],
] as const) {
  test(`"${url}" is ${isStore ? 'an' : 'no'} app store`, () => {
    const { visits, click } = open();
    visits.note(click(1, { url }));
    assert.equal(visits.find(IP, GO) !== undefined, isStore);
  });
}

test('what a page or an app reported was sent nowhere', () => {
  const { visits, click } = open();
  for (const trigger of ['pageview', 'deeplink'] as const) visits.note(click(1, { trigger }));
  assert.equal(visits.find(IP, GO), undefined);
  visits.note(click(2, { trigger: 'qr' }));
  assert.equal(visits.find(IP, GO)?.clickId, click(2).id);
});

test('the memory is bounded, and the latest are in it', () => {
  const { visits, click } = open(100);
  for (let n = 0; n < 10_000; n++) visits.note(click(n, { ip: `10.0.${n >> 8}.${n & 255}` }));
  const known = Array.from({ length: 10_000 }, (_, n) => visits.find(`10.0.${n >> 8}.${n & 255}`, GO));
  assert.ok(known.filter(Boolean).length <= 100);
  assert.equal(known.at(-1)?.clickId, click(9_999).id);
});

test('after a restart it knows the visits of the last hour, and passes all clicks on', async () => {
  const { visits, click } = open();
  const clicks = [
    click(1, { ip: '8.8.4.1', timeMs: START - WINDOW_MS }),
    click(2, { ip: '8.8.4.2', timeMs: START - WINDOW_MS + 1 }),
    click(3, { ip: '8.8.4.3', url: 'https://acme.example/' }),
  ];
  async function* recorded() {
    yield* clicks;
  }
  const passed: Click[] = [];
  for await (const each of visits.restore(recorded())) passed.push(each);
  assert.deepEqual(passed, clicks);
  assert.deepEqual(
    clicks.map(({ ip }) => visits.find(ip, GO)?.clickId),
    [undefined, click(2).id, undefined],
  );
});
