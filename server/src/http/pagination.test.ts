import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { parseInput } from './input.ts';
import { checkCursor, cursorListQuery, listQuery } from './pagination.ts';

describe('the parameters of a list', () => {
  const list = z.object(listQuery({ sortBy: ['name', 'createdAt'] }));
  test('have defaults: first sort field, ascending, first page, 100 rows', () => {
    assert.deepEqual(list.parse({}), { sortBy: 'name', sortOrder: 'asc', page: 1, pageSize: 100 });
  });

  test('take other defaults', () => {
    const other = z.object(listQuery({ sortBy: ['createdAt'], defaultOrder: 'desc', defaultPageSize: 50 }));
    assert.deepEqual(other.parse({}), { sortBy: 'createdAt', sortOrder: 'desc', page: 1, pageSize: 50 });
  });

  for (const bad of [
    { page: 0 },
    { page: -1 },
    { page: 1.5 },
    { pageSize: 0 },
    { pageSize: 101 },
    { sortBy: 'id' },
    { sortOrder: 'up' },
  ]) {
    test(`refuse ${JSON.stringify(bad)}`, () => assert.ok(!list.safeParse(bad).success));
  }
  for (const good of [{ pageSize: 1 }, { pageSize: 100 }, { page: 1_000_000 }]) {
    test(`take ${JSON.stringify(good)}`, () => assert.ok(list.safeParse(good).success));
  }
});

describe('cursors', () => {
  const query = z.object(cursorListQuery({ sortBy: ['createdAt', 'clicks'] }));
  const check = (given: object) => checkCursor(query.parse(given));

  test('start at the first page without one', () => assert.equal(check({}).page, 1));
  test('go with createdAt alone', () => {
    assert.equal(check({ startingAfter: 'a' }).startingAfter, 'a');
    assert.equal(check({ endingBefore: 'a', sortOrder: 'desc' }).endingBefore, 'a');
  });

  for (const [given, start] of [
    [{ startingAfter: 'a', endingBefore: 'b' }, 'custom: endingBefore: '],
    [{ startingAfter: 'a', page: 1 }, 'custom: page: '],
    [{ endingBefore: 'a', page: 2 }, 'custom: page: '],
    [{ startingAfter: 'a', sortBy: 'clicks' }, 'custom: sortBy: '],
  ] as const) {
    test(`refuse ${JSON.stringify(given)} with 422`, () => {
      assert.throws(
        () => check(given),
        (error: Error & { status: number }) => {
          assert.equal(error.status, 422);
          assert.ok(error.message.startsWith(start), error.message);
          return true;
        },
      );
    });
  }

  test('the 1000th page can still be counted to, the next says how to go on', () => {
    assert.equal(check({ page: 1000 }).page, 1000);
    assert.throws(() => parseInput(query, { page: 1001 }), {
      code: 'unprocessable_entity',
      message: /^too_big: page: .*startingAfter/,
    });
  });
  test('an empty cursor is refused', () => assert.ok(!query.safeParse({ startingAfter: '' }).success));
});
