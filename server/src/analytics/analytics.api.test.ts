// GET /analytics and its kin through the whole application: each grouping, the numbers of each kind of event, older
// paths, the file, what is public, and who may ask.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';
import { createEventFeed, type EventFeed, type FedLink } from '../testing/event-feed.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from '../testing/test-app.ts';
import { GROUPINGS } from './query.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let t: TestApp;
let ws: TestWorkspace;
let feed: EventFeed;
let link: FedLink;
let names: { tag: string; folder: string };

before(async () => {
  t = await openTestApp({ events: true });
  ws = await t.workspace();
  feed = createEventFeed(t, ws);
  const tag = (await feed.call('POST', '/tags', { name: 'News', color: 'blue' })).id;
  const folder = (await feed.call('POST', '/folders', { name: 'Spring' })).id;
  names = { tag, folder };
  link = await feed.link({ key: 'one', tagIds: [tag], folderId: folder, publicStats: true, title: 'One' });
  const other = await feed.link({ key: 'two' });
  await feed.click(link, { url: 'https://acme.example/p?utm_source=mail&utm_medium=news' });
  await feed.click(link, { trigger: 'qr', qr: true, timeMs: t.clock.now() - DAY_MS * 3 });
  const click = {
    country: 'DE',
    continent: 'EU',
    region: 'BE',
    city: 'Berlin',
    url: 'https://acme.example/p?x=1',
  };
  await feed.lead(link, { click });
  await feed.lead(other, { click, metadata: '{"plan":"pro"}' });
  await feed.sale(other, { amount: 250, click });
  await feed.settle();
});
after(() => t.close());

async function ask(query: string, key = ws.key, path = '/analytics'): Promise<TestReply['json']> {
  const reply = await t.request('GET', `${path}${query && `?${query}`}`, { key });
  assert.equal(reply.status, 200, `${path}?${query}: ${reply.text}`);
  return reply.json;
}

async function refused(
  query: string,
  status: number,
  { key = ws.key, path = '/analytics', field = '' } = {},
) {
  const reply = await t.request('GET', `${path}?${query}`, { key });
  assert.equal(reply.status, status, `${path}?${query}: ${reply.text}`);
  if (field) assert.equal(reply.json.error.message.split(': ')[1], field, reply.text);
}

const numbers = (clicks: number, leads: number, sales: number, saleAmount: number) => ({
  clicks,
  leads,
  sales,
  saleAmount,
});

test('counts what was asked for, in the last 24 hours unless told otherwise', async () => {
  assert.deepEqual(await ask(''), numbers(1, 0, 0, 0));
  assert.deepEqual(await ask('interval=7d'), numbers(2, 0, 0, 0));
  assert.deepEqual(await ask('event=leads'), numbers(0, 2, 0, 0));
  assert.deepEqual(await ask('event=sales'), numbers(0, 0, 1, 250));
  assert.deepEqual(await ask('event=composite&interval=all'), numbers(2, 2, 1, 250));
  assert.deepEqual(await ask('event=composite&domain=localhost:3000&key=two'), numbers(0, 1, 1, 250));
  assert.deepEqual(await ask(`event=composite&tagIds=${names.tag}`), numbers(1, 1, 0, 0));
  assert.deepEqual(await ask("event=composite&query=metadata['plan']:pro"), numbers(1, 1, 0, 0));
});

