// The tables of the event store on DuckDB and how rows get into them: as one text per batch that the engine takes
// apart itself, which costs a tenth of handing over each value.
import { CLICK_COLUMNS, type ClickRecord, joinClick } from './click-record.ts';
import type { LeadRecord, SaleRecord } from './conversion-record.ts';
import { type Connection, UNIT } from './duckdb-engine.ts';
import {
  BLANK_ADDRESS,
  conversionValues,
  EVENT_COLUMNS,
  EVENT_TABLES,
  METADATA_TEXTS,
} from './event-columns.ts';
import type { LinkRow } from './link-row.ts';
import { metadataTexts } from './metadata.ts';
import type { PartnerRow } from './partner-row.ts';
import { EVENT_KINDS, type EventKind } from './query.ts';
import type { Erasure, EventBatch } from './store.ts';
import { timeRange, timesOf } from './time-range.ts';

const ROW = '\u001e';
const LIST = '\u001d';
const HAS_SEPARATOR = new RegExp(`[${UNIT}${ROW}${LIST}]`);
const SEPARATORS = new RegExp(HAS_SEPARATOR, 'g');

const EMPTY = { VARCHAR: "''", BIGINT: '0', BOOLEAN: 'false' };

const OTHER_TABLES = [
  `create table if not exists link (id VARCHAR not null, workspace_id VARCHAR not null, domain VARCHAR not null,
    key VARCHAR not null, folder_id VARCHAR not null, tenant_id VARCHAR not null, partner_id VARCHAR not null,
    program_id VARCHAR not null, tag_ids VARCHAR[] not null, root BOOLEAN not null, deleted BOOLEAN not null,
    change_id BIGINT not null)`,
  `create table if not exists partner (workspace_id VARCHAR not null, partner_id VARCHAR not null,
    program_id VARCHAR not null, group_id VARCHAR not null, tag_ids VARCHAR[] not null, deleted BOOLEAN not null,
    change_id BIGINT not null)`,
  // Clicks whose address is blanked in the table and may still stand in archive files.
  'create table if not exists erased_click (id VARCHAR not null, batch BIGINT not null)',
  'create table if not exists state (position VARCHAR, archived VARCHAR, batch BIGINT not null, archived_batch BIGINT not null)',
  // Cursors hold it: the numbers of batches mean nothing in a store that was rebuilt.
  'create table if not exists store (id VARCHAR not null)',
  'insert into store select uuid() where not exists (select 1 from store)',
  'insert into state select null, null, 0, 0 where not exists (select 1 from state)',
];

/** Also brings a file of an earlier release up to date. */
export async function createTables(connection: Connection): Promise<void> {
  for (const kind of EVENT_KINDS) await createEventTable(connection, kind);
  for (const statement of OTHER_TABLES) await connection.run(statement);
}

async function createEventTable(connection: Connection, kind: EventKind): Promise<void> {
  const table = EVENT_TABLES[kind];
  const columns = EVENT_COLUMNS[kind].map(({ name, type }) => ({
    name,
    sql: `${quoted(name)} ${type} default ${EMPTY[type]}`,
  }));
  if (kind !== 'clicks')
    columns.push({ name: METADATA_TEXTS, sql: `${METADATA_TEXTS} MAP(VARCHAR, VARCHAR)` });
  await connection.run(
    `create table if not exists ${table} (batch BIGINT not null, ${columns.map(({ sql }) => sql).join(', ')})`,
  );
  const present = await connection.rows('select column_name from duckdb_columns() where table_name = $1', [
    table,
  ]);
  const names = new Set(present.map(({ column_name }) => column_name));
  for (const { name, sql } of columns)
    if (!names.has(name)) await connection.run(`alter table ${table} add column ${sql}`);
}

/** The lines of the first parameter, each as a list of texts `f`. */
const LINES = `(select string_split(line, '${UNIT}') as f from (select unnest(string_split($1, '${ROW}')) as line))`;
const cast = (index: number, type: string) =>
  type === 'VARCHAR' ? `f[${index}]` : `cast(f[${index}] as ${type})`;
