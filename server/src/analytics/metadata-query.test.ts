import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import { parseMetadataQuery } from './metadata-query.ts';

const is = (key: string, value: string, operator = '=') => ({ path: [key], operator, value });

test('a query is read as it is meant', () => {
  for (const [text, expected] of [
    ["metadata['plan']:'pro'", is('plan', 'pro')],
    ['metadata["plan"] = pro', is('plan', 'pro')],
    ['metadata[`plan`]==`pro`', is('plan', 'pro')],
    ["metadata['plan'] != 'pro'", is('plan', 'pro', '!=')],
    ["metadata['n']>5", is('n', '5', '>')],
    ["metadata['n'] < -5.5 ", is('n', '-5.5', '<')],
    ["metadata['n']>=5", is('n', '5', '>=')],
    ["metadata['n']<=5", is('n', '5', '<=')],
    ["metadata['a']['b c'] : 1", { path: ['a', 'b c'], operator: '=', value: '1' }],
    ["metadata['a']: two words ", is('a', 'two words')],
    ["metadata['a']:'x and y OR (z); -- \\ /*'", is('a', 'x and y OR (z); -- \\ /*')],
    ["metadata['a']:'it''s'", is('a', "it's")],
    ["metadata['a']:''", is('a', '')],
    ["metadata['it''s']:\"it's\"", is("it's", "it's")],
    ["metadata['a']:android", is('a', 'android')],
    ["  \n metadata ['a'] : b", is('a', 'b')],
  ] as const) {
    assert.deepEqual(parseMetadataQuery(text), expected, text);
  }
  assert.equal(parseMetadataQuery(' '), undefined);
});

test('AND binds tighter than OR, and parentheses tighter than both', () => {
  const [a, b, c] = [is('a', '1'), is('b', '2'), is('c', '3')];
  const [textA, textB, textC] = ["metadata['a']:1", "metadata['b']:'2'", "metadata['c']:3"];
  for (const [text, expected] of [
    [`${textA} AND ${textB}`, { op: 'and', parts: [a, b] }],
    [`${textA} or ${textB}`, { op: 'or', parts: [a, b] }],
    [`${textA} OR ${textB} and ${textC}`, { op: 'or', parts: [a, { op: 'and', parts: [b, c] }] }],
    [`${textA} AND ${textB} OR ${textC}`, { op: 'or', parts: [{ op: 'and', parts: [a, b] }, c] }],
    [`(${textA} OR ${textB})AND ${textC}`, { op: 'and', parts: [{ op: 'or', parts: [a, b] }, c] }],
    [`${textC} AND(${textA} OR ( ${textB} ))`, { op: 'and', parts: [c, { op: 'or', parts: [a, b] }] }],
    [`${textA} AND ${textB} AND ${textC}`, { op: 'and', parts: [a, b, c] }],
  ] as const) {
    assert.deepEqual(parseMetadataQuery(text), expected, text);
  }
});

test('what cannot be read is refused with its place', () => {
  for (const [text, problem, at] of [
    ['plan:pro', "metadata['key'] was expected", 1],
    ['metadata:pro', "a key such as ['plan'] was expected", 9],
    ['metadata[plan]:pro', 'a key in quotes was expected', 10],
    ["metadata['plan:pro", "the closing ' is missing", 10],
    ["metadata['plan' :pro", '] was expected', 17],
    ["metadata['plan'] pro", 'one of : = != > < >= <= was expected', 18],
    ["metadata['plan'] => pro", 'one of : = != > < >= <= was expected', 18],
    ["metadata['plan']:", 'a value was expected', 18],
    ["metadata['plan']: AND metadata['x']:1", 'a value was expected', 19],
    ["metadata['plan']:'pro", "the closing ' is missing", 18],
    ["metadata['plan']:'pro' metadata['x']:1", 'AND, OR or the end was expected', 24],
    ["metadata['plan']:'pro' AND ", "metadata['key'] was expected", 28],
    ["(metadata['plan']:'pro'", 'AND, OR or ) was expected', 24],
    ["metadata['plan']:'pro')", 'AND, OR or the end was expected', 23],
    ['()', "metadata['key'] was expected", 2],
  ] as const) {
    assert.throws(
      () => parseMetadataQuery(text),
      (error) =>
        error instanceof AppError &&
        error.status === 422 &&
        error.message.startsWith(`custom: query: ${problem} at character ${at}, `) &&
        error.message.includes('^'),
      text,
    );
  }
});

test('ten thousand brackets and a long text are refused without harm', () => {
  assert.throws(() => parseMetadataQuery('('.repeat(10_000)), /parentheses may be in each other/);
  assert.throws(() => parseMetadataQuery('q'.repeat(10_000)), /metadata\['key'\] was expected/);
  assert.throws(() => parseMetadataQuery(`metadata['a']:${' '.repeat(9_900)}`), /a value was expected/);
  const many = Array.from({ length: 600 }, () => "metadata['a']:1").join(' OR ');
  const parsed = parseMetadataQuery(many);
  assert.equal(parsed && 'parts' in parsed && parsed.parts.length, 600);
});
