import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { namesHost, readVisitHeaders } from './visit-headers.ts';

const CASES: Record<string, string[]> = {
  'what a browser sends': [
    ...[
      'Host',
      'go.example',
      'User-Agent',
      'Mozilla/5.0',
      'Accept',
      'text/html',
      'Referer',
      'https://a.example',
    ],
    ...['Cookie', 'a=1', 'Sec-Purpose', 'prefetch', 'Accept-Language', 'en', 'Connection', 'keep-alive'],
  ],
  'what a proxy adds': [
    ...[
      'host',
      'inner',
      'x-forwarded-for',
      '1.2.3.4',
      'X-Forwarded-Proto',
      'https',
      'X-FORWARDED-HOST',
      'go.example',
    ],
  ],
  'repeated headers': [
    ...['Host', 'a', 'Host', 'b', 'User-Agent', 'a', 'User-Agent', 'b', 'Referer', 'a', 'Referer', 'b'],
    ...['Cookie', 'a=1', 'Cookie', 'b=2', 'X-Forwarded-For', '1.1.1.1', 'X-Forwarded-For', '2.2.2.2'],
    ...['X-Forwarded-Proto', 'http', 'X-Forwarded-Proto', 'https', 'X-Moz', 'prefetch', 'X-Moz', 'other'],
    ...['dub-no-track', '1', 'Purpose', 'preview', 'x-purpose', 'preview'],
  ],
  'empty values and names of the same length': [
    ...['Host', '', 'Cookie', '', 'Origin', 'x', 'Expect', 'y', 'Referef', 'z', 'User-Agenx', 'w'],
  ],
  nothing: [],
};

describe('headers read from the wire are those that Node would give', () => {
  for (const [name, raw] of Object.entries(CASES)) {
    test(name, () => {
      const message = new IncomingMessage(new Socket());
      message.rawHeaders = raw;
      for (let i = 0; i < raw.length; i += 2)
        // What the parser calls for each header.
        (message as unknown as { _addHeaderLine(n: string, v: string, to: object): void })._addHeaderLine(
          raw[i] as string,
          raw[i + 1] as string,
          message.headers,
        );
      const read = readVisitHeaders(raw);
      for (const [field, value] of Object.entries(read)) assert.equal(value, message.headers[field], field);
      assert.equal(namesHost(raw), message.headers.host !== undefined);
    });
  }
});
