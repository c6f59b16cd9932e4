import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shortLink, stripExternalPrefix, truncate } from './link.ts';

describe('fields of a link', () => {
  test('the short link of a root has no slash', () => {
    assert.equal(shortLink('go.acme.example', '_root'), 'https://go.acme.example');
    assert.equal(shortLink('go.acme.example', 'a/b'), 'https://go.acme.example/a/b');
  });

  test('text is cut to its length, the last three characters then being dots', () => {
    assert.equal(truncate('a'.repeat(120), 120), 'a'.repeat(120));
    assert.equal(truncate('a'.repeat(121), 120), `${'a'.repeat(117)}...`);
  });

  test('a cut never leaves half a character', () => {
    const cut = truncate('😀'.repeat(100), 120);
    assert.ok(cut.isWellFormed());
    assert.equal(cut, `${'😀'.repeat(58)}...`);
  });

  test('one ext_ in front of the own id of a caller is taken away', () => {
    assert.equal(stripExternalPrefix('ext_42'), '42');
    assert.equal(stripExternalPrefix('ext_ext_42'), 'ext_42');
    assert.equal(stripExternalPrefix('42'), '42');
  });
});
