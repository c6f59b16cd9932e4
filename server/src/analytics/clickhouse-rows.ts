// The tables of the event store on ClickHouse, and rows in the form it takes in. A workspace's window of time is one
// stretch of a table, and each month is a part of its own. All statements can be run again, by several nodes at once.
import { type ClickRecord, type ColumnType, joinClick } from './click-record.ts';
import { type Insertion, quoted } from './clickhouse-engine.ts';
import type { LeadRecord, SaleRecord } from './conversion-record.ts';
import { conversionValues, EVENT_COLUMNS, EVENT_TABLES, METADATA_TEXTS } from './event-columns.ts';
import type { LinkRow } from './link-row.ts';
import { metadataTexts } from './metadata.ts';
import type { PartnerRow } from './partner-row.ts';
import { EVENT_KINDS, type EventKind } from './query.ts';

/**
 * Blocks of rows whose tokens a table remembers. Ten nodes write some 20 a second; a batch whose fate is unknown for
 * longer than that lasts is compared with what is stored before it is sent again.
 */
const REMEMBERED_BLOCKS = 10_000;

const TYPES: Readonly<Record<ColumnType, string>> = { VARCHAR: 'String', BIGINT: 'Int64', BOOLEAN: 'Bool' };
/** Texts of which there are few: stored once per part, and compared as numbers. */
const FEW = new Set([
  ...[
    'workspace_id',
    'domain',
    'continent',
    'country',
    'region',
    'city',
    'device',
    'browser',
    'browser_version',
  ],
  ...[
    'os',
    'os_version',
    'trigger',
    'utm_source',
    'utm_medium',
    'event_name',
    'currency',
    'payment_processor',
  ],
]);
const PARTITION = "toYYYYMM(fromUnixTimestamp64Milli(time_ms, 'UTC'))";
const KEY = ['workspace_id', 'time_ms', 'id'];
/** When a row was stored, by the server's clock: the order in which events are followed. */
const STORED = 'batch';
const STORED_TYPE = 'Int64 default toUnixTimestamp64Milli(now64(3))';

const LINK_COLUMNS: readonly (readonly [name: string, type: string])[] = [
  ...['id', 'workspace_id', 'domain', 'key', 'folder_id', 'tenant_id', 'partner_id', 'program_id'].map(
    (name) => [name, 'String'] as const,
  ),
  ['tag_ids', 'Array(String)'],
  ['root', 'Bool'],
  ['deleted', 'Bool'],
  ['change_id', 'UInt64'],
];
const PARTNER_COLUMNS: readonly (readonly [name: string, type: string])[] = [
  ...['workspace_id', 'partner_id', 'program_id', 'group_id'].map((name) => [name, 'String'] as const),
  ['tag_ids', 'Array(String)'],
  ['deleted', 'Bool'],
  ['change_id', 'UInt64'],
];

/** The statements that make the tables or bring those of an earlier release up to date. */
export function schema(cluster: string | undefined): string[] {
  const everywhere = cluster === undefined ? '' : ` on cluster ${quoted(cluster)}`;
  const engine = (name: string) => (cluster === undefined ? name : `Replicated${name}`);
  const create = (table: string, columns: readonly string[], kind: string) =>
    `create table if not exists ${table}${everywhere} (${columns.join(', ')}) engine = ${engine(kind)}`;
  const remember = `settings ${cluster === undefined ? 'non_replicated' : 'replicated'}_deduplication_window = ${REMEMBERED_BLOCKS}`;
  const latest = (table: string, columns: typeof LINK_COLUMNS, key: string) =>
    `${create(table, definitions(columns), 'ReplacingMergeTree(change_id)')} order by (${key}) ${remember}`;
  return [
    ...EVENT_KINDS.flatMap((kind) => [
      `${create(EVENT_TABLES[kind], [...eventDefinitions(kind), ...indexes(kind)], ENGINES[kind])}
        partition by ${PARTITION} order by (${KEY.join(', ')}) ${remember}`,
      `alter table ${EVENT_TABLES[kind]}${everywhere} ${eventDefinitions(kind)
        .map((column) => `add column if not exists ${column}`)
        .join(', ')}`,
    ]),
    latest('link', LINK_COLUMNS, 'workspace_id, id'),
    latest('partner', PARTNER_COLUMNS, 'workspace_id, partner_id'),
    `${create('event_position', ['journal String', 'position SimpleAggregateFunction(max, String)'], 'AggregatingMergeTree')} order by journal`,
  ];
}

