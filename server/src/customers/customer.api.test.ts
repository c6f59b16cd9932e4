import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isoTime } from '../kernel/clock.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

eachDatabase('customers', (databases) => {
  let t: TestApp;
  let ws: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    ws = await t.workspace();
  };
  const create = (body: object) =>
    t.request('POST', '/customers', { key: ws.key, body: { country: 'US', ...body } });
  const get = (path: string) => t.request('GET', `/customers${path}`, { key: ws.key });
  const patch = (ref: string, body: object) => t.request('PATCH', `/customers/${ref}`, { key: ws.key, body });
  const externalIds = async (query: string): Promise<string[]> => {
    const reply = await get(query);
    assert.equal(reply.status, 200, reply.text);
    return reply.json.map((customer: { externalId: string }) => customer.externalId);
  };
  const createAll = async (...all: string[]) => {
    for (const externalId of all) {
      assert.equal((await create({ externalId })).status, 201);
      t.clock.advance(1);
    }
  };

  test('a customer has every field, and a name whatever was given', async () => {
    await fresh();
    const full = {
      externalId: ' u_1 ',
      email: 'Ada@acme.test',
      name: ' Ada Ray ',
      avatar: 'https://acme.test/ada.png',
      stripeCustomerId: 'cus_stripe',
      country: 'de',
    };
    const { status, json } = await create(full);
    assert.equal(status, 201);
    assert.match(json.id, /^cus_[0-9A-Z]{26}$/);
    assert.deepEqual(json, {
      id: json.id,
      name: 'Ada Ray',
      email: 'Ada@acme.test',
      avatar: 'https://acme.test/ada.png',
      externalId: 'u_1',
      stripeCustomerId: 'cus_stripe',
      country: 'DE',
      sales: 0,
      saleAmount: 0,
      createdAt: '2027-01-15T10:00:00.000Z',
      firstSaleAt: null,
      subscriptionCanceledAt: null,
    });
    assert.deepEqual((await get(`/${json.id}`)).json, json);
    assert.deepEqual((await get('/ext_u_1')).json, json);
    const bare = (await create({ externalId: 'u_2' })).json;
    assert.match(bare.name, /^[A-Z][a-z]+ [A-Z][a-z]+$/);
    assert.equal((await get('/ext_u_2')).json.name, bare.name);
    assert.equal((await create({ externalId: 'u_3', email: 'x@acme.test' })).json.name, 'x@acme.test');
  });

  test('what cannot be is refused by the name of its field', async () => {
    await fresh();
    for (const [body, status, message] of [
      [{}, 400, /^invalid_type: externalId: /],
      [{ externalId: 'a', country: undefined }, 400, /^invalid_type: country: /],
      [{ externalId: '  ' }, 422, /^too_small: externalId: /],
      [{ externalId: 'a'.repeat(256) }, 422, /^too_big: externalId: /],
      [{ externalId: 'a', email: 'nope' }, 422, /: email: /],
      [{ externalId: 'a', country: 'Utopia' }, 422, /: country: .*two letters/],
      [{ externalId: 'a', avatar: 'nope' }, 422, /^custom: avatar: must be an address/],
      [{ externalId: 'a', avatar: 'javascript:alert(1)' }, 422, /^custom: avatar: /],
      [{ externalId: 'a', avatar: 'data:text/html;base64,AAAA' }, 422, /^custom: avatar: /],
      [{ externalId: 7 }, 400, /^invalid_type: externalId: /],
    ] as const) {
      const reply = await create(body);
      assert.equal(reply.status, status, JSON.stringify(body));
      assert.match(reply.json.error.message, message);
    }
    assert.equal((await get('/count')).json, 0);
  });

  test('external ids and ids of the payment service are unique in a workspace', async () => {
    await fresh();
    await create({ externalId: 'a', stripeCustomerId: 'cus_s' });
    await create({ externalId: 'b' });
    for (const [reply, field] of [
      [await create({ externalId: 'a' }), 'externalId'],
      [await create({ externalId: 'c', stripeCustomerId: 'cus_s' }), 'stripeCustomerId'],
      [await patch('ext_b', { externalId: 'a' }), 'externalId'],
      [await patch('ext_b', { stripeCustomerId: 'cus_s' }), 'stripeCustomerId'],
    ] as const) {
      assert.equal(reply.status, 409);
      assert.match(reply.json.error.message, new RegExp(`^custom: ${field}: `));
    }
    assert.equal((await patch('ext_a', { externalId: 'a', stripeCustomerId: 'cus_s' })).status, 200);
    ws = await t.workspace();
    assert.equal((await create({ externalId: 'a', stripeCustomerId: 'cus_s' })).status, 201);
  });

  test('a change keeps what is absent and clears what is null', async () => {
    await fresh();
    await create({ externalId: 'a', name: 'Ada', email: 'a@b.test', stripeCustomerId: 'cus_s' });
    assert.equal((await patch('ext_a', { country: 'fr' })).json.country, 'FR');
    const cleared = (await patch('ext_a', { name: null, email: null, stripeCustomerId: null })).json;
    assert.deepEqual([cleared.email, cleared.stripeCustomerId, cleared.country], [null, null, 'FR']);
    assert.match(cleared.name, /^[A-Z][a-z]+ [A-Z][a-z]+$/);
    assert.deepEqual((await patch('ext_a', {})).json, cleared);
    const moved = (await patch(cleared.id, { externalId: 'z' })).json;
    assert.deepEqual(moved, { ...cleared, externalId: 'z' });
    assert.equal((await get('/ext_a')).status, 404);
    assert.equal((await get('?email=a@b.test')).json.length, 0);
  });

  test('an avatar as a data URL becomes a file of its own that goes with its customer', async () => {
    await fresh();
    const first = (await create({ externalId: 'a', avatar: PIXEL })).json.avatar;
    const second = (await create({ externalId: 'b', avatar: PIXEL })).json.avatar;
    assert.notEqual(first, second);
    const show = (url: string) => t.request('GET', new URL(url).pathname.replace('/api', ''));
    assert.equal((await show(first)).status, 200);
    await patch('ext_a', { avatar: 'https://acme.test/a.png' });
    await t.request('DELETE', '/customers/ext_b', { key: ws.key });
    for (const url of [first, second]) await gone(() => show(url));
  });

  test('filters are exact, combine, and of email, externalId and search the first counts', async () => {
    await fresh();
    await create({ externalId: 'a', email: 'Ada@acme.test', name: 'Ada Ray', country: 'DE' });
    await create({ externalId: 'b', email: 'bob@acme.test', name: 'Bob' });
    await create({ externalId: 'c', name: 'Adam' });
    assert.deepEqual(await externalIds('?email=ADA@acme.test'), ['a']);
    assert.deepEqual(await externalIds('?email=ada@acme.test&externalId=b&search=adam'), ['a']);
    assert.deepEqual(await externalIds('?externalId=b&search=adam'), ['b']);
    assert.deepEqual(await externalIds('?search=ADA&sortOrder=asc'), ['a', 'c']);
    assert.deepEqual(await externalIds('?search=ada@acme.test'), ['a']);
    assert.deepEqual(await externalIds('?search=da@acme.test'), []);
    assert.deepEqual(await externalIds('?search=ada&country=de'), ['a']);
    assert.deepEqual(await externalIds('?country=US&sortOrder=asc'), ['b', 'c']);
    assert.deepEqual(await externalIds('?email=&search='), ['c', 'b', 'a']);
    assert.deepEqual(await externalIds('?linkId=link_unknown'), []);
    assert.equal((await get('/count?search=ada')).json, 2);
    assert.equal((await get('/count?country=US')).json, 2);
  });

  test('a program that the workspace does not have is 404', async () => {
    await fresh();
    for (const query of ['?programId=prog_1', '?partnerId=pn_1', '/count?partnerId=pn_1']) {
      assert.equal((await get(query)).status, 404, query);
    }
    await t.app.db.query
      .updateTable('workspace')
      .set({ default_program_id: 'prog_1' })
      .where('id', '=', ws.id)
      .execute();
    await createAll('a', 'b');
    await t.app.db.query
      .updateTable('customer')
      .set({ program_id: 'prog_1', partner_id: 'pn_1' })
      .where('external_id', '=', 'a')
      .where('workspace_id', '=', ws.id)
      .execute();
    assert.deepEqual(await externalIds('?programId=prog_1'), ['a']);
    assert.deepEqual(await externalIds('?partnerId=pn_1'), ['a']);
    assert.deepEqual(await externalIds('?partnerId=pn_2'), []);
    assert.equal((await get('?programId=prog_2')).status, 404);
  });

  test('pages by cursor read in both directions without gaps or repeats', async () => {
    await fresh();
    await createAll('a', 'b', 'c', 'd', 'e');
    const idOf = async (externalId: string) => (await get(`/ext_${externalId}`)).json.id;
    assert.deepEqual(await externalIds('?pageSize=2'), ['e', 'd']);
    assert.deepEqual(await externalIds('?pageSize=2&page=3'), ['a']);
    assert.deepEqual(await externalIds(`?pageSize=2&startingAfter=${await idOf('d')}`), ['c', 'b']);
    assert.deepEqual(await externalIds(`?startingAfter=${await idOf('a')}`), []);
    assert.deepEqual(await externalIds(`?pageSize=2&endingBefore=${await idOf('b')}`), ['d', 'c']);
    assert.deepEqual(await externalIds(`?sortOrder=asc&pageSize=2&endingBefore=${await idOf('e')}`), [
      'c',
      'd',
    ]);
    const id = await idOf('c');
    const other = await t.workspace();
    const foreign = (
      await t.request('POST', '/customers', { key: other.key, body: { externalId: 'x', country: 'US' } })
    ).json.id;
    for (const [query, field] of [
      [`?startingAfter=${id}&endingBefore=${id}`, 'endingBefore'],
      [`?startingAfter=${id}&sortBy=saleAmount`, 'sortBy'],
      [`?startingAfter=${id}&page=1`, 'page'],
      ['?startingAfter=cus_unknown', 'startingAfter'],
      [`?endingBefore=${foreign}`, 'endingBefore'],
      ['?page=1001', 'page'],
      ['?pageSize=101', 'pageSize'],
      ['?sortBy=name', 'sortBy'],
    ] as const) {
      const reply = await get(query);
      assert.equal(reply.status, 422, query);
      assert.match(reply.json.error.message, new RegExp(`^\\w+: ${field}: `));
    }
  });

  test('a sale is counted once each and dates the first; of many at once none is lost', async () => {
    await fresh();
    await createAll('a', 'b', 'c');
    const { customers } = t.app.services;
    const { id } = await customers.get(ws.id, 'ext_b');
    const sale = (amount: number, atMs: number) =>
      t.app.db.write(() => customers.addSale(id, { amount, atMs, programId: null, partnerId: 'pn_1' }));
    const sums = await Promise.all([1, 2, 3, 4, 5].map((n) => sale(100 * n, 5_000 + n)));
    assert.deepEqual(sums.map(({ sales }) => sales).sort(), [1, 2, 3, 4, 5]);
    const after = (await get(`/${id}`)).json;
    assert.deepEqual([after.sales, after.saleAmount], [5, 1_500]);
    const first = sums.find(({ sales }) => sales === 1)?.firstSaleAt as number;
    assert.equal(after.firstSaleAt, isoTime(first));
    assert.ok(sums.every(({ firstSaleAt }) => firstSaleAt === first));
    assert.deepEqual(await externalIds('?sortBy=saleAmount'), ['b', 'c', 'a']);
    assert.deepEqual(await externalIds('?sortBy=firstSaleAt&sortOrder=asc'), ['a', 'c', 'b']);
    await customers.setSubscriptionCanceledAt(id, 9_000);
    assert.equal((await get(`/${id}`)).json.subscriptionCanceledAt, '1970-01-01T00:00:09.000Z');
    assert.deepEqual(await externalIds('?sortBy=subscriptionCanceledAt&pageSize=1'), ['b']);
  });

  test('many who make the same customer at once get the same one', async () => {
    await fresh();
    const { customers } = t.app.services;
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        customers.findOrCreate(ws.id, { externalId: 'same', name: `n${i}` }),
      ),
    );
    assert.equal(new Set(all.map(({ customer }) => customer.id)).size, 1);
    assert.equal(all.filter(({ isNew }) => isNew).length, 1);
    assert.equal((await get('/count')).json, 1);
  });

  test('expanded, a customer shows its link and nothing that is not there', async () => {
    await fresh();
    const link = (await t.request('POST', '/links', { key: ws.key, body: { url: 'https://acme.test/p' } }))
      .json;
    const { customers } = t.app.services;
    await customers.create(ws.id, {
      externalId: 'a',
      linkId: link.id,
      programId: 'prog_1',
      partnerId: 'pn_1',
    });
    await customers.create(ws.id, { externalId: 'b', linkId: 'link_gone' });
    const expanded = (await get('?includeExpandedFields=true&sortOrder=asc')).json;
    const { id, domain, key, shortLink, url } = link;
    assert.deepEqual(expanded[0].link, { id, domain, key, shortLink, url, programId: null });
    assert.equal(expanded[0].programId, 'prog_1');
    for (const absent of ['partner', 'discount']) assert.equal(absent in expanded[0], false);
    for (const absent of ['link', 'programId']) assert.equal(absent in expanded[1], false);
    assert.deepEqual((await get('/ext_a?includeExpandedFields=true')).json, expanded[0]);
    const patched = await t.request('PATCH', '/customers/ext_a?includeExpandedFields=true', {
      key: ws.key,
      body: {},
    });
    assert.deepEqual(patched.json, expanded[0]);
    assert.equal('link' in (await get('/ext_a')).json, false);
    assert.equal((await get('?includeExpandedFields=maybe')).status, 400);
  });

  test('the export holds every customer of the filter, in order, and no formula', async () => {
    await fresh();
    await create({ externalId: '=1+1', name: 'Comma, "Quote"', email: 'a@acme.test' });
    t.clock.advance(1);
    await create({ externalId: 'b', country: 'DE' });
    const reply = await get('/export?columns=externalId,name,country,sales');
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.match(reply.headers.get('content-disposition') ?? '', /attachment; filename="customers.csv"/);
    const name = (await get('/ext_b')).json.name;
    assert.equal(
      reply.text,
      `externalId,name,country,sales\r\n'=1+1,"Comma, ""Quote""",US,0\r\nb,${name},DE,0\r\n`,
    );
    assert.match((await get('/export?country=DE')).text, /^id,name,email,.*\r\ncus_\w+,[^\r]*\r\n$/);
    assert.equal((await get('/export?columns=secret')).status, 422);
    assert.equal((await get('/export?programId=prog_9')).status, 404);
  });

  test('more customers than fit a page are all exported', async () => {
    await fresh();
    const { customers } = t.app.services;
    await t.app.db.write(async () => {
      for (let i = 0; i < 1_203; i++) await customers.create(ws.id, { externalId: `e${i}` });
    });
    const lines = (await get('/export?columns=externalId')).text.trimEnd().split('\r\n').slice(1);
    assert.equal(new Set(lines).size, 1_203);
    assert.equal((await get('/count')).json, 1_203);
  });

  test('changes are told with ids and nothing else', async () => {
    await fresh();
    await create({ externalId: 'a', name: 'Ada Ray', email: 'ada@acme.test' });
    const { id } = (await patch('ext_a', { name: 'Ada R.' })).json;
    await patch('ext_a', { name: 'Ada R.' });
    await t.request('DELETE', `/customers/${id}`, { key: ws.key });
    const rows = await t.app.db.query
      .selectFrom('outbox')
      .select(['type', 'payload', 'webhook'])
      .where('workspace_id', '=', ws.id)
      .orderBy('id')
      .execute();
    assert.deepEqual(
      rows.map(({ type, payload }) => [type, JSON.parse(payload)]),
      [
        ['customer.created', { id }],
        ['customer.updated', { id }],
        ['customer.erased', { customerId: id, clickIds: [] }],
        ['customer.deleted', { id }],
      ],
    );
    assert.ok(rows.every(({ webhook }) => webhook === null));
  });

  test('viewers read, members write, and lower plans do neither', async () => {
    await fresh();
    await createAll('a');
    const viewer = await ws.newKey({ role: 'viewer' });
    const narrow = await ws.newKey({ scopes: ['links.read'] });
    const status = async (method: string, path: string, key: string, body?: object) =>
      (await t.request(method, path, { key, body })).status;
    assert.equal(await status('GET', '/customers/ext_a', viewer), 200);
    assert.equal(await status('PATCH', '/customers/ext_a', viewer, {}), 403);
    assert.equal(await status('DELETE', '/customers/ext_a', viewer), 403);
    assert.equal(await status('GET', '/customers/ext_a/export', viewer), 403);
    assert.equal(await status('PATCH', '/customers/ext_a', narrow, {}), 200);
    assert.equal(await status('GET', '/customers', (await t.workspace('pro')).key), 403);
  });
});

/** Files are removed right after the change is answered. */
async function gone(show: () => Promise<{ status: number }>): Promise<void> {
  for (let i = 0; i < 100 && (await show()).status !== 404; i++) await new Promise(setImmediate);
  assert.equal((await show()).status, 404);
}
