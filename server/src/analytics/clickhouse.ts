// The event store on ClickHouse, shared by all nodes. There are no transactions: a batch has a name made of its place
// in the journal, under which the tables take it in once, and the position after it is stored last.
import { comparePositions, formatPosition, type Position, parsePosition } from '../events/journal.ts';
import { createBatchFollower } from './batch-follower.ts';
import { createClickPages } from './click-pages.ts';
import type { ClickRecord } from './click-record.ts';
import { type BatchFile, batchName, createBatchFile } from './clickhouse-batch.ts';
import { CLICKHOUSE } from './clickhouse-dialect.ts';
import {
  type ClickhouseEngine,
  type Insertion,
  listPlaceholder,
  openEngine,
  placeholder,
} from './clickhouse-engine.ts';
import {
  clickInsertion,
  conversionInsertion,
  linkInsertion,
  partnerInsertion,
  schema,
} from './clickhouse-rows.ts';
import { createEngineReader } from './engine-reader.ts';
import { BLANK_ADDRESS, EVENT_TABLES, METADATA_TEXTS, toRecord } from './event-columns.ts';
import { wholeListStatement } from './list-sql.ts';
import type { EventKind } from './query.ts';
import { createReadPool } from './read-pool.ts';
import type { Erasure, EventBatch, EventCounts, EventStore } from './store.ts';
import { timeRange, timesOf } from './time-range.ts';

export interface ClickhouseOptions {
  /** http(s)://user:password@host:port/database */
  readonly url: string;
  /** The cluster whose servers hold replicas of the tables, where there is one. */
  readonly cluster?: string | undefined;
  /** Tells the journals of several nodes apart. */
  readonly journal: string;
  /** Where to note the batch under way; it must live as long as the journal. */
  readonly batchPath: string;
  /** How long answering a question may take. */
  readonly queryLimitMs?: number;
}

export interface ClickhouseStore extends EventStore {
  /** Empties what a rebuild brings anew: links and partners. */
  beginRebuild(): Promise<void>;
  /** Takes in what SQL has, for a rebuild. */
  put(rows: Omit<EventBatch, 'clicks' | 'erasures'>): Promise<void>;
  /** Links that events name and nobody knows are gone; for a rebuild, after all links were put. */
  forgetUnknownLinks(): Promise<void>;
}

/**
 * Rows are numbered by the time they were stored at. They can be seen a moment later, and not in that order: those
 * who follow stay a little behind.
 */
const FOLLOW_DELAY_MS = 2_000;
const END = `select 'clickhouse' as store, toUnixTimestamp64Milli(now64(3)) - ${FOLLOW_DELAY_MS} as batch`;
const READERS = 8;
const MAX_WAITING = 64;
const QUERY_LIMIT_MS = 30_000;
/** An insert may have to wait for the server to merge what it has. */
const REQUEST_MS = 60_000;

export async function openClickhouse(options: ClickhouseOptions): Promise<ClickhouseStore> {
  const { url, cluster, queryLimitMs = QUERY_LIMIT_MS } = options;
  const engine = await openEngine({ url, cluster, requestMs: REQUEST_MS, maxConnections: READERS + 4 });
  const journal = await openJournal(engine, options).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  const readers = Array.from({ length: READERS }, () => engine.createReader(queryLimitMs));
  const pool = createReadPool({ connections: readers, maxWaiting: MAX_WAITING, limitMs: queryLimitMs });
  let closed = false;
  return {
    ...createEngineReader(pool.run, CLICKHOUSE),
    ...createClickPages(pool.run, CLICKHOUSE),
    ...createBatchFollower({ run: pool.run, dialect: CLICKHOUSE, endSql: END }),
    async writeParquet(query, path, signal) {
      const { sql, texts } = wholeListStatement(query, CLICKHOUSE);
      await engine.writeParquet(sql, texts, path, signal);
    },
    committed: async () => journal.position(),
    begun: () => journal.findBegun(),
    append: (batch, upTo) => journal.append(batch, upTo),
    findClick: (id) => findClick(engine, id),
    count: () => count(engine),
    async beginRebuild() {
      const everywhere = cluster === undefined ? '' : ' on cluster {p1:Identifier}';
      for (const table of ['link', 'partner'])
        await engine.run(`truncate table ${table}${everywhere}`, cluster === undefined ? [] : [cluster]);
    },
    put: (rows) => insertAll(engine, rows, undefined),
    forgetUnknownLinks: () => forgetUnknownLinks(engine),
    async close() {
      if (closed) return;
      closed = true;
      await pool.close();
      await engine.close();
    },
  };
}

/** The way of one node's journal into the tables. */
async function openJournal(engine: ClickhouseEngine, { cluster, journal, batchPath }: ClickhouseOptions) {
  for (const statement of schema(cluster)) await engine.run(statement);
  // A replica that lags would tell an old position.
  if (cluster !== undefined)
    for (const table of ['event_position', 'click']) await engine.run(`system sync replica ${table}`);
  const file: BatchFile = createBatchFile(batchPath);
  let position = await readPosition(engine, journal);
  let begun = await file.findBegun(position);

  return {
    position: () => position,
    findBegun: async () => begun,
    async append(batch: EventBatch, upTo: Position): Promise<void> {
      if (position && comparePositions(upTo, position) <= 0) return;
      const again = begun !== undefined;
      if (!begun || comparePositions(begun, upTo) !== 0) await file.begin(position, upTo);
      // Tokens are forgotten after some time, rows are not.
      const clicks = again ? await withoutStored(engine, 'clicks', batch.clicks) : batch.clicks;
      await insertAll(engine, { ...batch, clicks }, batchName(journal, position, upTo));
      for (const erasure of batch.erasures ?? []) await erase(engine, erasure);
      await storePosition(engine, journal, upTo);
      position = upTo;
      begun = undefined;
    },
  };
}

