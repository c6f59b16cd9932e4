import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOfPath } from './tracked-link.ts';

for (const [path, key] of [
  ['/', '_root'],
  ['', '_root'],
  ['/spring', 'spring'],
  ['/a/b', 'a/b'],
  ['/Spring%20sale', 'Spring sale'],
  ['/caf%C3%A9', 'café'],
  ['/_root', undefined],
  ['/%', undefined],
  ['/%ff', undefined],
  ['/a%00b', undefined],
] as const) {
  test(`the path "${path}" is the key ${key}`, () => assert.equal(keyOfPath(path), key));
}
