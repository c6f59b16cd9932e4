// GET /events through the whole application: every parameter, the records, the order, who may ask, and refusals.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createEventFeed, type EventFeed, type FedLink } from '../testing/event-feed.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from '../testing/test-app.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let t: TestApp;
before(async () => {
  t = await openTestApp({ events: true });
});
after(() => t.close());

type Listed = TestReply['json'];

async function list(ws: { key: string }, query: string): Promise<Listed[]> {
  const reply = await t.request('GET', `/events?${query}`, { key: ws.key });
  assert.equal(reply.status, 200, `${query}: ${reply.text}`);
  return reply.json;
}

async function refused(ws: { key: string }, query: string, status: number, field?: string): Promise<string> {
  const reply = await t.request('GET', `/events?${query}`, { key: ws.key });
  assert.equal(reply.status, status, `${query}: ${reply.text}`);
  const { message } = reply.json.error;
  if (field) assert.equal(message.split(': ')[1], field, message);
  return message;
}

describe('every parameter', () => {
  let ws: TestWorkspace;
  let feed: EventFeed;
  let links: { plain: FedLink; full: FedLink; root: FedLink };
  let ids: { tag: string; folder: string; customer: string };

  // Two leads and what else is needed to tell them apart: `plain` an hour ago, `full`, in which everything is set, now.
  before(async () => {
    ws = await t.workspace();
    feed = createEventFeed(t, ws);
    const tag = (await feed.call('POST', '/tags', { name: 'News' })).id;
    const folder = (await feed.call('POST', '/folders', { name: 'Spring' })).id;
    const customer = await feed.customer({ name: 'Ada' });
    await feed.call('POST', '/domains', { slug: 'go.acme.example' });
    ids = { tag, folder, customer };
    const fields = { tagIds: [tag], folderId: folder, tenantId: 'tenant-1', externalId: 'mine-1' };
    const [plain, full] = [
      await feed.link({ key: 'plain', domain: 'localhost:3000' }),
      await feed.link({ key: 'full', domain: 'go.acme.example', ...fields }),
    ];
    links = { plain, full, root: await feed.call('GET', '/links/info?domain=go.acme.example&key=_root') };
    await feed.enrol(full, {
      programId: 'prog_1',
      partnerId: 'pn_1',
      groupId: 'grp_1',
      partnerTagIds: ['ptag_1'],
    });
    const now = t.clock.now();
    await feed.lead(plain, { timeMs: now - HOUR_MS, eventName: 'plain', click: PLAIN_CLICK });
    await feed.lead(full, { customerId: customer, eventName: 'full', metadata: METADATA, click: FULL_CLICK });
    await feed.click(plain, { timeMs: now - HOUR_MS });
    await feed.click(full, { id: FULL_CLICK.id, trigger: 'qr', qr: true });
    for (const timeMs of [now - 2 * HOUR_MS, now - HOUR_MS])
      await feed.sale(full, {
        customerId: customer,
        timeMs,
        eventName: timeMs < now - HOUR_MS ? 'first' : 'second',
      });
    await feed.settle();
  });

  const METADATA = JSON.stringify({ plan: 'pro', seats: 7, trial: false, team: { name: 'A and B' } });
  const PLAIN_CLICK = {
    continent: 'EU',
    country: 'DE',
    region: 'BE',
    city: 'Berlin',
    device: 'Mobile',
    browser: 'Mobile Safari',
    os: 'iOS',
    trigger: 'link',
    qr: false,
    referer: '(direct)',
    refererUrl: '(direct)',
    url: 'https://acme.example/plain',
    urlBase: 'https://acme.example/plain',
    utmSource: '',
    utmMedium: '',
    utmCampaign: '',
    utmTerm: '',
    utmContent: '',
  } as const;
  const FULL_CLICK = {
    id: 'click-of-full',
    continent: 'NA',
    country: 'US',
    region: 'CA',
    city: 'San Jose',
    device: 'Desktop',
    browser: 'Chrome',
    os: 'Mac OS',
    trigger: 'qr',
    qr: true,
    referer: 'news.example',
    refererUrl: 'https://news.example/post?id=1',
    url: 'https://acme.example/full?utm_source=mail',
    urlBase: 'https://acme.example/full',
    utmSource: 'mail',
    utmMedium: 'newsletter',
    utmCampaign: 'spring sale',
    utmTerm: 'shoes',
    utmContent: 'top',
  } as const;

  /** The leads that a query leaves: each parameter has cases that fail when it is ignored. */
  const CASES: readonly (readonly [query: string | (() => string), left: string])[] = [
    ['', 'full plain'],
    ['event=leads', 'full plain'],
    ['domain=go.acme.example', 'full'],
    ['domain=-go.acme.example', 'plain'],
    ['domain=go.acme.example,localhost:3000', 'full plain'],
    ['domain=go.acme.example&key=full', 'full'],
    ['domain=localhost:3000,go.acme.example&key=plain', 'plain'],
    [() => `linkId=${links.full.id}`, 'full'],
    [() => `linkId=-${links.full.id}`, 'plain'],
    [() => `linkId=${links.full.id},${links.plain.id}`, 'full plain'],
    ['linkId=link_unknown', ''],
    ['externalId=ext_mine-1', 'full'],
    [() => `linkId=${links.plain.id}&externalId=ext_unknown`, 'plain'],
    ['tenantId=tenant-1', 'full'],
    ['tenantId=-tenant-1', 'plain'],
    [() => `tagId=${ids.tag}`, 'full'],
    [() => `tagId=-${ids.tag}`, 'plain'],
    [() => `tagIds=${ids.tag}`, 'full'],
    [() => `tagIds=-${ids.tag}`, 'plain'],
    [() => `tagId=${ids.tag}&tagIds=tag_unknown`, 'full'],
    [() => `folderId=${ids.folder}`, 'full'],
    [() => `folderId=-${ids.folder}`, 'plain'],
    ['partnerId=pn_1', 'full'],
    ['partnerId=-pn_1', 'plain'],
    ['groupId=grp_1', 'full'],
    ['groupId=-grp_1', 'plain'],
    ['groupId=grp_2', ''],
    ['partnerTagId=ptag_1', 'full'],
    ['partnerTagId=-ptag_1', 'plain'],
    ['partnerTagId=ptag_3', ''],
    ['programId=prog_1', 'full'],
    ['programId=prog_2', ''],
    [() => `customerId=${ids.customer}`, 'full'],
    ['customerId=cus_unknown', ''],
    ['root=true', ''],
    ['root=false', 'full plain'],
    ['country=US', 'full'],
    ['country=-US', 'plain'],
    ['country=US,DE', 'full plain'],
    ['country=us', ''],
    ['city=San Jose', 'full'],
    ['city=-San Jose', 'plain'],
    ['region=CA', 'full'],
    ['region=US-CA', 'full'],
    ['region=DE-CA', ''],
    ['region=-US-CA', 'plain'],
    ['region=BE,US-CA', 'full plain'],
    ['continent=NA', 'full'],
    ['device=desktop', 'full'],
    ['device=-Desktop', 'plain'],
    ['browser=chrome', 'full'],
    ['browser=mobile safari', 'plain'],
    ['os=mac OS', 'full'],
    ['os=iOS', 'plain'],
    ['trigger=qr', 'full'],
    ['trigger=-qr', 'plain'],
    ['trigger=link,qr', 'full plain'],
    ['qr=true', 'full'],
    ['qr=false', 'plain'],
    ['qr=true&trigger=link', 'plain'],
    ['referer=news.example', 'full'],
    ['referer=(direct)', 'plain'],
    ['refererUrl=https://news.example/post', 'full'],
    ['refererUrl=-https://news.example/post', 'plain'],
    ['url=https://acme.example/full', 'full'],
    ['url=https://acme.example/full%3Futm_source=mail', ''],
    ['utm_source=mail', 'full'],
    ['utm_source=mai', ''],
    ['utm_source=-mail', 'plain'],
    ['utm_medium=newsletter', 'full'],
    ['utm_campaign=spring sale', 'full'],
    ['utm_term=shoes', 'full'],
    ['utm_content=top', 'full'],
    ["query=metadata['plan']:'pro'", 'full'],
    ["query=metadata['plan']!='pro'", 'plain'],
    ["query=metadata['seats']>6 AND metadata['trial']=false", 'full'],
    ["query=metadata['seats']>7 OR metadata['team']['name']:'A and B'", 'full'],
    ["query=metadata['seats']>7", ''],
    ['interval=24h', 'full plain'],
    ['start=30 minutes ago', 'full'],
    ['start=2027-01-01&end=30 minutes ago', 'plain'],
    ['start=30 minutes ago&interval=all', 'full'],
    ['end=30 minutes ago', 'full plain'],
    ['limit=1', 'full'],
    ['limit=1&page=2', 'plain'],
    ['limit=1&page=3', ''],
    ['page=1000000000000000', ''],
    ['sortOrder=asc', 'plain full'],
    ['sortOrder=desc', 'full plain'],
    ['order=asc', 'plain full'],
    ['sortOrder=asc&order=desc', 'plain full'],
    ['sortOrder=desc&order=asc', 'plain full'],
    ['sortBy=timestamp', 'full plain'],
    ['saleType=new', 'full plain'],
    ['country=US&device=Mobile', ''],
    ['unknown=1', 'full plain'],
    ['country=,,', 'full plain'],
    ['country=-', 'full plain'],
  ];

  test('narrows the list as documented', async () => {
    for (const [given, left] of CASES) {
      const query = typeof given === 'string' ? given : given();
      const found = await list(ws, `event=leads&${query}`);
      assert.equal(found.map(({ eventName }) => eventName).join(' '), left, query);
    }
  });

  test('is told apart for each kind of event', async () => {
    assert.deepEqual(
      (await list(ws, '')).map(({ event, link }) => [event, link.key]),
      [
        ['click', 'full'],
        ['click', 'plain'],
      ],
    );
    const sales = async (query: string) =>
      (await list(ws, `event=sales&${query}`)).map(({ eventName }) => eventName).join(' ');
    assert.equal(await sales(''), 'second first');
    assert.equal(await sales('saleType=new'), 'first');
    assert.equal(await sales('saleType=recurring'), 'second');
    // The time that decides what is new is all time, not the window.
    assert.equal(await sales('saleType=new&start=90 minutes ago'), '');
    assert.deepEqual(
      (await list(ws, `customerId=${ids.customer}`)).map(({ click }) => click.id),
      ['click-of-full'],
    );
    // Clicks have no metadata: it says nothing of them.
    assert.equal((await list(ws, "query=metadata['plan']:'pro'")).length, 2);
    assert.equal((await list(ws, 'trigger=qr')).length, 1);
    await feed.click(links.root);
    await feed.settle();
    const keys = async (query: string) => (await list(ws, query)).map(({ key }) => key).sort();
    assert.deepEqual(await keys('root=true'), ['_root']);
    assert.deepEqual(await keys('root=false'), ['full', 'plain']);
    assert.deepEqual(await keys('partnerTagId=ptag_1'), ['full']);
  });

  test('names the days of its time zone', async () => {
    // An hour after ten is eleven: in Kiritimati, fourteen hours ahead, the 16th began at ten.
    const days = async (day: string, timezone: string) =>
      (await list(ws, `event=leads&start=${day}&end=${day}&timezone=${timezone}`))
        .map((e) => e.eventName)
        .join(' ');
    assert.equal(await days('2027-01-15', 'UTC'), 'full plain');
    assert.equal(await days('2027-01-16', 'Pacific/Kiritimati'), 'full');
    assert.equal(await days('2027-01-15', 'Pacific/Kiritimati'), 'plain');
  });

  test('is refused by name when it is wrong', async () => {
    for (const [query, status, field] of [
      ['event=composite', 422, 'event'],
      ['key=full', 422, 'key'],
      ['key=full&domain=-go.acme.example', 422, 'key'],
      ['externalId=mine-1', 400, 'externalId'],
      ['interval=2d', 422, 'interval'],
      ['start=soon', 422, 'start'],
      ['start=now&end=2024', 422, 'end'],
      ['timezone=Mars/Base', 422, 'timezone'],
      ['timezone=%2B02:00', 422, 'timezone'],
      ['root=maybe', 400, 'root'],
      ['qr=1', 400, 'qr'],
      ['saleType=old', 422, 'saleType'],
      ['query=plan:pro', 422, 'query'],
      [`query=${'q'.repeat(10_001)}`, 422, 'query'],
      ['page=0', 422, 'page'],
      ['page=1.5', 422, 'page'],
      ['page=one', 400, 'page'],
      ['limit=0', 422, 'limit'],
      ['limit=1001', 422, 'limit'],
      ['sortOrder=up', 422, 'sortOrder'],
      ['order=up', 422, 'order'],
      ['sortBy=country', 422, 'sortBy'],
    ] as const) {
      await refused(ws, query, status, field);
    }
    assert.match(
      await refused(ws, "query=metadata['a'] pro", 422),
      /character 15, marked \^ here: metadata\['a'\] \^pro$/,
    );
  });

  test('that names a link or folder that is not there, or not ours, is not found', async () => {
    const other = await t.workspace();
    const theirs = createEventFeed(t, other);
    await theirs.link({ key: 'theirs', domain: 'localhost:3000', externalId: 'theirs' });
    const { id: folder } = await theirs.call('POST', '/folders', { name: 'Theirs' });
    for (const query of [
      'externalId=ext_unknown',
      'externalId=ext_theirs',
      'domain=localhost:3000&key=unknown',
      'domain=localhost:3000&key=theirs',
      'domain=unknown.example&key=x',
      'folderId=fold_unknown',
      `folderId=${folder}`,
      `folderId=${ids.folder},${folder}`,
    ]) {
      await refused(ws, query, 404);
    }
    assert.deepEqual(await list(other, 'event=leads'), []);
  });
});