describe('a grouping', () => {
  const both = 'event=composite&interval=7d';

  test('has rows of its own shape', async () => {
    const one = numbers(2, 1, 0, 0);
    const two = numbers(0, 1, 1, 250);
    for (const [groupBy, expected] of [
      [
        'continents',
        [
          { continent: 'NA', ...numbers(2, 0, 0, 0) },
          { continent: 'EU', ...numbers(0, 2, 1, 250) },
        ],
      ],
      [
        'countries',
        [
          { country: 'US', region: '*', city: '*', ...numbers(2, 0, 0, 0) },
          { country: 'DE', region: '*', city: '*', ...numbers(0, 2, 1, 250) },
        ],
      ],
      [
        'regions',
        [
          { country: 'US', region: 'US-Unknown', city: '*', ...numbers(2, 0, 0, 0) },
          { country: 'DE', region: 'DE-BE', city: '*', ...numbers(0, 2, 1, 250) },
        ],
      ],
      ['cities', [{ country: 'DE', region: 'DE-BE', city: 'Berlin', ...numbers(0, 2, 1, 250) }]],
      ['utm_sources', [{ utm_source: 'mail', ...numbers(1, 0, 0, 0) }]],
      ['utm_mediums', [{ utm_medium: 'news', ...numbers(1, 0, 0, 0) }]],
      ['top_domains', [{ domain: 'localhost:3000', ...numbers(2, 2, 1, 250) }]],
      [
        'top_folders',
        [
          {
            folderId: names.folder,
            folder: { id: names.folder, name: 'Spring', accessLevel: 'write' },
            ...one,
          },
        ],
      ],
      ['top_link_tags', [{ tagId: names.tag, tag: { id: names.tag, name: 'News', color: 'blue' }, ...one }]],
      ['top_partners', []],
      ['top_groups', []],
      ['top_partner_tags', []],
    ] as const) {
      const rows: Record<string, unknown>[] = await ask(`${both}&groupBy=${groupBy}`);
      const known = rows.filter(
        ({ utm_source, utm_medium }) => !`${utm_source ?? utm_medium}`.match(/^(source-|medium)/),
      );
      assert.deepEqual(known, expected, groupBy);
    }
    const links: Record<string, unknown>[] = await ask(`${both}&groupBy=top_links`);
    assert.deepEqual(
      links.map(({ key, clicks, leads, sales, saleAmount }) => [key, { clicks, leads, sales, saleAmount }]),
      [
        ['one', one],
        ['two', two],
      ],
    );
    const shown = await feed.call('GET', `/links/${link.id}`);
    const { id, domain, key, shortLink, url, title, comments, folderId, partnerId, createdAt } = shown;
    const row = { id, domain, key, shortLink, url, title, comments, folderId, partnerId, createdAt };
    assert.deepEqual(links[0], { link: id, ...row, ...one });
  });

  test('exists under every documented name', async () => {
    for (const groupBy of [...Object.keys(GROUPINGS), 'trigger']) {
      const answer = await ask(`${both}&groupBy=${groupBy}`);
      assert.equal(Array.isArray(answer), groupBy !== 'count', groupBy);
    }
    assert.deepEqual(await ask('groupBy=trigger'), await ask('groupBy=triggers'));
  });

  test('leaves out what no longer exists', async () => {
    const own = await t.workspace();
    const feeding = createEventFeed(t, own);
    const { id } = await feeding.call('POST', '/tags', { name: 'Gone' });
    await feeding.click(await feeding.link({ tagIds: [id] }));
    await feeding.settle();
    assert.equal((await ask('groupBy=top_link_tags', own.key)).length, 1);
    await feeding.call('DELETE', `/tags/${id}`);
    assert.deepEqual(await ask('groupBy=top_link_tags', own.key), []);
  });

  test('by time has a row for every hour, day or month, also for empty ones', async () => {
    const starts = async (query: string) =>
      (await ask(`groupBy=timeseries&${query}`)).map(({ start }: { start: string }) => start);
    for (const [query, count] of [
      ['interval=24h', 25],
      ['interval=7d', 8],
      ['interval=30d', 31],
      ['interval=90d', 91],
      ['interval=mtd', 15],
      ['interval=qtd', 15],
      ['interval=ytd', 1],
      ['interval=1y', 13],
      ['start=2027-01-10&end=2027-01-11', 48],
      ['start=2026-01-01&end=2027-01-01', 13],
    ] as const) {
      assert.equal((await starts(query)).length, count, query);
    }
    const days = 'start=2025-03-08&end=2025-03-11&timezone=America/New_York';
    assert.deepEqual(await starts(days), [
      '2025-03-08T00:00:00.000-0500',
      '2025-03-09T00:00:00.000-0500',
      '2025-03-10T00:00:00.000-0400',
      '2025-03-11T00:00:00.000-0400',
    ]);
    const rows = await ask('groupBy=timeseries&event=composite&interval=7d');
    assert.deepEqual(rows[4], { start: '2027-01-12T00:00:00.000+0000', ...numbers(1, 0, 0, 0) });
    assert.deepEqual(rows[7], { start: '2027-01-15T00:00:00.000+0000', ...numbers(1, 2, 1, 250) });
    // All time begins with the first event where that is older than the workspace.
    assert.equal((await starts('interval=all'))[0], '2027-01-12T00:00:00.000+0000');
  });
});

test('older paths say the same, and give a bare number of clicks', async () => {
  const at = (path: string, query = '') => ask(query, ws.key, `/analytics/${path}`);
  for (const path of ['clicks', 'count', 'clicks/count', 'clicks/clicks'])
    assert.equal(await at(path), 1, path);
  assert.deepEqual(await at('leads'), numbers(0, 2, 0, 0));
  assert.deepEqual(await at('count', 'event=sales'), numbers(0, 0, 1, 250));
  for (const [path, groupBy] of [
    ['country', 'countries'],
    ['city', 'cities'],
    ['device', 'devices'],
    ['browser', 'browsers'],
    ['os', 'os'],
    ['referer', 'referers'],
    ['trigger', 'triggers'],
    ['timeseries', 'timeseries'],
    ['top_links', 'top_links'],
    ['top_urls', 'top_urls'],
  ] as const) {
    const expected = await ask(`event=leads&groupBy=${groupBy}`);
    assert.deepEqual(await at(path, 'event=leads'), expected, path);
    assert.deepEqual(await at(`leads/${path}`), expected, path);
  }
  for (const path of ['unknown', 'clicks/unknown', 'countries/clicks', 'toString'])
    await refused('', 404, { path: `/analytics/${path}` });
});

