// Generated queries over generated events. Every grouping and every filter gets its turn, the rest is chance.
import { granularityOf, listBuckets } from '../analytics/buckets.ts';
import type { Dataset } from '../analytics/oracle.ts';
import {
  type AggregateQuery,
  EVENT_FIELDS,
  EVENT_KINDS,
  type Filter,
  GROUPINGS,
  type GroupBy,
  LINK_FIELDS,
  type ListQuery,
  type MetadataCondition,
  type Query,
} from '../analytics/query.ts';
import { findTimeZone } from '../analytics/time-zone.ts';
import { FROM_MS, type Random, TO_MS, VALUES, WORKSPACES } from './event-data.ts';

const DAY_MS = 86_400_000;
const ZONES = [
  'UTC',
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
];
const GROUP_BYS = Object.keys(GROUPINGS) as GroupBy[];
/** Beyond the plain filters. */
const OTHER_CONDITIONS = [
  'fixedLinkId',
  'root',
  'hiddenFolderIds',
  'qr',
  'customerId',
  'saleType',
  'metadata',
] as const;
export const CONDITIONS = [...LINK_FIELDS, ...EVENT_FIELDS, ...OTHER_CONDITIONS];
export type ConditionName = (typeof CONDITIONS)[number];

export type Question = { readonly list: ListQuery } | { readonly aggregate: AggregateQuery };

/** The nth question: it surely has the nth condition and the nth grouping, counted round and round. */
export function makeQuestion(random: Random, n: number, data: Dataset): Question {
  const query = makeQuery(random, CONDITIONS[n % CONDITIONS.length], data);
  if (random.chance(0.4)) return { list: makeList(random, query, data) };
  const groupBy = GROUP_BYS[n % GROUP_BYS.length] ?? 'count';
  const event = random.pick([...EVENT_KINDS, 'composite'] as const);
  if (groupBy !== 'timeseries') return { aggregate: { ...query, event, groupBy } };
  return { aggregate: { ...query, event, groupBy, buckets: makeBuckets(random, query) } };
}

function makeBuckets(random: Random, query: Query): number[] {
  const zone = findTimeZone(random.pick(ZONES));
  if (!zone) throw new Error('An unknown zone');
  return listBuckets(query, granularityOf(query, undefined, zone), zone);
}

function makeList(random: Random, query: Query, data: Dataset): ListQuery {
  const kind = random.pick(EVENT_KINDS);
  const at = random.pick<{ timeMs: number; id: string }>(data[kind]);
  return {
    ...query,
    kind,
    order: random.pick(['asc', 'desc']),
    limit: 1 + random.whole(60),
    offset: random.chance(0.5) ? 0 : random.whole(40),
    ...(random.chance(0.3) ? { after: { timeMs: at.timeMs, id: at.id } } : {}),
  };
}

function makeQuery(random: Random, surely: ConditionName | undefined, data: Dataset): Query {
  const first = FROM_MS + random.whole(TO_MS - FROM_MS);
  const days = random.pick([0.2, 1, 3, 20, 300]);
  const whole = random.chance(0.5);
  const conditions = CONDITIONS.filter((name) => name === surely || random.chance(0.03));
  const chosen = conditions.map((name) => [name, makeCondition(random, name, data)]);
  return {
    workspaceId: random.pick(WORKSPACES),
    fromMs: whole ? FROM_MS - DAY_MS : first,
    toMs: whole ? TO_MS + 3 * DAY_MS : first + Math.floor(days * DAY_MS),
    ...Object.fromEntries(chosen),
  };
}

function makeCondition(random: Random, name: ConditionName, data: Dataset): unknown {
  if (name === 'linkId')
    return filter(
      random,
      data.links.map(({ id }) => id),
      8,
    );
  if (name === 'fixedLinkId') return random.pick(data.links).id;
  if (name === 'root' || name === 'qr') return random.chance(0.5);
  if (name === 'hiddenFolderIds') return random.some(VALUES.folderId.slice(1), 2);
  if (name === 'customerId') return random.pick(VALUES.customerId);
  if (name === 'saleType') return random.pick(['new', 'recurring']);
  if (name === 'metadata') return makeMetadata(random, 3);
  if (name === 'region') return filter(random, ['CA', 'BE', 'US-CA', 'DE-BE', 'DE-Unknown', 'x'], 3);
  if (name === 'url')
    return filter(random, ['https://a.example/', 'https://b.example/p', 'https://a.example/?q'], 2);
  if (name === 'refererUrl')
    return filter(random, ['(direct)', 'https://t.co/x', 'https://example.org/%3F'], 2);
  return filter(random, [...VALUES[name].filter((value) => value !== ''), 'of no event'], 3);
}

function filter(random: Random, values: readonly string[], max: number): Filter {
  return { not: random.chance(0.4), values: random.some(values, max) };
}

const PATHS = [
  ['plan'],
  ['seats'],
  ['trial'],
  ['nested', 'a/b'],
  ['nested', 'a/b', '~x'],
  ['0'],
  ['list', '0'],
  ['none'],
];
const OPERATORS = ['=', '!=', '>', '<', '>=', '<='] as const;
const TEXTS = [
  'pro',
  'free',
  '',
  '5',
  '1.5',
  '12',
  '-2000',
  'true',
  'false',
  'deep',
  'flat',
  'zero',
  "x' or 1=1",
];

function makeMetadata(random: Random, depth: number): MetadataCondition {
  if (depth > 1 && random.chance(0.4)) {
    const parts = Array.from({ length: 1 + random.whole(3) }, () => makeMetadata(random, depth - 1));
    return { op: random.pick(['and', 'or']), parts };
  }
  return { path: random.pick(PATHS), operator: random.pick(OPERATORS), value: random.pick(TEXTS) };
}