describe('records', () => {
  const CLICK_FIELDS = [
    'id timestamp url country city region continent device browser os trigger referer refererUrl qr ip',
    'click_id link_id domain key url continent country city device browser os qr ip',
  ] as const;
  const names = (text: string) => text.split(' ').sort();

  test('have exactly the documented fields, each with its value', async () => {
    const ws = await t.workspace();
    const feed = createEventFeed(t, ws);
    const { id: tag } = await feed.call('POST', '/tags', { name: 'News', color: 'blue' });
    const link = await feed.link({ tagIds: [tag] });
    const customer = await feed.customer({ name: 'Ada Ray', email: 'ada@acme.example', externalId: 'u_42' });
    const clickMs = t.clock.now() - DAY_MS / 2;
    const click = { id: 'the-click', timeMs: clickMs, ip: '203.0.113.7' };
    const common = { customerId: customer, click, eventName: 'Invoice paid' };
    await feed.click(link, { ip: '8.8.8.8', referer: 'https://www.news.example/post?id=1' });
    await feed.lead(link, common);
    await feed.sale(link, { ...common, amount: 4900, invoiceId: 'inv_77', metadata: '{"plan":"pro"}' });
    await feed.settle();
    const [clicked] = await list(ws, '');
    const [lead] = await list(ws, 'event=leads');
    const [sale] = await list(ws, 'event=sales');

    const common17 = `event timestamp click link ${CLICK_FIELDS[1]}`;
    assert.deepEqual(Object.keys(clicked).sort(), names(common17));
    assert.deepEqual(Object.keys(lead).sort(), names(`${common17} eventId eventName metadata customer`));
    const ofSale = 'eventId eventName metadata customer sale saleAmount invoice_id payment_processor';
    assert.deepEqual(Object.keys(sale).sort(), names(`${common17} ${ofSale}`));
    for (const { click: shown } of [clicked, lead, sale])
      assert.deepEqual(Object.keys(shown).sort(), names(CLICK_FIELDS[0]));

    assert.deepEqual([clicked.event, clicked.click.referer], ['click', 'news.example']);
    assert.deepEqual([clicked.click.qr, clicked.qr], [false, 0]);
    assert.equal(clicked.click.refererUrl, 'https://www.news.example/post');
    assert.equal(clicked.timestamp, new Date(t.clock.now()).toISOString());
    assert.equal(clicked.timestamp, clicked.click.timestamp);
    assert.deepEqual([lead.event, lead.metadata, lead.eventName], ['lead', null, 'Invoice paid']);
    assert.equal(lead.click.timestamp, new Date(clickMs).toISOString());
    assert.deepEqual([lead.click.qr, lead.qr, lead.click.region], [true, 1, 'US-CA']);
    assert.deepEqual(sale.sale, {
      amount: 4900,
      invoiceId: 'inv_77',
      paymentProcessor: 'stripe',
      currency: 'usd',
    });
    assert.deepEqual([sale.saleAmount, sale.invoice_id, sale.payment_processor], [4900, 'inv_77', 'stripe']);
    assert.deepEqual(sale.metadata, { plan: 'pro' });
    assert.deepEqual(sale.customer, {
      id: customer,
      name: 'Ada Ray',
      email: 'ada@acme.example',
      avatar: null,
      externalId: 'u_42',
      country: 'US',
      createdAt: sale.customer.createdAt,
    });
    const shown = await feed.call('GET', `/links/${link.id}`);
    for (const { link: inside } of [clicked, lead, sale]) assert.deepEqual(inside, shown);
    assert.deepEqual(shown.tags, [{ id: tag, name: 'News', color: 'blue' }]);
  });

  test('show links and customers as they are now, and nobody in place of a deleted customer', async () => {
    const ws = await t.workspace();
    const feed = createEventFeed(t, ws);
    const link = await feed.link({ key: 'before-rename' });
    const gone = await feed.link();
    await feed.lead(link, { customerId: 'cus_gone' });
    await feed.lead(gone);
    await feed.click(gone);
    await feed.settle();
    await feed.call('PATCH', `/links/${link.id}`, { key: 'after-rename', url: 'https://acme.example/new' });
    await feed.call('DELETE', `/links/${gone.id}`);
    await feed.settle();
    const leads = await list(ws, 'event=leads');
    assert.deepEqual(
      leads.map(({ key, link: { url } }) => [key, url]),
      [['after-rename', 'https://acme.example/new']],
    );
    assert.deepEqual(await list(ws, ''), []);
    const { customer } = leads[0];
    assert.deepEqual(
      [customer.id, customer.name, customer.email, customer.externalId, customer.createdAt],
      ['cus_gone', 'Deleted Customer', 'deleted@customer.com', 'cus_gone', '1970-01-01T00:00:00.000Z'],
    );
  });

  test('of sales by a processor that clients do not know are told as custom', async () => {
    const ws = await t.workspace();
    const feed = createEventFeed(t, ws);
    await feed.sale(await feed.link(), { paymentProcessor: 'barter' });
    await feed.settle();
    const [{ sale, payment_processor, invoice_id }] = await list(ws, 'event=sales');
    assert.deepEqual([sale.paymentProcessor, payment_processor], ['custom', 'custom']);
    assert.deepEqual([sale.invoiceId, invoice_id], [null, '']);
  });
});

