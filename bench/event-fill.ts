// Fills an event store with a year of clicks, leads and sales straight through the engine's SQL. The last day
// always has the same number of events, so that stores of any size can be asked about it.
import { type Connection, openEngine } from '../server/src/analytics/duckdb-engine.ts';
import { EVENT_COLUMNS } from '../server/src/analytics/event-columns.ts';
import type { EventKind } from '../server/src/analytics/query.ts';

const DAY_MS = 86_400_000;
const DAYS = 365;
const ROWS_PER_INSERT = 1_000_000;
export const EVENTS_OF_LAST_DAY = 20_000;
const LEAD_EVERY = 100;
const SALE_EVERY = 300;

export interface EventFill {
  readonly path: string;
  readonly workspaceId: string;
  readonly links: number;
  readonly clicks: number;
  /** When the last event happened. */
  readonly nowMs: number;
  readonly progress: (text: string) => void;
}

/** How links are named that the events are of. */
export const linkId = (n: number): string => `link_bench_${n}`;

export async function fillEvents(fill: EventFill): Promise<void> {
  const engine = await openEngine({ path: fill.path, threads: 2, memoryMb: 8_192 });
  try {
    const connection = await engine.connect();
    await addLinks(connection, fill);
    for (let from = 0; from < fill.clicks; from += ROWS_PER_INSERT) {
      const to = Math.min(from + ROWS_PER_INSERT, fill.clicks);
      await insert(connection, 'clicks', CLICK, clickRows(fill, from, to));
      if (to % (10 * ROWS_PER_INSERT) === 0) fill.progress(`${to / 1e6} M clicks are in`);
    }
    await insert(connection, 'leads', LEAD, conversionRows(LEAD_EVERY));
    await insert(connection, 'sales', SALE, conversionRows(SALE_EVERY));
    await connection.run('checkpoint');
  } finally {
    engine.close();
  }
}

async function addLinks(connection: Connection, { workspaceId, links }: EventFill): Promise<void> {
  await connection.run(
    `insert into link select 'link_bench_' || n, $1, 'go' || n % 3 || '.example.com', 'key-' || n,
      case when n % 4 = 0 then 'fold_' || n % 20 else '' end, '', '', '',
      case when n % 2 = 0 then ['tag_' || n % 50] else [] end, false, n % 97 = 96, 0
     from range(${links}) as t(n)`,
    [workspaceId],
  );
}

/** Rows are stored as a batch before the first, which no archive takes up. */
async function insert(
  connection: Connection,
  kind: EventKind,
  values: Readonly<Record<string, string>>,
  rows: string,
): Promise<void> {
  const table = { clicks: 'click', leads: 'lead', sales: 'sale' }[kind];
  const columns = EVENT_COLUMNS[kind].map(({ name }) => name);
  const names = columns.map((name) => `"${name}"`).join(', ');
  const expressions = columns.map((name) => values[name] ?? `"${name}"`).join(', ');
  await connection.run(`insert into ${table} (batch, ${names}) select 0, ${expressions} from ${rows}`);
}

function clickRows({ workspaceId, links, clicks, nowMs }: EventFill, from: number, to: number): string {
  const before = Math.max(1, clicks - EVENTS_OF_LAST_DAY);
  const startMs = nowMs - DAYS * DAY_MS;
  return `(select n, cast(hash(n) >> 1 as BIGINT) as h, '${workspaceId}' as workspace_id, ${links} as links,
      cast(case when n < ${before} then ${startMs} + floor(n * ${(DAYS - 1) * DAY_MS}.0 / ${before})
        else ${nowMs - DAY_MS} + floor((n - ${before}) * ${DAY_MS}.0 / ${EVENTS_OF_LAST_DAY}) end as BIGINT) as t
    from range(${from}, ${to}) as series(n)) as rows`;
}

const conversionRows = (every: number) =>
  `(select *, row_number() over () as n from click where hash(id) % ${every} = 0 order by time_ms) as rows`;

const among = (shift: number, ...values: string[]) =>
  `([${values.map((value) => `'${value}'`).join(', ')}])[1 + ((h >> ${shift}) % ${values.length})]`;
const link = '((h >> 7) % links)';
const url = `'https://shop' || ${link} % 97 || '.example.com/products/' || ${link}`;

const CLICK: Readonly<Record<string, string>> = {
  time_ms: 't',
  link_id: `'link_bench_' || ${link}`,
  id: `'c' || lpad(cast(n as varchar), 15, '0')`,
  domain: `'go' || ${link} % 3 || '.example.com'`,
  key: `'key-' || ${link}`,
  url: `${url} || '?utm_source=' || ${among(3, 'news', 'ads', 'social')}`,
  url_base: url,
  utm_source: among(3, 'news', 'ads', 'social'),
  utm_medium: among(5, 'mail', 'cpc', 'post'),
  utm_campaign: `'campaign-' || (h >> 9) % 31`,
  utm_term: "''",
  utm_content: "''",
  ip: `(h >> 11) % 220 || '.' || (h >> 19) % 256 || '.' || (h >> 27) % 256 || '.' || (h >> 35) % 256`,
  continent: among(13, 'EU', 'NA', 'AS', 'SA'),
  country: among(15, 'DE', 'US', 'IN', 'BR', 'FR', 'GB', 'JP', 'CA'),
  region: among(17, 'BE', 'CA', 'MH', 'SP', 'NY'),
  city: `'City ' || (h >> 21) % 500`,
  device: among(23, 'Desktop', 'Mobile', 'Mobile', 'Tablet'),
  browser: among(25, 'Chrome', 'Safari', 'Firefox', 'Edge'),
  browser_version: `cast(100 + (h >> 29) % 40 as varchar)`,
  os: among(31, 'Windows', 'iOS', 'Android', 'Mac OS', 'Linux'),
  os_version: `cast(10 + (h >> 33) % 8 as varchar)`,
  user_agent: `'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/1' || (h >> 29) % 40 || '.0.0.0 Safari/537.36'`,
  trigger: among(37, 'link', 'link', 'link', 'qr'),
  qr: '(h >> 37) % 4 = 3',
  referer: among(39, '(direct)', 'google.com', 't.co', 'news.example'),
  referer_url: among(39, '(direct)', 'https://google.com/', 'https://t.co/x', 'https://news.example/a'),
};

const LEAD: Readonly<Record<string, string>> = {
  id: `'l' || lpad(cast(n as varchar), 15, '0')`,
  time_ms: 'time_ms + 60000',
  click_id: 'id',
  click_time_ms: 'time_ms',
  customer_id: `'cus_bench_' || n % 10000`,
  event_name: "'Sign up'",
  metadata: `'{"plan":"pro"}'`,
};

const SALE: Readonly<Record<string, string>> = {
  ...LEAD,
  id: `'s' || lpad(cast(n as varchar), 15, '0')`,
  time_ms: 'time_ms + 120000',
  event_name: "'Purchase'",
  amount: 'cast(100 + n % 9900 as BIGINT)',
  currency: "'usd'",
  payment_processor: "'stripe'",
  invoice_id: `'in_' || n`,
};
