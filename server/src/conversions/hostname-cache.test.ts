import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHostnameCache } from './hostname-cache.ts';

const db = { inTransaction: false };

/** A store whose answers the test can hold back. */
function slowStore(rows: Record<string, readonly string[]>) {
  const asked: string[][] = [];
  let gate: Promise<void> = Promise.resolve();
  return {
    asked,
    holdBack(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    async load(ids: readonly string[]) {
      asked.push([...ids]);
      const found = new Map(ids.flatMap((id) => (rows[id] ? [[id, rows[id]] as const] : [])));
      await gate;
      return found;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a workspace is read once, and together with others of the same turn', async () => {
  const store = slowStore({ ws_1: ['a.example'], ws_2: [] });
  const cache = createHostnameCache({ db, ...store });
  const found = await Promise.all(['ws_1', 'ws_2', 'ws_1', 'ws_0'].map(cache.find));
  assert.deepEqual(found, [['a.example'], [], ['a.example'], undefined]);
  assert.deepEqual(await cache.find('ws_1'), ['a.example']);
  assert.deepEqual(await cache.find('ws_2'), []);
  assert.deepEqual(store.asked, [['ws_1', 'ws_2', 'ws_0']]);
});

test('a change of a workspace, or of anything when news were missed, is read anew', async () => {
  const rows = { ws_1: ['a.example'] };
  const cache = createHostnameCache({ db, ...slowStore(rows) });
  await cache.find('ws_1');
  rows.ws_1 = ['b.example'];
  assert.deepEqual(await cache.find('ws_1'), ['a.example']);
  cache.follower.receive(['ws_1']);
  assert.deepEqual(await cache.find('ws_1'), ['b.example']);
  rows.ws_1 = ['c.example'];
  cache.follower.lost();
  assert.deepEqual(await cache.find('ws_1'), ['c.example']);
});

test('what was read before a change is not kept after it', async () => {
  const rows = { ws_1: ['before.example'] };
  const store = slowStore(rows);
  const cache = createHostnameCache({ db, ...store });
  const release = store.holdBack();
  const early = cache.find('ws_1');
  await turn();
  assert.equal(store.asked.length, 1, 'the store was read');
  rows.ws_1 = ['after.example'];
  cache.follower.receive(['ws_1']);
  const late = cache.find('ws_1');
  release();
  assert.deepEqual(await early, ['before.example']);
  assert.deepEqual(await late, ['after.example']);
  assert.deepEqual(await cache.find('ws_1'), ['after.example']);
});

test('a read that fails is tried again', async () => {
  let fails = true;
  const cache = createHostnameCache({
    db,
    load: async (ids) => {
      if (fails) throw new Error('down');
      return new Map(ids.map((id) => [id, []]));
    },
  });
  await assert.rejects(cache.find('ws_1'), /down/);
  fails = false;
  assert.deepEqual(await cache.find('ws_1'), []);
});

test('only events of workspaces are news', () => {
  const { follower } = createHostnameCache({ db, ...slowStore({}) });
  const digest = (type: string) => follower.digest({ workspaceId: 'ws_1', type, payload: {} });
  assert.deepEqual(['workspace.updated', 'workspace.imported', 'link.updated'].map(digest), [
    'ws_1',
    'ws_1',
    undefined,
  ]);
});
