import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from './csv.ts';

test('cells are quoted where they must be, and nothing is run as a formula', () => {
  for (const [value, cell] of [
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@x', "'@x"],
    ['\tx', "'\tx"],
    ['\rx', '"\'\rx"'],
    ['\nx', '"\'\nx"'],
    ['=a,"b"', '"\'=a,""b"""'],
    [-5, '-5'],
    [0, '0'],
    [true, 'true'],
    [null, ''],
    [undefined, ''],
  ] as const) {
    assert.equal(csvLine([value, 'end']), `${cell},end\r\n`);
  }
});
