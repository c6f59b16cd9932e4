// When a key made on the command line stops working.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiryMs } from './key-commands.ts';

const NOW = Date.UTC(2026, 5, 1, 12);

test('an expiry is a time from now, a moment, or the first moment of a day in UTC', () => {
  const table: readonly [string, string][] = [
    ['12h', '2026-06-02T00:00:00.000Z'],
    ['30d', '2026-07-01T12:00:00.000Z'],
    ['2w', '2026-06-15T12:00:00.000Z'],
    ['2026-12-31', '2026-12-31T00:00:00.000Z'],
    ['2026-12-31T10:00:00+02:00', '2026-12-31T08:00:00.000Z'],
  ];
  for (const [text, expected] of table)
    assert.equal(new Date(expiryMs(text, NOW)).toISOString(), expected, text);
});

test('an expiry that is over is refused', () => {
  for (const text of ['2026-06-01', '2026-06-01T12:00:00Z', '2001-01-01']) {
    assert.throws(() => expiryMs(text, NOW), /must be in the future/, text);
  }
});
