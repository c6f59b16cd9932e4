import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantile, reportSizes } from './size-report.ts';
import { parseSource } from './source-model.ts';

test('a quantile is a value of the list: the smallest that enough others do not exceed', () => {
  const list = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.deepEqual(
    [quantile(list, 0.5), quantile(list, 0.95), quantile(list, 1), quantile([], 0.5)],
    [50, 95, 100, 0],
  );
});

test('long functions, long files and long parameter lists are named with their place', () => {
  const body = '  x();\n'.repeat(60);
  const long = `\nexport function long(a, b, c, d, e, f) {\n${body}}\n`;
  const text = reportSizes([parseSource({ path: 'a.ts', text: `${long}${'//\n'.repeat(400)}` })]);
  assert.match(text, /^ {2}a\.ts:2 long \(62\)$/m);
  assert.match(text, /^ {2}a\.ts:2 long \(6\)$/m);
  assert.match(text, /^ {2}a\.ts \(463\)$/m);
});

test('short code is listed nowhere', () => {
  const text = reportSizes([parseSource({ path: 'a.ts', text: 'export const f = (a) => a;\n' })]);
  assert.match(
    text,
    /functions over 60 lines: 0\nfunctions with more than 5 parameters: 0\nfiles over 400 lines: 0$/,
  );
});
