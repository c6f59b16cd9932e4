import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

eachDatabase('partners', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());
  const fresh = async () => {
    p = await openProgram(t);
  };

  test('a program comes with a folder, a default group and its default link, once a workspace', async () => {
    await fresh();
    const { id, slug, defaultFolderId, defaultGroupId } = p.program;
    assert.equal(slug, p.ws.slug);
    assert.equal((await p.get(`/folders/${defaultFolderId}`)).name, 'Partner Links');
    const group = await p.get(`/groups/${defaultGroupId}`);
    assert.deepEqual(
      [group.slug, group.maxPartnerLinks, group.additionalLinks],
      ['default', 10, [{ domain: 'acme.example', path: '', validationMode: 'domain' }]],
    );
    const [link] = await p.get('/groups/default/default-links');
    assert.equal(link.url, 'https://acme.example/');
    assert.equal((await p.get(`/workspaces/${p.ws.id}`)).defaultProgramId, id);
    await p.refused(409, undefined, 'POST', '/programs', { name: 'Another', url: 'https://acme.example/' });
  });

  test('a new partner is approved, earns what the group does and has a link named after it', async () => {
    await fresh();
    const reward = await p.post('/rewards', { event: 'sale', type: 'percentage', amountInPercentage: 20 });
    await p.newEvents();
    const mia = await p.partner({ name: 'Mia Lund', tenantId: 'u_77', linkProps: { prefix: '/r/' } });
    assert.match(mia.id, /^pn_/);
    assert.match(mia.username, /^mia-lund-[a-z0-9]{4}$/);
    assert.deepEqual(
      [mia.partnerId, mia.status, mia.saleRewardId, mia.tenantId],
      [mia.id, 'approved', reward.id, 'u_77'],
    );
    assert.deepEqual([mia.links[0].key, mia.links[0].url], [`r/mia-lund`, 'https://acme.example/']);
    const link = await p.get(`/links/${mia.links[0].id}`);
    assert.deepEqual(
      [link.programId, link.partnerId, link.tenantId, link.trackConversion, link.folderId],
      [p.program.id, mia.id, 'u_77', true, p.program.defaultFolderId],
    );
    const events = await p.newEvents();
    assert.deepEqual(
      events.map(({ type }) => type),
      ['link.created', 'enrolment.changed', 'partner.enrolled'],
    );
    assert.equal(events[2]?.webhook.email, mia.email);
    assert.equal(events[2]?.webhook.links[0].id, link.id);
    assert.ok(!JSON.stringify(events[2]?.payload).includes('@'), 'no address in the journal');
    const second = await p.partner({ name: 'Mia Lund', linkProps: { prefix: '/r/' } });
    assert.match(second.links[0].key, /^r\/mia-lund-[a-z0-9]{4}$/);
  });

  test('whoever is there already comes back unchanged; a new tenant replaces the old, a taken one is 409', async () => {
    await fresh();
    const email = 'Same@People.example';
    const first = await p.partner({ email, name: 'First', tenantId: 'T1' });
    const again = await p.partner({ email: 'same@people.EXAMPLE', name: 'Other', groupId: 'default' });
    assert.deepEqual([again.id, again.name, again.tenantId], [first.id, 'First', 'T1']);
    assert.equal((await p.partner({ tenantId: 't1' })).id, first.id);
    assert.equal((await p.partner({ email, tenantId: 'T2' })).tenantId, 'T2');
    const other = await p.partner({ tenantId: 'T3' });
    await p.refused(409, 'tenantId', 'POST', '/partners', { email, tenantId: 'T3' });
    await p.refused(409, 'tenantId', 'PATCH', `/partners/${other.id}`, { tenantId: 't2' });
    assert.equal((await p.get('/partners')).length, 2);
  });

  test('a partner is one person in all programs, and each program sees its own side only', async () => {
    await fresh();
    const elsewhere = await openProgram(t);
    const email = `shared-${p.ws.slug}@people.example`;
    const here = await p.partner({ email, name: 'Here' });
    const there = await elsewhere.partner({ email, name: 'There' });
    assert.deepEqual([there.id, there.name], [here.id, 'Here']);
    assert.notEqual(there.links[0].id, here.links[0].id);
    await elsewhere.post('/partners/ban', { partnerId: here.id, reason: 'spam' });
    assert.equal((await p.get(`/partners/${here.id}`)).status, 'approved');
    const mine = await p.partner();
    await elsewhere.refused(403, undefined, 'GET', `/partners/${mine.id}`);
    await elsewhere.refused(404, undefined, 'POST', '/partners/ban', { partnerId: mine.id, reason: 'spam' });
    await elsewhere.refused(404, undefined, 'GET', '/partners/pn_unknown');
  });

  test('twenty requests for one address at once make one partner with one link', async () => {
    await fresh();
    const email = `race-${p.ws.slug}@people.example`;
    const made = await Promise.all(Array.from({ length: 20 }, () => p.partner({ email, tenantId: 'race' })));
    assert.equal(new Set(made.map(({ id }) => id)).size, 1);
    assert.equal((await p.get(`/partners/links?tenantId=race`)).length, 1);
  });

  test('the limit on partners is looked at first and holds for approvals too', async () => {
    await fresh();
    await p.partner({ tenantId: 'one' });
    await t.app.services.workspaces.setLimit(p.ws.id, 'partners', 1);
    await p.refused(403, undefined, 'POST', '/partners', { email: 'new@people.example' });
    await p.refused(403, undefined, 'POST', '/partners', { email: 'x@people.example', tenantId: 'one' });
  });

  test('groups, links and bodies that do not fit are refused by name', async () => {
    await fresh();
    const elsewhere = await openProgram(t);
    const email = 'a@people.example';
    await p.refused(404, 'groupId', 'POST', '/partners', { email, groupId: 'grp_unknown' });
    await p.refused(403, 'groupId', 'POST', '/partners', {
      email,
      groupId: elsewhere.program.defaultGroupId,
    });
    await p.refused(422, 'email', 'POST', '/partners', { email: 'nobody' });
    await p.refused(400, 'email', 'POST', '/partners', {});
    await p.refused(422, 'country', 'POST', '/partners', { email, country: 'Sweden' });
    await p.refused(422, 'username', 'POST', '/partners', { email, username: '???' });
    await p.refused(400, 'partnerId', 'POST', '/partners/deactivate', {});
    await p.refused(422, 'reason', 'POST', '/partners/ban', { partnerId: 'pn_x', reason: 'mood' });
  });

  test('filters, ranges and every order of the list', async () => {
    await fresh();
    const { enrolments } = t.app.services;
    const gold = await p.post('/groups', { name: 'Gold', slug: 'gold' });
    const tag = await p.post('/partners/tags', { name: 'VIP' });
    const a = await p.partner({ name: 'Anna Berg', country: 'SE', tenantId: 'A' });
    t.clock.advance(1);
    const b = await p.partner({ name: 'Bo', country: 'NO', groupId: 'gold' });
    t.clock.advance(1);
    const c = await p.partner({ name: 'Cy' });
    await enrolments.addTotals(p.program.id, a.id, {
      clicks: 10,
      leads: 5,
      conversions: 1,
      sales: 1,
      saleAmount: 500,
      commissions: 100,
    });
    await enrolments.addTotals(p.program.id, b.id, {
      clicks: 100,
      leads: 10,
      conversions: 8,
      sales: 9,
      saleAmount: 900,
      commissions: 900,
    });
    await p.post(`/partners/tags/${tag.id}/partners`, { partnerIds: [a.id, b.id] });
    await p.post('/partners/archive', { partnerId: c.id });
    const names = async (query: string) =>
      (await p.get(`/partners?${query}`)).map((x: { name: string }) => x.name);

    const orders: Record<string, string[]> = {
      createdAt: ['Cy', 'Bo', 'Anna Berg'],
      totalClicks: ['Bo', 'Anna Berg', 'Cy'],
      clicks: ['Bo', 'Anna Berg', 'Cy'],
      totalLeads: ['Bo', 'Anna Berg', 'Cy'],
      totalConversions: ['Bo', 'Anna Berg', 'Cy'],
      totalSaleAmount: ['Bo', 'Anna Berg', 'Cy'],
      totalCommissions: ['Bo', 'Anna Berg', 'Cy'],
      netRevenue: ['Anna Berg', 'Cy', 'Bo'],
      earningsPerClick: ['Anna Berg', 'Bo', 'Cy'],
      averageLifetimeValue: ['Anna Berg', 'Bo', 'Cy'],
      clickToLeadRate: ['Anna Berg', 'Bo', 'Cy'],
      clickToConversionRate: ['Anna Berg', 'Bo', 'Cy'],
      leadToConversionRate: ['Bo', 'Anna Berg', 'Cy'],
      returnOnAdSpend: ['Anna Berg', 'Bo', 'Cy'],
    };
    for (const [sortBy, expected] of Object.entries(orders)) {
      // Net revenue of Cy and Bo is the same: the younger one comes first.
      assert.deepEqual(await names(`sortBy=${sortBy}`), expected, sortBy);
      assert.deepEqual(await names(`sortBy=${sortBy}&sortOrder=asc`), expected.toReversed(), `${sortBy} asc`);
    }
    const filters: Record<string, string[]> = {
      'status=archived': ['Cy'],
      'country=SE': ['Anna Berg'],
      'country=se,no': ['Bo', 'Anna Berg'],
      'country=-SE': ['Bo', 'Cy'],
      [`groupId=${gold.id}`]: ['Bo'],
      [`groupId=-${gold.id}`]: ['Anna Berg', 'Cy'],
      [`partnerTagId=${tag.id}`]: ['Bo', 'Anna Berg'],
      [`partnerTagId=-${tag.id}`]: ['Cy'],
      [`partnerIds=${a.id},${c.id}`]: ['Anna Berg', 'Cy'],
      'tenantId=a': ['Anna Berg'],
      [`email=${encodeURIComponent(b.email.toUpperCase())}&search=Anna`]: ['Bo'],
      [`search=${encodeURIComponent(a.email)}`]: ['Anna Berg'],
      [`search=${c.id}`]: ['Cy'],
      'search=BERG': ['Anna Berg'],
      'search=%25': [],
      'totalClicksMin=10&totalClicksMax=99': ['Anna Berg'],
      'totalSaleAmountMin=900': ['Bo'],
      'pageSize=1&page=2': ['Anna Berg'],
    };
    for (const [query, expected] of Object.entries(filters))
      assert.deepEqual(await names(query), expected, query);
    assert.equal(await p.get('/partners/count?country=-SE'), 2);
    assert.deepEqual(await p.get('/partners/count?groupBy=status'), [
      { status: 'approved', _count: 2 },
      { status: 'archived', _count: 1 },
    ]);
    assert.deepEqual(await p.get('/partners/count?groupBy=partnerTagId'), [
      { partnerTagId: tag.id, _count: 2 },
    ]);
    const [shown] = await p.get(`/partners?partnerIds=${a.id}`);
    assert.deepEqual(shown.tags, [tag]);
    assert.deepEqual(
      [shown.netRevenue, shown.earningsPerClick, shown.clickToLeadRate, shown.returnOnAdSpend, shown.clicks],
      [400, 50, 0.5, 5, 10],
    );
    const [, second] = await p.get('/groups?sortBy=totalSaleAmount');
    assert.deepEqual([second.slug, second.totalPartners, second.totalSaleAmount], ['default', 2, 500]);
  });

  test('clicks on links of a partner add up in its totals, others change nothing', async () => {
    await fresh();
    const a = await p.partner();
    const more = await p.post('/partners/links', { partnerId: a.id });
    const plain = await p.post('/links', { url: 'https://acme.example/' });
    const { createEnrolmentStore } = await import('./enrolment.store.ts');
    await t.app.db.write(() =>
      createEnrolmentStore(t.app.db).addClicks([
        { linkId: a.links[0].id, clicks: 3 },
        { linkId: more.id, clicks: 4 },
        { linkId: plain.id, clicks: 100 },
        { linkId: 'link_gone', clicks: 9 },
      ]),
    );
    assert.equal((await p.get(`/partners/${a.id}`)).totalClicks, 7);
  });
});
