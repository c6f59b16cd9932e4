import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCountries } from './geo.ts';

test('a public address has a country, a private or senseless one has none', async () => {
  const errors: unknown[] = [];
  const countries = createCountries({ onError: (error) => errors.push(error) });
  assert.equal(countries.find('8.8.8.8'), undefined, 'not before the file is loaded');
  await countries.ready();
  assert.equal(countries.ready(), undefined);
  assert.equal(countries.find('8.8.8.8'), 'US');
  assert.equal(countries.find('2001:4860:4860::8888'), 'US');
  for (const ip of ['127.0.0.1', '::1', '10.0.0.1', '192.168.1.1', 'fd00::1', '', 'nonsense']) {
    assert.equal(countries.find(ip), undefined, ip);
  }
  assert.deepEqual(errors, []);
});

test('without its file no country is known, and that is said once', async () => {
  const errors: unknown[] = [];
  const countries = createCountries({
    path: '/nowhere/countries.mmdb',
    onError: (error) => errors.push(error),
  });
  await Promise.all([countries.ready(), countries.ready()]);
  assert.equal(countries.ready(), undefined);
  assert.equal(countries.find('8.8.8.8'), undefined);
  assert.equal(errors.length, 1);
});
