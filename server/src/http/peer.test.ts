import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPeers, LOOPBACK_PROXIES, type Peer, parseCidrs } from './peer.ts';

interface Case {
  name: string;
  from?: string | undefined;
  encrypted?: boolean;
  headers?: Record<string, string | string[]>;
  trusted?: readonly string[];
  expected: Partial<Peer>;
}

function check(cases: Case[]): void {
  for (const { name, from, encrypted = false, headers = {}, trusted = LOOPBACK_PROXIES, expected } of cases) {
    it(name, () => {
      const peer = createPeers({ trustedProxies: trusted })({ remoteAddress: from, encrypted, headers });
      const seen = Object.fromEntries(Object.keys(expected).map((key) => [key, peer[key as keyof Peer]]));
      assert.deepEqual(seen, expected);
    });
  }
}

const CHAIN = ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'];

describe('the client address', () => {
  const forwarded = (value: string | string[]) => ({ 'x-forwarded-for': value });
  check([
    { name: 'is the socket peer', from: '203.0.113.9', expected: { ip: '203.0.113.9' } },
    { name: 'loses the IPv4-mapped form', from: '::ffff:203.0.113.9', expected: { ip: '203.0.113.9' } },
    { name: 'loses the zone of IPv6', from: 'fe80::1%eth0', expected: { ip: 'fe80::1' } },
    { name: 'is empty when the socket is gone', from: undefined, expected: { ip: '', secure: false } },
    {
      name: 'ignores X-Forwarded-For of strangers',
      from: '203.0.113.9',
      headers: forwarded('198.51.100.1'),
      expected: { ip: '203.0.113.9' },
    },
    {
      name: 'believes X-Forwarded-For of a trusted proxy',
      from: '127.0.0.1',
      headers: forwarded('198.51.100.1'),
      expected: { ip: '198.51.100.1' },
    },
    {
      name: 'believes a trusted proxy behind an IPv4-mapped address',
      from: '::ffff:127.0.0.1',
      headers: forwarded('198.51.100.1'),
      expected: { ip: '198.51.100.1' },
    },
    {
      name: 'is the rightmost address that is no trusted proxy',
      from: '10.0.0.1',
      trusted: CHAIN,
      headers: forwarded('1.1.1.1, 198.51.100.1, 10.0.0.3,10.0.0.2'),
      expected: { ip: '198.51.100.1' },
    },
    {
      name: 'is the leftmost address when all are trusted',
      from: '10.0.0.1',
      trusted: CHAIN,
      headers: forwarded('10.0.0.9, fd00::2'),
      expected: { ip: '10.0.0.9' },
    },
    {
      name: 'reads repeated headers as one list',
      from: '10.0.0.1',
      trusted: CHAIN,
      headers: forwarded(['198.51.100.1', '10.0.0.2']),
      expected: { ip: '198.51.100.1' },
    },
    {
      name: 'stops at garbage and keeps what stands right of it',
      from: '10.0.0.1',
      trusted: CHAIN,
      headers: forwarded('198.51.100.1, unknown, 10.0.0.2'),
      expected: { ip: '10.0.0.2' },
    },
    {
      name: 'is the proxy itself when the nearest entry is garbage',
      from: '10.0.0.1',
      trusted: CHAIN,
      headers: forwarded('198.51.100.1, '),
      expected: { ip: '10.0.0.1' },
    },
    {
      name: 'loses a port',
      from: '127.0.0.1',
      headers: forwarded('198.51.100.1:5678'),
      expected: { ip: '198.51.100.1' },
    },
    {
      name: 'loses brackets and port of IPv6',
      from: '127.0.0.1',
      headers: forwarded('[2001:DB8:0::1]:5678'),
      expected: { ip: '2001:db8::1' },
    },
    {
      name: 'loses the mapped form inside X-Forwarded-For',
      from: '::1',
      headers: forwarded('::FFFF:C633:6401'),
      expected: { ip: '198.51.100.1' },
    },
    {
      name: 'trusts nobody when told so',
      from: '127.0.0.1',
      trusted: [],
      headers: forwarded('198.51.100.1'),
      expected: { ip: '127.0.0.1' },
    },
  ]);
});

