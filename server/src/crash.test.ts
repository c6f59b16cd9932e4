// The server killed again and again under load: what was answered is there, in every store, exactly once.
// LINKTRAIL_FAULT_KILLS sets how often; `npm run test:faults` kills it a hundred times.
import assert from 'node:assert/strict';
import { Agent, get, request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import type { EventStatus } from './cli/event-commands.ts';
import { makePlace, type RunningServer, runCli, startServer } from './testing/processes.ts';

const KILLS = Number(process.env.LINKTRAIL_FAULT_KILLS ?? 5);
const KEY = 'lt_crash_test_key_000000';
const VISITORS = 12;
const MAKERS = 4;
const MAX_CLICKS_BEFORE_KILL = 400;

interface Answered {
  readonly clicks: Set<string>;
  readonly links: Set<string>;
}

test(`${KILLS} kills under load lose no answered click and no answered link, and count none twice`, async (t) => {
  const place = await makePlace(t, { LINKTRAIL_API_KEY: KEY, LINKTRAIL_LOG_LEVEL: 'warn' });
  const answered: Answered = { clicks: new Set(), links: new Set() };
  let server = await startServer(t, place);
  await createLink(server.url, 'visited');
  const readyMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const enough = answered.clicks.size + Math.ceil(Math.random() * MAX_CLICKS_BEFORE_KILL);
    const load = startLoad(server, answered);
    await load.until(() => answered.clicks.size >= enough);
    server.kill('SIGKILL');
    await Promise.all([server.finished, load.ended]);
    const startMs = performance.now();
    server = await startServer(t, place);
    readyMs.push(performance.now() - startMs);
  }
  const settled = await runCli(place, ['events', '--settle', '--json']);
  assert.equal(settled.code, 0, settled.stderr);
  const status = JSON.parse(settled.stdout) as EventStatus;
  const counter = await readLink(server.url, 'visited');
  server.kill('SIGTERM');
  await server.finished;
  const stored = await readEvents(join(place.dataDir, 'events.duckdb'));
  t.diagnostic(
    `${answered.clicks.size} clicks and ${answered.links.size} links answered, ${stored.clicks.length} clicks stored; ready again after ${Math.round(Math.max(...readyMs))} ms at most`,
  );
  assert.deepEqual(missing(answered.clicks, stored.clicks), [], 'answered clicks that are not stored');
  assert.equal(new Set(stored.clicks).size, stored.clicks.length, 'no click is stored twice');
  assert.equal(counter.clicks, stored.clicks.length, 'the counter of the link agrees');
  assert.equal(status.clicks, stored.clicks.length);
  assert.equal(status.dropped, 0);
  assert.deepEqual(missing(answered.links, stored.links), [], 'answered links that analytics does not know');
  assert.equal(new Set(stored.links).size, stored.links.length, 'no link is there twice');
});

function missing(wanted: ReadonlySet<string>, found: readonly string[]): string[] {
  const there = new Set(found);
  return [...wanted].filter((id) => !there.has(id));
}

/** Visitors and some who make links, each doing one after the other until the server is gone. */
function startLoad({ url }: RunningServer, answered: Answered) {
  const agent = new Agent({ keepAlive: true, maxSockets: VISITORS });
  let check = () => {};
  const visitor = async () => {
    for (;;) {
      const id = await visit(url, agent);
      if (id === undefined) return;
      answered.clicks.add(id);
      check();
    }
  };
  const maker = async () => {
    for (;;) {
      const link = await createLink(url).catch(() => undefined);
      if (!link) return;
      answered.links.add(link.id);
    }
  };
  const ended = Promise.all([
    ...Array.from({ length: VISITORS }, visitor),
    ...Array.from({ length: MAKERS }, maker),
  ]).then(() => {
    agent.destroy();
    check();
  });
  return {
    ended,
    until: (reached: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        check = () => reached() && resolve();
        check();
      }),
  };
}

let visitors = 0;

/** The click id in the answer; undefined when the server is gone. */
function visit(url: string, agent: Agent): Promise<string | undefined> {
  visitors += 1;
  const headers = {
    'User-Agent': `Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.${visitors}`,
  };
  return new Promise((resolve) => {
    const sent = get(`${url}/visited`, { agent, headers }, (response) => {
      response.resume().on('error', () => resolve(undefined));
      const location = URL.parse(response.headers.location ?? '');
      resolve(location?.searchParams.get('dub_id') ?? undefined);
    });
    sent.on('error', () => resolve(undefined));
  });
}

interface Link {
  readonly id: string;
  readonly clicks: number;
}

function createLink(url: string, key?: string): Promise<Link> {
  const body = JSON.stringify({ url: 'https://example.com/', trackConversion: true, ...(key && { key }) });
  return ask('POST', `${url}/api/links`, body);
}

function readLink(url: string, key: string): Promise<Link> {
  return ask('GET', `${url}/api/links/info?domain=localhost&key=${key}`);
}

function ask(method: string, url: string, body?: string): Promise<Link> {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (response) => {
      try {
        const text = (await response.toArray()).join('');
        if (response.statusCode !== 200)
          reject(new Error(`${method} ${url}: ${response.statusCode} ${text}`));
        else resolve(JSON.parse(text) as Link);
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function readEvents(path: string): Promise<{ clicks: string[]; links: string[] }> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const column = async (sql: string) =>
    (await connection.runAndReadAll(sql)).getRows().map(([id]) => String(id));
  const stored = { clicks: await column('select id from click'), links: await column('select id from link') };
  connection.closeSync();
  instance.closeSync();
  return stored;
}
