import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IP_PRIVACY } from '../kernel/ip-privacy.ts';
import { type Change, type Click, createEventEncoder, decodeEvent, TRIGGERS } from './event.ts';
import { createChance } from './journal.contract.ts';

const CLICK: Click = {
  id: '0VjK3xLmA1b2C3d4',
  timeMs: 1_794_700_000_123,
  workspaceId: 'ws_1',
  linkId: 'link_1',
  domain: 'go.acme.example',
  key: 'größe',
  url: 'https://acme.example/?a=2',
  ip: '2001:db8::7',
  userAgent: 'Mozilla/5.0',
  referer: '',
  trigger: 'qr',
  qr: true,
  ipPrivacy: 'truncate',
  countryHint: 'DE',
};
const CHANGE: Change = {
  outboxId: 2 ** 40 + 5,
  workspaceId: 'ws_1',
  type: 'link.created',
  payload: '{"id":"link_1","title":"💡"}',
  createdAtMs: 1_794_700_000_456,
};

const encoder = createEventEncoder();

// A change of these bytes makes journals of earlier releases unreadable: add fields at the end, or a version.
const CLICK_BYTES =
  '0101087bbb74dca1010105' +
  '0a1004060f05190b0b0002' +
  Buffer.from(
    '0VjK3xLmA1b2C3d4ws_1link_1go.acme.examplegrößehttps://acme.example/?a=22001:db8::7Mozilla/5.0DE',
  ).toString('hex');
const CHANGE_BYTES =
  '01020e0500000000010000c8bc74dca101' +
  '03040c1c' +
  Buffer.from('ws_1link.created{"id":"link_1","title":"💡"}').toString('hex');

test('the bytes of a click and of a change are what earlier releases wrote', () => {
  assert.equal(Buffer.from(encoder.click(CLICK)).toString('hex'), CLICK_BYTES);
  assert.equal(Buffer.from(encoder.change(CHANGE)).toString('hex'), CHANGE_BYTES);
  assert.deepEqual(decodeEvent(Buffer.from(CLICK_BYTES, 'hex')), { event: { kind: 'click', click: CLICK } });
  assert.deepEqual(decodeEvent(Buffer.from(CHANGE_BYTES, 'hex')), {
    event: { kind: 'change', change: CHANGE },
  });
});

test('every click comes back as it was, whatever its texts hold', () => {
  const chance = createChance(11);
  const alphabet = ['a', 'é', '\0', '\n', '"', '€', '💡', '\u{10ffff}', ' '];
  const text = () => {
    const length = Math.floor(2 ** (chance() * 12)) - 1;
    return Array.from({ length }, () => alphabet[Math.floor(chance() * alphabet.length)]).join('');
  };
  for (let round = 0; round < 300; round++) {
    const click: Click = {
      ...CLICK,
      id: text(),
      timeMs: Math.floor(chance() * 2 ** 47),
      linkId: text(),
      key: text(),
      url: text(),
      userAgent: text(),
      referer: text(),
      countryHint: text(),
      trigger: TRIGGERS[round % TRIGGERS.length]!,
      qr: round % 2 === 0,
      ipPrivacy: IP_PRIVACY[round % IP_PRIVACY.length]!,
    };
    assert.deepEqual(decodeEvent(encoder.click(click)), { event: { kind: 'click', click } });
  }
});

test('a change larger than the kept buffer comes back whole', () => {
  const change = { ...CHANGE, payload: JSON.stringify('€'.repeat(200_000)) };
  assert.deepEqual(decodeEvent(encoder.change(change)), { event: { kind: 'change', change } });
});

test('half a character at the edge of a text moves no other field', () => {
  const decoded = decodeEvent(encoder.click({ ...CLICK, key: '\ud83d', referer: '\udca1' }));
  assert.ok('event' in decoded && decoded.event.kind === 'click');
  assert.deepEqual(decoded.event.click, { ...CLICK, key: '\ufffd', referer: '\ufffd' });
});

test('numbers and texts that a later release adds are ignored', () => {
  const bytes = Buffer.from(encoder.click(CLICK));
  const [numbers, rest] = [bytes.subarray(3, 11), bytes.subarray(12)];
  const later = Buffer.concat([
    Buffer.from([1, 1, numbers.length + 2]),
    numbers,
    Buffer.from([7, 7, 11]),
    rest.subarray(0, 10),
    Buffer.from([3]),
    rest.subarray(10),
    Buffer.from('new'),
  ]);
  assert.deepEqual(decodeEvent(later), { event: { kind: 'click', click: CLICK } });
});

test('texts that an earlier release did not have are empty', () => {
  const earlier = Buffer.from([1, 1, 8, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 105, 100]);
  const decoded = decodeEvent(earlier);
  assert.ok('event' in decoded && decoded.event.kind === 'click');
  assert.deepEqual([decoded.event.click.id, decoded.event.click.countryHint], ['id', '']);
});

test('another version, another kind and cut-off bytes are failures with a name, never exceptions', () => {
  const good = Buffer.from(encoder.click(CLICK));
  const withByte = (at: number, value: number) => Buffer.from(good).fill(value, at, at + 1);
  assert.deepEqual(decodeEvent(withByte(0, 2)), { failure: 'unknown_version' });
  assert.deepEqual(decodeEvent(withByte(1, 9)), { failure: 'unknown_kind' });
  assert.deepEqual(decodeEvent(withByte(9, 200)), { failure: 'malformed' });
  for (let size = 0; size < good.length; size++) {
    assert.deepEqual(decodeEvent(good.subarray(0, size)), { failure: 'malformed' }, `size ${size}`);
  }
});

test('no bytes make decoding throw', () => {
  const chance = createChance(5);
  for (let round = 0; round < 5_000; round++) {
    const bytes = Buffer.from(Array.from({ length: chance() * 60 }, () => Math.floor(chance() * 256)));
    if (bytes.length > 1) bytes.writeUInt16LE(0x0101 + (round % 2) * 0x100, 0);
    const decoded = decodeEvent(bytes);
    assert.ok('event' in decoded || decoded.failure !== undefined);
  }
});
