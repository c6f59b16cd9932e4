// What looks like fraud in a conversion, row by row.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  canonicalEmail,
  type FraudFacts,
  type FraudRule,
  findFraud,
  type RuleConfig,
} from './fraud-rules.ts';
import { rulesOf } from './fraud-watch.ts';

const NOTHING: FraudFacts = {
  customerEmail: null,
  partnerEmail: 'mia@north.example',
  customerDomains: new Set(),
  url: 'https://acme.example/',
  referer: '(direct)',
};

function typesOf(
  facts: Partial<FraudFacts>,
  changes: Partial<Record<FraudRule['type'], Partial<FraudRule>>> = {},
) {
  const rules = rulesOf([]).map((rule) => ({ ...rule, ...changes[rule.type] }));
  return findFraud(rules, { ...NOTHING, ...facts }).map(({ type }) => type);
}

describe('rules that are on unless the program says otherwise', () => {
  const rows: [what: string, facts: Partial<FraudFacts>, types: string[]][] = [
    ['nothing', {}, []],
    ['somebody else', { customerEmail: 'bo@south.example' }, []],
    ['the partner itself', { customerEmail: 'MIA+shop@north.example' }, ['customerEmailMatch']],
    ['a colleague of the partner', { customerEmail: 'bo@north.example' }, ['customerEmailMatch']],
    [
      'the same person at Gmail',
      { partnerEmail: 'mia.lund@gmail.com', customerEmail: 'mialund+1@googlemail.com' },
      ['customerEmailMatch'],
    ],
    [
      'strangers at the same free provider',
      {
        partnerEmail: 'mia@gmail.com',
        customerEmail: 'bo@gmail.com',
        customerDomains: new Set(['gmail.com']),
      },
      [],
    ],
    [
      'a colleague of an earlier customer',
      { customerEmail: 'x@shop.example', customerDomains: new Set(['shop.example']) },
      ['customerEmailMatch'],
    ],
    ['an address to throw away', { customerEmail: 'x@mailinator.com' }, ['customerEmailSuspiciousDomain']],
    ['an advertisement at Google', { url: 'https://acme.example/?gclid=1' }, ['paidTrafficDetected']],
    ['an advertisement elsewhere', { url: 'https://acme.example/?fbclid=1&msclkid=2' }, []],
    ['a text that is no address', { url: 'gclid=1', customerEmail: 'nobody' }, []],
    ['any source', { referer: 'coupons.example' }, []],
  ];
  for (const [what, facts, types] of rows) {
    test(`${what}: ${types.join() || 'nothing'}`, () => assert.deepEqual(typesOf(facts), types));
  }
});

test('a rule that is off finds nothing', () => {
  assert.deepEqual(
    typesOf({ customerEmail: 'x@mailinator.com' }, { customerEmailSuspiciousDomain: { enabled: false } }),
    [],
  );
});

test('rules look at what the program sets', () => {
  const paid = (config: RuleConfig, query: string) =>
    typesOf({ url: `https://acme.example/?${query}` }, { paidTrafficDetected: { config } }).length;
  assert.equal(paid({ platforms: ['facebook'] }, 'fbclid=1'), 1);
  assert.equal(paid({ platforms: ['facebook'] }, 'gclid=1'), 0);
  assert.equal(paid({ allowedCampaignIds: ['77'] }, 'gclid=1&gad_campaignid=77'), 0);
  assert.equal(paid({ allowedCampaignIds: ['77'] }, 'gclid=1&gad_campaignid=78'), 1);
  const source = (glob: string, referer: string) =>
    typesOf({ referer }, { referralSourceBanned: { config: { domains: [glob] } } }).length === 1;
  const rows: [glob: string, host: string, banned: boolean][] = [
    ['coupons.example', 'coupons.example', true],
    ['coupons.example', 'my.coupons.example', false],
    ['*.coupons.example', 'my.Coupons.example', true],
    ['*.coupons.example', 'coupons.example', false],
    ['*coupon*', 'best-coupons.example', true],
    ['a*b*c', 'axxbxxc', true],
    ['a*b*c', 'axxcxxb', false],
    ['ab*ba', 'aba', false],
    ['*', 'anything', true],
    ['.*', 'x', false],
  ];
  for (const [glob, host, banned] of rows) assert.equal(source(glob, host), banned, `${glob} and ${host}`);
  const domains = { customerEmailSuspiciousDomain: { config: { domains: ['*.throw.example'] } } };
  assert.deepEqual(typesOf({ customerEmail: 'x@a.throw.example' }, domains), [
    'customerEmailSuspiciousDomain',
  ]);
});

test('addresses are compared without what makes no difference', () => {
  assert.equal(canonicalEmail(' Mia.Lund+x@GMAIL.com '), 'mialund@gmail.com');
  assert.equal(canonicalEmail('mia.lund+x@north.example'), 'mia.lund@north.example');
});
