// Text that is made piece by piece, as a stream of bytes: the next pieces are made when the reader wants them,
// and none any more once it has gone.

/** Small pieces go out together. */
const CHUNK_LENGTH = 16_384;

export function textStream(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunksOf(pieces));
}

async function* chunksOf(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let chunk = '';
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield encoder.encode(chunk);
    chunk = '';
  }
  if (chunk !== '') yield encoder.encode(chunk);
}