test('the file has a table for each grouping with rows, once in 30 seconds', async () => {
  const get = (query: string) => t.request('GET', `/analytics/export?${query}`, { key: ws.key });
  const reply = await get('interval=7d');
  assert.deepEqual(
    [reply.status, reply.headers.get('content-type'), reply.headers.get('content-disposition')],
    [200, 'application/zip', 'attachment; filename=analytics_export.zip'],
  );
  const files = unzipSync(reply.bytes);
  assert.ok(!('count.csv' in files) && !('top_partners.csv' in files));
  const table = (name: string) => strFromU8(files[name] as Uint8Array).split('\r\n');
  assert.deepEqual(table('countries.csv'), [
    'country,region,city,clicks,leads,sales,saleAmount',
    'US,*,*,2,0,0,0',
    'DE,*,*,0,2,1,250',
    '',
  ]);
  assert.equal(table('top_folders.csv')[1], `${names.folder},${names.folder},Spring,write,2,1,0,0`);
  assert.equal(table('timeseries.csv').length, 10);
  assert.ok('top_links.csv' in files);
  assert.equal((await get('')).status, 429);
  t.clock.advance(30_000);
  const single = unzipSync((await get(`linkId=${link.id}`)).bytes);
  assert.ok('triggers.csv' in single && !('top_links.csv' in single));
});

describe('what is public', () => {
  const path = '/analytics/dashboard';
  const ofLink = () => `domain=${link.domain}&key=one`;
  const open = async (query: string) => {
    const reply = await t.request('GET', `${path}?${query}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };

  test('needs no key, and tells of clicks alone', async () => {
    assert.deepEqual(await open(`${ofLink()}&interval=7d`), numbers(2, 0, 0, 0));
    assert.equal((await open(`${ofLink()}&groupBy=countries&interval=7d`))[0].country, 'US');
    assert.deepEqual(await open(`${ofLink()}&interval=7d&trigger=qr`), numbers(1, 0, 0, 0));
    await refused(`${ofLink()}&groupBy=top_links`, 422, { path, field: 'groupBy' });
  });

  test('is what the owner made public', async () => {
    await refused(`domain=${link.domain}&key=two`, 403, { path });
    await refused(`domain=${link.domain}&key=unknown`, 404, { path });
    await refused(`folderId=${names.folder}`, 403, { path });
    await refused('', 400, { path, field: 'domain' });
    await refused('domain=localhost:3000', 400, { path, field: 'key' });
  });

  test('is a minute old at most, and closed at once when the owner closes it', async () => {
    const own = await t.workspace();
    const feeding = createEventFeed(t, own);
    const shown = await feeding.link({ key: 'minute', publicStats: true });
    const count = async () => (await open(`domain=${shown.domain}&key=minute`)).clicks;
    assert.equal(await count(), 0);
    await feeding.click(shown);
    await feeding.settle();
    assert.equal(await count(), 0);
    t.clock.advance(60_000);
    assert.equal(await count(), 1);
    await feeding.call('PATCH', `/links/${shown.id}`, { publicStats: false });
    await refused(`domain=${shown.domain}&key=minute`, 403, { path });
  });
});

describe('who may ask', () => {
  test('is on a plan that reaches as far back as the question', async () => {
    await refused('', 403, { key: (await t.workspace('free')).key });
    const { key } = await t.workspace('pro');
    const each = async (queries: readonly string[], status: number) => {
      for (const query of queries) {
        t.clock.advance(1_000);
        if (status === 200) await ask(query, key);
        else await refused(query, status, { key });
      }
    };
    await each(['interval=1y', 'interval=all', 'start=2026-02-01&end=2027-02-01'], 200);
    await each(['start=2025-01-01&end=2027-01-01'], 403);
    t.clock.advance(367 * DAY_MS);
    await each(['interval=all'], 403);
    await each(['interval=1y'], 200);
  });

  test('names no program but the own', async () => {
    await refused('programId=prog_1', 404);
    await t.app.db.query
      .updateTable('workspace')
      .set({ default_program_id: 'prog_own' })
      .where('id', '=', ws.id)
      .execute();
    await refused('programId=prog_other', 403);
    assert.deepEqual(await ask('programId=prog_own'), numbers(0, 0, 0, 0));
  });

  test('is told by name what is wrong', async () => {
    for (const [query, status, field] of [
      ['event=visits', 422, 'event'],
      ['groupBy=colour', 422, 'groupBy'],
      ['start=soon', 422, 'start'],
      ['timezone=Mars', 422, 'timezone'],
      ['root=2', 400, 'root'],
      ['key=a', 422, 'key'],
      ["query=metadata['a'", 422, 'query'],
    ] as const) {
      await refused(query, status, { field });
    }
  });
});
