// The event store on DuckDB. One connection writes, batch after batch; others read. A batch, the changes that come
// with it and the position after it are one transaction.
import { comparePositions, formatPosition, type Position, parsePosition } from '../events/journal.ts';
import { createBatchFollower } from './batch-follower.ts';
import { createClickPages } from './click-pages.ts';
import type { ClickRecord } from './click-record.ts';
import { DUCKDB } from './dialect.ts';
import { type Connection, type DuckdbEngine, type DuckdbOptions, openEngine } from './duckdb-engine.ts';
import { columnNames, createTables, insertBatch } from './duckdb-rows.ts';
import { createEngineReader } from './engine-reader.ts';
import { toRecord, URL_WITHOUT_ADDRESS } from './event-columns.ts';
import { wholeListStatement } from './list-sql.ts';
import { createReadPool } from './read-pool.ts';
import type { EventBatch, EventCounts, EventStore } from './store.ts';
import { timeRange } from './time-range.ts';

export type { DuckdbOptions } from './duckdb-engine.ts';

export interface DuckdbStore extends EventStore {
  /** What is stored at the moment and not in archive files. */
  unarchived(): Stretch;
  /** Writes the stretch to a file, after the rows of an earlier file if one is given. */
  writeArchive(file: string, stretch: Stretch, earlier: string | undefined): Promise<void>;
  /** The stretch is safe in a file. */
  setArchived(stretch: Stretch): Promise<void>;
  /** Takes in an archive file that follows what is there. */
  readArchive(file: string, upTo: Position): Promise<void>;
  /** Takes in what SQL has, for a rebuild. */
  put(rows: Omit<EventBatch, 'clicks' | 'erasures'>): Promise<void>;
  /** Links that events name and nobody knows are gone; for a rebuild, after all links were put. */
  forgetUnknownLinks(): Promise<void>;
  /** Clicks whose address has to be blanked in archive files; undefined when there are none. */
  findErased(): Promise<ErasedClicks | undefined>;
  /** Whether a file has an address of one of them. */
  holdsErased(file: string, clicks: ErasedClicks): Promise<boolean>;
  /** Copies an archive file without those addresses. */
  writeBlanked(from: string, to: string, clicks: ErasedClicks): Promise<void>;
  /** All archive files are without them. */
  setErased(clicks: ErasedClicks): Promise<void>;
}

export interface ErasedClicks {
  readonly ids: readonly string[];
  readonly lastBatch: number;
}

/** A part of the journal, with the batches that came from it. */
export interface Stretch {
  readonly from: Position | undefined;
  readonly upTo: Position | undefined;
  readonly afterBatch: number;
  readonly lastBatch: number;
}

type State = {
  position: Position | undefined;
  archived: Position | undefined;
  batch: number;
  archivedBatch: number;
};

/** Rows are held in memory until their group is full. */
const PARQUET = 'format parquet, compression zstd, row_group_size 20480';
/** One writer numbers the batches, and each becomes visible as a whole. */
const END = 'select (select id from store) as store, batch from state';
/** Statements of readers at once: each holds one of the few threads that Node does its file work with. */
const READERS = 2;
const MAX_WAITING = 64;
const QUERY_LIMIT_MS = 30_000;
/** Files of all events are written one at a time. */
const EXPORT_LIMITS = { maxWaiting: 8, limitMs: 1_800_000 };

export interface DuckdbStoreOptions extends DuckdbOptions {
  /** How long answering a question may take. */
  readonly queryLimitMs?: number;
}

