// Events of a composed app in ClickHouse: from a visit to the answer, also through an outage.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, test } from 'node:test';
import type { EventCounts } from './analytics/store.ts';
import { createEventEncoder } from './events/event.ts';
import { rawClick } from './testing/click-records.ts';
import { onClickhouse } from './testing/clickhouse.ts';
import { openTestApp, type TestApp } from './testing/test-app.ts';

const encoder = createEventEncoder();
const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

/** A way to the server that can be cut. */
async function openCable(target: URL) {
  const sockets = new Set<Socket>();
  let server: Server;
  const open = async (port: number): Promise<number> => {
    server = createServer((near) => {
      const far = connect(Number(target.port), target.hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on('error', () => to.destroy()).on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as { port: number }).port;
  };
  const cut = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server.close();
    await once(server, 'close');
  };
  const port = await open(0);
  closing.push(() => cut().catch(() => {}));
  return { url: `http://127.0.0.1:${port}${target.pathname}`, cut, mend: () => open(port) };
}

async function openWith(clickhouseUrl: string): Promise<TestApp> {
  const app = await openTestApp({ env: { CLICKHOUSE_URL: clickhouseUrl }, events: true });
  closing.push(() => app.close());
  return app;
}

async function counts({ app }: TestApp): Promise<EventCounts> {
  await app.events.settle();
  return JSON.parse(await app.events.pipeline.query('counts')) as EventCounts;
}

async function makeLink({ request }: TestApp, key: string) {
  const { json, text } = await request('POST', '/links', { key, body: { url: 'https://example.com/' } });
  assert.ok(json.id, text);
  return { linkId: json.id as string, workspaceId: json.workspaceId as string };
}

let made = 0;

function click({ app }: TestApp, link: { linkId: string; workspaceId: string }): Promise<boolean> {
  made += 1;
  return app.visits.journal.append(encoder.click(rawClick(made, { ...link, timeMs: app.clock.now() })));
}

onClickhouse('events of an app', ({ place }) => {
  test('are answered, counted and survive an outage of ClickHouse, and no local store is made', async () => {
    const cable = await openCable(new URL(place()));
    const testApp = await openWith(cable.url);
    const { app, request } = testApp;
    const { key } = await testApp.workspace();
    const link = await makeLink(testApp, key);
    assert.ok(await click(testApp, link));
    const { clicks, links } = await counts(testApp);
    assert.deepEqual([clicks, links], [1, 1]);
    const events = await request('GET', '/events?interval=24h', { key });
    assert.equal(events.status, 200, events.text);
    assert.deepEqual(
      events.json.map((event: { link: { id: string } }) => event.link.id),
      [link.linkId],
    );

    await cable.cut();
    assert.ok(await click(testApp, link));
    assert.ok(await click(testApp, link));
    await failing(testApp);
    await assert.rejects(async () => app.events.health.check(), /cannot be stored: ClickHouse: /);

    await cable.mend();
    const after = await counts(testApp);
    assert.deepEqual([after.clicks, after.distinctClicks], [3, 3]);
    const { json } = await request('GET', `/links/${link.linkId}`, { key });
    assert.equal(json.clicks, 3);
    const files = await readdir(app.config.dataDir);
    assert.deepEqual(
      files.filter((name) => name.startsWith('events.duckdb') || name === 'archive'),
      [],
    );
  });

  test('are taken from SQL at a rebuild, except clicks, which stay', async () => {
    const testApp = await openWith(place());
    const { app } = testApp;
    const { key } = await testApp.workspace();
    const link = await makeLink(testApp, key);
    await click(testApp, link);
    await counts(testApp);
    const noProgress = { signal: new AbortController().signal, progress: async () => {} };
    const { finished, files, clicks, links } = await app.events.rebuild(noProgress);
    assert.deepEqual([finished, files, clicks, links], [true, 0, 1, 1]);
  });
});

/** Waits until the store has failed often enough to be told of. */
async function failing({ app }: TestApp): Promise<void> {
  for (;;) {
    const { sinks } = await app.events.pipeline.readState();
    if (sinks.some(({ failures }) => failures >= 3)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
