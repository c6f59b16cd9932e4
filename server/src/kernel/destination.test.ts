import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { completeUrl, readDestination, refusedDestination } from './destination.ts';
import type { AppError } from './errors.ts';

const COMPLETED: [typed: string, kept: string | undefined][] = [
  // absolute: as typed
  ['https://example.com', 'https://example.com'],
  ['http://Example.com/A?b=C#d', 'http://Example.com/A?b=C#d'],
  ['https://bücher.example/ü', 'https://bücher.example/ü'],
  ['https://example.com/a b', 'https://example.com/a b'],
  ['https://user:secret@example.com/', 'https://user:secret@example.com/'],
  ['HTTPS://EXAMPLE.COM', 'HTTPS://EXAMPLE.COM'],
  // app schemes
  ['mailto:someone@example.com', 'mailto:someone@example.com'],
  ['tel:5551234', 'tel:5551234'],
  ['sms:+15551234', 'sms:+15551234'],
  ['myapp://open/42', 'myapp://open/42'],
  ['com.example.app://open', 'com.example.app://open'],
  // completed
  ['example.com', 'https://example.com/'],
  ['example.com/Path?q=1', 'https://example.com/Path?q=1'],
  ['bücher.example', 'https://xn--bcher-kva.example/'],
  ['//example.com/x', 'https://example.com/x'],
  ['192.168.0.1/x', 'https://192.168.0.1/x'],
  // a host with a port, not a scheme
  ['shop.example:8080/x', 'https://shop.example:8080/x'],
  ['shop.example:8080', 'https://shop.example:8080/'],
  ['shop.example:8080?q=1', 'https://shop.example:8080/?q=1'],
  ['shop.example:443/x', 'https://shop.example/x'],
  ['localhost:3000/x', 'https://localhost:3000/x'],
  ['shop.example:99999/x', undefined],
  // without slashes a browser would read these as relative
  ['https:example.com', 'https://example.com/'],
  ['http:/example.com/x', 'http://example.com/x'],
  ['https:\\\\example.com', 'https://example.com/'],
  // no address at all
  ['', undefined],
  ['nope', undefined],
  ['two words.example', undefined],
  ['https://', undefined],
  ['https://exa mple.com', undefined],
];

const REFUSED: [url: string, refused: boolean][] = [
  ['https://example.com', false],
  ['myapp://open', false],
  ['mailto:someone@example.com', false],
  ['intent://open#Intent;scheme=myapp;end', false],
  ['https://example.com/javascript:alert(1)', false],
  ['javascript:alert(1)', true],
  ['JavaScript:alert(1)', true],
  [' javascript:alert(1)', true],
  ['java\nscript:alert(1)', true],
  ['\u0001javascript:alert(1)', true],
  ['javascript://example.com/%0Aalert(1)', true],
  ['data:text/html,<script>alert(1)</script>', true],
  ['DATA:text/html;base64,PHA+', true],
  ['vbscript:msgbox(1)', true],
  ['file:///etc/passwd', true],
  ['blob:https://example.com/1', true],
  ['https://example.com/a\tb', true],
  ['https://example.com/a\r\nSet-Cookie: a=b', true],
  ['https://example.com/\u007f', true],
  ['https://example.com/\u0085', true],
  ['', true],
  ['nope', true],
];

describe('destinations', () => {
  test('absolute addresses stay as typed, others are completed, the rest is no address', () => {
    for (const [typed, kept] of COMPLETED) assert.equal(completeUrl(typed), kept, typed);
  });

  test('schemes that run code or read files, control characters and non-addresses are refused', () => {
    for (const [url, refused] of REFUSED) {
      assert.equal(refusedDestination(url) !== undefined, refused, JSON.stringify(url));
    }
  });

  test('reading completes, and a refusal is 422 and names the field', () => {
    assert.equal(readDestination('url', 'example.com'), 'https://example.com/');
    for (const typed of [
      'javascript:alert(1)',
      'exam\nple.com',
      'example.com/\u0007',
      'nope',
      '',
      'a.example:99999',
    ]) {
      assert.throws(
        () => readDestination('geo.DE', typed),
        (error: AppError) =>
          error.code === 'unprocessable_entity' && error.message.startsWith('custom: geo.DE: must '),
        JSON.stringify(typed),
      );
    }
  });
});
