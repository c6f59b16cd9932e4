// The SQL of numbers, for any engine. Every kind of event is counted by itself and the counts are added up, so a
// group is there if any of them has it. Groups by what a link is now count per link first: links are fewer.
import { type ConditionParts, createValues, eventConditions, type Statement } from './conditions.ts';
import type { Dialect } from './dialect.ts';
import { EVENT_TABLES } from './event-columns.ts';
import { type AggregateQuery, EVENT_KINDS, type EventKind, type GroupBy, MAX_GROUPS } from './query.ts';

/** What makes a group, and the columns that must have a value for an event to be in one. */
interface Grouping {
  readonly by: readonly GroupSql[];
  readonly known: readonly string[];
}

/** SQL, or what makes it from the column with the id of the click. */
type GroupSql = string | ((clickId: string, dialect: Dialect) => string);

const NO_GROUPS: Grouping = { by: [], known: [] };
const one = (column: string): Grouping => ({ by: [column], known: [column] });
const REGION = "concat(country, '-', case when region = '' then 'Unknown' else region end)";

/**
 * A group of its own for each click would tell nothing, and there would be as many as clicks. The id mostly stands at
 * the end, where it is cut off in a fraction of the time.
 */
function sharedUrl(clickId: string, { endsWith }: Dialect): string {
  const given = (before: string, after = '') => `concat('${before}dub_id=', ${clickId}, '${after}')`;
  const cut = `left(url, length(url) - length(${given('?')}))`;
  const first = `replace(url, ${given('?', '&')}, '?')`;
  const without = `replace(replace(${first}, ${given('&')}, ''), ${given('?')}, '')`;
  return `case when url like '%dub_id=%' then case when ${endsWith('url', given(''))} then ${cut} else ${without} end else url end`;
}

const EVENT_GROUPS: Readonly<Partial<Record<GroupBy, Grouping>>> = {
  continents: one('continent'),
  countries: one('country'),
  regions: { by: ['country', REGION], known: ['country'] },
  cities: { by: ['country', REGION, 'city'], known: ['country', 'city'] },
  devices: one('device'),
  browsers: one('browser'),
  os: one('os'),
  triggers: one('trigger'),
  referers: one('referer'),
  top_urls: { by: [sharedUrl], known: ['url'] },
  top_base_urls: one('url_base'),
  utm_sources: one('utm_source'),
  utm_mediums: one('utm_medium'),
  utm_campaigns: one('utm_campaign'),
  utm_terms: one('utm_term'),
  utm_contents: one('utm_content'),
  top_links: one('link_id'),
};

/** Of a link, or of its partner. */
const LINK_GROUPS: Readonly<Partial<Record<GroupBy, { table: 'link' | 'partner'; column: string }>>> = {
  top_domains: { table: 'link', column: 'domain' },
  top_folders: { table: 'link', column: 'folder_id' },
  top_link_tags: { table: 'link', column: 'tag_ids' },
  top_partners: { table: 'link', column: 'partner_id' },
  top_groups: { table: 'partner', column: 'group_id' },
  top_partner_tags: { table: 'partner', column: 'tag_ids' },
};

/** What an event of each kind adds; the names are short until all is added up. */
const ADDED: Readonly<Record<EventKind, string>> = {
  clicks: 'count(*) as n1, 0 as n2, 0 as n3, 0 as n4',
  leads: '0 as n1, count(*) as n2, 0 as n3, 0 as n4',
  sales: '0 as n1, 0 as n2, count(*) as n3, coalesce(sum(amount), 0) as n4',
};
const METRICS = ['clicks', 'leads', 'sales', 'sale_amount'] as const;

type Parts = Omit<ConditionParts, 'kind' | 'query'> & { readonly query: AggregateQuery };

/**
 * Rows of g1, g2 … and the metrics by their names. For `timeseries`, g1 is the number of the stretch of `slotMs`
 * since 1970 that the events are in.
 */
