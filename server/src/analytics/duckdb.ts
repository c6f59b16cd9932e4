// The event store on DuckDB, the only user of its driver. Rows go in as one text per batch that the engine takes
// apart itself, which costs a tenth of handing over each value. One connection writes, one reads; no query can
// reach the network.
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import { clickTime } from '../events/click-id.ts';
import { comparePositions, formatPosition, type Position, parsePosition } from '../events/journal.ts';
import { CLICK_COLUMNS, type ClickRecord, joinClick } from './click-record.ts';
import type { LinkRow } from './link-row.ts';
import type { EventBatch, EventCounts, EventStore } from './store.ts';

export interface DuckdbOptions {
  readonly path: string;
  readonly threads: number;
  readonly memoryMb: number;
}

export interface DuckdbStore extends EventStore {
  /** What is stored at the moment and not in archive files. */
  unarchived(): Stretch;
  /** Writes the stretch to a file, after the rows of an earlier file if one is given. */
  writeArchive(file: string, stretch: Stretch, earlier: string | undefined): Promise<void>;
  /** The stretch is safe in a file. */
  setArchived(stretch: Stretch): Promise<void>;
  /** Takes in an archive file that follows what is there. */
  readArchive(file: string, upTo: Position): Promise<void>;
  /** Replaces the rows of links; for a rebuild, which has them from SQL. */
  putLinks(links: readonly LinkRow[]): Promise<void>;
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

const UNIT = '\u001f';
const ROW = '\u001e';
const LIST = '\u001d';
const HAS_SEPARATOR = new RegExp(`[${UNIT}${ROW}${LIST}]`);
const SEPARATORS = new RegExp(HAS_SEPARATOR, 'g');
/** Ids carry the time they were made at, which a clock set back can put after the click's own. */
const CLICK_TIME_SLACK_MS = 3_600_000;

const CLICK_NAMES = CLICK_COLUMNS.map(({ name }) => quoted(name)).join(', ');
const EMPTY = { VARCHAR: "''", BIGINT: '0', BOOLEAN: 'false' };
const SCHEMA = [
  'create table if not exists click (batch BIGINT not null)',
  // Also brings a file of an earlier release up to date.
  ...CLICK_COLUMNS.map(
    ({ name, type }) =>
      `alter table click add column if not exists ${quoted(name)} ${type} default ${EMPTY[type]}`,
  ),
  `create table if not exists link (id VARCHAR not null, workspace_id VARCHAR not null, domain VARCHAR not null,
    key VARCHAR not null, folder_id VARCHAR not null, tenant_id VARCHAR not null, partner_id VARCHAR not null,
    program_id VARCHAR not null, tag_ids VARCHAR[] not null, root BOOLEAN not null, deleted BOOLEAN not null,
    change_id BIGINT not null)`,
  'create table if not exists state (position VARCHAR, archived VARCHAR, batch BIGINT not null, archived_batch BIGINT not null)',
  'insert into state select null, null, 0, 0 where not exists (select 1 from state)',
];

/** The lines of the first parameter, each as a list of texts `f`. */
const LINES = `(select string_split(line, '${UNIT}') as f from (select unnest(string_split($1, '${ROW}')) as line))`;
const cast = (index: number, type: string) =>
  type === 'VARCHAR' ? `f[${index}]` : `cast(f[${index}] as ${type})`;
const INSERT_CLICKS = `insert into click (${CLICK_NAMES}, batch) select ${CLICK_COLUMNS.map(({ type }, i) => cast(i + 1, type)).join(', ')}, $2 from ${LINES}`;
const LINK_FIELDS = `f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8],
  case when f[9] = '' then [] else string_split(f[9], '${LIST}') end, f[10] = 'true', f[11] = 'true', cast(f[12] as BIGINT)`;

export async function openDuckdb({ path, threads, memoryMb }: DuckdbOptions): Promise<DuckdbStore> {
  const instance = await DuckDBInstance.create(path, {
    threads: String(threads),
    memory_limit: `${memoryMb}MB`,
    // A checkpoint writes the last group of rows anew: the default, every 40,000 clicks, halves the speed.
    checkpoint_threshold: '64MB',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const { writer, reader, state } = await prepare(instance).catch((error: unknown) => {
    instance.closeSync();
    throw error;
  });
  const inTurn = createTurns();
  const inReadTurn = createTurns();
  let closed = false;

  /** What `work` wrote and the new state are stored together, or neither is. */
  const write = (change: Partial<State>, work: () => Promise<void>): Promise<void> =>
    inTurn(async () => {
      await writer.run('begin');
      try {
        await work();
        await storeState(writer, { ...state, ...change });
        await writer.run('commit');
      } catch (error) {
        await writer.run('rollback').catch(() => {});
        throw error;
      }
      Object.assign(state, change);
    });

  return {
    committed: async () => state.position,
    async append(batch, upTo) {
      if (state.position && comparePositions(upTo, state.position) <= 0) return;
      const number = state.batch + 1;
      await write({ position: upTo, batch: number }, () => insertBatch(writer, batch, number));
    },
    findClick: (id) => inReadTurn(() => findClick(reader, id)),
    count: () => inReadTurn(() => count(reader)),
    unarchived: () => ({
      from: state.archived,
      upTo: state.position,
      afterBatch: state.archivedBatch,
      lastBatch: state.batch,
    }),
    writeArchive: (file, stretch, earlier) => inTurn(() => writeArchive(writer, file, stretch, earlier)),
    setArchived: ({ upTo, lastBatch }) => write({ archived: upTo, archivedBatch: lastBatch }, async () => {}),
    async readArchive(file, upTo) {
      const number = state.batch + 1;
      const change = { position: upTo, archived: upTo, batch: number, archivedBatch: number };
      await write(change, async () => {
        await writer.run(
          `insert into click by name select *, ${number} as batch from read_parquet(${text(file)})`,
        );
      });
    },
    putLinks: (links) => write({}, () => putLinks(writer, links)),
    async close() {
      if (closed) return;
      closed = true;
      // Closing under a running statement would end the process.
      await inReadTurn(() =>
        inTurn(async () => {
          reader.closeSync();
          writer.closeSync();
          instance.closeSync();
        }),
      );
    },
  };
}

async function prepare(instance: DuckDBInstance) {
  const writer = await instance.connect();
  for (const statement of SCHEMA) await writer.run(statement);
  return { writer, reader: await instance.connect(), state: await readState(writer) };
}

async function readState(connection: DuckDBConnection): Promise<State> {
  const [row] = await rowsAsObjects(connection, 'select * from state');
  const position = (value: unknown) => (typeof value === 'string' ? parsePosition(value) : undefined);
  return {
    position: position(row?.position),
    archived: position(row?.archived),
    batch: Number(row?.batch),
    archivedBatch: Number(row?.archived_batch),
  };
}

async function storeState(connection: DuckDBConnection, state: State): Promise<void> {
  await connection.run('update state set position = $1, archived = $2, batch = $3, archived_batch = $4', [
    state.position ? formatPosition(state.position) : null,
    state.archived ? formatPosition(state.archived) : null,
    BigInt(state.batch),
    BigInt(state.archivedBatch),
  ]);
}

async function insertBatch(connection: DuckDBConnection, batch: EventBatch, number: number): Promise<void> {
  if (batch.clicks.length > 0)
    await connection.run(INSERT_CLICKS, [clickLines(batch.clicks), BigInt(number)]);
  await putLinks(connection, batch.links);
}

async function putLinks(connection: DuckDBConnection, links: readonly LinkRow[]): Promise<void> {
  if (links.length === 0) return;
  const lines = [links.map(linkLine).join(ROW)];
  await connection.run(
    `delete from link using ${LINES} as incoming where link.id = f[1] and link.change_id <= cast(f[12] as BIGINT)`,
    lines,
  );
  await connection.run(
    `insert into link select ${LINK_FIELDS} from ${LINES} where f[1] not in (select id from link)`,
    lines,
  );
}

function clickLines(clicks: readonly ClickRecord[]): string {
  return clicks.map((click) => joinClick(click, UNIT, plain)).join(ROW);
}

function linkLine(link: LinkRow): string {
  const { id, workspaceId, domain, key, folderId, tenantId, partnerId, programId } = link;
  const texts = [id, workspaceId, domain, key, folderId, tenantId, partnerId, programId].map(plain);
  const { root, deleted, changeId } = link;
  return [...texts, link.tagIds.map(plain).join(LIST), root, deleted, changeId].join(UNIT);
}

/** The three separators are control characters that no address, header or key may hold; here they are spaces. */
function plain(text: string): string {
  return text !== '' && HAS_SEPARATOR.test(text) ? text.replace(SEPARATORS, ' ') : text;
}

async function findClick(connection: DuckDBConnection, id: string): Promise<ClickRecord | undefined> {
  const timeMs = clickTime(id);
  const range = timeMs === undefined ? '' : ' and time_ms between $2 and $3';
  const bounds =
    timeMs === undefined ? [] : [BigInt(timeMs - CLICK_TIME_SLACK_MS), BigInt(timeMs + CLICK_TIME_SLACK_MS)];
  const [row] = await rowsAsObjects(
    connection,
    `select ${CLICK_NAMES} from click where id = $1${range} limit 1`,
    [id, ...bounds],
  );
  return row && toClick(row);
}

function toClick(row: Record<string, unknown>): ClickRecord {
  const fields = CLICK_COLUMNS.map(({ name, field, type }) => [
    field,
    type === 'BIGINT' ? Number(row[name]) : row[name],
  ]);
  return Object.fromEntries(fields) as ClickRecord;
}

async function count(connection: DuckDBConnection): Promise<EventCounts> {
  const [row] = await rowsAsObjects(
    connection,
    `select (select count(*) from click) as clicks, (select count(distinct id) from click) as ids,
      (select count(*) from link where not deleted) as links`,
  );
  return { clicks: Number(row?.clicks), distinctClicks: Number(row?.ids), links: Number(row?.links) };
}

async function writeArchive(
  connection: DuckDBConnection,
  file: string,
  { afterBatch, lastBatch }: Stretch,
  earlier: string | undefined,
): Promise<void> {
  const before =
    earlier === undefined ? '' : `select * from read_parquet(${text(earlier)}) union all by name `;
  await connection.run(
    `copy (${before}select ${CLICK_NAMES} from click where batch > ${afterBatch} and batch <= ${lastBatch})
      to ${text(file)} (format parquet, compression zstd)`,
  );
}

async function rowsAsObjects(
  connection: DuckDBConnection,
  sql: string,
  values?: DuckDBValue[],
): Promise<Record<string, unknown>[]> {
  const found = await connection.runAndReadAll(sql, values);
  return found.getRowObjects();
}

/** One piece of work after the other: a connection can hold one transaction. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

function quoted(name: string): string {
  return `"${name}"`;
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