const list = (index: number) =>
  `case when f[${index}] = '' then [] else string_split(f[${index}], '${LIST}') end`;

const CLICK_NAMES = CLICK_COLUMNS.map(({ name }) => quoted(name)).join(', ');
const INSERT_CLICKS = `insert into click (${CLICK_NAMES}, batch) select ${CLICK_COLUMNS.map(({ type }, i) => cast(i + 1, type)).join(', ')}, $2 from ${LINES}`;
const CLICK_ID = CLICK_COLUMNS.findIndex(({ name }) => name === 'id') + 1;
/** One that is stored already has the same time: only rows around the times of the batch are looked at. */
const IMPORT_CLICKS = `${INSERT_CLICKS} where f[${CLICK_ID}] not in (select id from click where time_ms between $3 and $4)`;
/** Of those that come in, only the ones that are there are held in memory, not all that are there. */
const incoming = (table: string, key: string, fields: string) =>
  `with incoming as materialized ${LINES},
    present as materialized (select ${key} from ${table} where (${key}) in (select (${fields}) from incoming))`;
const INSERT_LINKS = `${incoming('link', 'id', 'f[1]')} insert into link select f[1], f[2], f[3], f[4], f[5], f[6],
  f[7], f[8], ${list(9)}, f[10] = 'true', f[11] = 'true', cast(f[12] as BIGINT) from incoming
  where f[1] not in (select id from present)`;
const INSERT_PARTNERS = `${incoming('partner', 'workspace_id, partner_id', 'f[1], f[2]')} insert into partner
  select f[1], f[2], f[3], f[4], ${list(5)}, f[6] = 'true', cast(f[7] as BIGINT) from incoming
  where (f[1], f[2]) not in (select (workspace_id, partner_id) from present)`;
/** An import tells of very many links at once; their text is in memory several times over. */
const ROWS_AT_ONCE = 20_000;

export async function insertBatch(connection: Connection, batch: EventBatch, number: number): Promise<void> {
  const { clicks, importedClicks = [], links, leads = [], sales = [], partners = [], erasures = [] } = batch;
  if (clicks.length > 0) await connection.run(INSERT_CLICKS, [clickLines(clicks), BigInt(number)]);
  if (importedClicks.length > 0) {
    const values = [clickLines(importedClicks), BigInt(number), ...timesOf(importedClicks).map(BigInt)];
    await connection.run(IMPORT_CLICKS, values);
  }
  await putLinks(connection, links);
  await putPartners(connection, partners);
  await putConversions(connection, 'leads', leads, number);
  await putConversions(connection, 'sales', sales, number);
  for (const erasure of erasures) await erase(connection, erasure, number);
}

export async function putLinks(connection: Connection, links: readonly LinkRow[]): Promise<void> {
  for (let start = 0; start < links.length; start += ROWS_AT_ONCE) {
    const lines = [
      links
        .slice(start, start + ROWS_AT_ONCE)
        .map(linkLine)
        .join(ROW),
    ];
    await connection.run(
      `delete from link using ${LINES} as incoming where link.id = f[1] and link.change_id <= cast(f[12] as BIGINT)`,
      lines,
    );
    await connection.run(INSERT_LINKS, lines);
  }
}

export async function putPartners(connection: Connection, partners: readonly PartnerRow[]): Promise<void> {
  if (partners.length === 0) return;
  const lines = [partners.map(partnerLine).join(ROW)];
  await connection.run(
    `delete from partner using ${LINES} as incoming where partner.workspace_id = f[1] and partner.partner_id = f[2]
      and partner.change_id <= cast(f[7] as BIGINT)`,
    lines,
  );
  await connection.run(INSERT_PARTNERS, lines);
}

