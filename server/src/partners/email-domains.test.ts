// Which domains count as thrown away after use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FREE_DOMAINS, isDisposable } from './email-domains.ts';

const DISPOSABLE = [
  'mailinator.com',
  'YOPMAIL.com',
  'inbox.mailinator.com',
  'a.b.guerrillamail.com',
  'burnermail.io',
  `${'a.'.repeat(100)}mailinator.com`,
];
const OTHERS = [
  'north.example',
  'mailinator.com.north.example',
  'notmailinator.example',
  'com',
  '',
  '.',
  'cock.li',
];

for (const domain of DISPOSABLE) {
  test(`${domain.slice(-40)} is disposable`, () => assert.equal(isDisposable(domain), true));
}

test('domains of firms and those that many share are not', () => {
  assert.deepEqual([...OTHERS, ...FREE_DOMAINS].filter(isDisposable), []);
});
