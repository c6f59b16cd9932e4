import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createClickIds } from '../events/click-id.ts';
import { manualClock } from '../kernel/clock.ts';
import { clickRecord, linkRow } from '../testing/click-records.ts';
import { onClickhouse } from '../testing/clickhouse.ts';
import { type ClickhouseStore, openClickhouse } from './clickhouse.ts';
import { openEngine } from './clickhouse-engine.ts';
import { formatCursor } from './event-follower.ts';
import { queryContract } from './query.contract.ts';
import { eventStoreContract } from './store.contract.ts';

const root = await mkdtemp(join(tmpdir(), 'linktrail-clickhouse-'));
after(() => rm(root, { recursive: true, force: true }));
const newFolder = () => mkdtemp(join(root, 'c'));
const at = (offset: number) => ({ segment: 1, offset });
/** The engine may run in an emulator, where a query takes tens of milliseconds. */
const QUERIES = { clicks: 1_500, leads: 500, sales: 500, queries: 240 };

const openAt = (url: string, folder: string, journal = 'node_1'): Promise<ClickhouseStore> =>
  openClickhouse({ url, journal, batchPath: join(folder, 'batch') });

onClickhouse('the event store', ({ place }) => {
  eventStoreContract(async () => {
    const [url, folder] = [place(), await newFolder()];
    return { open: () => openAt(url, folder) };
  });
});

onClickhouse('queries', ({ place }) => {
  queryContract(async () => openAt(place(), await newFolder()), QUERIES);
});

onClickhouse('a batch', ({ place, run }) => {
  /** A store that has taken in clicks of a batch when it failed, before it could say so. */
  async function failedStore(): Promise<{ url: string; folder: string; batch: Batch }> {
    const [url, folder] = [place(), await newFolder()];
    const store = await openAt(url, folder);
    await store.append({ clicks: [clickRecord(1)], links: [] }, at(100));
    await run(url, 'rename table event_position to away');
    const batch = { clicks: [clickRecord(2), clickRecord(3)], links: [linkRow('link_1')] };
    await assert.rejects(store.append(batch, at(200)), /event_position/);
    await run(url, 'rename table away to event_position');
    await store.close();
    return { url, folder, batch };
  }
  type Batch = { clicks: ReturnType<typeof clickRecord>[]; links: ReturnType<typeof linkRow>[] };

  async function sendAgain({ url, folder, batch }: Awaited<ReturnType<typeof failedStore>>): Promise<void> {
    const store = await openAt(url, folder);
    assert.deepEqual([await store.committed(), await store.begun?.()], [at(100), at(200)]);
    await store.append(batch, at(200));
    const { clicks, distinctClicks, links } = await store.count();
    assert.deepEqual([clicks, distinctClicks, links], [3, 3, 1]);
    assert.deepEqual([await store.committed(), await store.begun?.()], [at(200), undefined]);
    await store.close();
  }

  test('whose fate is unknown is asked for again with the same end, and is stored once', async () => {
    await sendAgain(await failedStore());
  });

  test('is stored once even when the server has forgotten its name', async () => {
    const failed = await failedStore();
    await run(failed.url, 'alter table click modify setting non_replicated_deduplication_window = 0');
    await sendAgain(failed);
  });

  test('that arrives late, after it was sent again, is not stored by the server', async () => {
    const url = place();
    await (await openAt(url, await newFolder())).close();
    const engine = await openEngine({ url, cluster: undefined, requestMs: 30_000, maxConnections: 1 });
    const link = (id: string) => ({ table: 'link', columns: ['id', 'workspace_id'], lines: `${id}\tws_1` });
    await engine.insert(link('a'), 'batch 1');
    await engine.insert(link('a'), 'batch 1');
    await engine.insert(link('b'), 'batch 2');
    assert.deepEqual(await engine.rows('select id from link order by id'), [{ id: 'a' }, { id: 'b' }]);
    await engine.close();
  });
});

