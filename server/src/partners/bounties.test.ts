// Bounties from their making to the commission that pays for them, on real stores.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp, type TestReply } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

eachDatabase('bounties', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    p = await openProgram(t);
  };
  const bounty = (more: object = {}) =>
    p.post('/bounties', { name: 'Write about us', type: 'submission', rewardAmount: 5_000, ...more });
  const leads = (value: number, more: object = {}) =>
    bounty({
      name: 'Bring leads',
      type: 'performance',
      performanceCondition: { attribute: 'totalLeads', value },
      ...more,
    });
  const submissionsOf = (id: string, query = '') => p.get(`/bounties/${id}/submissions${query}`);
  const add = (partnerId: string, count: number) =>
    t.app.db.write(() =>
      t.app.services.enrolments.addTotals(p.program.id, partnerId, { leads: count }, t.clock.now()),
    );
  const statusOf = async (id: string, partnerId: string) => {
    const [found] = await submissionsOf(id, `?partnerId=${partnerId}`);
    return found && [found.status, found.performanceCount];
  };
  const holder = async (partnerId: string) => {
    const { publicToken: key } = await p.post('/tokens/embed/referrals', { partnerId });
    return {
      list: async (): Promise<TestReply['json'][]> =>
        (await t.request('GET', '/embed/referrals/bounties', { key })).json,
      submit: (id: string, body: object) =>
        t.request('POST', `/embed/referrals/bounties/${id}/submissions`, { key, body }),
    };
  };

  test('are made, told, listed, changed, and deleted while nobody has handed in anything', async () => {
    await fresh();
    const group = await p.post('/groups', { name: 'VIP', slug: 'vip' });
    await p.newEvents();
    const made = await bounty({ groupIds: [group.id], endsAt: '2027-06-01T00:00:00Z' });
    assert.match(made.id, /^bnty_/);
    assert.deepEqual(
      [made.startsAt, made.endsAt, made.groups, made.partnerTags, made.maxSubmissions],
      [new Date(t.clock.now()).toISOString(), '2027-06-01T00:00:00.000Z', [{ id: group.id }], [], 1],
    );
    const changed = await p.patch(`/bounties/${made.id}`, { name: 'Renamed', groupIds: [] });
    assert.deepEqual([changed.name, changed.groups, changed.rewardAmount], ['Renamed', [], 5_000]);
    assert.deepEqual(await p.get(`/bounties/${made.id}`), changed);
    assert.deepEqual(await p.get('/bounties'), [changed]);
    const told = await p.newEvents();
    assert.deepEqual(
      told.map(({ type, webhook }) => [type, webhook.name, webhook.groups]),
      [
        ['bounty.created', 'Write about us', [{ id: group.id }]],
        ['bounty.updated', 'Renamed', []],
      ],
    );
    assert.deepEqual((await p.call('DELETE', `/bounties/${made.id}`)).json, { id: made.id });
    await p.refused(404, undefined, 'GET', `/bounties/${made.id}`);
  });

  test('terms that do not fit are refused by name, also when only a part of them changes', async () => {
    await fresh();
    const body = { name: 'x', type: 'submission', rewardAmount: 1 };
    await p.refused(422, 'performanceCondition', 'POST', '/bounties', { ...body, type: 'performance' });
    await p.refused(422, 'rewardAmount', 'POST', '/bounties', { ...body, rewardAmount: null });
    await p.refused(422, 'maxSubmissions', 'POST', '/bounties', { ...body, maxSubmissions: 51 });
    await p.refused(404, 'groupIds', 'POST', '/bounties', { ...body, groupIds: ['grp_unknown'] });
    await p.refused(404, 'partnerTagIds', 'POST', '/bounties', { ...body, partnerTagIds: ['ptag_unknown'] });
    const { id } = await leads(3);
    await p.refused(422, 'endsAt', 'PATCH', `/bounties/${id}`, { endsAt: '2020-01-01T00:00:00Z' });
    const performanceCondition = { attribute: 'totalLeads', value: 1 };
    await p.refused(400, 'performanceCondition', 'PATCH', `/bounties/${id}`, { performanceCondition });
    await (await openProgram(t)).refused(403, undefined, 'GET', `/bounties/${id}`);
  });

  test('by performance: drafts for all who are meant, handed in by themselves when the number is reached', async () => {
    await fresh();
    const old = await p.partner();
    await add(old.id, 4);
    const fromNow = await leads(3);
    const ever = await leads(5, { performanceScope: 'lifetime' });
    const reached = await leads(4, { performanceScope: 'lifetime' });
    assert.deepEqual(await statusOf(fromNow.id, old.id), ['draft', 0]);
    assert.deepEqual(await statusOf(ever.id, old.id), ['draft', 4]);
    assert.deepEqual(await statusOf(reached.id, old.id), ['submitted', 4]);
    await add(old.id, 1);
    assert.deepEqual(await statusOf(fromNow.id, old.id), ['draft', 1]);
    assert.deepEqual(await statusOf(ever.id, old.id), ['submitted', 5]);
    await add(old.id, 2);
    assert.deepEqual(await statusOf(fromNow.id, old.id), ['submitted', 3]);

    const late = await p.partner();
    assert.deepEqual(await statusOf(fromNow.id, late.id), ['draft', 0]);
    await add(late.id, 3);
    assert.deepEqual(await statusOf(fromNow.id, late.id), ['submitted', 3]);
  });

  test('by performance: only for those in its groups or with its tags, also when they get there later', async () => {
    await fresh();
    const vip = await p.post('/groups', { name: 'VIP', slug: 'vip' });
    const tag = await p.post('/partners/tags', { name: 'Star' });
    const mia = await p.partner();
    const forGroup = await leads(1, { groupIds: [vip.id] });
    const forTag = await leads(1, { partnerTagIds: [tag.id] });
    assert.deepEqual(await submissionsOf(forGroup.id), []);
    await p.patch(`/partners/${mia.id}`, { groupId: 'vip' });
    await p.patch(`/partners/${mia.id}`, { tagIds: [tag.id] });
    for (const { id } of [forGroup, forTag]) assert.deepEqual(await statusOf(id, mia.id), ['draft', 0]);
  });

  test('by performance: one that begins later does so by a job, for any number of partners', async () => {
    await fresh();
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await p.partner()).id);
    const startsAt = new Date(t.clock.now() + DAY_MS).toISOString();
    const { id } = await leads(2, { startsAt });
    const { openDue } = t.app.services.bountyProgress;
    const { signal } = new AbortController();
    await openDue(signal);
    assert.deepEqual(await submissionsOf(id), []);
    await add(ids[0] as string, 2);
    t.clock.advance(DAY_MS);
    await openDue(signal);
    await openDue(signal);
    assert.equal((await submissionsOf(id)).length, 3);
    assert.deepEqual(await statusOf(id, ids[0] as string), ['draft', 0]);
    await add(ids[0] as string, 2);
    assert.deepEqual(await statusOf(id, ids[0] as string), ['submitted', 2]);
    const row = await t.app.db.query
      .selectFrom('bounty')
      .select('opened_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    assert.equal(row.opened_at, t.clock.now());
  });

  test('by performance: nothing is handed in after the end', async () => {
    await fresh();
    const mia = await p.partner();
    const { id } = await leads(1, { endsAt: new Date(t.clock.now() + DAY_MS).toISOString() });
    t.clock.advance(DAY_MS);
    await add(mia.id, 5);
    assert.deepEqual(await statusOf(id, mia.id), ['draft', 0]);
  });

  test('an approved submission is paid by one commission, however many approve it at once', async () => {
    await fresh();
    const mia = await p.partner({ name: 'Mia' });
    const { id } = await bounty();
    const { submit, list } = await holder(mia.id);
    const made = await submit(id, { description: 'Done', urls: ['https://blog.example/post'] });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual([made.json.status, made.json.periodNumber], ['submitted', 1]);
    assert.deepEqual((await list())[0].submissions, [made.json]);
    assert.deepEqual(await submissionsOf(id), [made.json]);
    await p.newEvents();
    const path = `/bounties/${id}/submissions/${made.json.id}`;
    const replies = await Promise.all([1, 2, 3, 4].map(() => p.call('POST', `${path}/approve`)));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 400, 400, 400]);
    const rows = await t.app.db.query
      .selectFrom('commission')
      .selectAll()
      .where('partner_id', '=', mia.id)
      .execute();
    assert.deepEqual(
      rows.map(({ type, earnings, description }) => [type, earnings, description]),
      [['custom', 5_000, 'Bounty: Write about us']],
    );
    const [submission] = await t.app.db.query
      .selectFrom('bounty_submission')
      .selectAll()
      .where('bounty_id', '=', id)
      .execute();
    assert.deepEqual([submission?.commission_id, submission?.user_id], [rows[0]?.id, p.ws.ownerId]);
    assert.deepEqual(
      (await p.newEvents()).map(({ type }) => type),
      ['commission.created'],
    );
    assert.equal((await p.get(`/partners/${mia.id}`)).totalCommissions, 5_000);
    await p.refused(400, 'submissionId', 'POST', `${path}/reject`);
    await p.refused(400, 'bountyId', 'DELETE', `/bounties/${id}`);
  });

  test('reviews: a reason, a change of mind, an amount of one’s own, and what cannot be', async () => {
    await fresh();
    const mia = await p.partner();
    const { id } = await bounty({ rewardAmount: null, rewardDescription: 'As much as it is worth' });
    const { submit } = await holder(mia.id);
    const draft = (await submit(id, { description: 'Not yet', isDraft: true })).json;
    const path = `/bounties/${id}/submissions/${draft.id}`;
    for (const what of ['approve', 'reject']) {
      await p.refused(400, 'submissionId', 'POST', `${path}/${what}`, {});
    }
    assert.equal((await submit(id, { description: 'Done' })).json.id, draft.id);
    const rejected = await p.post(`${path}/reject`, { rejectionReason: 'invalidProof', rejectionNote: 'No' });
    assert.deepEqual(
      [rejected.status, rejected.rejectionReason, rejected.rejectionNote],
      ['rejected', 'invalidProof', 'No'],
    );
    assert.deepEqual(await submissionsOf(id), []);
    assert.equal((await submissionsOf(id, '?status=rejected')).length, 1);
    await p.refused(400, 'submissionId', 'POST', `${path}/reject`);
    await p.refused(400, 'rewardAmount', 'POST', `${path}/approve`);
    const approved = await p.post(`${path}/approve`, { rewardAmount: 700 });
    assert.deepEqual([approved.status, approved.rejectionReason], ['approved', null]);
    assert.equal((await p.get(`/partners/${mia.id}`)).totalCommissions, 700);
    const other = await bounty();
    await p.refused(404, undefined, 'POST', `/bounties/${other.id}/submissions/${draft.id}/approve`);
    await p.refused(404, undefined, 'GET', '/bounties/bnty_unknown/submissions');
  });

  test('partners hand in as often as they may, with what is asked for, and only what is meant for them', async () => {
    await fresh();
    const vip = await p.post('/groups', { name: 'VIP', slug: 'vip' });
    const mia = await p.partner();
    const { submit, list } = await holder(mia.id);
    const refused = async (status: number, field: string | undefined, id: string, body: object = {}) => {
      const reply = await submit(id, { description: 'Done', ...body });
      assert.equal(reply.status, status, reply.text);
      if (field) assert.equal(reply.json.error.message.split(': ')[1], field);
    };
    const hidden = await bounty({ groupIds: [vip.id] });
    await refused(404, undefined, hidden.id);
    await refused(400, 'bountyId', (await leads(1)).id);
    const later = new Date(t.clock.now() + DAY_MS).toISOString();
    await refused(404, undefined, (await bounty({ startsAt: later })).id);
    await refused(400, 'bountyId', (await bounty({ submissionsOpenAt: later })).id);
    const picture = await bounty({ submissionRequirements: { image: { max: 1 } } });
    await refused(422, 'files', picture.id);
    const files = [{ url: PIXEL, fileName: 'proof.png', size: 70 }];
    const [file] = (await submit(picture.id, { files })).json.files;
    assert.match(file.url, /^http:.*\.png$/);
    assert.ok((await list()).every(({ id }) => id !== hidden.id));

    const weekly = await bounty({ submissionFrequency: 'week', maxSubmissions: 2 });
    const numbers: number[] = [];
    for (const days of [0, 8]) {
      t.clock.advance(days * DAY_MS);
      const again = await holder(mia.id);
      numbers.push((await again.submit(weekly.id, { description: 'Done' })).json.periodNumber);
      assert.equal((await again.submit(weekly.id, { description: 'Again' })).status, 400);
    }
    assert.deepEqual(numbers, [1, 2]);
    t.clock.advance(8 * DAY_MS);
    assert.equal((await (await holder(mia.id)).submit(weekly.id, { description: 'Third' })).status, 400);

    const twice = await bounty({ maxSubmissions: 2 });
    const last = await holder(mia.id);
    const replies = await Promise.all([1, 2, 3].map(() => last.submit(twice.id, { description: 'Done' })));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 201, 400]);
  });

  test('a ban turns down what was not approved, and nobody is paid for it while it lasts', async () => {
    await fresh();
    const mia = await p.partner();
    const { id } = await bounty();
    const made = (await (await holder(mia.id)).submit(id, { description: 'Done' })).json;
    const numbers = await leads(9);
    await p.post('/partners/ban', { partnerId: mia.id, reason: 'spam' });
    for (const which of [id, numbers.id]) {
      const [left] = await submissionsOf(which, '?status=rejected');
      assert.equal(left.rejectionReason, 'other');
    }
    await p.refused(400, 'submissionId', 'POST', `/bounties/${id}/submissions/${made.id}/approve`);
  });

  test('submissions are listed by when they came or how far they got, and by group', async () => {
    await fresh();
    const [a, b] = [await p.partner(), await p.partner()];
    const { id } = await leads(2);
    await add(b.id, 2);
    t.clock.advance(1_000);
    await add(a.id, 3);
    const order = async (query: string) =>
      (await submissionsOf(id, query)).map(({ partnerId }: { partnerId: string }) => partnerId);
    assert.deepEqual(await order(''), [b.id, a.id]);
    assert.deepEqual(await order('?sortBy=performanceCount&sortOrder=desc'), [a.id, b.id]);
    assert.deepEqual(await order(`?groupId=${p.program.defaultGroupId}`), [b.id, a.id]);
    assert.deepEqual(await order('?groupId=grp_other'), []);
    assert.deepEqual(await order('?page=2&pageSize=1'), [a.id]);
  });

  const POST = 'https://www.youtube.com/watch?v=1';
  const social = (socialMetrics: object = {}, more: object = {}) =>
    bounty({
      rewardAmount: undefined,
      submissionRequirements: {
        socialMetrics: {
          platform: 'youtube',
          metric: 'views',
          minCount: 1_000,
          amount: 2_000,
          ...socialMetrics,
        },
      },
      ...more,
    });

  test('by the count of a post: what was reported decides what it is paid', async () => {
    await fresh();
    const incrementalBonus = { incrementCount: 500, bonusAmount: 700, maxCount: 3_000 };
    const { id, submissionRequirements } = await social({ incrementalBonus }, { maxSubmissions: 5 });
    assert.deepEqual(submissionRequirements.socialMetrics.incrementalBonus, incrementalBonus);
    const mia = await p.partner();
    const hers = await holder(mia.id);
    assert.equal((await hers.submit(id, { description: 'See my channel' })).status, 422);
    assert.equal((await hers.submit(id, { urls: ['https://elsewhere.example/watch'] })).status, 422);
    const paid = async (count: number) => {
      const reply = await hers.submit(id, { urls: [POST] });
      assert.equal(reply.status, 201, reply.text);
      assert.deepEqual([reply.json.socialMetricCount, reply.json.socialMetricsLastSyncedAt], [null, null]);
      const path = `/bounties/${id}/submissions/${reply.json.id}`;
      const counted = await p.patch(path, { socialMetricCount: count });
      assert.equal(counted.socialMetricCount, count);
      assert.equal(Date.parse(counted.socialMetricsLastSyncedAt), t.clock.now());
      const approved = await p.post(`${path}/approve`);
      assert.equal(approved.status, 'approved');
      await p.refused(400, 'submissionId', 'PATCH', path, { socialMetricCount: count + 1 });
      t.clock.advance(1_000);
      return (await p.get('/commissions?sortBy=createdAt&pageSize=1'))[0].earnings;
    };
    assert.equal(await paid(1_000), 2_000);
    assert.equal(await paid(1_999), 2_700);
    assert.equal(await paid(2_000), 3_400);
    assert.equal(await paid(9_000), 4_800);
    const sorted = await submissionsOf(id, '?sortBy=socialMetricCount&sortOrder=desc');
    assert.deepEqual(
      sorted.map(({ socialMetricCount }: { socialMetricCount: number }) => socialMetricCount),
      [9_000, 2_000, 1_999, 1_000],
    );
  });

  test('by the count of a post: too low a count is paid only what somebody names', async () => {
    await fresh();
    const { id } = await social();
    const hers = await holder((await p.partner()).id);
    const { json: made } = await hers.submit(id, { urls: ['https://youtu.be/1'] });
    const path = `/bounties/${id}/submissions/${made.id}`;
    await p.refused(400, 'rewardAmount', 'POST', `${path}/approve`);
    await p.patch(path, { socialMetricCount: 999 });
    await p.refused(400, 'rewardAmount', 'POST', `${path}/approve`);
    await p.post(`${path}/reject`, { rejectionReason: 'didNotMeetCriteria' });
    const rejected = await p.patch(path, { socialMetricCount: 998 });
    assert.deepEqual([rejected.status, rejected.socialMetricCount], ['rejected', 998]);
    await p.post(`${path}/approve`, { rewardAmount: 150 });
    assert.equal((await p.get('/commissions'))[0].earnings, 150);
  });

  test('by the count of a post: terms and counts that do not fit are refused by name', async () => {
    await fresh();
    const body = (socialMetrics: object, more: object = {}) => ({
      name: 'x',
      type: 'submission',
      submissionRequirements: {
        socialMetrics: { platform: 'tiktok', metric: 'likes', minCount: 10, amount: 5, ...socialMetrics },
      },
      ...more,
    });
    const at = 'submissionRequirements.socialMetrics';
    const bonus = { incrementCount: 1, bonusAmount: 1, maxCount: 11 };
    await p.refused(422, 'rewardAmount', 'POST', '/bounties', body({}, { rewardAmount: 5 }));
    const low = body({ incrementalBonus: { ...bonus, maxCount: 10 } });
    await p.refused(422, `${at}.incrementalBonus.maxCount`, 'POST', '/bounties', low);
    const rich = body({ incrementalBonus: { ...bonus, bonusAmount: 99_999_999 } });
    await p.refused(422, `${at}.incrementalBonus`, 'POST', '/bounties', rich);
    await p.refused(422, `${at}.platform`, 'POST', '/bounties', body({ platform: 'elsewhere' }));
    const { id } = await bounty();
    const hers = await holder((await p.partner()).id);
    const { json: made } = await hers.submit(id, { description: 'Done' });
    const path = `/bounties/${id}/submissions/${made.id}`;
    await p.refused(400, 'bountyId', 'PATCH', path, { socialMetricCount: 5 });
    await p.refused(422, 'socialMetricCount', 'PATCH', path, { socialMetricCount: -1 });
    await p.refused(404, undefined, 'PATCH', `/bounties/${id}/submissions/bnty_sub_x`, {
      socialMetricCount: 1,
    });
  });

  test('pictures are kept only for bounties that take them', async () => {
    await fresh();
    const { id } = await leads(3);
    const hers = await holder((await p.partner()).id);
    const files = [{ url: 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA7', fileName: 'proof.gif' }];
    assert.equal((await hers.submit('bnty_unknown', { files })).status, 404);
    assert.equal((await hers.submit(id, { files })).status, 400);
    const gifs = async () =>
      (await readdir(t.app.config.dataDir, { recursive: true })).filter((name) => name.endsWith('.gif'))
        .length;
    assert.equal(await gifs(), 0);
    assert.equal((await hers.submit((await bounty()).id, { files })).status, 201);
    assert.equal(await gifs(), 1);
  });

  test('by performance: one without a scope counts what is new', async () => {
    await fresh();
    const startsAt = new Date(t.clock.now() + DAY_MS).toISOString();
    const { id } = await leads(3, { startsAt, performanceScope: 'lifetime' });
    assert.equal((await p.patch(`/bounties/${id}`, { performanceScope: null })).performanceScope, 'new');
  });
});
