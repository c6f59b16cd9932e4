import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { clickRecord } from '../testing/click-records.ts';
import { extendArchive, listArchive } from './archive.ts';
import { type DuckdbStore, openDuckdb } from './duckdb.ts';
import { queryContract } from './query.contract.ts';
import { eventStoreContract } from './store.contract.ts';

const root = await mkdtemp(join(tmpdir(), 'linktrail-duckdb-'));
after(() => rm(root, { recursive: true, force: true }));

const openAt = (folder: string): Promise<DuckdbStore> =>
  openDuckdb({ path: join(folder, 'events.duckdb'), threads: 1, memoryMb: 256 });
const newFolder = () => mkdtemp(join(root, 'd'));
const at = (segment: number, offset = 100) => ({ segment, offset });

describe('the event store on DuckDB', () => {
  eventStoreContract(async () => {
    const folder = await newFolder();
    return { open: () => openAt(folder) };
  });
});

describe('queries on DuckDB', () => {
  queryContract(async () => openAt(await newFolder()));
});

describe('the archive', () => {
  test('holds every click once and in one small file, however often it is extended', async () => {
    const folder = await newFolder();
    const archive = join(folder, 'archive');
    const store = await openAt(folder);
    assert.equal(await extendArchive(store, archive), undefined);
    for (let n = 1; n <= 4; n++) {
      await store.append({ clicks: [clickRecord(2 * n), clickRecord(2 * n + 1)], links: [] }, at(n));
      assert.deepEqual(await extendArchive(store, archive), at(n));
      assert.deepEqual(await extendArchive(store, archive), at(n));
    }
    const files = await listArchive(archive);
    assert.deepEqual(
      files.map(({ from, upTo }) => ({ from, upTo })),
      [{ from: undefined, upTo: at(4) }],
    );
    assert.equal((await readdir(archive)).length, 1);
    await store.close();
    const { clicks, distinctClicks } = await countArchived(archive);
    assert.deepEqual([clicks, distinctClicks], [8, 8]);
  });

  test('begins a new file when the last one is large enough', async () => {
    const folder = await newFolder();
    const archive = join(folder, 'archive');
    const store = await openAt(folder);
    for (let n = 1; n <= 3; n++) {
      await store.append({ clicks: [clickRecord(n)], links: [] }, at(n));
      await extendArchive(store, archive, 1);
    }
    await store.close();
    const files = await listArchive(archive);
    assert.deepEqual(
      files.map(({ from, upTo }) => [from?.segment, upTo.segment]),
      [
        [undefined, 1],
        [1, 2],
        [2, 3],
      ],
    );
    assert.equal((await countArchived(archive)).distinctClicks, 3);
  });

  test('loses the addresses of erased clicks from every file that has them, and keeps all else', async () => {
    const folder = await newFolder();
    const archive = join(folder, 'archive');
    const store = await openAt(folder);
    for (let n = 1; n <= 3; n++) {
      await store.append({ clicks: [clickRecord(2 * n), clickRecord(2 * n + 1)], links: [] }, at(n));
      await extendArchive(store, archive, 1);
    }
    const clickIds = [clickRecord(2).id, clickRecord(5).id];
    const erasures = [{ workspaceId: 'ws_1', customerId: 'cus_1', clickIds }];
    await store.append({ clicks: [clickRecord(8)], links: [], erasures }, at(4));
    await extendArchive(store, archive, 1);
    assert.equal(await store.findErased(), undefined);
    await store.close();
    const copy = await openFrom(archive);
    for (const n of [2, 3, 4, 5, 6, 7, 8]) {
      const click = clickRecord(n);
      const ip = clickIds.includes(click.id) ? '' : click.ip;
      assert.deepEqual(await copy.findClick(click.id), { ...click, ip });
    }
    assert.equal((await copy.count()).clicks, 7);
    await copy.close();
  });

  test('is not extended past an erasure that could not be carried out, and does it the next time', async () => {
    const folder = await newFolder();
    const archive = join(folder, 'archive');
    const store = await openAt(folder);
    await store.append({ clicks: [clickRecord(1)], links: [] }, at(1));
    await extendArchive(store, archive, 1);
    const erasures = [{ workspaceId: 'ws_1', customerId: 'cus_1', clickIds: [clickRecord(1).id] }];
    await store.append({ clicks: [], links: [], erasures }, at(2));
    const failing = { ...store, writeBlanked: () => Promise.reject(new Error('disk full')) };
    await assert.rejects(extendArchive(failing, archive, 1), /disk full/);
    assert.deepEqual(store.unarchived().from, at(1));
    await extendArchive(store, archive, 1);
    assert.deepEqual(store.unarchived().from, at(2));
    await store.close();
    const copy = await openFrom(archive);
    assert.equal((await copy.findClick(clickRecord(1).id))?.ip, '');
    await copy.close();
  });

  test('a click comes back from it as it was', async () => {
    const folder = await newFolder();
    const archive = join(folder, 'archive');
    const store = await openAt(folder);
    await store.append({ clicks: [clickRecord(7)], links: [] }, at(1));
    await extendArchive(store, archive);
    await store.close();
    const copy = await openFrom(archive);
    assert.deepEqual(await copy.findClick(clickRecord(7).id), clickRecord(7));
    await copy.close();
  });
});

async function openFrom(archive: string): Promise<DuckdbStore> {
  const copy = await openAt(await newFolder());
  for (const { path, upTo } of await listArchive(archive)) await copy.readArchive(path, upTo);
  return copy;
}

async function countArchived(archive: string) {
  const copy = await openFrom(archive);
  const counts = await copy.count();
  await copy.close();
  return counts;
}

test('a store of a release that had fewer columns is brought up to date', async () => {
  const folder = await newFolder();
  const instance = await DuckDBInstance.create(join(folder, 'events.duckdb'));
  const connection = await instance.connect();
  await connection.run('create table click (batch BIGINT not null, time_ms BIGINT, id VARCHAR)');
  await connection.run("insert into click values (1, 5, 'old')");
  connection.closeSync();
  instance.closeSync();
  const store = await openAt(folder);
  await store.append({ clicks: [clickRecord(1)], links: [] }, at(1));
  assert.deepEqual([(await store.findClick('old'))?.city, (await store.findClick('old'))?.timeMs], ['', 5]);
  assert.deepEqual(await store.findClick(clickRecord(1).id), clickRecord(1));
  await store.close();
});

const ROUNDS = 4;
const BATCH = 50;

test('a process killed while it stores leaves whole batches and the position that belongs to them', async () => {
  const folder = await newFolder();
  for (let round = 0; round < ROUNDS; round++) {
    const writer = fork(join(import.meta.dirname, '..', 'testing', 'event-writer.ts'), [
      folder,
      String(BATCH),
    ]);
    let told = 0;
    // Killed at another moment of its work every time: when it has told of so many batches.
    const enough = new Promise<void>((resolve) => {
      writer.on('message', (n: number) => {
        told = n;
        if (n % (5 + 3 * round) === 0) resolve();
      });
    });
    await enough;
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    const store = await openAt(folder);
    const stored = (await store.committed())?.offset ?? 0;
    assert.ok(stored >= told, `told of ${told}, has ${stored}`);
    const { clicks, distinctClicks } = await store.count();
    assert.deepEqual([clicks, distinctClicks], [stored * BATCH, stored * BATCH]);
    await store.close();
  }
});