onClickhouse('the tables', ({ place, run }) => {
  test('hold the events of several nodes, each with its own place in its own journal', async () => {
    const url = place();
    const [one, two] = [
      await openAt(url, await newFolder(), 'node_1'),
      await openAt(url, await newFolder(), 'node_2'),
    ];
    await one.append({ clicks: [clickRecord(1)], links: [] }, at(100));
    await two.append({ clicks: [clickRecord(2)], links: [] }, at(100));
    assert.equal((await one.count()).clicks, 2);
    await two.append({ clicks: [], links: [] }, at(300));
    assert.deepEqual([await one.committed(), await two.committed()], [at(100), at(300)]);
    await Promise.all([one.close(), two.close()]);
  });

  test('of an earlier release get the columns that it did not have', async () => {
    const [url, folder] = [place(), await newFolder()];
    await (await openAt(url, folder)).close();
    await run(url, 'alter table click drop column referer_url');
    const store = await openAt(url, folder);
    await store.append({ clicks: [clickRecord(1)], links: [] }, at(100));
    assert.deepEqual(await store.findClick(clickRecord(1).id), clickRecord(1));
    await store.close();
  });

  test('find a click by its id without reading those of other ids', async () => {
    const url = place();
    const store = await openAt(url, await newFolder());
    const clock = manualClock(Date.UTC(2027, 0, 15));
    const id = createClickIds(clock)();
    await store.append({ clicks: [clickRecord(1, { id, timeMs: clock.now() })], links: [] }, at(100));
    const found = await run(
      url,
      `select time_ms from click where id = '${id}' settings force_optimize_projection = 1`,
    );
    assert.equal(Number(found), clock.now());
    await store.close();
  });

  test('are followed from where they ended, and written to a file', async () => {
    const [store, folder] = [await openAt(place(), await newFolder()), await newFolder()];
    const all = {
      workspaceId: 'ws_1',
      fromMs: 0,
      toMs: Date.UTC(2030, 0),
      kind: 'clicks',
      limit: 10,
    } as const;
    await store.append({ clicks: [clickRecord(1)], links: [] }, at(100));
    const found: string[] = [];
    let cursor = formatCursor({ store: 'clickhouse', batch: 0, id: '', timeMs: 0 });
    const follow = async () => {
      const followed = await store.follow({ ...all, after: cursor, upTo: await store.findEnd() });
      found.push(...followed.events.map(({ record }) => record.id));
      cursor = followed.cursor;
    };
    while (found.length < 1) await follow();
    await store.append({ clicks: [clickRecord(2)], links: [] }, at(200));
    while (found.length < 2) await follow();
    assert.deepEqual(found, [clickRecord(1).id, clickRecord(2).id]);
    const path = join(folder, 'clicks.parquet');
    await store.writeParquet({ ...all, order: 'asc', offset: 0 }, path);
    const file = await readFile(path);
    assert.deepEqual([file.subarray(0, 4).toString(), file.subarray(-4).toString()], ['PAR1', 'PAR1']);
    assert.ok(file.includes(clickRecord(2).id));
    await store.close();
  });

  test('get what SQL has at a rebuild: links that are gone there are gone here', async () => {
    const store = await openAt(place(), await newFolder());
    const clicks = ['gone', 'kept'].map((linkId, n) => clickRecord(n, { linkId }));
    await store.append({ clicks, links: [linkRow('gone'), linkRow('kept')] }, at(100));
    await store.beginRebuild();
    await store.put({ links: [linkRow('kept')] });
    await store.forgetUnknownLinks();
    assert.equal((await store.count()).links, 1);
    const window = { workspaceId: 'ws_1', fromMs: 0, toMs: Date.UTC(2030, 0), kind: 'clicks' } as const;
    const listed = await store.list({ ...window, order: 'asc', limit: 10, offset: 0 });
    assert.deepEqual(
      listed.map(({ linkId }) => linkId),
      ['kept'],
    );
    await store.close();
  });
});
