// The server killed again and again under load: what was answered is there, in every store, exactly once.
// LINKTRAIL_FAULT_KILLS sets how often; `npm run test:faults` kills it a hundred times.
import assert from 'node:assert/strict';
import { Agent, get, request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import type { EventStatus } from './cli/event-commands.ts';
import { makePlace, type RunningServer, runCli, startServer } from './testing/processes.ts';

const KILLS = Number(process.env.LINKTRAIL_FAULT_KILLS ?? 5);
const KEY = 'lt_crash_test_key_000000';
const VISITORS = 12;
const MAKERS = 4;
const BUYERS = 6;
const PRICE = 250;
const MAX_CLICKS_BEFORE_KILL = 400;
const MAX_SALES_BEFORE_KILL = 10;

interface Answered {
  readonly clicks: Set<string>;
  readonly links: Set<string>;
  /** Customers whose lead was answered, and invoices whose sale was. */
  readonly leads: Set<string>;
  readonly invoices: Set<string>;
}

test(`${KILLS} kills under load lose no answered click, link, lead or sale, and count none twice`, async (t) => {
  const place = await makePlace(t, { LINKTRAIL_API_KEY: KEY, LINKTRAIL_LOG_LEVEL: 'warn' });
  const answered: Answered = { clicks: new Set(), links: new Set(), leads: new Set(), invoices: new Set() };
  let server = await startServer(t, place);
  await createLink(server.url, 'visited');
  const readyMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const enough = answered.clicks.size + Math.ceil(Math.random() * MAX_CLICKS_BEFORE_KILL);
    const bought = answered.invoices.size + Math.ceil(Math.random() * MAX_SALES_BEFORE_KILL);
    const load = startLoad(server, answered);
    await load.until(() => answered.clicks.size >= enough && answered.invoices.size >= bought);
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
  const kept = readConversions(join(place.dataDir, 'linktrail.db'));
  t.diagnostic(
    `${answered.clicks.size} clicks, ${answered.links.size} links, ${answered.leads.size} leads and ${answered.invoices.size} sales answered, ${stored.clicks.length} clicks stored; ready again after ${Math.round(Math.max(...readyMs))} ms at most`,
  );
  assert.deepEqual(missing(answered.clicks, stored.clicks), [], 'answered clicks that are not stored');
  assert.equal(new Set(stored.clicks).size, stored.clicks.length, 'no click is stored twice');
  assert.equal(counter.clicks, stored.clicks.length, 'the counter of the link agrees');
  assert.equal(status.clicks, stored.clicks.length);
  assert.equal(status.dropped, 0);
  assert.deepEqual(missing(answered.links, stored.links), [], 'answered links that analytics does not know');
  assert.equal(new Set(stored.links).size, stored.links.length, 'no link is there twice');
  assert.deepEqual(missing(answered.leads, kept.customers), [], 'answered leads that are not stored');
  assert.deepEqual(missing(answered.invoices, kept.invoices), [], 'answered sales that are not stored');
  assert.equal(new Set(kept.customers).size, kept.customers.length, 'no customer has two leads');
  assert.equal(new Set(kept.invoices).size, kept.invoices.length, 'no invoice has two sales');
  assert.deepEqual(stored.leads.toSorted(), kept.leads.toSorted(), 'the event store has every lead once');
  assert.deepEqual(stored.sales.toSorted(), kept.sales.toSorted(), 'the event store has every sale once');
  assert.deepEqual(
    [counter.leads, counter.sales, counter.saleAmount],
    [kept.leads.length, kept.sales.length, kept.sales.length * PRICE],
    'the counters of the link agree',
  );
});

function missing(wanted: ReadonlySet<string>, found: readonly string[]): string[] {
  const there = new Set(found);
  return [...wanted].filter((id) => !there.has(id));
}

/** Visitors, some of whom buy, and some who make links, each doing one after the other until the server is gone. */
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
  const buyer = async () => {
    for (;;) {
      const clickId = await visit(url, agent);
      if (clickId === undefined) return;
      answered.clicks.add(clickId);
      if (!(await buy(url, clickId, answered))) return;
      check();
    }
  };
  const ended = Promise.all([
    ...Array.from({ length: BUYERS }, buyer),
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

/** A lead right after its click, and a sale right after the lead; false when the server is gone. */
async function buy(url: string, clickId: string, answered: Answered): Promise<boolean> {
  const customerExternalId = `customer of ${clickId}`;
  const track = (kind: 'lead' | 'sale', body: object) =>
    ask('POST', `${url}/api/track/${kind}`, JSON.stringify({ customerExternalId, ...body }));
  try {
    await track('lead', { clickId, eventName: 'Sign up' });
    answered.leads.add(customerExternalId);
    const invoiceId = `invoice of ${clickId}`;
    await track('sale', { amount: PRICE, invoiceId });
    answered.invoices.add(invoiceId);
    return true;
  } catch (error) {
    // A refusal is no crash.
    if (error instanceof RefusedError) throw error;
    return false;
  }
}

interface Link {
  readonly id: string;
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  readonly saleAmount: number;
}

class RefusedError extends Error {
  override name = 'RefusedError';
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
          reject(new RefusedError(`${method} ${url}: ${response.statusCode} ${text}`));
        else resolve(JSON.parse(text) as Link);
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** What SQL has: leads and the customers they are of, sales and their invoices. */
function readConversions(path: string) {
  const db = new DatabaseSync(path, { readOnly: true });
  const column = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => String(Object.values(row)[0]));
  const kept = {
    leads: column('select id from lead'),
    customers: column('select external_id from lead join customer on customer.id = lead.customer_id'),
    sales: column('select id from sale'),
    invoices: column('select invoice_id from sale'),
  };
  db.close();
  return kept;
}

async function readEvents(path: string) {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const column = async (sql: string) =>
    (await connection.runAndReadAll(sql)).getRows().map(([id]) => String(id));
  const stored = {
    clicks: await column('select id from click'),
    links: await column('select id from link'),
    leads: await column('select id from lead'),
    sales: await column('select id from sale'),
  };
  connection.closeSync();
  instance.closeSync();
  return stored;
}