export async function openDuckdb({
  queryLimitMs = QUERY_LIMIT_MS,
  ...options
}: DuckdbStoreOptions): Promise<DuckdbStore> {
  const engine = await openEngine(options);
  const { writer, archivist, finder, exporter, readers, state } = await prepare(engine).catch(
    (error: unknown) => {
      engine.close();
      throw error;
    },
  );
  const pool = createReadPool({ connections: readers, maxWaiting: MAX_WAITING, limitMs: queryLimitMs });
  const exports = createReadPool({ connections: [exporter], ...EXPORT_LIMITS });
  const inTurn = createTurns();
  const inArchiveTurn = createTurns();
  const inReadTurn = createTurns();
  let closed = false;

  /** What `work` wrote and the new state are stored together, or neither is. */
  const write = (change: Partial<State>, work: () => Promise<void>): Promise<void> =>
    inTurn(async () => {
      await writer.run('begin');
      try {
        await work();
        // In one go: every statement waits its turn in a thread that is busy enriching the next batch.
        await writer.run(`${storeStateSql({ ...state, ...change })}; commit`);
      } catch (error) {
        await writer.run('rollback').catch(() => {});
        throw error;
      }
      Object.assign(state, change);
    });

  return {
    ...createEngineReader(pool.run, DUCKDB),
    ...createClickPages(pool.run, DUCKDB),
    ...createBatchFollower({ run: pool.run, dialect: DUCKDB, endSql: END }),
    async writeParquet(query, path, signal) {
      const { sql, texts } = wholeListStatement(query, DUCKDB);
      await exports.run({ sql: `copy (${sql}) to ${text(path)} (format parquet)`, texts }, signal);
    },
    ...createArchiveWork({ writer, archivist, inArchiveTurn, write, state }),
    committed: async () => state.position,
    async append(batch, upTo) {
      if (state.position && comparePositions(upTo, state.position) <= 0) return;
      const number = state.batch + 1;
      await write({ position: upTo, batch: number }, () => insertBatch(writer, batch, number));
    },
    findClick: (id) => inReadTurn(() => findClick(finder, id)),
    count: () => inReadTurn(() => count(finder)),
    put: (rows) => write({}, () => insertBatch(writer, { ...rows, clicks: [] }, state.batch)),
    forgetUnknownLinks: () => write({}, () => forgetUnknownLinks(writer)),
    async close() {
      if (closed) return;
      closed = true;
      await Promise.all([pool.close(), exports.close()]);
      await inReadTurn(() => inArchiveTurn(() => inTurn(async () => engine.close())));
    },
  };
}

interface ArchiveParts {
  readonly writer: Connection;
  /** Reads and writes files beside the writer: they take a second each, for which no batch has to wait. */
  readonly archivist: Connection;
  readonly inArchiveTurn: Turns;
  readonly write: (change: Partial<State>, work: () => Promise<void>) => Promise<void>;
  readonly state: State;
}

/** What the archive's files need of the engine, which alone reads and writes them. */
function createArchiveWork({ writer, archivist, inArchiveTurn, write, state }: ArchiveParts) {
  return {
    unarchived: (): Stretch => ({
      from: state.archived,
      upTo: state.position,
      afterBatch: state.archivedBatch,
      lastBatch: state.batch,
    }),
    writeArchive: (file: string, stretch: Stretch, earlier: string | undefined) =>
      inArchiveTurn(() => writeArchive(archivist, file, stretch, earlier)),
    setArchived: ({ upTo, lastBatch }: Stretch) =>
      write({ archived: upTo, archivedBatch: lastBatch }, async () => {}),
    async readArchive(file: string, upTo: Position) {
      const number = state.batch + 1;
      const change = { position: upTo, archived: upTo, batch: number, archivedBatch: number };
      await write(change, () =>
        writer.run(`insert into click by name select *, ${number} as batch from read_parquet(${text(file)})`),
      );
    },
    findErased: () => inArchiveTurn(() => findErased(archivist)),
    holdsErased: (file: string, clicks: ErasedClicks) =>
      inArchiveTurn(() => holdsErased(archivist, file, clicks)),
    writeBlanked: (from: string, to: string, clicks: ErasedClicks) =>
      inArchiveTurn(() => writeBlanked(archivist, from, to, clicks)),
    setErased: ({ lastBatch }: ErasedClicks) =>
      write({}, () => writer.run('delete from erased_click where batch <= $1', [BigInt(lastBatch)])),
  };
}

