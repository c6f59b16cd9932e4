import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResponseParser } from './response-parser.ts';

const ANSWERS: [name: string, text: string, status: number][] = [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200],
  [
    'chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n',
    200,
  ],
  ['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n', 200],
  ['no body', 'HTTP/1.1 204 No Content\r\nX: y\r\n\r\n', 204],
  ['an empty body', 'HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n', 302],
  [
    'an informational answer first',
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
    404,
  ],
];

for (const [name, text, status] of ANSWERS) {
  test(`an answer with ${name} is complete with its last byte, however it is cut`, () => {
    const data = Buffer.from(text);
    for (let cut = 1; cut < data.length; cut++) {
      const parse = createResponseParser();
      assert.equal(parse(data.subarray(0, cut)), undefined, `cut at ${cut}`);
      assert.equal(parse(data.subarray(cut))?.status, status, `cut at ${cut}`);
    }
  });
}

test('one parser reads answer after answer', () => {
  const parse = createResponseParser();
  for (const [, text, status] of ANSWERS) assert.equal(parse(Buffer.from(text))?.status, status);
});

test('a closing server is noticed', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n';
  assert.equal(createResponseParser()(Buffer.from(`${head}Connection: close\r\n\r\n`))?.closes, true);
  assert.equal(createResponseParser()(Buffer.from(`${head}Connection: keep-alive\r\n\r\n`))?.closes, false);
});

test('what cannot be read is an error, not a count', () => {
  for (const text of [
    'SSH-2.0-x\r\n\r\n',
    'HTTP/1.1 200 OK\r\n\r\nendless',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ]) {
    assert.throws(() => createResponseParser()(Buffer.from(text)), Error, text);
  }
});
