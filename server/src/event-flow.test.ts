// From the journal to every store and back from the archive, in a composed app.
import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ClickRecord } from './analytics/click-record.ts';
import type { EventCounts } from './analytics/store.ts';
import type { App } from './app.ts';
import { createClickIds } from './events/click-id.ts';
import { createEventEncoder } from './events/event.ts';
import { rawClick } from './testing/click-records.ts';
import { eachDatabase } from './testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from './testing/test-app.ts';

const encoder = createEventEncoder();
const opened: TestApp[] = [];
after(async () => {
  for (const app of opened) await app.close();
});

let made = 0;

async function click(app: App, link: { id: string; workspaceId: string }, count: number): Promise<void> {
  const written = Array.from({ length: count }, () => {
    made += 1;
    const fields = { linkId: link.id, workspaceId: link.workspaceId, timeMs: app.clock.now() };
    return app.visits.journal.append(encoder.click(rawClick(made, fields)));
  });
  assert.ok((await Promise.all(written)).every(Boolean));
}

async function counts({ events }: App): Promise<EventCounts> {
  await events.settle();
  return JSON.parse(await events.pipeline.query('counts')) as EventCounts;
}

async function openWith(databaseUrl: string): Promise<{ test: TestApp; workspace: TestWorkspace }> {
  const test = await openTestApp({ databaseUrl });
  opened.push(test);
  return { test, workspace: await test.workspace() };
}

async function makeLink({ request }: TestApp, { key }: TestWorkspace) {
  const { status, json, text } = await request('POST', '/links', {
    key,
    body: { url: 'https://example.com/' },
  });
  assert.equal(status, 200, text);
  return { id: json.id as string, workspaceId: json.workspaceId as string };
}

const noProgress = { signal: new AbortController().signal, progress: async () => {} };

eachDatabase('events', ({ place }) => {
  test('a click shows in the counters of its link and its workspace, and a link in analytics', async () => {
    const { test: testApp, workspace } = await openWith(await place());
    const { app, request } = testApp;
    const link = await makeLink(testApp, workspace);
    await click(app, link, 3);
    app.events.start();
    assert.deepEqual(await counts(app), { clicks: 3, distinctClicks: 3, links: 1, leads: 0, sales: 0 });
    await click(app, link, 2);
    assert.equal((await counts(app)).clicks, 5);
    const { json } = await request('GET', `/links/${link.id}`, { key: workspace.key });
    assert.deepEqual([json.clicks, json.lastClicked], [5, new Date(app.clock.now()).toISOString()]);
    const found = await app.services.workspaces.get(workspace.id);
    assert.deepEqual([found.totalClicks, found.usage.events], [5, 5]);
    assert.deepEqual(await app.db.query.selectFrom('outbox').selectAll().execute(), []);
    await request('DELETE', `/links/${link.id}`, { key: workspace.key });
    assert.deepEqual(await counts(app), { clicks: 5, distinctClicks: 5, links: 0, leads: 0, sales: 0 });
  });
});

test('a click is found from the moment it is recorded', async () => {
  const { test: testApp } = await openWith('');
  const { app } = testApp;
  app.events.start();
  const id = createClickIds(app.clock)();
  const written = app.visits.journal.append(encoder.click(rawClick(1, { id, timeMs: app.clock.now() })));
  assert.equal(((await app.events.findClick(id)) as ClickRecord | undefined)?.id, id);
  assert.ok(await written);
  await app.events.settle();
  assert.equal(((await app.events.findClick(id)) as ClickRecord | undefined)?.id, id);
  assert.equal(await app.events.findClick(createClickIds(app.clock)()), undefined);
});

test('an event store that is damaged is told of, and made anew from the archive and the links', async () => {
  const { test: testApp, workspace } = await openWith('');
  const { app } = testApp;
  const { dataDir } = app.config;
  const link = await makeLink(testApp, workspace);
  app.events.start();
  await click(app, link, 20);
  assert.equal((await counts(app)).clicks, 20);
  await app.events.pipeline.stop();
  // The archive has the first clicks; these are only in the journal and in the store.
  await click(app, link, 5);
  await rm(join(dataDir, 'events.duckdb.wal'), { force: true });
  await writeFile(join(dataDir, 'events.duckdb'), 'this is no database '.repeat(1_000));
  app.events.start();
  await assert.rejects(app.events.pipeline.query('counts'), /not a valid DuckDB database file/);
  const result = await app.events.rebuild(noProgress);
  assert.deepEqual([result.finished, result.clicks > 0, result.links], [true, true, 1]);
  assert.deepEqual(await counts(app), { clicks: 25, distinctClicks: 25, links: 1, leads: 0, sales: 0 });
  const { json } = await testApp.request('GET', `/links/${link.id}`, { key: workspace.key });
  assert.equal(json.clicks, 25);
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.includes('rebuild')),
    [],
  );
});

test('a rebuild that is interrupted changes nothing, and the next one goes on', async () => {
  const { test: testApp, workspace } = await openWith('');
  const { app } = testApp;
  const link = await makeLink(testApp, workspace);
  app.events.start();
  await click(app, link, 7);
  await counts(app);
  const stop = new AbortController();
  stop.abort();
  const interrupted = await app.events.rebuild({ progress: async () => {}, signal: stop.signal });
  assert.equal(interrupted.finished, false);
  assert.equal((await counts(app)).clicks, 7);
  const steps: { done: number; unit: string }[] = [];
  const finished = await app.events.rebuild({
    signal: new AbortController().signal,
    progress: async (step) => void steps.push(step),
  });
  assert.equal(finished.finished, true);
  assert.ok(steps.some(({ unit }) => unit === 'archive files'));
  assert.deepEqual(await counts(app), { clicks: 7, distinctClicks: 7, links: 1, leads: 0, sales: 0 });
});

test('two rebuilds at once are refused', async () => {
  const { test: testApp } = await openWith('');
  const first = testApp.app.events.rebuild(noProgress);
  assert.throws(() => testApp.app.events.rebuild(noProgress), /being rebuilt already/);
  assert.equal((await first).finished, true);
});
