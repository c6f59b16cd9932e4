// The pipeline thread on a real journal, DuckDB and a sink in memory on the main side.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { listArchive } from '../analytics/archive.ts';
import type { ClickCounts } from '../analytics/click-counts.ts';
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EventCounts } from '../analytics/store.ts';
import { createEventEncoder } from '../events/event.ts';
import { type FileJournal, openFileJournal } from '../events/file-journal.ts';
import { formatPosition, type Position } from '../events/journal.ts';
import { openJournalDirectory } from '../events/journal-files.ts';
import { createJournalMarks } from '../events/journal-marks.ts';
import { createWake } from '../events/wake.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { leadRecord, rawClick, saleRecord } from '../testing/click-records.ts';
import { createPipeline, type Pipeline } from './pipeline.ts';
import type { SqlSink, SqlStep } from './sql-sink.ts';
import { createRemoteStore } from './store-questions.ts';

const root = await mkdtemp(join(tmpdir(), 'linktrail-pipeline-'));
const opened: Pipeline[] = [];
after(async () => {
  for (const pipeline of opened) await pipeline.stop();
  await rm(root, { recursive: true, force: true });
});

const encoder = createEventEncoder();

/** Keeps what a SQL sink would, with the same rule for where a step begins. */
function memorySink() {
  const kept = { clicks: 0, position: undefined as Position | undefined, steps: 0 };
  const text = (position: Position | undefined) => position && formatPosition(position);
  const sink: SqlSink = {
    name: 'counters',
    committed: async () => kept.position,
    async append({ from, upTo, batch }: SqlStep) {
      if (text(from) !== text(kept.position)) throw new Error('The sink is elsewhere');
      kept.clicks += (batch as ClickCounts).links.reduce((sum, { clicks }) => sum + clicks, 0);
      kept.position = upTo;
      kept.steps += 1;
    },
  };
  return { sink, kept };
}

async function openPlace(options: { segmentBytes?: number; archiveAgeMs?: number } = {}) {
  const folder = await mkdtemp(join(root, 'p'));
  const journalPath = join(folder, 'journal');
  const archivePath = join(folder, 'archive');
  const wake = createWake();
  const directory = await openJournalDirectory(journalPath);
  const { segmentBytes = 1_000_000, archiveAgeMs = 600_000 } = options;
  const journal = await openFileJournal({
    directory,
    clock: systemClock,
    log: silentLog,
    segmentBytes,
    onWrite: wake.notify,
  });
  const { sink, kept } = memorySink();
  const newPipeline = () => {
    const pipeline = createPipeline({
      thread: {
        journalPath,
        archivePath,
        wake: wake.shared,
        mainLoad: new SharedArrayBuffer(4),
        marks: createJournalMarks().shared,
        duckdb: { path: join(folder, 'events.duckdb'), threads: 1, memoryMb: 256 },
        clickhouse: undefined,
        geoFiles: [],
        countSinks: ['counters'],
        maxBatch: 100,
        maxDelayMs: 0,
        archiveAgeMs,
        keepMs: 0,
      },
      sqlSinks: [sink],
      release: (upTo) => journal.release(upTo),
      log: silentLog,
      restartMs: 10,
    });
    opened.push(pipeline);
    return pipeline;
  };
  return { journal, journalPath, archivePath, kept, newPipeline };
}

async function append(journal: FileJournal, from: number, count: number): Promise<void> {
  const written = Array.from({ length: count }, (_, n) => journal.append(encoder.click(rawClick(from + n))));
  assert.ok((await Promise.all(written)).every(Boolean));
}

const counts = async (pipeline: Pipeline) => JSON.parse(await pipeline.query('counts')) as EventCounts;
const findClick = async (pipeline: Pipeline, id: string) =>
  JSON.parse(await pipeline.query('click', { id })) as ClickRecord | null;

test('every click reaches the event store and the counters once, also over a restart', async () => {
  const { journal, kept, newPipeline } = await openPlace();
  await append(journal, 0, 250);
  const first = newPipeline();
  first.start();
  await append(journal, 250, 250);
  await first.idle();
  assert.deepEqual(
    [kept.clicks, await counts(first)],
    [500, { clicks: 500, distinctClicks: 500, links: 0, leads: 0, sales: 0 }],
  );
  await first.stop();
  await append(journal, 500, 10);
  const second = newPipeline();
  second.start();
  await second.idle();
  assert.deepEqual([kept.clicks, (await counts(second)).distinctClicks], [510, 510]);
  const { sinks, running, restarts, lagBytes, lagSeconds } = await second.readState();
  assert.deepEqual([running, restarts, lagBytes, lagSeconds], [true, 0, 0, 0]);
  assert.deepEqual(
    sinks.map(({ name, failures }) => [name, failures]),
    [
      ['events', 0],
      ['counters', 0],
    ],
  );
  await second.stop();
  await journal.close();
});