/** A lead or sale can come again in another batch; a click cannot, and its table need not look for that. */
const ENGINES: Readonly<Record<EventKind, string>> = {
  clicks: 'MergeTree',
  leads: 'ReplacingMergeTree',
  sales: 'ReplacingMergeTree',
};

/** Lately stored rows are found by their number; a click by its id, in a second order of the narrowest columns. */
function indexes(kind: EventKind): string[] {
  const byStored = `index by_batch ${STORED} type minmax granularity 1`;
  return kind === 'clicks'
    ? [byStored, 'projection by_id (select id, workspace_id, time_ms order by id)']
    : [byStored];
}

function eventDefinitions(kind: EventKind): string[] {
  const columns = EVENT_COLUMNS[kind].map(({ name, type }) => [name, columnType(name, type)] as const);
  return definitions([
    ...columns,
    ...(kind === 'clicks' ? [] : [[METADATA_TEXTS, 'Map(String, String)'] as const]),
    [STORED, STORED_TYPE],
  ]);
}

function definitions(columns: readonly (readonly [name: string, type: string])[]): string[] {
  return columns.map(([name, type]) => `${quoted(name)} ${type}`);
}

function columnType(name: string, type: ColumnType): string {
  return FEW.has(name) ? `LowCardinality(${TYPES[type]})` : TYPES[type];
}

function columnNames(kind: EventKind): string[] {
  return EVENT_COLUMNS[kind].map(({ name }) => name);
}

export function clickInsertion(clicks: readonly ClickRecord[]): Insertion {
  const lines = clicks.map((click) => joinClick(click, '\t', escaped));
  return { table: 'click', columns: columnNames('clicks'), lines: lines.join('\n') };
}

export function conversionInsertion(
  kind: 'leads' | 'sales',
  records: readonly (LeadRecord | SaleRecord)[],
): Insertion {
  const lines = records.map((record) => {
    const values = conversionValues(kind, record).map((value) => escaped(String(value)));
    return [...values, mapText(metadataTexts(record.metadata))].join('\t');
  });
  const columns = [...columnNames(kind), METADATA_TEXTS];
  return { table: EVENT_TABLES[kind], columns, lines: lines.join('\n') };
}

export function linkInsertion(links: readonly LinkRow[]): Insertion {
  const lines = links.map((link) => {
    const { id, workspaceId, domain, key, folderId, tenantId, partnerId, programId } = link;
    const texts = [id, workspaceId, domain, key, folderId, tenantId, partnerId, programId].map(escaped);
    return [...texts, listText(link.tagIds), link.root, link.deleted, link.changeId].join('\t');
  });
  return { table: 'link', columns: LINK_COLUMNS.map(([name]) => name), lines: lines.join('\n') };
}

export function partnerInsertion(partners: readonly PartnerRow[]): Insertion {
  const lines = partners.map(({ workspaceId, partnerId, programId, groupId, tagIds, deleted, changeId }) => {
    const texts = [workspaceId, partnerId, programId, groupId].map(escaped);
    return [...texts, listText(tagIds), deleted, changeId].join('\t');
  });
  return { table: 'partner', columns: PARTNER_COLUMNS.map(([name]) => name), lines: lines.join('\n') };
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
};
// The last three separate values in the other engine, which stores them as spaces; both shall store the same.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SPECIAL = /[\\'\t\n\r\0\b\f\u001d-\u001f]/;
const ALL_SPECIAL = new RegExp(SPECIAL, 'g');

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (character) => ESCAPES[character] ?? ' ') : text;
}

function listText(items: readonly string[]): string {
  return `[${items.map(quotedText).join(',')}]`;
}

function mapText(map: ReadonlyMap<string, string>): string {
  const pairs = [...map].map(([key, value]) => `${quotedText(key)}:${quotedText(value)}`);
  return `{${pairs.join(',')}}`;
}

function quotedText(text: string): string {
  return `'${escaped(text)}'`;
}
