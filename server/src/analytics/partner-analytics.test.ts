// Statistics of a partner, for the seller and for the partner itself, on real stores.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Insertable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { type Converting, converting } from '../testing/conversion-calls.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp, type TestReply } from '../testing/test-app.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

eachDatabase('statistics of a partner', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  let c: Converting;
  before(async () => {
    t = await openTestApp({ env: { PORT: '0' }, databaseUrl: await databases.place() });
    await t.app.listen();
    p = await openProgram(t);
    c = await converting(t, p.ws);
  });
  after(() => t.close());

  let made = 0;
  const earn = (partner: TestReply['json'], fields: Partial<Insertable<Schema['commission']>> = {}) =>
    t.app.db.query
      .insertInto('commission')
      .values({
        id: `cm_${databases.engine}_${++made}`,
        program_id: p.program.id,
        workspace_id: p.ws.id,
        partner_id: partner.id,
        link_id: partner.links[0].id,
        type: 'sale',
        amount: 1_000,
        earnings: 200,
        status: 'pending',
        created_at: t.clock.now(),
        updated_at: t.clock.now(),
        ...fields,
      })
      .execute();

  test('count, add up by time and by link, with what sales have earned', async () => {
    const mia = await p.partner({ name: 'Mia', tenantId: 'mia' });
    const bo = await p.partner({ name: 'Bo' });
    const quiet = await p.post('/partners/links', { partnerId: mia.id, url: 'https://acme.example/quiet' });
    const link = await c.readLink(mia.links[0].id);
    await c.click(link);
    const clickId = await c.click(link);
    await c.lead({ clickId, customerExternalId: 'first' });
    await c.sale({ customerExternalId: 'first', amount: 1_000 });
    await c.click(await c.readLink(bo.links[0].id));
    await t.app.events.settle();
    // Of these five, the first alone is what sales have earned in the last day.
    await t.app.db.query.deleteFrom('commission').where('program_id', '=', p.program.id).execute();
    await earn(mia);
    await earn(mia, { type: 'lead', amount: 0 });
    await earn(mia, { status: 'canceled' });
    await earn(mia, { created_at: t.clock.now() - 3 * DAY_MS });
    await earn(bo);

    const numbers = { clicks: 2, leads: 1, sales: 1, saleAmount: 1_000 };
    const ask = (query: string) => p.get(`/partners/analytics?partnerId=${mia.id}&${query}`);
    assert.deepEqual(await ask(''), { ...numbers, earnings: 400 });
    assert.deepEqual(await p.get('/partners/analytics?tenantId=MIA&interval=24h'), {
      ...numbers,
      earnings: 200,
    });

    const series: TestReply['json'][] = await ask('groupBy=timeseries&interval=7d');
    const days = series.filter((row) => row.clicks > 0 || row.earnings > 0);
    assert.deepEqual(
      days.map(({ start, ...row }) => [start.slice(0, 10), row]),
      [
        ['2027-01-12', { clicks: 0, leads: 0, sales: 0, saleAmount: 0, earnings: 200 }],
        ['2027-01-15', { ...numbers, earnings: 200 }],
      ],
    );
    const links: TestReply['json'][] = await ask('groupBy=top_links&interval=24h');
    assert.deepEqual(
      links.map(({ id, clicks, saleAmount, earnings }) => [id, clicks, saleAmount, earnings]),
      [
        [link.id, 2, 1_000, 200],
        [quiet.id, 0, 0, 0],
      ],
    );
    assert.deepEqual([links[0].link, links[0].shortLink], [link.id, link.shortLink]);
    const none = await ask("query=metadata['plan']:'pro'");
    assert.deepEqual([none.leads, none.sales], [0, 0]);
  });

  test('reports of the workspace name partners, groups and tags as they are now, and customers their partner', async () => {
    const mia = await p.partner({ name: 'Mia' });
    const tag = await p.post('/partners/tags', { name: `Star ${databases.engine}` });
    const vip = await p.post('/groups', { name: 'VIP', slug: 'vip' });
    await p.patch(`/partners/${mia.id}`, { tagIds: [tag.id] });
    const discount = await p.post('/discounts', { groupId: vip.id, type: 'flat', amount: 500 });
    const clickId = await c.click(await c.readLink(mia.links[0].id));
    await c.lead({ clickId, customerExternalId: 'expanded' });
    await t.app.events.settle();
    const top = async (groupBy: string, query = '') =>
      (await p.get(`/analytics?event=leads&groupBy=${groupBy}&partnerId=${mia.id}${query}`)).map(
        ({ clicks: _, leads, sales: __, saleAmount: ___, ...row }: TestReply['json']) => [row, leads],
      );
    const partner = { id: mia.id, name: 'Mia', email: mia.email, image: null };
    assert.deepEqual(await top('top_partners'), [
      [{ partnerId: mia.id, partner: { ...partner, payoutsEnabledAt: null, country: null } }, 1],
    ]);
    assert.deepEqual(await top('top_partner_tags'), [
      [{ partnerTagId: tag.id, partnerTag: { id: tag.id, name: tag.name } }, 1],
    ]);
    assert.equal((await top('top_groups'))[0][0].group.slug, 'default');
    await p.patch(`/partners/${mia.id}`, { groupId: 'vip' });
    await t.app.events.settle();
    assert.equal((await top('top_groups', `&groupId=${vip.id}`))[0][0].group.name, 'VIP');

    const customer = await p.get('/customers/ext_expanded?includeExpandedFields=true');
    assert.deepEqual([customer.programId, customer.partner], [p.program.id, partner]);
    assert.deepEqual(
      [customer.discount.id, customer.discount.amount, customer.discount.type],
      [discount.id, 500, 'flat'],
    );
  });

  test('a partner that is not named, not there or not ours is refused', async () => {
    await p.refused(400, 'partnerId', 'GET', '/partners/analytics');
    await p.refused(404, undefined, 'GET', '/partners/analytics?partnerId=pn_unknown');
    await p.refused(404, undefined, 'GET', '/partners/analytics?tenantId=nobody');
    const there = await (await openProgram(t)).partner();
    await p.refused(404, undefined, 'GET', `/partners/analytics?partnerId=${there.id}`);
  });

  test('a partner with a token sees its own numbers, earnings and events, and no customer', async () => {
    const mia = await p.partner({ name: 'Mia' });
    const link = await c.readLink(mia.links[0].id);
    const clickId = await c.click(link);
    const person = { customerName: 'Secret Person', customerEmail: 'secret@people.example' };
    await c.lead({ clickId, customerExternalId: 'second', ...person });
    await c.sale({ customerExternalId: 'second', amount: 700 });
    await t.app.events.settle();
    await t.app.db.query.deleteFrom('commission').where('partner_id', '=', mia.id).execute();
    await earn(mia, { type: 'lead', amount: 0, earnings: 50 });
    await earn(mia, { earnings: 70, amount: 700, created_at: t.clock.now() - HOUR_MS });
    await earn(mia, { status: 'fraud' });
    const { publicToken: key } = await p.post('/tokens/embed/referrals', { partnerId: mia.id });
    const see = async (path: string) => {
      const reply = await t.request('GET', `/embed/referrals/${path}`, { key });
      assert.equal(reply.status, 200, reply.text);
      return reply;
    };

    assert.deepEqual((await see('analytics')).json, {
      clicks: 1,
      leads: 1,
      sales: 1,
      saleAmount: 700,
      earnings: 70,
    });
    assert.deepEqual(
      (await see('analytics?groupBy=top_links')).json.map((row: { id: string }) => row.id),
      [link.id],
    );
    const series: { earnings: number }[] = (await see('earnings/timeseries?interval=24h')).json;
    assert.deepEqual(
      series.flatMap(({ earnings }) => (earnings ? [earnings] : [])),
      [70, 50],
    );
    const earnings: TestReply['json'][] = (await see('earnings')).json;
    assert.deepEqual(
      earnings.map(({ type, earnings: cents, link: { id } }) => [type, cents, id]),
      [
        ['lead', 50, link.id],
        ['sale', 70, link.id],
      ],
    );
    for (const event of ['clicks', 'leads', 'sales']) {
      const { json, text } = await see(`events?event=${event}&interval=24h`);
      assert.deepEqual(
        json.map((row: TestReply['json']) => [row.event, row.link.id, row.amount]),
        [[event, link.id, event === 'sales' ? 700 : null]],
      );
      assert.ok(!/secret/i.test(text), text);
    }
  });
});
