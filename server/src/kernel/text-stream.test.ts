import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textStream } from './text-stream.ts';

async function* repeat(piece: string, times: number, made: { count: number; ended?: boolean }) {
  try {
    for (; made.count < times; made.count++) yield piece;
  } finally {
    made.ended = true;
  }
}

test('all pieces come, in their order, few reads for many of them', async () => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of textStream(repeat('é,', 20_000, { count: 0 }))) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), 'é,'.repeat(20_000));
  assert.ok(chunks.length < 10, `${chunks.length} chunks`);
});

test('nothing is made ahead of a slow reader, and nothing after it has gone', async () => {
  const made: { count: number; ended?: boolean } = { count: 0 };
  const reader = textStream(repeat('x'.repeat(20_000), 1_000, made)).getReader();
  await reader.read();
  assert.ok(made.count < 5, `${made.count} pieces`);
  await reader.cancel();
  assert.equal(made.ended, true);
});
