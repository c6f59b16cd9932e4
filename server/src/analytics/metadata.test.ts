import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesMetadata, metadataKey, metadataTexts, readDecimal } from './metadata.ts';
import type { MetadataComparison } from './query.ts';

test('texts, numbers and booleans have a text under their path; lists, objects and null have none', () => {
  const metadata = JSON.stringify({
    plan: 'pro',
    seats: 5,
    trial: false,
    gone: null,
    items: ['a', { b: 1 }],
    'a/b': { '~c': '' },
    '': { '': 1.5 },
  });
  assert.deepEqual(
    [...metadataTexts(metadata)],
    [
      ['/plan', 'pro'],
      ['/seats', '5'],
      ['/trial', 'false'],
      ['/a~1b/~0c', ''],
      ['//', '1.5'],
    ],
  );
  for (const none of ['', '{', '[]', 'null', '"text"', '{}']) assert.equal(metadataTexts(none).size, 0, none);
});

test('no two paths have the same key', () => {
  const paths = [['a', 'b'], ['a/b'], ['a~1b'], ['a~', '1b'], ['', 'a', 'b'], ['a~0', 'b']];
  assert.equal(new Set(paths.map(metadataKey)).size, paths.length);
});

test('only decimal numbers are numbers', () => {
  for (const text of ['0', '-12', '1.50', '1e3', '-2.5E-3']) assert.equal(readDecimal(text), Number(text));
  for (const text of ['', ' 1', '1 ', '.5', '1.', '0x10', '+1', 'NaN', 'Infinity', '1,5', '1e'])
    assert.equal(readDecimal(text), undefined, text);
});

test('comparisons hold as they are described', () => {
  const texts = metadataTexts('{"plan":"pro","seats":5,"size":"12","empty":""}');
  const holds = (path: string, operator: MetadataComparison['operator'], value: string) =>
    matchesMetadata({ path: [path], operator, value }, texts);
  const cases = [
    ['plan', '=', 'pro', true],
    ['plan', '=', 'Pro', false],
    ['plan', '!=', 'free', true],
    ['none', '!=', 'pro', true],
    ['none', '=', '', false],
    ['empty', '=', '', true],
    ['seats', '=', '5', true],
    ['seats', '=', '5.0', false],
    ['seats', '>=', '5.0', true],
    ['size', '>', '5', true],
    ['size', '<', '5', false],
    ['plan', '<', '5', false],
    ['seats', '<', 'many', false],
    ['none', '<', '5', false],
  ] as const;
  for (const [path, operator, value, expected] of cases)
    assert.equal(holds(path, operator, value), expected, `${path} ${operator} ${value}`);
});
