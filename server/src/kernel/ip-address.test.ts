import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAddressRule, truncateAddress } from './ip-address.ts';

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '64:ff9b::8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
];

const CLOSED = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '0:0:0:0:0:ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a00:1::1',
  '2002:c0a8:101::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'localhost',
  '',
  '127.1',
  '0x7f000001',
];

describe('which addresses requests of the server may reach', () => {
  const mayReach = createAddressRule([]);
  for (const address of PUBLIC) test(`${address} is open`, () => assert.equal(mayReach(address), true));
  for (const address of CLOSED) test(`"${address}" is closed`, () => assert.equal(mayReach(address), false));

  test('what an operator opened is open in every spelling, its neighbours are not', () => {
    const rule = createAddressRule(['10.1.0.0/16', '127.0.0.1', 'fd00:1::/32', '::1']);
    for (const address of [
      '10.1.2.3',
      '::ffff:10.1.2.3',
      '::ffff:a01:203',
      '127.0.0.1',
      'fd00:1::5',
      '::1',
    ]) {
      assert.equal(rule(address), true, address);
    }
    for (const address of [
      '10.2.0.1',
      '127.0.0.2',
      'fd00:2::5',
      '::ffff:10.2.0.1',
      '169.254.169.254',
      '::2',
    ]) {
      assert.equal(rule(address), false, address);
    }
  });
});

describe('an address without the part that tells neighbours apart', () => {
  const TABLE: [address: string, network: string][] = [
    ['203.0.113.77', '203.0.113.0'],
    ['8.8.8.8', '8.8.8.0'],
    ['2001:db8:12:3456::1', '2001:db8:12::'],
    ['2001:db8::1', '2001:db8::'],
    ['2001:0:0:1::', '2001::'],
    ['::1', '::'],
    ['::ffff:203.0.113.77', '203.0.113.0'],
    ['', ''],
    ['nonsense', ''],
  ];
  for (const [address, network] of TABLE)
    test(`"${address}" becomes "${network}"`, () => assert.equal(truncateAddress(address), network));
});
