import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listMissingEngines } from './engines.ts';
import { selectTests } from './test-arguments.ts';

const FILES = ['server/src/kernel/ids.test.ts', 'server/src/tags/tags.test.ts'];

test('without words every test file runs', () => {
  assert.deepEqual(selectTests([], FILES), { options: [], files: FILES, unmatched: [] });
});

test('a part of a path selects the files that contain it', () => {
  assert.deepEqual(selectTests(['tags'], FILES).files, ['server/src/tags/tags.test.ts']);
});

test('the value of a runner option is never taken for a file', () => {
  const selection = selectTests(['--test-name-pattern', 'tags', '--test-only'], FILES);
  assert.deepEqual(selection, {
    options: ['--test-name-pattern', 'tags', '--test-only'],
    files: FILES,
    unmatched: [],
  });
});

test('a word that selects nothing is reported instead of running everything', () => {
  assert.deepEqual(selectTests(['no-such-thing'], FILES), {
    options: [],
    files: [],
    unmatched: ['no-such-thing'],
  });
});

test('an engine counts as missing until its variable has a value', () => {
  assert.deepEqual(
    listMissingEngines({ LINKTRAIL_TEST_POSTGRES: '', LINKTRAIL_TEST_CLICKHOUSE: 'http://x' }).map(
      (engine) => engine.name,
    ),
    ['PostgreSQL'],
  );
  const all = { LINKTRAIL_TEST_POSTGRES: 'postgres://x', LINKTRAIL_TEST_CLICKHOUSE: 'http://x' };
  assert.deepEqual(listMissingEngines(all), []);
});
