import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readListFilter } from '../kernel/list-filter.ts';
import { readNameFilter } from './advanced-filter.ts';

test('a filter is a list of values, wanted or excluded as a whole', () => {
  for (const [text, expected] of [
    ['US', { not: false, values: ['US'] }],
    ['US,BR', { not: false, values: ['US', 'BR'] }],
    ['-US,BR', { not: true, values: ['US', 'BR'] }],
    ['US,-BR', { not: false, values: ['US', '-BR'] }],
    ['--US', { not: true, values: ['-US'] }],
    ['US,,BR,US,', { not: false, values: ['US', 'BR'] }],
    [' US , BR', { not: false, values: [' US ', ' BR'] }],
    ['', undefined],
    ['-', undefined],
    [',,,', undefined],
    ['-,,', undefined],
    [undefined, undefined],
  ] as const) {
    assert.deepEqual(readListFilter(text), expected, `${text}`);
  }
});

test('names are found as they were written and with capitals', () => {
  for (const [text, values] of [
    ['mobile', ['mobile', 'Mobile']],
    ['Mobile', ['Mobile']],
    ['mac OS', ['mac OS', 'Mac OS']],
    ['iOS', ['iOS']],
    ['ios', ['ios', 'iOS']],
    ['chrome,mobile safari', ['chrome', 'Chrome', 'mobile safari', 'Mobile Safari']],
  ] as const) {
    assert.deepEqual(readNameFilter(text), { not: false, values });
  }
  assert.equal(readNameFilter('-'), undefined);
});