test('pages neither overlap nor leave out events of the same moment', async () => {
  const ws = await t.workspace();
  const feed = createEventFeed(t, ws);
  const link = await feed.link();
  const made = new Set<string>();
  for (let i = 0; i < 25; i++) made.add(await feed.click(link));
  await feed.settle();
  for (const order of ['asc', 'desc']) {
    const seen: string[] = [];
    for (let page = 1; page <= 4; page++) {
      const found = await list(ws, `limit=7&page=${page}&sortOrder=${order}`);
      seen.push(...found.map(({ click }) => click.id));
    }
    assert.equal(seen.length, 25);
    assert.deepEqual(new Set(seen), made);
  }
});

describe('who may ask', () => {
  test('sees no links in folders that are closed to them, and may not name those folders', async () => {
    const ws = await t.workspace();
    const feed = createEventFeed(t, ws);
    const { id: closed } = await feed.call('POST', '/folders', { name: 'Closed', accessLevel: null });
    const { id: open } = await feed.call('POST', '/folders', { name: 'Open', accessLevel: 'read' });
    const inside = await feed.link({ folderId: closed, key: 'inside', externalId: 'inside' });
    for (const link of [
      inside,
      await feed.link({ folderId: open, key: 'open' }),
      await feed.link({ key: 'none' }),
    ])
      await feed.click(link);
    await feed.settle();
    const member = { key: await ws.newKey({ role: 'member' }) };
    const keys = async (who: { key: string }, query = '') =>
      (await list(who, query)).map(({ key }) => key).sort();
    assert.deepEqual(await keys(ws), ['inside', 'none', 'open']);
    assert.deepEqual(await keys(member), ['none', 'open']);
    assert.deepEqual(await keys(member, `linkId=${inside.id}`), []);
    assert.deepEqual(await keys(member, `folderId=${open}`), ['open']);
    await refused(member, `folderId=${closed}`, 403);
    await refused(member, `folderId=-${closed}`, 403);
    await refused(member, `domain=${inside.domain}&key=inside`, 403);
    await refused(member, 'externalId=ext_inside', 403);
  });

  test('needs the business plan, and a workspace within its quota of events', async () => {
    for (const plan of ['free', 'pro'] as const)
      assert.match(await refused(await t.workspace(plan), '', 403), /plan/);
    const ws = await t.workspace('business');
    const feed = createEventFeed(t, ws);
    await t.app.services.workspaces.setLimit(ws.id, 'events', 2);
    const link = await feed.link();
    const ask = async () => (await t.request('GET', '/events?limit=0', { key: ws.key })).status;
    for (const [clicks, status] of [
      [2, 422],
      [1, 403],
    ] as const) {
      for (let i = 0; i < clicks; i++) await feed.click(link);
      await feed.settle();
      // The refusal does not depend on the input, and goes before its errors.
      assert.equal(await ask(), status);
    }
  });

  test('has a window of a second, by plan', async () => {
    for (const [plan, limit] of [
      ['business', 4],
      ['advanced', 8],
    ] as const) {
      const ws = await t.workspace(plan);
      for (let i = 0; i < limit; i++) {
        const reply = await t.request('GET', '/events', { key: ws.key });
        assert.equal(reply.headers.get('x-ratelimit-limit'), String(limit));
        assert.equal(reply.status, 200);
      }
      const reply = await t.request('GET', '/events', { key: ws.key });
      assert.deepEqual([reply.status, reply.headers.get('retry-after')], [429, '1']);
      t.clock.advance(1_000);
      await list(ws, '');
    }
  });
});
