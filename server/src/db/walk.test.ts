import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { createWalk } from './walk.ts';

const forever = new AbortController().signal;

eachDatabase('a walk', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  /** Over the letters of the target, two at a time. */
  async function walkOver(failAt = '') {
    const { db } = t.app;
    const { id: workspaceId } = await t.workspace();
    const seen: string[] = [];
    const broken = { at: failAt };
    const walk = createWalk({
      db,
      kind: 'default-link',
      membersPerStep: 2,
      async step(_workspaceId, target, after, limit) {
        const rest = [...target].filter((letter) => letter > after).slice(0, limit);
        if (rest.includes(broken.at)) throw new Error('The step failed.');
        seen.push(rest.join(''));
        return rest.length < limit ? undefined : rest.at(-1);
      },
    });
    const begin = (target: string) => db.write(() => walk.begin(workspaceId, target, 1));
    const left = async () => (await db.query.selectFrom('cleanup').selectAll().execute()).length;
    return { walk, begin, seen, left, broken };
  }

  test('does its first step at once and the others when it is run', async () => {
    const { walk, begin, seen, left } = await walkOver();
    await begin('abcdef');
    assert.deepEqual(seen, ['ab']);
    await walk.run(forever);
    assert.deepEqual(seen, ['ab', 'cd', 'ef', '']);
    assert.equal(await left(), 0);
    await walk.run(forever);
    assert.equal(seen.length, 4);
  });

  test('leaves nothing behind when one step was enough', async () => {
    const { begin, left } = await walkOver();
    await begin('a');
    assert.equal(await left(), 0);
  });

  test('goes on where it was after a step that failed, and after it was told to stop', async () => {
    const { walk, begin, seen, broken } = await walkOver('f');
    await begin('abcdefg');
    await assert.rejects(walk.run(forever), /The step failed/);
    assert.deepEqual(seen, ['ab', 'cd']);
    broken.at = '';
    await walk.run(AbortSignal.abort());
    assert.deepEqual(seen, ['ab', 'cd']);
    await walk.run(forever);
    assert.deepEqual(seen, ['ab', 'cd', 'ef', 'g']);
  });

  test('that is asked for again while it is under way begins again', async () => {
    const { walk, begin, seen, left } = await walkOver();
    await begin('abcd');
    await begin('abcd');
    await walk.run(forever);
    assert.deepEqual([...new Set(seen)].sort(), ['', 'ab', 'cd']);
    assert.equal(await left(), 0);
  });
});