test('waiting for what is there ends although more comes all the time', async () => {
  const { journal, kept, newPipeline } = await openPlace();
  const pipeline = newPipeline();
  pipeline.start();
  const stop = new AbortController();
  const flood = async () => {
    for (let n = 0; !stop.signal.aborted; n++) {
      await append(journal, 100 + n, 1);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await append(journal, 0, 100);
  const flooding = flood();
  await pipeline.idle();
  assert.ok(kept.clicks >= 100);
  stop.abort();
  await flooding;
  await pipeline.stop();
  await journal.close();
});

test('a thread that dies is started again and goes on where it was', async () => {
  const { journal, kept, newPipeline } = await openPlace();
  const pipeline = newPipeline();
  pipeline.start();
  for (let round = 1; round <= 3; round++) {
    await append(journal, round * 1_000, 300);
    await pipeline.failThread();
    await pipeline.idle();
    assert.equal(pipeline.state().restarts, round);
  }
  assert.deepEqual(
    [kept.clicks, await counts(pipeline)],
    [900, { clicks: 900, distinctClicks: 900, links: 0, leads: 0, sales: 0 }],
  );
  await pipeline.stop();
  await journal.close();
});

test('a click that is only in the journal yet is found', async () => {
  const { journal, newPipeline } = await openPlace();
  const pipeline = newPipeline();
  pipeline.start();
  await append(journal, 0, 3);
  assert.equal((await findClick(pipeline, rawClick(2).id))?.linkId, rawClick(2).linkId);
  await pipeline.idle();
  assert.equal((await findClick(pipeline, rawClick(1).id))?.country, 'US');
  assert.equal(await findClick(pipeline, 'unknown'), null);
  await pipeline.stop();
  await journal.close();
});

test('journal files go once the archive has what was in them', async () => {
  const { journal, journalPath, archivePath, newPipeline } = await openPlace({ segmentBytes: 20_000 });
  for (let n = 0; n < 10; n++) await append(journal, n * 100, 100);
  assert.ok((await readdir(journalPath)).length > 3);
  const pipeline = newPipeline();
  pipeline.start();
  await pipeline.idle();
  await pipeline.stop();
  assert.equal((await readdir(journalPath)).length, 1);
  assert.equal((await listArchive(archivePath)).length, 1);
  await journal.close();
});

test('links follow their changes', async () => {
  const { journal, newPipeline } = await openPlace();
  const pipeline = newPipeline();
  const change = (outboxId: number, type: string, id: string) =>
    journal.append(
      encoder.change({
        outboxId,
        workspaceId: 'ws_1',
        type,
        payload: JSON.stringify({ id, domain: 'go.example.com', key: id, tags: [{ id: 'tag_1' }] }),
        createdAtMs: 1,
      }),
    );
  await change(1, 'link.created', 'a');
  await change(2, 'link.created', 'b');
  await change(3, 'link.updated', 'a');
  await change(4, 'link.deleted', 'b');
  await change(5, 'tag.created', 'c');
  pipeline.start();
  await pipeline.idle();
  assert.equal((await counts(pipeline)).links, 1);
  await change(2, 'link.created', 'b');
  await pipeline.idle();
  assert.equal((await counts(pipeline)).links, 1);
  await pipeline.stop();
  await journal.close();
});

test('leads and sales follow their changes once, and are blanked when their customer is erased', async () => {
  const { journal, newPipeline } = await openPlace();
  const pipeline = newPipeline();
  const source = createRemoteStore((name, params) => pipeline.query(name, params));
  const change = (outboxId: number, type: string, payload: object) =>
    journal.append(
      encoder.change({
        outboxId,
        workspaceId: 'ws_1',
        type,
        payload: JSON.stringify(payload),
        createdAtMs: 1,
      }),
    );
  const everything = { workspaceId: 'ws_1', fromMs: 0, toMs: Date.UTC(2100, 0) };
  const count = () => source.aggregate({ ...everything, event: 'composite', groupBy: 'count' });
  const clickId = rawClick(1).id;
  await append(journal, 1, 1);
  await change(1, 'lead.created', { leads: [leadRecord('l1'), leadRecord('l2')] });
  await change(2, 'sale.created', { sales: [saleRecord('s1')] });
  await change(1, 'lead.created', { leads: [leadRecord('l1'), leadRecord('l2')] });
  pipeline.start();
  await pipeline.idle();
  assert.deepEqual(await count(), [{ group: {}, clicks: 1, leads: 2, sales: 1, saleAmount: 4_900 }]);
  await change(3, 'customer.erased', { customerId: 'cus_1', clickIds: [clickId] });
  await change(2, 'sale.created', { sales: [saleRecord('s1')] });
  await pipeline.idle();
  const sales = await source.list({ ...everything, kind: 'sales', order: 'asc', limit: 10, offset: 0 });
  assert.deepEqual(
    sales.map(({ metadata, click }) => [metadata, click.ip]),
    [['', '']],
  );
  assert.equal((await findClick(pipeline, clickId))?.ip, '');
  await pipeline.stop();
  await journal.close();
});

test('a question without an answer and a stopped pipeline refuse', async () => {
  const { journal, newPipeline } = await openPlace();
  const pipeline = newPipeline();
  await assert.rejects(pipeline.query('counts'), /not running/);
  pipeline.start();
  await assert.rejects(pipeline.query('nonsense'), /There is no query nonsense/);
  await pipeline.stop();
  await assert.rejects(pipeline.query('counts'), /not running/);
  await pipeline.stop();
  await journal.close();
});

test('what is not archived after a while is archived although its journal file is not full', async () => {
  const { journal, archivePath, newPipeline } = await openPlace({ archiveAgeMs: 20 });
  const pipeline = newPipeline();
  pipeline.start();
  await append(journal, 0, 5);
  await pipeline.idle();
  await append(journal, 5, 5);
  await pipeline.idle();
  const end = pipelineEnd(journal);
  while ((await listArchive(archivePath)).at(-1)?.upTo.offset !== end)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await pipeline.stop();
  await journal.close();
});

/** The journal has one segment: its size is the last position. */
function pipelineEnd(journal: FileJournal): number {
  const { segments, bytes } = journal.state();
  assert.equal(segments, 1);
  return bytes;
}
