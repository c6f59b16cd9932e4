import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allowsFraming } from './iframeable.ts';

const place = { page: new URL('https://page.example/a'), frame: new URL('https://go.example') };
const here = { page: new URL('https://go.example/a'), frame: new URL('https://go.example') };
const ported = { page: new URL('https://page.example/a'), frame: new URL('https://localhost:3000') };

describe('a page may be framed', () => {
  for (const [options, policy, expected, where = place] of [
    [undefined, undefined, true],
    ['DENY', undefined, false],
    ['deny', undefined, false],
    ['SAMEORIGIN', undefined, false],
    ['SAMEORIGIN', undefined, true, here],
    ['ALLOW-FROM https://go.example', undefined, true],
    ['ALLOWALL', undefined, true],
    ['SAMEORIGIN, DENY', undefined, false],
    ['SAMEORIGIN, SAMEORIGIN', undefined, true, here],
    [undefined, "default-src 'none'", true],
    [undefined, "frame-ancestors 'none'", false],
    [undefined, 'frame-ancestors', false],
    [undefined, "frame-ancestors 'self'", false],
    [undefined, "frame-ancestors 'self'", true, here],
    [undefined, 'frame-ancestors *', true],
    [undefined, 'frame-ancestors https:', true],
    [undefined, 'frame-ancestors http:', true],
    [undefined, 'frame-ancestors data:', false],
    [undefined, 'frame-ancestors go.example', true],
    [undefined, 'frame-ancestors GO.EXAMPLE', true],
    [undefined, 'frame-ancestors https://go.example', true],
    [undefined, 'frame-ancestors http://go.example', true],
    [undefined, 'frame-ancestors https://go.example/path', true],
    [undefined, 'frame-ancestors *.example', true],
    [undefined, 'frame-ancestors *.go.example', false],
    [undefined, 'frame-ancestors xgo.example', false],
    [undefined, 'frame-ancestors go.example.org', false],
    [undefined, 'frame-ancestors go.example:443', true],
    [undefined, 'frame-ancestors go.example:8443', false],
    [undefined, 'frame-ancestors go.example:*', true],
    [undefined, 'frame-ancestors localhost', false, ported],
    [undefined, 'frame-ancestors localhost:3000', true, ported],
    [undefined, "script-src 'self'; Frame-Ancestors 'self' other.example go.example; img-src *", true],
    [undefined, "frame-ancestors 'none'; frame-ancestors *", false],
    [undefined, 'frame-ancestors *, frame-ancestors other.example', false],
    [undefined, 'frame-ancestors *, frame-ancestors go.example', true],
    ['DENY', 'frame-ancestors go.example', true],
    ['ALLOWALL', "frame-ancestors 'none'", false],
  ] as const) {
    test(`${expected}: X-Frame-Options ${options}, policy ${policy}, on ${where.frame.host}`, () => {
      const headers = {
        ...(options && { 'x-frame-options': options }),
        ...(policy && { 'content-security-policy': policy }),
      };
      assert.equal(allowsFraming(headers, where), expected);
    });
  }
});
