// Files of events: all that match, however many pages they take, in every format.
import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createEventFeed, type EventFeed, type FedLink } from '../testing/event-feed.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { openEngine } from './duckdb-engine.ts';
import { createEventExports } from './event-export.ts';
import type { WireEvent } from './event-records.ts';
import type { ListQuery } from './query.ts';

const CLICKS = 2_300;

let t: TestApp;
let ws: TestWorkspace;
let feed: EventFeed;
let link: FedLink;

before(async () => {
  t = await openTestApp({ events: true });
  ws = await t.workspace();
  feed = createEventFeed(t, ws);
  link = await feed.link({ key: 'exported' });
  const start = t.clock.now() - CLICKS;
  // Some at the same moment, also where a page ends.
  for (let i = 0; i < CLICKS; i++) await feed.click(link, { timeMs: start + Math.floor(i / 3) });
  await feed.settle();
});
after(() => t.close());

async function get(query: string) {
  const reply = await t.request('GET', `/events/export?${query}`, { key: ws.key });
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

async function listAll(query: string): Promise<WireEvent[]> {
  const pages = [1, 2, 3].map((page) =>
    t.request('GET', `/events?limit=1000&page=${page}&${query}`, { key: ws.key }),
  );
  return (await Promise.all(pages)).flatMap(({ json }) => json);
}

test('lines of JSON are the events of the list, all of them and in its order', async () => {
  for (const order of ['asc', 'desc']) {
    const reply = await get(`format=ndjson&sortOrder=${order}`);
    assert.equal(reply.headers.get('content-type'), 'application/x-ndjson');
    assert.equal(reply.headers.get('content-disposition'), 'attachment; filename=clicks_export.ndjson');
    const lines = reply.text.trimEnd().split('\n');
    assert.equal(lines.length, CLICKS);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      await listAll(`sortOrder=${order}`),
    );
  }
});

test('CSV has the columns that were asked for, and nothing that a spreadsheet would run', async () => {
  const reply = await get('columns=clickId,url,trigger,timestamp,os&sortOrder=asc');
  assert.equal(reply.headers.get('content-type'), 'application/csv');
  assert.equal(reply.headers.get('content-disposition'), 'attachment; filename=clicks_export.csv');
  const lines = reply.text.split('\r\n');
  assert.equal(lines[0], 'Click ID,Destination URL,Event,Date,OS');
  assert.equal(lines.length, CLICKS + 2);
  const [first] = await listAll('sortOrder=asc');
  assert.ok(first);
  const { id, url, trigger, timestamp } = first.click;
  assert.equal(lines[1], `${id},${url},${trigger},${timestamp},Linux`);
  const [head] = (await get('event=sales')).text.split('\r\n');
  assert.match(head ?? '', /^Date,Event,Event Name,.*,Sale Amount,.*,Invoice ID,/);
  await feed.lead(link, { eventName: '=cmd()', metadata: '{"a":"b"}' });
  await feed.settle();
  const leads = (await get('event=leads&columns=eventName,metadata,saleAmount')).text;
  assert.equal(leads, 'Event Name,Metadata,Sale Amount\r\n\'=cmd(),"{""a"":""b""}",\r\n');
});

test('Parquet holds every event, and leaves no file behind', async () => {
  const reply = await get('format=parquet&sortOrder=asc');
  assert.equal(reply.headers.get('content-type'), 'application/vnd.apache.parquet');
  const file = join(tmpdir(), `${ws.id}.parquet`);
  const engine = await openEngine({ path: ':memory:', threads: 1, memoryMb: 256 });
  try {
    await writeFile(file, reply.bytes);
    const connection = await engine.connect();
    const rows = await connection.rows(`select id, time_ms from read_parquet('${file}')`);
    const listed = await listAll('sortOrder=asc');
    assert.deepEqual(
      rows.map(({ id }) => id),
      listed.map(({ click }) => click.id),
    );
  } finally {
    engine.close();
    await rm(file, { force: true });
  }
  assert.deepEqual(await readdir(join(t.app.config.dataDir, 'exports')), []);
});

test('filters count, and what is wrong is refused before the file begins', async () => {
  assert.equal((await get('country=DE&format=ndjson')).text, '');
  for (const [query, field] of [
    ['columns=id,colour', 'columns'],
    ['format=xls', 'format'],
    ['format=ndjson&columns=os', 'columns'],
    ['start=soon', 'start'],
    ['event=composite', 'event'],
  ]) {
    const reply = await t.request('GET', `/events/export?${query}`, { key: ws.key });
    assert.equal(reply.status, 422, reply.text);
    assert.equal(reply.json.error.message.split(': ')[1], field);
  }
});

test('a file is read no further than its client takes it, and not at all when nobody does', async () => {
  const [event] = await listAll('limit=1');
  let pages = 0;
  let ended = false;
  async function* endless() {
    try {
      for (;;) {
        pages += 1;
        yield [event as WireEvent];
      }
    } finally {
      ended = true;
    }
  }
  const exports = createEventExports({
    events: { open: async () => ({}) as ListQuery, pages: endless },
    writeParquet: async () => {},
    folder: tmpdir(),
    ids: () => 'unused',
  });
  const params = {
    event: 'clicks',
    order: 'asc',
    format: 'ndjson',
    interval: '24h',
    timezone: 'UTC',
  } as const;
  const reading = { origin: '', signal: new AbortController().signal };
  const { body } = await exports.export(ws.actor, params, reading);
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  for (let i = 0; i < 3; i++) assert.equal((await reader.read()).done, false);
  assert.ok(pages <= 5, `${pages} pages were read`);
  await reader.cancel();
  assert.equal(ended, true);
});