async function prepare(engine: DuckdbEngine) {
  const writer = await engine.connect();
  await createTables(writer);
  const archivist = await engine.connect();
  const finder = await engine.connect();
  const exporter = await engine.connect();
  const readers: Connection[] = [];
  while (readers.length < READERS) readers.push(await engine.connect());
  return { writer, archivist, finder, exporter, readers, state: await readState(writer) };
}

async function readState(connection: Connection): Promise<State> {
  const [row] = await connection.rows('select * from state');
  const position = (value: unknown) => (typeof value === 'string' ? parsePosition(value) : undefined);
  return {
    position: position(row?.position),
    archived: position(row?.archived),
    batch: Number(row?.batch),
    archivedBatch: Number(row?.archived_batch),
  };
}

function storeStateSql({ position, archived, batch, archivedBatch }: State): string {
  const place = (value: Position | undefined) => (value ? text(formatPosition(value)) : 'null');
  return `update state set position = ${place(position)}, archived = ${place(archived)}, batch = ${batch}, archived_batch = ${archivedBatch}`;
}

async function findClick(connection: Connection, id: string): Promise<ClickRecord | undefined> {
  const [row] = await connection.rows(
    `select ${columnNames('clicks')} from click where id = $1${timeRange([id])} limit 1`,
    [id],
  );
  return row && toRecord('clicks', row);
}

async function count(connection: Connection): Promise<EventCounts> {
  const [row] = await connection.rows(
    `select (select count(*) from click) as clicks, (select count(distinct id) from click) as ids,
      (select count(*) from link where not deleted) as links, (select count(*) from lead) as leads,
      (select count(*) from sale) as sales`,
  );
  return {
    clicks: Number(row?.clicks),
    distinctClicks: Number(row?.ids),
    links: Number(row?.links),
    leads: Number(row?.leads),
    sales: Number(row?.sales),
  };
}

function forgetUnknownLinks(connection: Connection): Promise<void> {
  const events = ['click', 'lead', 'sale'].map((table) => `select link_id, workspace_id from ${table}`);
  return connection.run(
    `insert into link select link_id, any_value(workspace_id), '', '', '', '', '', '', [], false, true, 0
      from (${events.join(' union all ')}) where link_id not in (select id from link) group by link_id`,
  );
}

async function writeArchive(
  connection: Connection,
  file: string,
  { afterBatch, lastBatch }: Stretch,
  earlier: string | undefined,
): Promise<void> {
  const before =
    earlier === undefined ? '' : `select * from read_parquet(${text(earlier)}) union all by name `;
  await connection.run(
    `copy (${before}select ${columnNames('clicks')} from click where batch > ${afterBatch} and batch <= ${lastBatch})
      to ${text(file)} (${PARQUET})`,
  );
}

async function findErased(connection: Connection): Promise<ErasedClicks | undefined> {
  const rows = await connection.rows('select id, batch from erased_click');
  if (rows.length === 0) return undefined;
  const lastBatch = rows.reduce((last, { batch }) => Math.max(last, Number(batch)), 0);
  return { ids: [...new Set(rows.map(({ id }) => String(id)))], lastBatch };
}

const among = ({ lastBatch }: ErasedClicks) =>
  `id in (select id from erased_click where batch <= ${lastBatch})`;

async function holdsErased(connection: Connection, file: string, clicks: ErasedClicks): Promise<boolean> {
  const rows = await connection.rows(
    `select 1 from read_parquet(${text(file)}) where ${among(clicks)}${timeRange(clicks.ids)} and ip <> '' limit 1`,
  );
  return rows.length > 0;
}

function writeBlanked(connection: Connection, from: string, to: string, clicks: ErasedClicks): Promise<void> {
  return connection.run(
    `copy (select * replace (if(${among(clicks)}, '', ip) as ip, if(${among(clicks)}, ${URL_WITHOUT_ADDRESS}, url) as url)
      from read_parquet(${text(from)}))
      to ${text(to)} (${PARQUET})`,
  );
}

type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** One piece of work after the other: a connection can hold one transaction. */
function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
