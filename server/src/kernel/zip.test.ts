import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';
import { zipFiles } from './zip.ts';

test('what was packed can be unpacked, piece by piece', async () => {
  async function* entries() {
    yield { name: 'a.txt', text: ['one ', 'two ', 'žlutý'] };
    yield { name: 'empty.txt', text: [] };
    yield { name: 'long.txt', text: Array.from({ length: 1_000 }, (_, i) => `line ${i}\n`) };
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of zipFiles(entries())) pieces.push(piece);
  const files = unzipSync(Buffer.concat(pieces));
  assert.deepEqual(Object.keys(files), ['a.txt', 'empty.txt', 'long.txt']);
  assert.equal(strFromU8(files['a.txt'] as Uint8Array), 'one two žlutý');
  assert.equal(files['empty.txt']?.length, 0);
  assert.ok(strFromU8(files['long.txt'] as Uint8Array).endsWith('line 999\n'));
  assert.ok(pieces.length > 3);
});
