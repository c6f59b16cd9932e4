// The demo on real stores: what it says of its links is what analytics counts, and it is there once however often
// it was begun.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { App } from '../app.ts';
import { eachDatabase } from '../testing/databases.ts';
import { exportText, importText, parseDump, toDump } from '../testing/dumps.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { createDemo, type DemoRequest } from './demo.ts';

const forever = new AbortController().signal;
const WORKSPACE = { id: 'ws_demo', slug: 'demo' };
const CLICKS = 2_500;

function makeDemo({ demo }: App, request: Partial<DemoRequest> = {}) {
  const progress = async () => {};
  return demo({
    workspace: WORKSPACE,
    clicks: CLICKS,
    seed: undefined,
    signal: forever,
    progress,
    ...request,
  });
}

eachDatabase('a demo', (databases) => {
  const opened: TestApp[] = [];
  after(async () => {
    for (const t of opened) await t.close();
  });

  async function open(): Promise<TestApp> {
    const t = await openTestApp({ databaseUrl: await databases.place(), events: true });
    opened.push(t);
    await importText(t.app, toDump([{ type: 'workspace', ...WORKSPACE, name: 'Demo' }]));
    return t;
  }

  /** All that it made, without the line that names the dump. */
  async function linesOf(t: TestApp) {
    await t.app.events.settle();
    return parseDump(await exportText(t.app, WORKSPACE.id)).slice(1);
  }

  test('has the counters of its links, customers and events agree, and can be asked about at once', async () => {
    const t = await open();
    const own = await t.workspace();
    const report = await makeDemo(t.app, { workspace: own, clicks: 2_000, seed: 3 });
    assert.deepEqual([report.clicks, report.wasThere, report.resumed], [2_000, false, false]);
    const get = async (path: string) => {
      const reply = await t.request('GET', path, { key: own.key });
      assert.equal(reply.status, 200, reply.text);
      return reply.json;
    };
    const counted = await get('/analytics?event=composite&groupBy=count&interval=all');
    assert.deepEqual([counted.clicks, counted.leads, counted.sales], [2_000, report.leads, report.sales]);
    const links: Record<string, number>[] = await get(
      `/links?domain=${report.domain}&pageSize=100&showArchived=true`,
    );
    assert.equal(links.length, report.links);
    const unsorted = await get('/links');
    assert.ok(unsorted.length > 0 && unsorted.length < links.length);
    const byLink = await get('/analytics?event=composite&groupBy=top_links&interval=all');
    const sumsOf = (rows: Record<string, number>[], id: string) =>
      rows
        .filter(({ clicks }) => (clicks as number) > 0)
        .map((row) => [row[id], row.clicks, row.leads, row.sales, row.saleAmount].join(' '))
        .sort();
    assert.deepEqual(sumsOf(byLink, 'id'), sumsOf(links, 'id'));
    const customers: Record<string, number>[] = await get('/customers?pageSize=100');
    const sold = customers.reduce((sum, { saleAmount }) => sum + (saleAmount as number), 0);
    assert.deepEqual([customers.length, sold], [report.leads, counted.saleAmount]);
    const sales = await get('/events?event=sales&interval=all&limit=5');
    assert.ok(sales.every(({ customer, metadata }: Record<string, unknown>) => customer && metadata));
  });

  test('is there once: a second run says so and changes nothing', async () => {
    const t = await open();
    const first = await makeDemo(t.app);
    const lines = await linesOf(t);
    t.clock.advance(3 * 86_400_000);
    const { wasThere, ...second } = await makeDemo(t.app, { clicks: undefined });
    assert.ok(wasThere);
    assert.deepEqual({ ...second, wasThere: false }, first);
    assert.deepEqual(await linesOf(t), lines);
    await assert.rejects(
      makeDemo(t.app, { clicks: 3_000 }),
      /has a demo of 2,500 clicks with the seed 1 already/,
    );
    await assert.rejects(makeDemo(t.app, { seed: 2 }), { code: 'conflict' });
  });

  test('that was interrupted goes on, even days later, and is the same in the end', async () => {
    const [whole, broken] = [await open(), await open()];
    const expected = await makeDemo(whole.app);
    const stops = [0, 1_000, 2_000];
    for (const stop of stops) {
      const stopping = new AbortController();
      const progress: DemoRequest['progress'] = async ({ done, note }) => {
        if (done >= stop && note === undefined) stopping.abort(new Error(`stopped at ${stop}`));
      };
      await assert.rejects(makeDemo(broken.app, { signal: stopping.signal, progress }), /stopped at/);
      broken.clock.advance(86_400_000);
    }
    await assert.rejects(
      makeDemo(broken.app, { clicks: 3_000 }),
      /was interrupted\. Leave --events and --seed out/,
    );
    assert.deepEqual(await makeDemo(broken.app, { clicks: undefined }), { ...expected, resumed: true });
    broken.clock.set(whole.clock.now());
    assert.deepEqual(await linesOf(broken), await linesOf(whole));
  });

  test('can be in several workspaces of an instance', async () => {
    const t = await open();
    const others = [await t.workspace(), await t.workspace()];
    for (const workspace of others) await makeDemo(t.app, { workspace, clicks: 300 });
    for (const { key } of others) {
      const reply = await t.request('GET', '/analytics?event=clicks&groupBy=count&interval=all', { key });
      assert.equal(reply.json.clicks, 300);
    }
  });

  test('leaves a workspace alone that has a name of its own in the way', async () => {
    const t = await open();
    const own = await t.workspace();
    await t.request('POST', '/tags', { key: own.key, body: { name: 'Newsletter' } });
    const expected =
      /cannot take the demo: \(tag\) field name: .* has this name already\. Use a workspace of its own/;
    await assert.rejects(makeDemo(t.app, { workspace: own }), expected);
    await assert.rejects(makeDemo(t.app, { workspace: own, clicks: 300 }), expected);
    const links = await t.request('GET', '/links', { key: own.key });
    assert.deepEqual(links.json, []);
  });
});

test('more than the disk has room for is not begun', async () => {
  const marks = new Map<string, object>();
  const demo = createDemo({
    importLines: () => Promise.reject(new Error('begun')),
    marks: {
      find: async (name) => marks.get(name),
      save: async (name, state) => void marks.set(name, state),
      delete: async (name) => void marks.delete(name),
    },
    settle: async () => {},
    freeBytes: async () => 1024 ** 3,
    clock: { now: () => Date.UTC(2027, 0, 15) },
  });
  const request = { workspace: WORKSPACE, seed: undefined, signal: forever, progress: async () => {} };
  await assert.rejects(
    demo({ ...request, clicks: 10_000_000 }),
    /^AppError: 10,000,000 clicks need about \d+\.\d GiB of disk space, and 1\.0 GiB are free\./,
  );
  assert.equal(marks.size, 0);
  await assert.rejects(demo({ ...request, clicks: 1_000 }), /begun/);
});
