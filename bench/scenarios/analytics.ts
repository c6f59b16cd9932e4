// Questions about events over HTTP: against the same SQL straight on the engine, and as the store grows.
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { aggregateStatement } from '../../server/src/analytics/aggregate-sql.ts';
import type { Statement } from '../../server/src/analytics/conditions.ts';
import { DUCKDB } from '../../server/src/analytics/dialect.ts';
import { openEngine } from '../../server/src/analytics/duckdb-engine.ts';
import { createEngineReader } from '../../server/src/analytics/engine-reader.ts';
import { listStatement } from '../../server/src/analytics/list-sql.ts';
import {
  type AggregateQuery,
  GROUPINGS,
  type GroupBy,
  type ListQuery,
} from '../../server/src/analytics/query.ts';
import { openDatabase } from '../../server/src/db/database.ts';
import { silentLog } from '../../server/src/kernel/log.ts';
import { median } from '../compare.ts';
import { EVENTS_OF_LAST_DAY, fillEvents, linkId } from '../event-fill.ts';
import { type Linktrail, startLinktrail } from '../linktrail.ts';
import type { Line, Scenario } from '../scenario.ts';

const LINKS = 1_000;
const SAMPLES = 5;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Store {
  readonly dataDir: string;
  readonly workspaceId: string;
  readonly events: number;
  readonly nowMs: number;
}

type Ask = (path: string) => Promise<number>;

export const analytics: Scenario = {
  name: 'analytics',
  title: 'questions about events (10 million, --events 100m for more)',
  async run({ events = 10_000_000, progress }) {
    const small = await fillStore(
      Math.max(EVENTS_OF_LAST_DAY * 2, Math.min(1_000_000, events / 10)),
      progress,
    );
    const large = await fillStore(events, progress);
    try {
      const onEngine = await measureEngine(large);
      const ofLarge = await measureServer(large, (ask) => askAll(large, ask, onEngine));
      const ofSmall = await measureServer(small, (ask) => ask(lastDay()));
      return [
        ...ofLarge.result.lines,
        growth(ofLarge.result.day, ofSmall.result, large.events, small.events),
        { name: 'analytics', what: 'most memory of the server', ours: ofLarge.peakMb, unit: 'MB' },
      ];
    } finally {
      for (const { dataDir } of [small, large]) await rm(dataDir, { recursive: true, force: true });
    }
  },
};

/** A store of so many clicks behind a server that was started once. */
async function fillStore(events: number, progress: (text: string) => void): Promise<Store> {
  const server = await startLinktrail();
  await server.stop();
  const { dataDir } = server;
  const workspaceId = await addLinks(dataDir);
  const nowMs = Math.floor(Date.now() / 1000) * 1000;
  progress(`filling in ${events / 1e6} M events`);
  await fillEvents({
    path: join(dataDir, 'events.duckdb'),
    workspaceId,
    links: LINKS,
    clicks: events,
    nowMs,
    progress,
  });
  return { dataDir, workspaceId, events, nowMs };
}

async function addLinks(dataDir: string): Promise<string> {
  const db = await openDatabase({
    url: join(dataDir, 'linktrail.db'),
    log: silentLog,
    sqlite: { sync: 'normal' },
  });
  try {
    const { id } = await db.query.selectFrom('workspace').select('id').executeTakeFirstOrThrow();
    await db.write(async (trx) => {
      for (let n = 0; n < LINKS; n++) {
        const domain = `go${n % 3}.example.com`;
        const key = `key-${n}`;
        const url = `https://shop${n % 97}.example.com/products/${n}`;
        const times = { created_at: n, updated_at: n };
        const row = {
          id: linkId(n),
          workspace_id: id,
          domain,
          key,
          lookup_key: key,
          url,
          url_hash: key,
          ...times,
        };
        await trx
          .insertInto('link')
          .values(row as never)
          .execute();
      }
    });
    return id;
  } finally {
    await db.close();
  }
}

const lastDay = () => '/events?interval=24h&limit=100';
const grouped = (groupBy: GroupBy, rest = 'interval=all') =>
  `/analytics?groupBy=${groupBy}&event=composite&${rest}`;