/** One that is stored already has the same time: only rows around the times of the batch are looked at. */
export async function putConversions(
  connection: Connection,
  kind: 'leads' | 'sales',
  records: readonly (LeadRecord | SaleRecord)[],
  number: number,
): Promise<void> {
  if (records.length === 0) return;
  const columns = EVENT_COLUMNS[kind];
  const table = EVENT_TABLES[kind];
  const names = columns.map(({ name }) => quoted(name)).join(', ');
  const fields = columns.map(({ type }, i) => cast(i + 1, type)).join(', ');
  const keys = columns.length + 1;
  const texts = `case when f[${keys}] = '' then map() else map(string_split(f[${keys}], '${LIST}'), string_split(f[${keys + 1}], '${LIST}')) end`;
  const id = columns.findIndex(({ name }) => name === 'id') + 1;
  await connection.run(
    `insert into ${table} (${names}, ${METADATA_TEXTS}, batch) select ${fields}, ${texts}, $2 from ${LINES}
      where f[${id}] not in (select id from ${table} where time_ms between $3 and $4)`,
    [
      records.map((record) => conversionLine(kind, record)).join(ROW),
      BigInt(number),
      ...timesOf(records).map(BigInt),
    ],
  );
}

async function erase(connection: Connection, erasure: Erasure, number: number): Promise<void> {
  const { workspaceId, customerId, clickIds } = erasure;
  for (const table of ['lead', 'sale']) {
    await connection.run(
      `update ${table} set metadata = '', ${METADATA_TEXTS} = map(), ${BLANK_ADDRESS} where workspace_id = $1 and customer_id = $2`,
      [workspaceId, customerId],
    );
  }
  if (clickIds.length === 0) return;
  const ids = clickIds.map(plain).join(LIST);
  const among = `in (select unnest(string_split($1, '${LIST}')))`;
  await connection.run(`update click set ${BLANK_ADDRESS} where id ${among}${timeRange(clickIds)}`, [ids]);
  for (const table of ['lead', 'sale'])
    await connection.run(`update ${table} set ${BLANK_ADDRESS} where click_id ${among}`, [ids]);
  await connection.run(`insert into erased_click select unnest(string_split($1, '${LIST}')), $2`, [
    ids,
    BigInt(number),
  ]);
}

function clickLines(clicks: readonly ClickRecord[]): string {
  return clicks.map((click) => joinClick(click, UNIT, plain)).join(ROW);
}

function linkLine(link: LinkRow): string {
  const { id, workspaceId, domain, key, folderId, tenantId, partnerId, programId } = link;
  const texts = [id, workspaceId, domain, key, folderId, tenantId, partnerId, programId].map(plain);
  const { root, deleted, changeId } = link;
  return [...texts, listText(link.tagIds), root, deleted, changeId].join(UNIT);
}

function partnerLine({ workspaceId, partnerId, programId, groupId, ...row }: PartnerRow): string {
  const texts = [workspaceId, partnerId, programId, groupId].map(plain);
  return [...texts, listText(row.tagIds), row.deleted, row.changeId].join(UNIT);
}

function conversionLine(kind: 'leads' | 'sales', record: LeadRecord | SaleRecord): string {
  const texts = new Map<string, string>();
  // A map with the same key twice would be refused, and the batch with it.
  for (const [key, text] of metadataTexts(record.metadata)) texts.set(plain(key), text);
  const values = conversionValues(kind, record).map((value) => plain(String(value)));
  return [...values, listText([...texts.keys()]), listText([...texts.values()])].join(UNIT);
}

function listText(items: readonly string[]): string {
  return items.map(plain).join(LIST);
}

/** The three separators are control characters that no address, header or key may hold; here they are spaces. */
function plain(text: string): string {
  return text !== '' && HAS_SEPARATOR.test(text) ? text.replace(SEPARATORS, ' ') : text;
}

export function quoted(name: string): string {
  return `"${name}"`;
}

export function columnNames(kind: EventKind): string {
  return EVENT_COLUMNS[kind].map(({ name }) => quoted(name)).join(', ');
}
