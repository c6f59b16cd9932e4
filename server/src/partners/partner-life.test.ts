// What happens to partners, their links and their place in the program over time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const forever = new AbortController().signal;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FORM = { fields: [{ id: 'why', type: 'long-text', label: 'Why?', required: true }] };

eachDatabase('the life of a partner', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());
  const fresh = async () => {
    p = await openProgram(t);
  };
  const linkOf = (id: string) => p.get(`/links/${id}`);
  const statusOf = async (id: string) => (await p.get(`/partners/${id}`)).status;

  test('a ban stops all links at once and takes the rewards; taking it back gives both back', async () => {
    await fresh();
    const reward = await p.post('/rewards', { event: 'lead', type: 'flat', amountInCents: 100 });
    const { id, links } = await p.partner();
    const dated = await p.post('/partners/links', {
      partnerId: id,
      linkProps: { expiresAt: '2035-01-01T00:00:00.000Z' },
    });
    await p.newEvents();
    await p.post('/partners/ban', { partnerId: id, reason: 'fraud' });
    const banned = await p.get(`/partners/${id}`);
    assert.deepEqual([banned.status, banned.bannedReason, banned.leadRewardId], ['banned', 'fraud', null]);
    const stopped = await linkOf(links[0].id);
    assert.equal(stopped.disabledAt, banned.bannedAt);
    assert.equal(stopped.expiresAt, banned.bannedAt);
    assert.equal((await linkOf(dated.id)).expiresAt, '2035-01-01T00:00:00.000Z');
    assert.deepEqual(
      (await p.newEvents()).map(({ type }) => type),
      ['link.updated', 'link.updated'],
    );
    await p.refused(400, 'partnerId', 'POST', '/partners/ban', { partnerId: id, reason: 'fraud' });
    await p.post('/partners/unban', { partnerId: id });
    const back = await p.get(`/partners/${id}`);
    assert.deepEqual([back.status, back.bannedAt, back.leadRewardId], ['approved', null, reward.id]);
    const working = await linkOf(links[0].id);
    assert.deepEqual([working.disabledAt, working.expiresAt], [null, null]);
    assert.equal((await linkOf(dated.id)).expiresAt, '2035-01-01T00:00:00.000Z');
  });

  test('more links than one step takes are stopped by the job, and a ban taken back meanwhile wins', async () => {
    await fresh();
    const { id } = await p.partner();
    const links = Array.from({ length: 600 }, (_, i) => ({
      url: `https://acme.example/${i}`,
      programId: p.program.id,
      partnerId: id,
    }));
    for (let start = 0; start < links.length; start += 100) {
      await p.post('/links/bulk', links.slice(start, start + 100));
    }
    const working = async () =>
      Number(
        (
          await t.app.db.query
            .selectFrom('link')
            .select((eb) => eb.fn.countAll<number>().as('count'))
            .where('partner_id', '=', id)
            .where('disabled_at', 'is', null)
            .executeTakeFirstOrThrow()
        ).count,
      );
    const { followLinks } = t.app.services.enrolmentChanges;
    await p.post('/partners/ban', { partnerId: id, reason: 'spam' });
    assert.equal(await working(), 101);
    await followLinks(forever);
    assert.equal(await working(), 0);
    await p.post('/partners/unban', { partnerId: id });
    t.clock.advance(MINUTE_MS);
    await p.post('/partners/ban', { partnerId: id, reason: 'spam' });
    await p.post('/partners/unban', { partnerId: id });
    await followLinks(forever);
    assert.equal(await working(), 601);
  });

  test('deactivation lets links expire, reactivation lets them work again, removal takes them away', async () => {
    await fresh();
    const { id, links } = await p.partner({ tenantId: 'gone' });
    await p.refused(400, 'partnerId', 'DELETE', `/partners/${id}`);
    await p.post('/partners/deactivate', { tenantId: 'GONE' });
    const expired = await linkOf(links[0].id);
    assert.deepEqual([expired.disabledAt, typeof expired.expiresAt], [null, 'string']);
    await p.post('/partners/reactivate', { partnerId: id });
    assert.equal((await linkOf(links[0].id)).expiresAt, null);
    await p.post('/partners/archive', { partnerId: id });
    assert.equal(await statusOf(id), 'archived');
    await p.post('/partners/deactivate', { partnerId: id });
    await p.newEvents();
    assert.deepEqual(await p.call('DELETE', `/partners/${id}`).then(({ json }) => json), { id });
    const events = await p.newEvents();
    assert.deepEqual(
      events.map(({ type }) => type),
      ['link.deleted', 'enrolment.changed'],
    );
    assert.equal(events[1]?.payload.deleted, true);
    assert.deepEqual(await p.get('/partners'), []);
  });

  test('a partner that changes groups gets its rewards, and its default links lead where that group says', async () => {
    await fresh();
    const gold = await p.post('/groups', { name: 'Gold', slug: 'gold' });
    const sale = { event: 'sale', type: 'flat', amountInCents: 700 };
    const reward = await p.post('/rewards', { ...sale, groupId: 'gold' });
    const discount = await p.post('/discounts', { type: 'flat', amount: 500, groupId: 'gold' });
    const [first] = await p.get('/groups/gold/default-links');
    await p.call('DELETE', `/groups/gold/default-links/${first.id}`);
    await p.post('/groups/gold/default-links', { url: 'https://acme.example/gold' });
    await p.post('/groups/gold/default-links', { url: 'https://acme.example/more' });
    await p.patch('/groups/gold', { utmTemplate: { utm_source: 'gold' } });
    const { id, links } = await p.partner({ name: 'Mover' });
    await p.newEvents();
    assert.deepEqual(await p.post('/groups/gold/partners', { partnerIds: [id] }), { count: 1 });
    assert.deepEqual(await p.post('/groups/gold/partners', { partnerIds: [id] }), { count: 0 });
    const moved = await p.get(`/partners/${id}`);
    assert.deepEqual(
      [moved.groupId, moved.saleRewardId, moved.discountId],
      [gold.id, reward.id, discount.id],
    );
    assert.deepEqual(
      moved.links.map((link: { id: string; url: string }) => [link.id === links[0].id, link.url]),
      [
        [true, 'https://acme.example/gold?utm_source=gold'],
        [false, 'https://acme.example/more?utm_source=gold'],
      ],
    );
    const changed = (await p.newEvents()).filter(({ type }) => type === 'enrolment.changed');
    assert.deepEqual(
      changed.map(({ payload }) => payload.groupId),
      [gold.id],
    );
    await p.refused(404, 'partnerIds', 'POST', '/groups/gold/partners', { partnerIds: ['pn_unknown'] });
    await p.call('DELETE', `/rewards/${reward.id}`);
    assert.equal((await p.get(`/partners/${id}`)).saleRewardId, null);
    const cheaper = await p.post('/rewards', { ...sale, amountInCents: 1, groupId: 'gold' });
    assert.equal((await p.get(`/partners/${id}`)).saleRewardId, cheaper.id);
    await p.refused(409, 'event', 'POST', '/rewards', { ...sale, groupId: 'gold' });
    await p.call('DELETE', '/groups/gold');
    const home = await p.get(`/partners/${id}`);
    assert.deepEqual([home.groupId, home.saleRewardId], [p.program.defaultGroupId, null]);
  });

  test('groups keep to their rules', async () => {
    await fresh();
    await p.post('/groups', { name: 'Gold', slug: 'Gold Star' });
    await p.refused(409, 'slug', 'POST', '/groups', { name: 'Other', slug: 'gold-star' });
    await p.refused(422, 'slug', 'POST', '/groups', { name: 'Other', slug: 'grp_1' });
    await p.refused(403, undefined, 'DELETE', '/groups/default');
    await p.refused(400, 'slug', 'PATCH', '/groups/default', { slug: 'other' });
    await p.refused(422, 'holdingPeriodDays', 'PATCH', '/groups/default', { holdingPeriodDays: 8 });
    const twice = [{ domain: 'a.example' }, { domain: 'A.example' }];
    await p.refused(400, 'additionalLinks[1].domain', 'PATCH', '/groups/default', { additionalLinks: twice });
    const path = '/groups/default/default-links';
    await p.refused(409, 'url', 'POST', path, { url: 'https://acme.example/' });
    for (const n of [2, 3, 4, 5]) await p.post(path, { url: `https://acme.example/${n}` });
    await p.refused(422, 'url', 'POST', path, { url: 'https://acme.example/6' });
    const { links } = await p.partner({ name: 'Five' });
    assert.equal(links.length, 5);
    for (const link of links) assert.match(link.key, /^five-[a-z0-9]{4}$/);
    await p.post('/groups/gold-star/default');
    await p.call('DELETE', '/groups/default');
    assert.equal((await p.get('/groups')).length, 1);
    const plain = await openProgram(t, { plan: 'business' });
    const rules = { moveRules: [{ attribute: 'totalLeads', min: 5 }] };
    await plain.refused(403, 'moveRules', 'PATCH', '/groups/default', rules);
  });

  test('rules of groups move partners by their totals, not those that fit where they are or must stay', async () => {
    await fresh();
    const { enrolments, groupMoves } = t.app.services;
    const rule = (min: number, max: number | null) => ({
      moveRules: [{ attribute: 'totalLeads', min, max }],
    });
    for (const [slug, min, max] of [
      ['silver', 10, 99],
      ['gold', 100, null],
      ['any', 1, null],
    ] as const) {
      await p.post('/groups', { name: slug, slug });
      await p.patch(`/groups/${slug}`, rule(min, max));
      t.clock.advance(1);
    }
    const people: string[] = [];
    for (const leads of [0, 10, 500, 500]) {
      const { id } = await p.partner();
      await enrolments.addTotals(p.program.id, id, { leads });
      people.push(id);
    }
    await p.patch(`/partners/${people[3]}`, { groupMoves: false });
    const groupsOf = async () => {
      const names = new Map(
        (await p.get('/groups')).map((g: { id: string; slug: string }) => [g.id, g.slug]),
      );
      return Promise.all(people.map(async (id) => names.get((await p.get(`/partners/${id}`)).groupId)));
    };
    await groupMoves.run(forever);
    assert.deepEqual(await groupsOf(), ['default', 'silver', 'gold', 'default']);
    await groupMoves.run(forever);
    assert.deepEqual(await groupsOf(), ['default', 'silver', 'gold', 'default']);
    await enrolments.addTotals(p.program.id, people[1] as string, { leads: 90 });
    await groupMoves.run(forever);
    assert.deepEqual(await groupsOf(), ['default', 'gold', 'gold', 'default']);
  });

  test('links are made only where the group allows, and an upsert finds its link whatever the campaign was', async () => {
    await fresh();
    const { id } = await p.partner({ tenantId: 'L' });
    const other = await p.partner({ tenantId: 'M' });
    const path = '/partners/links';
    const url = 'https://acme.example/pricing?plan=pro';
    const link = await p.post(path, { tenantId: 'l', url, key: 'mia-pricing' });
    assert.deepEqual([link.partnerId, link.key, link.url], [id, 'mia-pricing', url]);
    await p.refused(409, 'key', 'POST', path, { tenantId: 'L', url, key: 'mia-pricing' });
    await p.refused(400, 'url', 'POST', path, { tenantId: 'L', url: 'https://evil.example/' });
    await p.refused(404, undefined, 'POST', path, { tenantId: 'unknown' });
    const upsert = async (body: object) => (await p.call('PUT', `${path}/upsert`, body)).json;
    assert.equal((await upsert({ tenantId: 'L', url })).id, link.id);
    await p.patch('/groups/default', { utmTemplate: { utm_source: 'one' } });
    const first = await upsert({ tenantId: 'L', url, linkProps: { comments: 'Noted' } });
    assert.deepEqual([first.id, first.url, first.comments], [link.id, `${url}&utm_source=one`, 'Noted']);
    await p.patch('/groups/default', { utmTemplate: { utm_source: 'two' } });
    assert.equal((await upsert({ tenantId: 'L', url })).id, link.id);
    assert.notEqual((await upsert({ tenantId: 'M', url })).id, link.id);
    const own = await upsert({ partnerId: other.id, url: 'https://acme.example/?utm_source=mine' });
    assert.equal(own.utm_source, 'mine');
    const made = await Promise.all(
      Array.from({ length: 10 }, () => upsert({ tenantId: 'L', url: 'https://acme.example/race' })),
    );
    assert.equal(new Set(made.map((item) => item.id)).size, 1);
    const exact = [{ domain: 'acme.example', path: '/a?b=c', validationMode: 'exact' }];
    await p.patch('/groups/default', { additionalLinks: exact });
    await p.post(path, { tenantId: 'L', url: 'https://acme.example/a?b=c' });
    await p.refused(400, 'url', 'POST', path, { tenantId: 'L', url: 'https://acme.example/a' });
    await p.patch('/groups/default', { additionalLinks: null });
    await p.refused(400, 'url', 'POST', path, { tenantId: 'L', url });
  });

  test('a plain link can be given to a partner, by id or by tenant, and to nobody else', async () => {
    await fresh();
    const { id } = await p.partner({ tenantId: 'T' });
    const url = 'https://anywhere.example/';
    const { id: programId } = p.program;
    const byTenant = await p.post('/links', { url, programId, tenantId: 't' });
    assert.deepEqual([byTenant.partnerId, byTenant.folderId], [id, p.program.defaultFolderId]);
    const byId = await p.post('/links', { url, partnerId: id, folderId: null });
    assert.deepEqual([byId.programId, byId.partnerId, byId.folderId], [programId, id, null]);
    await p.refused(404, 'programId', 'POST', '/links', { url, programId: 'prog_other' });
    await p.refused(404, 'partnerId', 'POST', '/links', { url, partnerId: 'pn_other' });
    await p.post('/partners/ban', { partnerId: id, reason: 'spam' });
    await p.refused(404, 'partnerId', 'POST', '/links', { url, partnerId: id });
  });

  test('applications: submitted by anybody, approved, rejected for a while, for good or not at all', async () => {
    await fresh();
    const path = `/programs/${p.program.slug}/applications`;
    const person = (name: string) => ({
      name,
      email: `${name}-${p.ws.slug}@people.example`,
      answers: { why: 'Because' },
    });
    await p.refused(404, undefined, 'POST', path, person('early'));
    await p.patch('/groups/default', { applicationForm: FORM, applicationFormPublished: true });
    await p.refused(422, 'answers.why', 'POST', path, { ...person('a'), answers: {} });
    await p.newEvents();
    const { id } = await p.post(path, person('a'));
    const [told] = await p.newEvents();
    assert.equal(told?.type, 'partner.application_submitted');
    assert.deepEqual(told?.webhook.applicationFormData, [{ label: 'Why?', value: 'Because' }]);
    assert.ok(!JSON.stringify(told?.payload).includes('@'));
    await p.refused(409, undefined, 'POST', path, person('a'));
    const listed = await p.get('/partners/applications');
    assert.deepEqual(listed, [await p.get(`/partners/applications/${id}`)]);
    const partnerId = listed[0].partner.id;
    const reject = (more: object) => p.post('/partners/applications/reject', { partnerId, ...more });
    const flag = { partnerId, flagForFraud: true };
    await p.refused(400, 'flagForFraudReason', 'POST', '/partners/applications/reject', flag);
    await reject({ rejectionReason: 'notTheRightFit', rejectionNote: 'Sorry' });
    assert.equal(await statusOf(partnerId), 'rejected');
    await p.refused(409, undefined, 'POST', path, person('a'));
    t.clock.advance(30 * DAY_MS);
    await p.post(path, person('a'));
    await reject({ reapplicationTimeframe: 'instant' });
    await p.refused(403, undefined, 'GET', `/partners/${partnerId}`);
    t.clock.advance(MINUTE_MS);
    await p.post(path, person('a'));
    await reject({ reapplicationTimeframe: 'never' });
    t.clock.advance(400 * DAY_MS);
    await p.refused(409, undefined, 'POST', path, person('a'));
    await p.post('/partners/applications/approve', { partnerId });
    const joined = await p.get(`/partners/${partnerId}`);
    assert.deepEqual([joined.status, joined.links.length], ['approved', 1]);
    await p.refused(400, 'partnerId', 'POST', '/partners/applications/approve', { partnerId });
    await p.refused(404, undefined, 'POST', '/partners/applications/approve', { partnerId: 'pn_unknown' });
  });

  test('a group can approve by itself, and who does not meet the requirements hears so after half an hour', async () => {
    await fresh();
    const path = `/programs/${p.program.slug}/applications`;
    const form = { applicationForm: { fields: [] }, applicationFormPublished: true };
    await p.patch('/groups/default', { ...form, autoApprovePartners: true });
    const requirements = [
      { key: 'country', operator: 'is', value: ['SE', 'NO'] },
      { key: 'emailDomain', operator: 'is_not', value: ['@spam.example'] },
    ];
    await p.patch(`/programs/${p.program.id}`, { applicationRequirements: requirements });
    const apply = (name: string, domain: string, country: string) =>
      p.post(path, { name, email: `${name}-${p.ws.slug}@${domain}`, country });
    assert.equal((await apply('fits', 'people.example', 'se')).status, 'approved');
    assert.equal((await apply('far', 'people.example', 'DE')).status, 'pending');
    t.clock.advance(MINUTE_MS);
    assert.equal((await apply('spam', 'spam.example', 'NO')).status, 'pending');
    const waiting = async () => (await p.get('/partners/applications')).length;
    await t.app.services.applications.rejectDue(forever);
    assert.equal(await waiting(), 2);
    t.clock.advance(29 * MINUTE_MS);
    await t.app.services.applications.rejectDue(forever);
    assert.equal(await waiting(), 1);
    t.clock.advance(MINUTE_MS);
    await t.app.services.applications.rejectDue(forever);
    assert.equal(await waiting(), 0);
    assert.equal(await p.get('/partners/count?status=rejected'), 2);
  });

  test('a partner shows what became of its application', async () => {
    await fresh();
    await p.patch('/groups/default', { applicationForm: { fields: [] }, applicationFormPublished: true });
    const email = `shown-${p.ws.slug}@people.example`;
    const { id } = await p.post(`/programs/${p.program.slug}/applications`, { name: 'Bo', email });
    const partnerId = (await p.get(`/partners/applications/${id}`)).partner.id;
    const outcome = async () => {
      const [listed] = await p.get(`/partners?partnerIds=${partnerId}`);
      const one = await p.get(`/partners/${partnerId}`);
      assert.deepEqual([listed.application, listed.referralFormData], [one.application, null]);
      return one.application;
    };
    assert.deepEqual(await outcome(), { rejectionReason: null, rejectionNote: null, reviewedAt: null });
    const why = { rejectionReason: 'needsMoreDetail', rejectionNote: 'Which site?' };
    await p.post('/partners/applications/reject', { partnerId, ...why });
    const reviewedAt = new Date(t.clock.now()).toISOString();
    assert.deepEqual(await outcome(), { ...why, reviewedAt });
    await p.newEvents();
    await p.post('/partners/applications/approve', { partnerId });
    const approved = { rejectionReason: null, rejectionNote: null, reviewedAt };
    assert.deepEqual(await outcome(), approved);
    const told = (await p.newEvents()).find(({ type }) => type === 'partner.enrolled');
    assert.deepEqual(told?.webhook.application, approved);
    assert.equal((await p.partner()).application, null);
  });

  test('a group that approves by itself lets people wait when the workspace has no room, and tells them nothing', async () => {
    await fresh();
    const form = { applicationForm: { fields: [] }, applicationFormPublished: true };
    await p.patch('/groups/default', { ...form, autoApprovePartners: true });
    await p.partner();
    const limit = (limits: string) =>
      t.app.db.query.updateTable('workspace').set({ limits }).where('id', '=', p.ws.id).execute();
    await limit('{"partners":1}');
    const person = { name: 'Bo', email: `late-${p.ws.slug}@people.example` };
    const applied = await p.post(`/programs/${p.program.slug}/applications`, person);
    assert.equal(applied.status, 'pending');
    const [waiting] = await p.get('/partners/applications');
    assert.equal(waiting.id, applied.id);
    const { id: partnerId } = waiting.partner;
    await p.refused(403, undefined, 'POST', '/partners/applications/approve', { partnerId });
    await limit('{}');
    await p.post('/partners/applications/approve', { partnerId });
  });

  test('an invitation that is made again takes another tenant, unless it is somebody else’s', async () => {
    await fresh();
    await p.partner({ tenantId: 'u_1' });
    const email = `invited-${p.ws.slug}@people.example`;
    const first = await p.post('/partners/invite', { email, tenantId: 'u_2' });
    assert.equal(first.partner.tenantId, 'u_2');
    const second = await p.post('/partners/invite', { email, tenantId: 'u_3' });
    assert.equal(second.partner.tenantId, 'u_3');
    assert.equal((await p.post('/partners/invite', { email })).partner.tenantId, 'u_3');
    await p.refused(409, 'tenantId', 'POST', '/partners/invite', { email, tenantId: 'U_1' });
  });

  test('three applications a minute from one address to one program, and no more', async () => {
    await fresh();
    const other = await openProgram(t);
    for (const each of [p, other]) {
      await each.patch('/groups/default', {
        applicationForm: { fields: [] },
        applicationFormPublished: true,
      });
    }
    const apply = (slug: string, n: number) =>
      t.request('POST', `/programs/${slug}/applications`, {
        body: { name: 'N', email: `n${n}-${slug}@people.example`.toLowerCase() },
        ip: '203.0.113.9',
      });
    const { slug } = p.program;
    for (const n of [1, 2]) assert.equal((await apply(slug, n)).status, 201);
    assert.equal((await apply(slug.toUpperCase(), 3)).status, 201);
    assert.equal((await apply(`%${slug.charCodeAt(0).toString(16)}${slug.slice(1)}`, 4)).status, 429);
    assert.equal((await apply(other.program.slug, 1)).status, 201);
    t.clock.advance(MINUTE_MS);
    assert.equal((await apply(slug, 5)).status, 201);
  });

  test('an invitation is accepted or declined once, by whoever has its secret, within two weeks', async () => {
    await fresh();
    const invite = (email: string) =>
      p.post('/partners/invite', { email: `${email}-${p.ws.slug}@people.example` });
    const answer = (what: string, token: string) =>
      t.request('POST', `/partners/invites/${what}`, { body: { token } });
    const { partner, token } = await invite('a');
    assert.deepEqual([partner.status, partner.links], ['invited', []]);
    const newer = await invite('a');
    assert.equal((await answer('accept', token)).status, 404);
    assert.equal((await answer('accept', newer.token)).status, 200);
    assert.equal((await answer('accept', newer.token)).status, 404);
    const joined = await p.get(`/partners/${partner.id}`);
    assert.deepEqual([joined.status, joined.links.length], ['approved', 1]);
    await p.refused(409, 'email', 'POST', '/partners/invite', { email: joined.email });
    const no = await invite('b');
    assert.equal((await answer('decline', no.token)).status, 200);
    assert.equal(await statusOf(no.partner.id), 'declined');
    const late = await invite('b');
    t.clock.advance(14 * DAY_MS);
    const reply = await answer('accept', late.token);
    assert.deepEqual([reply.status, reply.json.error.code], [410, 'invite_expired']);
    const rows = await t.app.db.query.selectFrom('partner_invite').selectAll().execute();
    assert.ok(!JSON.stringify(rows).includes(late.token), 'the secret is not stored');
  });

  test('a tag goes from all partners when it is deleted, and analytics hears of it', async () => {
    await fresh();
    const a = await p.partner();
    const b = await p.partner();
    const vip = await p.post('/partners/tags', { name: 'VIP' });
    const old = await p.post('/partners/tags', { name: 'Old' });
    await p.refused(409, undefined, 'POST', '/partners/tags', { name: 'vip' });
    const path = `/partners/tags/${vip.id}/partners`;
    assert.deepEqual(await p.post(path, { partnerIds: [a.id, b.id] }), { count: 2 });
    assert.deepEqual(await p.post(path, { partnerIds: [a.id] }), { count: 0 });
    await p.patch(`/partners/${a.id}`, { tagIds: [old.id, vip.id] });
    await p.refused(422, 'tagIds', 'PATCH', `/partners/${a.id}`, { tagIds: ['ptag_unknown'] });
    assert.deepEqual((await p.call('DELETE', `${path}?partnerIds=${b.id}`)).json, { count: 1 });
    await p.newEvents();
    await p.call('DELETE', `/partners/tags/${vip.id}`);
    const [event, ...rest] = await p.newEvents();
    assert.deepEqual([event?.payload.partnerId, event?.payload.partnerTagIds, rest], [a.id, [old.id], []]);
    assert.deepEqual((await p.get(`/partners/${a.id}`)).tags, [old]);
  });
});