/** Partners are in no bench; hours of a year are more buckets than the window has. */
const GROUPS = (Object.keys(GROUPINGS) as GroupBy[]).filter((name) => !/partner|group/.test(name));
const FEW_GROUPS = ['count', 'timeseries', 'countries', 'top_links'] as const satisfies GroupBy[];
/** All of them over so many events would take half an hour. */
const MANY_EVENTS = 20_000_000;
const groupsFor = ({ events }: Store): readonly GroupBy[] => (events > MANY_EVENTS ? FEW_GROUPS : GROUPS);

interface Measured {
  readonly lines: Line[];
  readonly day: number;
}

async function askAll(store: Store, ask: Ask, onEngine: ReadonlyMap<string, number>): Promise<Measured> {
  const lines: Line[] = [];
  const line = (what: string, ours: number, baseline: number | undefined, bar?: Line['bar']) =>
    lines.push({
      name: 'analytics',
      what,
      ours,
      unit: 'ms',
      ...(baseline !== undefined && { baseline, ratio: ours / baseline }),
      ...(bar && { bar }),
    });
  const size = `${store.events / 1e6} M`;
  const latest = await ask('/events?interval=all&limit=100');
  line(`GET /events, ${size}, against its SQL`, latest, onEngine.get('events'), { atMost: 1.3 });
  line(`GET /events, ${size}, against the short statements it is read by`, latest, onEngine.get('parts'));
  for (const name of groupsFor(store))
    line(`${name}, ${size}, against its SQL`, await ask(grouped(name)), onEngine.get(name), { atMost: 1.3 });
  for (const name of FEW_GROUPS) {
    const year = await ask(grouped(name, 'interval=1y'));
    line(`${name}, 30 days against 12 months`, await ask(grouped(name, 'interval=30d')), year, {
      atMost: 0.25,
    });
  }
  const first = await ask('/events?interval=all&limit=1000&page=1');
  line('page 500 against page 1', await ask('/events?interval=all&limit=1000&page=500'), first, {
    atMost: 10,
  });
  const day = await ask(lastDay());
  return { lines, day };
}

function growth(ours: number, baseline: number, events: number, smaller: number): Line {
  return {
    name: 'analytics',
    what: `GET /events of the last 24 h: ${events / 1e6} M events against ${smaller / 1e6} M`,
    ours,
    baseline,
    unit: 'ms',
    ratio: ours / baseline,
    bar: { atMost: 1.5 },
  };
}

/** By name of the question; the same threads as the server gives the engine. */
async function measureEngine(store: Store): Promise<Map<string, number>> {
  const { dataDir, workspaceId, nowMs } = store;
  const threads = Math.max(1, availableParallelism() - 1);
  const engine = await openEngine({ path: join(dataDir, 'events.duckdb'), threads, memoryMb: 1_024 });
  try {
    const connection = await engine.connect();
    const run = ({ sql, texts, columns }: Statement) =>
      columns ? connection.textRows(sql, texts, columns) : connection.rows(sql, texts);
    const reader = createEngineReader(run, DUCKDB);
    const query = { workspaceId, fromMs: 0, toMs: nowMs + DAY_MS };
    const list: ListQuery = { ...query, kind: 'clicks', order: 'desc', limit: 100, offset: 0 };
    const found = new Map([
      ['events', await medianMs(() => run(listStatement(list, DUCKDB)))],
      ['parts', await medianMs(() => reader.list(list))],
    ]);
    for (const groupBy of groupsFor(store)) {
      const aggregate: AggregateQuery = { ...query, event: 'composite', groupBy };
      found.set(groupBy, await medianMs(() => run(aggregateStatement(aggregate, DUCKDB, DAY_MS))));
    }
    return found;
  } finally {
    engine.close();
  }
}

async function measureServer<T>(
  { dataDir }: Store,
  work: (ask: Ask) => Promise<T>,
): Promise<{ result: T; peakMb: number }> {
  const server = await startLinktrail({ dataDir });
  try {
    const result = await work((path) => medianMs(() => get(server, path)));
    return { result, peakMb: (await server.peakBytes()) / 2 ** 20 };
  } finally {
    await server.stop();
  }
}

async function get({ port, key }: Linktrail, path: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api${path}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${text.slice(0, 300)}`);
}

/** Of a few, after one that warms up. */
async function medianMs(work: () => Promise<unknown>): Promise<number> {
  await work();
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return median(times);
}