export function aggregateStatement(query: AggregateQuery, dialect: Dialect, slotMs: number): Statement {
  const parts = { query, dialect, values: createValues(dialect) };
  const { groupBy, event } = query;
  const ofLinks = LINK_GROUPS[groupBy] !== undefined;
  const grouping = ofLinks ? one('link_id') : eventGrouping(groupBy, dialect, slotMs);
  const kinds = event === 'composite' ? EVENT_KINDS : [event];
  const counts = kinds.map((kind) => countsOf(kind, grouping, parts)).join(' union all ');
  const names = namesOf(grouping);
  const inOrder = groupBy === 'count' || groupBy === 'timeseries' ? '' : orderOf(query, names, ofLinks);
  const added = ofLinks || kinds.length > 1;
  const sql = `${total(ofLinks ? perLinkGroup(counts, parts) : counts, names, added)}${inOrder}`;
  return { sql, texts: parts.values.texts };
}

function eventGrouping(groupBy: GroupBy, dialect: Dialect, slotMs: number): Grouping {
  if (groupBy === 'timeseries') return { by: [dialect.divide('time_ms', slotMs)], known: [] };
  if (groupBy === 'referer_urls') return { by: [dialect.beforeQuery('referer_url')], known: ['referer_url'] };
  return EVENT_GROUPS[groupBy] ?? NO_GROUPS;
}

function namesOf({ by }: Grouping): string[] {
  return by.map((_, i) => `g${i + 1}`);
}

function countsOf(kind: EventKind, grouping: Grouping, parts: Parts): string {
  const names = namesOf(grouping);
  const clickId = kind === 'clicks' ? 'id' : 'click_id';
  const columns = grouping.by.map((by, i) => {
    const sql = typeof by === 'string' ? by : by(clickId, parts.dialect);
    return `${sql} as ${names[i]}`;
  });
  const known = grouping.known.map((column) => `${column} not in ('', 'Unknown')`);
  const where = [eventConditions({ ...parts, kind }), ...known].join(' and ');
  const table = parts.dialect.table(EVENT_TABLES[kind]);
  return `select ${[...columns, ADDED[kind]].join(', ')} from ${table} where ${where}${groupedBy(names)}`;
}

/** `counts` are per link. */
function perLinkGroup(counts: string, parts: Parts): string {
  return `select l.value as g1, n1, n2, n3, n4 from (${counts}) e join (${linkGroups(parts)}) l on l.id = e.g1 where l.value <> ''`;
}

/** Each link once for every group it is in. */
function linkGroups({ query, values, dialect }: Parts): string {
  const { table = 'link', column = '' } = LINK_GROUPS[query.groupBy] ?? {};
  const value = `${column === 'tag_ids' ? dialect.eachOf(column) : column} as value`;
  const existing = `where workspace_id = ${values.bind(query.workspaceId)} and not deleted`;
  const select = (columns: string, from: 'link' | 'partner') =>
    `select ${columns} from ${dialect.table(from)} ${existing}`;
  if (table === 'link') return select(`id, ${value}`, 'link');
  return `select k.id as id, p.value as value from (${select('id, partner_id', 'link')}) k
    join (${select(`partner_id, ${value}`, 'partner')}) p on p.partner_id = k.partner_id`;
}

/** Counts of one kind by event columns are totals already. */
function total(counts: string, names: readonly string[], added: boolean): string {
  const metrics = METRICS.map((metric, i) =>
    added ? `sum(n${i + 1}) as ${metric}` : `n${i + 1} as ${metric}`,
  );
  return `select ${[...names, ...metrics].join(', ')} from (${counts}) t${added ? groupedBy(names) : ''}`;
}

/** Groups of equal size come by their names, so that every engine cuts off the same ones. */
function orderOf({ event }: AggregateQuery, names: readonly string[], ofLinks: boolean): string {
  const first = {
    clicks: ['clicks'],
    leads: ['leads'],
    sales: ['sale_amount'],
    composite: ofLinks ? ['sale_amount', 'clicks'] : ['clicks'],
  }[event];
  const order = [...first.map((metric) => `${metric} desc`), ...names];
  return ` order by ${order.join(', ')} limit ${MAX_GROUPS}`;
}

function groupedBy(names: readonly string[]): string {
  return names.length === 0 ? '' : ` group by ${names.join(', ')}`;
}