describe('a secure request', () => {
  const proto = (value: string) => ({ 'x-forwarded-proto': value });
  const from = '10.0.0.1';
  const trusted = CHAIN;
  check([
    { name: 'came over TLS', from: '203.0.113.9', encrypted: true, expected: { secure: true } },
    { name: 'did not come over plain HTTP', from: '203.0.113.9', expected: { secure: false } },
    {
      name: 'is not what a stranger calls https',
      from: '203.0.113.9',
      headers: proto('https'),
      expected: { secure: false },
    },
    {
      name: 'is what a proxy calls https',
      from,
      trusted,
      headers: proto('HTTPS'),
      expected: { secure: true },
    },
    {
      name: 'is not what a proxy calls http',
      from,
      trusted,
      headers: proto('http'),
      expected: { secure: false },
    },
    { name: 'is not what a proxy says nothing about', from, trusted, expected: { secure: false } },
    { name: 'may be plain from loopback', from: '127.0.0.1', expected: { secure: true } },
    { name: 'may be plain from any loopback address', from: '127.8.9.1', expected: { secure: true } },
    { name: 'may be plain from IPv6 loopback', from: '::1', expected: { secure: true } },
    { name: 'may be plain from mapped loopback', from: '::ffff:127.0.0.1', expected: { secure: true } },
    {
      name: 'is not what a proxy on loopback calls http',
      from: '127.0.0.1',
      headers: proto('http'),
      expected: { secure: false },
    },
    {
      name: 'is what a proxy on loopback calls https',
      from: '127.0.0.1',
      headers: proto('https'),
      expected: { secure: true },
    },
    {
      name: 'is not what an untrusted loopback peer calls https',
      from: '127.0.0.1',
      trusted: [],
      headers: proto('https'),
      expected: { secure: false },
    },
    {
      name: 'is decided by the nearest proxy (https)',
      from,
      trusted,
      headers: proto('http, https'),
      expected: { secure: true },
    },
    {
      name: 'is decided by the nearest proxy (http)',
      from,
      trusted,
      headers: proto('https, http'),
      expected: { secure: false },
    },
    {
      name: 'is not what a proxy leaves open',
      from: '127.0.0.1',
      headers: proto('https,'),
      expected: { secure: false },
    },
  ]);
});

describe('the host', () => {
  const from = '203.0.113.9';
  const host = (value: string) => ({ host: value });
  const behind = (value: string, proto = 'https') => ({
    host: 'inner:3000',
    'x-forwarded-host': value,
    'x-forwarded-proto': proto,
  });
  const both = (text: string, scheme: string) => ({ host: text, origin: `${scheme}://${text}` });
  const none = { host: '', origin: '' };
  check([
    {
      name: 'is lower-case',
      from,
      headers: host('Go.Example.COM'),
      expected: both('go.example.com', 'http'),
    },
    { name: 'keeps its port', from, headers: host('a.example:81'), expected: both('a.example:81', 'http') },
    {
      name: 'loses port 80 over http',
      from,
      headers: host('a.example:80'),
      expected: both('a.example', 'http'),
    },
    {
      name: 'loses port 443 over TLS',
      from,
      encrypted: true,
      headers: host('a.example:443'),
      expected: both('a.example', 'https'),
    },
    {
      name: 'keeps port 80 over TLS',
      from,
      encrypted: true,
      headers: host('a.example:80'),
      expected: both('a.example:80', 'https'),
    },
    { name: 'keeps IPv6 brackets', from, headers: host('[::1]:81'), expected: both('[::1]:81', 'http') },
    { name: 'is empty when missing', from, expected: none },
    { name: 'is empty when it has a space', from, headers: host('a b'), expected: none },
    { name: 'is empty when it has a control character', from, headers: host('a\u0001b'), expected: none },
    { name: 'is empty when it has user information', from, headers: host('u@a.example'), expected: none },
    { name: 'is empty when it has a path', from, headers: host('a.example/x'), expected: none },
    {
      name: 'is not what a stranger forwards',
      from,
      headers: behind('b.example'),
      expected: both('inner:3000', 'http'),
    },
    {
      name: 'is what a trusted proxy forwards',
      from: '127.0.0.1',
      headers: behind('B.example:443'),
      expected: both('b.example', 'https'),
    },
    {
      name: 'is the nearest of several forwarded hosts',
      from: '127.0.0.1',
      headers: behind('evil.example, b.example', 'http'),
      expected: both('b.example', 'http'),
    },
    {
      name: 'is empty when a proxy forwards an invalid one',
      from: '127.0.0.1',
      headers: behind('b.example/evil'),
      expected: none,
    },
    {
      name: 'is the Host header when the forwarded one is empty',
      from: '127.0.0.1',
      headers: behind(''),
      expected: both('inner:3000', 'https'),
    },
    {
      name: 'has the scheme the client used, also on loopback',
      from: '127.0.0.1',
      headers: host('localhost:3000'),
      expected: { secure: true, origin: 'http://localhost:3000' },
    },
  ]);
});

describe('parseCidrs', () => {
  it('reads addresses and blocks of both families', () => {
    assert.deepEqual(parseCidrs(' 10.0.0.0/8,192.0.2.1 fd00::/8,\n::1 '), [
      '10.0.0.0/8',
      '192.0.2.1',
      'fd00::/8',
      '::1',
    ]);
    assert.deepEqual(parseCidrs(''), []);
  });

  for (const bad of [
    '10.0.0.0/33',
    '10.0.0',
    'example.com',
    '::1/129',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/-1',
  ]) {
    it(`refuses ${bad} and says so`, () => {
      assert.throws(() => parseCidrs(`127.0.0.1, ${bad}`), { message: new RegExp(`^"${bad}" is neither`) });
    });
  }
});