async function readPosition(engine: ClickhouseEngine, journal: string): Promise<Position | undefined> {
  const [row] = await engine.rows(
    `select max(position) as position from event_position where journal = ${placeholder(1)}`,
    [journal],
  );
  return row?.position ? parsePosition(String(row.position)) : undefined;
}

function storePosition(engine: ClickhouseEngine, journal: string, upTo: Position): Promise<void> {
  const text = formatPosition(upTo);
  return engine.insert(
    { table: 'event_position', columns: ['journal', 'position'], lines: `${journal}\t${text}` },
    `${journal}/${text}`,
  );
}

/** One that a table has already is not taken again; without a name, neither is one with the very same rows. */
async function insertAll(
  engine: ClickhouseEngine,
  {
    clicks = [],
    importedClicks = [],
    links,
    leads = [],
    sales = [],
    partners = [],
  }: Partial<EventBatch> & Pick<EventBatch, 'links'>,
  name: string | undefined,
): Promise<void> {
  const allClicks = [...clicks, ...(await withoutStored(engine, 'clicks', importedClicks))];
  const newLeads = await withoutStored(engine, 'leads', leads);
  const newSales = await withoutStored(engine, 'sales', sales);
  const insertions: Insertion[] = [];
  if (links.length > 0) insertions.push(linkInsertion(links));
  if (partners.length > 0) insertions.push(partnerInsertion(partners));
  if (allClicks.length > 0) insertions.push(clickInsertion(allClicks));
  if (newLeads.length > 0) insertions.push(conversionInsertion('leads', newLeads));
  if (newSales.length > 0) insertions.push(conversionInsertion('sales', newSales));
  await Promise.all(insertions.map((insertion) => engine.insert(insertion, name)));
}

interface Keyed {
  readonly id: string;
  readonly timeMs: number;
  readonly workspaceId: string;
}

/** Looks only where they would be: in the workspaces and the stretch of time of the given ones. */
async function withoutStored<T extends Keyed>(
  engine: ClickhouseEngine,
  kind: EventKind,
  records: readonly T[],
): Promise<readonly T[]> {
  if (records.length === 0) return records;
  const [from, to] = timesOf(records);
  const rows = await engine.rows(
    `select id from ${EVENT_TABLES[kind]} where workspace_id in ${listPlaceholder(1)}
      and time_ms between ${from} and ${to} and id in ${listPlaceholder(2)}`,
    [[...new Set(records.map(({ workspaceId }) => workspaceId))], records.map(({ id }) => id)],
  );
  const stored = new Set(rows.map(({ id }) => id));
  return stored.size === 0 ? records : records.filter(({ id }) => !stored.has(id));
}

/** Where it is, by the narrow columns that are ordered by id; then the whole row. */
async function findClick(engine: ClickhouseEngine, id: string): Promise<ClickRecord | undefined> {
  const [place] = await engine.rows(
    `select workspace_id, time_ms from click where id = ${placeholder(1)}${timeRange([id])} limit 1`,
    [id],
  );
  if (!place) return undefined;
  const [row] = await engine.rows(
    `select * from click where workspace_id = ${placeholder(1)} and time_ms = ${Number(place.time_ms)} and id = ${placeholder(2)} limit 1`,
    [String(place.workspace_id), id],
  );
  return row && toRecord('clicks', row);
}

async function count(engine: ClickhouseEngine): Promise<EventCounts> {
  const [row] = await engine.rows(
    `select (select count() from click) as clicks, (select uniqExact(id) from click) as ids,
      (select count() from link final where not deleted) as links, (select count() from lead final) as leads,
      (select count() from sale final) as sales`,
  );
  return {
    clicks: Number(row?.clicks),
    distinctClicks: Number(row?.ids),
    links: Number(row?.links),
    leads: Number(row?.leads),
    sales: Number(row?.sales),
  };
}

/**
 * Rewrites the parts that hold such rows: rare, and the old values are gone from the disk afterwards. What is blank
 * already is left, so that a repeat finds nothing to do.
 */
async function erase(
  engine: ClickhouseEngine,
  { workspaceId, customerId, clickIds }: Erasure,
): Promise<void> {
  for (const table of ['lead', 'sale']) {
    await engine.run(
      `alter table ${table} update metadata = '', ${METADATA_TEXTS} = map(), ${BLANK_ADDRESS}
        where workspace_id = ${placeholder(1)} and customer_id = ${placeholder(2)} and (metadata <> '' or ip <> '')`,
      [workspaceId, customerId],
    );
    if (clickIds.length > 0)
      await engine.run(
        `alter table ${table} update ${BLANK_ADDRESS} where ip <> '' and click_id in ${listPlaceholder(1)}`,
        [clickIds],
      );
  }
  if (clickIds.length > 0)
    await engine.run(
      `alter table click update ${BLANK_ADDRESS} where ip <> '' and id in ${listPlaceholder(1)}${timeRange(clickIds)}`,
      [clickIds],
    );
}

function forgetUnknownLinks(engine: ClickhouseEngine): Promise<void> {
  const events = ['click', 'lead', 'sale'].map((table) => `select link_id, workspace_id from ${table}`);
  return engine.run(
    `insert into link (id, workspace_id, deleted, change_id) select link_id, workspace_id, true, 0
      from (${events.join(' union all ')}) where link_id not in (select id from link) group by link_id, workspace_id`,
  );
}
