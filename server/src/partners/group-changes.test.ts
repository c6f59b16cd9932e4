// What a change of a group means for the partners in it, also while others join, move or ask for the same.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const forever = new AbortController().signal;
const FORM = { fields: [{ id: 'constructor', type: 'short-text', label: 'Why?' }] };

eachDatabase('groups that change', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    p = await openProgram(t);
  };
  const newGroup = (slug: string) => p.post('/groups', { name: slug, slug });
  const urlsOf = async (partnerId: string): Promise<string[]> =>
    (await p.get(`/partners/links?partnerId=${partnerId}`)).map(({ url }: { url: string }) => url).sort();
  const embedded = async (partnerId: string) => {
    const { publicToken: key } = await p.post('/tokens/embed/referrals', { partnerId });
    return (method: string, path: string, body: object) =>
      t.request(method, `/embed/referrals/${path}`, { key, body });
  };

  /** Runs the work in a transaction that stays open until all others have got as far as they can without it. */
  async function meanwhile<T>(work: () => Promise<unknown>, others: () => Promise<T>[]): Promise<T[]> {
    const { promise: worked, resolve: hasWorked } = Promise.withResolvers<void>();
    const { promise: may, resolve: letEnd } = Promise.withResolvers<void>();
    const first = t.app.db.write(async () => {
      await work();
      hasWorked();
      await may;
    });
    await Promise.race([worked, first]);
    const running = others();
    let isOver = false;
    const settled = Promise.allSettled(running).finally(() => {
      isOver = true;
    });
    await Promise.race([settled, isWaiting(() => isOver)]);
    letEnd();
    await first;
    return Promise.all(running);
  }

  /** Until a statement waits for a lock. SQLite has one writer, and others wait for it by themselves. */
  async function isWaiting(isOver: () => boolean): Promise<void> {
    while (databases.engine === 'postgres' && !isOver()) {
      const { rows } = await sql`select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`.execute(t.app.db.query);
      if (rows.length > 0) return;
    }
  }

  test('whoever joins while a group gets a reward has it', async () => {
    await fresh();
    let joined = '';
    const [reward] = await meanwhile(
      async () => {
        const made = await t.app.services.partners.create(p.ws.actor, { email: `a-${p.ws.id}@p.example` });
        joined = made.partner.id;
      },
      () => [p.post('/rewards', { event: 'sale', type: 'flat', amountInCents: 100 })],
    );
    assert.equal((await p.get(`/partners/${joined}`)).saleRewardId, reward.id);
  });

  test('whoever joins a group while it is given a reward by somebody else has it too', async () => {
    await fresh();
    let rewardId = '';
    const [joined] = await meanwhile(
      async () => {
        const terms = { type: 'flat', amountInCents: 100 } as const;
        rewardId = (await t.app.services.rewards.create(p.ws.actor, 'sale', terms)).id;
      },
      () => [p.partner()],
    );
    assert.equal((await p.get(`/partners/${joined.id}`)).saleRewardId, rewardId);
  });

  test('whoever joins while a group gets a default link has a link to it', async () => {
    await fresh();
    let joined = '';
    await meanwhile(
      async () => {
        const made = await t.app.services.partners.create(p.ws.actor, { email: `b-${p.ws.id}@p.example` });
        joined = made.partner.id;
      },
      () => [p.post('/groups/default/default-links', { url: 'https://acme.example/b' })],
    );
    assert.deepEqual(await urlsOf(joined), ['https://acme.example/', 'https://acme.example/b']);
  });

  test('of ten rewards for the same event at once a group gets one, and of ten discounts one', async () => {
    await fresh();
    const ten = (path: string, body: object) =>
      Promise.all(Array.from({ length: 10 }, async () => (await p.call('POST', path, body)).status));
    const one = [201, ...Array(9).fill(409)];
    assert.deepEqual((await ten('/rewards', { event: 'lead', type: 'flat', amountInCents: 5 })).sort(), one);
    assert.deepEqual((await ten('/discounts', { type: 'flat', amount: 500 })).sort(), one);
  });

  test('a group that becomes the default group cannot be deleted at the same time', async () => {
    await fresh();
    const group = await newGroup('vip');
    const [reply] = await meanwhile(
      () => t.app.services.groups.setDefault(p.ws.actor, 'vip'),
      () => [p.call('DELETE', '/groups/vip')],
    );
    assert.equal(reply?.status, 403, reply?.text);
    assert.equal((await p.partner()).groupId, group.id);
  });

  test('nobody is left in a group that is deleted while they come', async () => {
    await fresh();
    await newGroup('vip');
    const mia = await p.partner();
    const [reply] = await meanwhile(
      () => t.app.services.groups.delete(p.ws.actor, 'vip'),
      () => [p.call('POST', '/groups/vip/partners', { partnerIds: [mia.id] })],
    );
    assert.equal(reply?.status, 404, reply?.text);
    const found = await p.get(`/partners/${mia.id}`);
    assert.equal(found.groupId, p.program.defaultGroupId);
  });

  test('partners of a group that is being deleted get links, and those who wait can join', async () => {
    await fresh();
    const group = await newGroup('vip');
    await p.patch('/groups/vip', { applicationForm: FORM, applicationFormPublished: true });
    const mia = await p.partner({ groupId: 'vip' });
    const applied = { group: 'vip', name: 'Bo', email: `bo-${p.ws.id}@people.example` };
    const { id } = await p.post(`/programs/${p.program.slug}/applications`, applied);
    const bo = (await p.get(`/partners/applications/${id}`)).partner.id;
    const { token } = await p.post('/partners/invite', { email: `al-${p.ws.id}@p.example`, groupId: 'vip' });
    // As it is before the job has come to them.
    await t.app.db.query.deleteFrom('partner_group').where('id', '=', group.id).execute();
    await p.post('/partners/links', { partnerId: mia.id, url: 'https://acme.example/mine' });
    const call = await embedded(mia.id);
    assert.equal((await call('POST', 'links', { url: 'https://acme.example/own' })).status, 201);
    await p.post('/partners/applications/approve', { partnerId: bo });
    assert.equal((await p.get(`/partners/${bo}`)).groupId, p.program.defaultGroupId);
    const accepted = await t.request('POST', '/partners/invites/accept', { body: { token } });
    assert.equal(accepted.status, 200, accepted.text);
  });

  test('a new default link comes to all partners of the group, to the many by a job', async () => {
    await fresh();
    await newGroup('vip');
    const [mia, banned, other] = [
      await p.partner({ groupId: 'vip', name: 'Mia' }),
      await p.partner({ groupId: 'vip' }),
      await p.partner(),
    ];
    await p.post('/partners/ban', { partnerId: banned.id, reason: 'spam' });
    for (let i = 0; i < 60; i++) await p.partner({ groupId: 'vip' });
    await p.newEvents();
    const shop = 'https://acme.example/shop';
    await p.post('/groups/vip/default-links', { url: shop });
    assert.deepEqual(await urlsOf(mia.id), ['https://acme.example/', shop]);
    assert.deepEqual(await urlsOf(other.id), ['https://acme.example/']);
    const told = (await p.newEvents()).filter(({ type }) => type === 'link.created').length;
    assert.equal(told, 49, 'one of the first fifty is banned');
    await t.app.services.groupDefaultLinks.run(forever);
    await t.app.services.groupDefaultLinks.run(forever);
    assert.equal((await p.newEvents()).length, 12);
    assert.deepEqual(await urlsOf(banned.id), ['https://acme.example/']);
    await p.post('/partners/unban', { partnerId: banned.id });
    assert.deepEqual(await urlsOf(banned.id), ['https://acme.example/', shop]);
  });

  test('links for a default link that was removed stay, and are the partner’s to change', async () => {
    await fresh();
    const mia = await p.partner();
    const [own] = mia.links;
    const call = await embedded(mia.id);
    const change = { url: 'https://acme.example/mine' };
    assert.equal((await call('PATCH', `links/${own.id}`, change)).status, 400);
    const [link] = await p.get('/groups/default/default-links');
    await p.call('DELETE', `/groups/default/default-links/${link.id}`);
    assert.deepEqual(await urlsOf(mia.id), ['https://acme.example/']);
    await p.post('/groups/default/default-links', { url: 'https://acme.example/new' });
    assert.deepEqual(await urlsOf(mia.id), ['https://acme.example/', 'https://acme.example/new']);
    assert.equal((await call('PATCH', `links/${own.id}`, change)).status, 200);
  });

  test('a partner that was moved while it was away has the links of its new group when it is back', async () => {
    await fresh();
    await newGroup('vip');
    const [old] = await p.get('/groups/vip/default-links');
    await p.call('DELETE', `/groups/vip/default-links/${old.id}`);
    for (const path of ['a', 'b']) {
      await p.post('/groups/vip/default-links', { url: `https://acme.example/${path}` });
    }
    for (const [away, back] of [
      ['ban', 'unban'],
      ['deactivate', 'reactivate'],
    ]) {
      const { id } = await p.partner();
      await p.post(`/partners/${away}`, { partnerId: id, ...(away === 'ban' && { reason: 'spam' }) });
      await p.post('/groups/vip/partners', { partnerIds: [id] });
      assert.deepEqual(await urlsOf(id), ['https://acme.example/']);
      await p.post(`/partners/${back}`, { partnerId: id });
      assert.deepEqual(await urlsOf(id), ['https://acme.example/a', 'https://acme.example/b']);
    }
  });

  test('rules move partners with what their new group rewards with by then, and to no group that is gone', async () => {
    await fresh();
    const vip = await newGroup('vip');
    const mia = await p.partner();
    await p.patch('/groups/vip', { moveRules: [{ attribute: 'totalLeads', min: 1 }] });
    await t.app.db.write(() => t.app.services.enrolments.addTotals(p.program.id, mia.id, { leads: 1 }));
    const { rewards, groups, groupMoves } = t.app.services;
    const terms = { groupId: 'vip', type: 'flat', amountInCents: 1 } as const;
    await meanwhile(
      () => rewards.create(p.ws.actor, 'sale', terms),
      () => [groupMoves.run(forever)],
    );
    const moved = await p.get(`/partners/${mia.id}`);
    const { saleRewardId } = await p.get('/groups/vip');
    assert.deepEqual([moved.groupId, moved.saleRewardId], [vip.id, saleRewardId]);
    await p.patch(`/partners/${mia.id}`, { groupId: 'default' });
    await meanwhile(
      () => groups.delete(p.ws.actor, 'vip'),
      () => [groupMoves.run(forever)],
    );
    assert.equal((await p.get(`/partners/${mia.id}`)).groupId, p.program.defaultGroupId);
  });

  test('of two partners that are given the same tenant at once one is refused', async () => {
    await fresh();
    const [mia, bo] = [await p.partner(), await p.partner()];
    const [reply] = await meanwhile(
      () => t.app.services.partners.update(p.ws.actor, mia.id, { tenantId: 'u_1' }),
      () => [p.call('PATCH', `/partners/${bo.id}`, { tenantId: 'U_1' })],
    );
    assert.equal(reply?.status, 409, reply?.text);
  });

  test('what is switched on again is on since the first time', async () => {
    await fresh();
    const on = { autoApprovePartners: true, applicationFormPublished: true, applicationForm: FORM };
    const first = await p.patch('/groups/default', on);
    t.clock.advance(1_000);
    const second = await p.patch('/groups/default', on);
    assert.equal(second.autoApprovePartnersEnabledAt, first.autoApprovePartnersEnabledAt);
    assert.equal(second.applicationFormPublishedAt, first.applicationFormPublishedAt);
    assert.equal(
      (await p.patch('/groups/default', { autoApprovePartners: false })).autoApprovePartners,
      false,
    );
  });
});
