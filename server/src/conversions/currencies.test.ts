import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createCurrencies, MAX_AMOUNT, readRates } from './currencies.ts';
import { SHIPPED_RATES } from './currency-rates.ts';

const { toCents } = createCurrencies({
  date: '2027-01-01',
  rates: { eur: 0.8, jpy: 150, kwd: 0.25, idr: 16_000 },
});

describe('US cents', () => {
  for (const [amount, currency, cents] of [
    [4_900, 'usd', 4_900],
    [0, 'eur', 0],
    [4_000, 'eur', 5_000],
    [1_001, 'eur', 1_251],
    [15_000, 'jpy', 10_000],
    [1_000, 'kwd', 400],
    [1, 'idr', 0],
    [16_000, 'idr', 1],
  ] as const) {
    test(`of ${amount} ${currency} are ${cents}`, () => assert.equal(toCents(amount, currency), cents));
  }

  test('are whole numbers for every currency and amount', () => {
    const shipped = createCurrencies();
    for (const currency of Object.keys(SHIPPED_RATES.rates))
      for (const amount of [1, 99, 12_345, 987_654_321])
        assert.ok(Number.isSafeInteger(shipped.toCents(amount, currency)), `${amount} ${currency}`);
  });

  test('of a currency without a rate are refused by the name of the field', () => {
    for (const currency of ['xxx', 'constructor', '__proto__'])
      assert.throws(() => toCents(1, currency), /custom: currency: .* 2027-01-01/);
  });

  test('that are too many to count are refused', () => {
    assert.throws(() => toCents(MAX_AMOUNT, 'eur'), /custom: amount: /);
  });
});

test('The shipped rates have every currency in common use, and a day', () => {
  assert.match(SHIPPED_RATES.date, /^\d{4}-\d\d-\d\d$/);
  const common = Intl.supportedValuesOf('currency').map((code) => code.toLowerCase());
  const used =
    'aed ars aud brl cad chf clp cny cop czk dkk eur gbp hkd huf idr ils inr jpy krw mxn myr ngn nok nzd php pln ron sar sek sgd thb try twd uah vnd zar';
  for (const code of used.split(' ')) assert.ok(code in SHIPPED_RATES.rates, code);
  const odd = Object.keys(SHIPPED_RATES.rates).filter(
    (code) => !common.includes(code) && !['xcg', 'zwg'].includes(code),
  );
  assert.deepEqual(odd, [], 'codes that no standard knows');
});

describe('A file of rates', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'linktrail-rates-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function read(content: string) {
    const path = join(folder, 'rates.json');
    await writeFile(path, content);
    return readRates(path);
  }

  test('replaces all of ours; codes may be in capitals', async () => {
    const rates = await read('{"date":"2027-02-01","base":"usd","rates":{"EUR":0.9}}');
    assert.deepEqual(rates, { date: '2027-02-01', rates: { eur: 0.9 } });
    const { toCents: own } = createCurrencies(rates);
    assert.equal(own(900, 'eur'), 1_000);
    assert.throws(() => own(1, 'gbp'), /currency/);
  });

  for (const [what, content, text] of [
    ['that is no JSON', '{', /cannot be read as JSON/],
    ['without a day', '{"rates":{"eur":1}}', /^Error: date: /],
    ['with a wrong day', '{"date":"yesterday","rates":{"eur":1}}', /^Error: date: /],
    [
      'with another base',
      '{"date":"2027-02-01","base":"eur","rates":{"usd":1}}',
      /^Error: base: must be usd/,
    ],
    ['with no rate', '{"date":"2027-02-01","rates":{}}', /^Error: rates: must not be empty/],
    ['with a rate of zero', '{"date":"2027-02-01","rates":{"eur":0}}', /^Error: rates\.eur: /],
    ['with a rate as text', '{"date":"2027-02-01","rates":{"eur":"1"}}', /^Error: rates\.eur: /],
    ['with a code that is none', '{"date":"2027-02-01","rates":{"euro":1}}', /^Error: rates\.euro: /],
  ] as const) {
    test(`${what} is refused`, () => assert.rejects(read(content), (error) => text.test(String(error))));
  }

  test('that is not there is refused', () => assert.rejects(readRates(join(folder, 'none.json')), /ENOENT/));
});
