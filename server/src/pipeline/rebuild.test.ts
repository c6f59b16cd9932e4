import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { extendArchive } from '../analytics/archive.ts';
import { openDuckdb } from '../analytics/duckdb.ts';
import { clickRecord, leadRecord, linkRow, saleRecord } from '../testing/click-records.ts';
import { rebuildEvents } from './rebuild.ts';

const root = await mkdtemp(join(tmpdir(), 'linktrail-rebuild-'));
after(() => rm(root, { recursive: true, force: true }));

const everything = { workspaceId: 'ws_1', fromMs: 0, toMs: Date.UTC(2100, 0) };

/** One row a page. */
const pagesOf =
  <T>(rows: readonly T[]) =>
  async (after: number | undefined) => {
    const at = after ?? 0;
    return { rows: rows.slice(at, at + 1), next: at + 1 < rows.length ? at + 1 : undefined };
  };

test('a rebuilt store has the clicks of the archive and all else from SQL, and no events of links that are gone', async () => {
  const duckdb = { path: join(root, 'events.duckdb'), threads: 1, memoryMb: 256 };
  const archivePath = join(root, 'archive');
  const old = await openDuckdb(duckdb);
  const clicks = [clickRecord(1), clickRecord(2), clickRecord(3)];
  await old.append({ clicks, links: [] }, { segment: 1, offset: 1 });
  await extendArchive(old, archivePath);
  await old.close();
  const partner = {
    workspaceId: 'ws_1',
    partnerId: 'pn_1',
    programId: 'prog_1',
    groupId: 'grp_1',
    tagIds: [],
    deleted: false,
    changeId: 0,
  };
  const units = new Set<string>();
  const result = await rebuildEvents({
    thread: { archivePath, duckdb, clickhouse: undefined },
    listRows: {
      links: pagesOf([
        linkRow('link_1', { partnerId: 'pn_1', changeId: 0 }),
        linkRow('link_2', { changeId: 0 }),
      ]),
      partners: pagesOf([partner]),
      leads: pagesOf([leadRecord('l1'), leadRecord('l2'), leadRecord('l2')]),
      sales: pagesOf([saleRecord('s1')]),
    },
    progress: async ({ unit }) => void units.add(unit),
    signal: new AbortController().signal,
  });
  assert.deepEqual(result, { finished: true, files: 1, clicks: 3, links: 2, leads: 2, sales: 1 });
  assert.deepEqual([...units], ['archive files', 'links', 'partners', 'leads', 'sales']);
  const store = await openDuckdb(duckdb);
  const count = { ...everything, event: 'composite', groupBy: 'count' } as const;
  assert.deepEqual(await store.aggregate(count), [
    { group: {}, clicks: 2, leads: 2, sales: 1, saleAmount: 4_900 },
  ]);
  assert.deepEqual(await store.aggregate({ ...count, groupBy: 'top_groups' }), [
    { group: { groupId: 'grp_1' }, clicks: 1, leads: 2, sales: 1, saleAmount: 4_900 },
  ]);
  // It is told of again by the journal, and is there after all.
  await store.append({ clicks: [], links: [linkRow('link_3')] }, { segment: 2, offset: 1 });
  assert.equal((await store.aggregate(count))[0]?.clicks, 3);
  await store.close();
});
