import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { after, before, describe, test } from 'node:test';
import { createDnsLookup } from './dns.ts';
import { type DnsLookup, dnsSetup, type SetupStatus, trustingSetup } from './verify.ts';

const TARGET = 'links.host.example';
const CODE = 'linktrail-code';
const TARGET_ZONE = {
  'A links.host.example': ['192.0.2.1', '192.0.2.2'],
  'AAAA links.host.example': ['2001:db8::1'],
};
const TXT = { 'TXT _linktrail.go.acme.example': ['other', CODE] };

/** A name server's answers by "TYPE name"; a name without any record does not exist. */
function zone(records: Record<string, string[]>): DnsLookup {
  const names = new Set(Object.keys(records).map((key) => key.split(' ')[1]));
  return async (type, name) => (names.has(name) ? (records[`${type} ${name}`] ?? []) : 'no-name');
}

const CASES: [what: string, records: Record<string, string[]>, status: SetupStatus][] = [
  ['no such name', {}, 'Domain Not Found'],
  ['a CNAME to us and the code', { 'CNAME go.acme.example': [TARGET], ...TXT }, 'Valid Configuration'],
  [
    'a CNAME in another case with a dot',
    { 'CNAME go.acme.example': ['Links.HOST.example.'], ...TXT },
    'Valid Configuration',
  ],
  ['a CNAME to us without the code', { 'CNAME go.acme.example': [TARGET] }, 'Pending Verification'],
  [
    'a CNAME to us and another code',
    { 'CNAME go.acme.example': [TARGET], 'TXT _linktrail.go.acme.example': [`${CODE}x`] },
    'Pending Verification',
  ],
  ['a CNAME elsewhere', { 'CNAME go.acme.example': ['other.example'], ...TXT }, 'Invalid Configuration'],
  [
    'our addresses',
    { 'A go.acme.example': ['192.0.2.2'], 'AAAA go.acme.example': ['2001:db8::1'], ...TXT },
    'Valid Configuration',
  ],
  ['other addresses', { 'A go.acme.example': ['198.51.100.9'], ...TXT }, 'Invalid Configuration'],
  [
    'ours and others',
    { 'A go.acme.example': ['192.0.2.1', '198.51.100.9'], ...TXT },
    'Conflicting DNS Records',
  ],
  [
    'our IPv4 and another IPv6 address',
    { 'A go.acme.example': ['192.0.2.1'], 'AAAA go.acme.example': ['2001:db8::9'], ...TXT },
    'Conflicting DNS Records',
  ],
  ['a name without addresses', { 'MX go.acme.example': ['mail.example'], ...TXT }, 'Invalid Configuration'],
];

describe('checking a domain by DNS', () => {
  for (const [what, records, status] of CASES) {
    test(`${what}: ${status}`, async () => {
      const setup = dnsSetup({ lookup: zone({ ...TARGET_ZONE, ...records }), target: TARGET });
      assert.equal(await setup.check('go.acme.example', CODE), status);
    });
  }

  test('a service known by its address is pointed to by that address', async () => {
    const lookup = zone({ 'A go.acme.example': ['203.0.113.7'], ...TXT });
    const setup = dnsSetup({ lookup, target: '203.0.113.7' });
    assert.equal(await setup.check('go.acme.example', CODE), 'Valid Configuration');
    assert.deepEqual(setup.records('go.acme.example', CODE), [
      { type: 'TXT', name: '_linktrail.go.acme.example', value: CODE },
      { type: 'A', name: 'go.acme.example', value: '203.0.113.7' },
    ]);
  });

  test('without an answer it is an unknown error', async () => {
    const setup = dnsSetup({ lookup: () => Promise.reject(new Error('no answer')), target: TARGET });
    assert.equal(await setup.check('go.acme.example', CODE), 'Unknown Error');
  });

  test('switched off, every domain passes and only the address record is asked for', async () => {
    const setup = trustingSetup(TARGET);
    assert.equal(await setup.check('go.acme.example', CODE), 'Valid Configuration');
    assert.deepEqual(setup.records('go.acme.example', CODE), [
      { type: 'CNAME', name: 'go.acme.example', value: TARGET },
    ]);
  });
});

/** Answers every question with no records and the given response code. */
function emptyAnswer(question: Buffer, code: number): Buffer {
  const answer = Buffer.from(question);
  answer.writeUInt16BE(0x8180 | code, 2);
  return answer;
}

describe('asking a real name server', () => {
  let server: Socket;
  let code = 0;
  let lookup: DnsLookup;
  before(async () => {
    server = createSocket('udp4');
    server.on('message', (question, from) =>
      server.send(emptyAnswer(question, code), from.port, from.address),
    );
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    lookup = createDnsLookup({ timeoutMs: 2_000, servers: [`127.0.0.1:${server.address().port}`] });
  });
  after(() => server.close());

  test('no such name and no such record are told apart, a failing server rejects', async () => {
    for (const type of ['TXT', 'CNAME', 'A', 'AAAA'] as const) {
      code = 3;
      assert.equal(await lookup(type, 'gone.example'), 'no-name', type);
      code = 0;
      assert.deepEqual(await lookup(type, 'there.example'), [], type);
      code = 2;
      await assert.rejects(lookup(type, 'failing.example'), type);
    }
  });
});
