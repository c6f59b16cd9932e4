// What sellers and partners do with embed tokens, on real stores.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp, type TestReply } from '../testing/test-app.ts';

const HOUR_MS = 3_600_000;

eachDatabase('embed tokens', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    p = await openProgram(t);
  });
  after(() => t.close());

  const tokenFor = async (body: object) => (await p.post('/tokens/embed/referrals', body)).publicToken;
  const own = (key: string, method: string, path: string, body?: unknown, headers = {}) =>
    t.request(method, `/embed/referrals/${path}`, { key, headers, ...(body !== undefined && { body }) });
  const accepted = async (...call: Parameters<typeof own>): Promise<TestReply['json']> => {
    const reply = await own(...call);
    assert.ok(reply.status < 300, `${call.slice(1, 3).join(' ')}: ${reply.status} ${reply.text}`);
    return reply.json;
  };

  test('are made for a partner by id or tenant, or for somebody who becomes one', async () => {
    const mia = await p.partner({ tenantId: 'u_77' });
    const reply = await p.call('POST', '/tokens/embed/referrals', { tenantId: 'U_77' });
    assert.equal(reply.status, 201);
    assert.match(reply.json.publicToken, /^lt_embed_[0-9A-Za-z]{32}$/);
    assert.equal(reply.json.expires, new Date(t.clock.now() + 3 * HOUR_MS).toISOString());
    const links = await accepted(reply.json.publicToken, 'GET', 'links');
    assert.deepEqual(links, mia.links);

    const partner = { email: `new-${p.ws.slug}@people.example`, name: 'New', tenantId: 'u_78' };
    const first = await accepted(await tokenFor({ partner }), 'GET', 'links');
    const again = await accepted(await tokenFor({ partner }), 'GET', 'links');
    assert.deepEqual(again, first);
    assert.equal((await p.get('/partners?tenantId=u_78')).length, 1);

    await p.refused(422, 'partnerId', 'POST', '/tokens/embed/referrals', {});
    await p.refused(404, undefined, 'POST', '/tokens/embed/referrals', { tenantId: 'nobody' });
    await p.refused(404, undefined, 'POST', '/tokens/embed/referrals', { partnerId: 'pn_unknown' });
    await p.refused(422, 'partner.email', 'POST', '/tokens/embed/referrals', { partner: { email: 'x' } });
  });

  test('are kept as hashes, end after three hours, and are then removed', async () => {
    const { id } = await p.partner();
    const key = await tokenFor({ partnerId: id });
    const rows = () =>
      t.app.db.query.selectFrom('embed_token').selectAll().where('partner_id', '=', id).execute();
    assert.ok(!JSON.stringify(await rows()).includes(key));
    t.clock.advance(3 * HOUR_MS - 1);
    await accepted(key, 'GET', 'links');
    t.clock.advance(1);
    assert.equal((await own(key, 'GET', 'links')).status, 401);
    const { signal } = new AbortController();
    await t.app.services.embedTokens.prune(signal);
    assert.deepEqual(await rows(), []);
  });

  test('are good for nothing but the partner’s own side, and no key is good for that', async () => {
    const { id, links } = await p.partner();
    const key = await tokenFor({ partnerId: id });
    for (const path of ['/links', '/partners', `/partners/${id}`, '/tokens']) {
      assert.equal((await t.request('GET', path, { key })).status, 401, path);
    }
    assert.equal((await own(p.ws.key, 'GET', 'links')).status, 401);
    assert.equal((await own('lt_embed_unknown', 'GET', 'links')).status, 401);
    const other = await p.partner();
    const others = await tokenFor({ partnerId: other.id });
    const change = { key: 'stolen' };
    assert.equal((await own(others, 'PATCH', `links/${links[0].id}`, change)).status, 404);
    const elsewhere = await openProgram(t);
    const theirs = await elsewhere.partner();
    assert.equal((await own(key, 'PATCH', `links/${theirs.links[0].id}`, change)).status, 404);
    await p.post('/partners/ban', { partnerId: id, reason: 'spam' });
    assert.equal((await own(key, 'GET', 'links')).status, 401);
  });

  test('links are made up to the number the group allows, and only where it allows, however many ask at once', async () => {
    await p.patch('/groups/default', { maxPartnerLinks: 3 });
    const { id } = await p.partner();
    const key = await tokenFor({ partnerId: id });
    const foreign = await own(key, 'POST', 'links', { url: 'https://elsewhere.example/' });
    assert.deepEqual([foreign.status, foreign.json.error.message.split(': ')[1]], [400, 'url']);
    const replies = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => own(key, 'POST', 'links', { url: `https://acme.example/${n}` })),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 201, 400, 400, 400]);
    assert.equal((await accepted(key, 'GET', 'links')).length, 3);

    const mine = replies.find(({ status }) => status === 201)?.json;
    const url = 'https://acme.example/changed';
    const changed = await accepted(key, 'PATCH', `links/${mine.id}`, { url, key: `mine-${p.ws.slug}` });
    assert.deepEqual([changed.url, changed.key], [url, `mine-${p.ws.slug}`]);
    const upserted = await p.call('PUT', '/partners/links/upsert', { partnerId: id, url });
    assert.equal(upserted.json.id, mine.id, 'the new destination is found again');
    const [first] = await accepted(key, 'GET', 'links');
    assert.equal((await own(key, 'PATCH', `links/${first.id}`, { url })).status, 400);
    assert.equal((await accepted(key, 'PATCH', `links/${first.id}`, { key: `d-${p.ws.slug}` })).id, first.id);

    await p.post('/partners/deactivate', { partnerId: id });
    assert.equal((await own(key, 'POST', 'links', {})).status, 403);
    assert.equal((await own(key, 'PATCH', `links/${mine.id}`, { key: 'x' })).status, 403);
    assert.equal((await accepted(key, 'GET', 'links')).length, 3);
    await p.patch('/groups/default', { maxPartnerLinks: 10 });
  });

  test('a partner does not get the answer that another got for the same Idempotency-Key', async () => {
    const [a, b] = [await p.partner(), await p.partner()];
    const body = { url: 'https://acme.example/same' };
    const repeat = { 'Idempotency-Key': 'same' };
    const keys = [await tokenFor({ partnerId: a.id }), await tokenFor({ partnerId: b.id })] as const;
    const first = await accepted(keys[0], 'POST', 'links', body, repeat);
    assert.deepEqual(await accepted(keys[0], 'POST', 'links', body, repeat), first);
    assert.notEqual((await accepted(keys[1], 'POST', 'links', body, repeat)).id, first.id);
  });

  test('the leaderboard shows numbers, and names nobody', async () => {
    const [a, b] = [await p.partner({ name: 'Somebody' }), await p.partner({ name: 'Somebody else' })];
    const { enrolments } = t.app.services;
    await enrolments.addTotals(p.program.id, a.id, { sales: 2, saleAmount: 900, commissions: 90 });
    await enrolments.addTotals(p.program.id, b.id, { sales: 1, saleAmount: 500, commissions: 50 });
    const reply = await own(await tokenFor({ partnerId: b.id }), 'GET', 'leaderboard');
    const [first, second] = reply.json;
    assert.deepEqual([first.rank, first.isYou, first.earnings, first.saleAmount], [1, false, 90, 900]);
    assert.deepEqual([second.rank, second.isYou, second.earnings], [2, true, 50]);
    assert.ok(reply.json.length <= 20);
    assert.ok(!/somebody|pn_/i.test(reply.text));
  });

  test('pages of any site may call, with each of the methods there are', async () => {
    const key = await tokenFor({ partnerId: (await p.partner()).id });
    const reply = await own(key, 'GET', 'links');
    assert.equal(reply.headers.get('access-control-allow-origin'), '*');
    const preflight = await t.request('OPTIONS', '/embed/referrals/links');
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS');
    const one = await t.request('OPTIONS', '/embed/referrals/links/link_1');
    assert.equal(one.headers.get('access-control-allow-methods'), 'PATCH, OPTIONS');
    assert.match(one.headers.get('access-control-allow-headers') ?? '', /Authorization/);
  });

  test('need the plan advanced, for making and for using them', async () => {
    const low = await openProgram(t, { plan: 'business' });
    const { id } = await low.partner();
    await low.refused(403, undefined, 'POST', '/tokens/embed/referrals', { partnerId: id });
    const { id: partnerId } = await p.partner();
    const key = await tokenFor({ partnerId });
    await t.app.services.workspaces.setPlan(p.ws.id, 'business');
    assert.equal((await own(key, 'GET', 'links')).status, 403);
  });
});
