// Who has brought a partner: said when it is added or invited, or by the link that an applicant came through.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { type EarningCalls, openEarning } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;
const FORM = { applicationForm: { fields: [] }, applicationFormPublished: true };
/** 25 dollars for everybody who joins. */
const FOR_JOINING = {
  event: 'referral',
  type: 'flat',
  amountInCents: 2_500,
  config: { trigger: 'partnerApproved' },
};

eachDatabase('partners who bring partners', (databases) => {
  let t: TestApp;
  let p: EarningCalls;
  let made = 0;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), events: true });
  });
  after(() => t.close());

  /** A program that anybody may apply to, with a partner called Ann. */
  async function fresh(form: object = {}) {
    p = await openEarning(t);
    await p.reward(FOR_JOINING);
    await p.patch('/groups/default', { ...FORM, ...form });
    return p.call('POST', '/partners', { email: newEmail(), name: 'Ann' }).then(({ json }) => json);
  }
  const newEmail = () => `brought${++made}-${p.ws.slug}@people.example`;
  const apply = async (more: object): Promise<{ id: string; status: string }> =>
    p
      .call('POST', `/programs/${p.program.slug}/applications`, { name: 'Bo', email: newEmail(), ...more })
      .then(({ status, json, text }) => {
        assert.equal(status, 201, text);
        return json;
      });
  const broughtBy = async (partnerId: string): Promise<string[]> =>
    (await p.get(`/partners?referredByPartnerId=${partnerId}`)).map(({ id }: { id: string }) => id);
  const applicant = async ({ id }: { id: string }): Promise<string> =>
    (await p.get(`/partners/applications/${id}`)).partner.id;
  const rewards = async (partnerId: string) =>
    (await p.commissions(partnerId)).map(({ type, earnings, invoice_id }) => [type, earnings, invoice_id]);

  test('an applicant who came through a link of a partner was brought by it, and the partner earns once they are approved', async () => {
    const ann = await fresh();
    const application = await apply({ via: ann.links[0].key });
    assert.deepEqual(Object.keys(application).toSorted(), ['id', 'status']);
    const bo = await applicant(application);
    assert.deepEqual(await rewards(ann.id), []);
    t.clock.advance(DAY_MS);
    await p.call('POST', '/partners/applications/approve', { partnerId: bo });
    assert.deepEqual(await broughtBy(ann.id), [bo]);
    assert.deepEqual(await rewards(ann.id), [['referral', 2_500, `referral:partnerApproved:${bo}`]]);
    await p.assertTotals(ann.id);
    const [shown] = await p.get(`/commissions?partnerId=${ann.id}`);
    assert.deepEqual([shown.type, shown.earnings, shown.status], ['referral', 2_500, 'pending']);
  });

  test('the same where the group approves by itself, once per person', async () => {
    const ann = await fresh({ autoApprovePartners: true });
    assert.equal((await apply({ via: ann.links[0].key.toUpperCase() })).status, 'approved');
    const [bo] = await broughtBy(ann.id);
    await p.call('POST', '/partners/deactivate', { partnerId: bo });
    const { email } = await p.get(`/partners/${bo}`);
    assert.equal((await p.call('DELETE', `/partners/${bo}`)).status, 200);
    assert.equal((await apply({ via: ann.links[0].key, email })).status, 'approved');
    assert.deepEqual(await broughtBy(ann.id), [bo]);
    assert.deepEqual(await rewards(ann.id), [['referral', 2_500, `referral:partnerApproved:${bo}`]]);
  });

  test('the id of a click on a link of the partner says the same, of a visit as of one brought along', async () => {
    const ann = await fresh();
    const link = { ...ann.links[0], workspaceId: p.ws.id };
    const clicks = [await p.click(link), await p.importClick(link)];
    const people: string[] = [];
    for (const via of clicks) people.push(await applicant(await apply({ via })));
    assert.deepEqual((await broughtBy(ann.id)).toSorted(), people.toSorted());
  });

  test('a link under another domain that partners get links on counts too', async () => {
    const ann = await fresh();
    const slug = `${p.ws.slug}.example`;
    await p.call('POST', '/domains', { slug });
    const other = { url: 'https://acme.example/other', domain: slug };
    await p.call('POST', '/groups/default/default-links', other);
    const links = (await p.get(`/partners/${ann.id}`)).links as { domain: string; key: string }[];
    const via = links.find(({ domain }) => domain === slug)?.key;
    assert.ok(via);
    const bo = await applicant(await apply({ via }));
    assert.deepEqual(await broughtBy(ann.id), [bo]);
  });

  test('what names nobody, somebody else’s partner, somebody who left, or the applicant is passed over', async () => {
    const stranger = await fresh();
    const strange = { ...stranger.links[0], workspaceId: p.ws.id };
    const strangeClick = await p.click(strange);
    const strangers = p;
    const ann = await fresh();
    const plain = await p.link();
    const gone = await p.partner();
    const goneClick = await p.importClick(gone.link);
    await p.call('POST', '/partners/ban', { partnerId: gone.id, reason: 'spam' });
    const vias = [
      '',
      'nobody',
      ann.id,
      plain.key,
      await p.click(plain),
      goneClick,
      strange.key,
      strangeClick,
    ];
    for (const via of [...vias, '0Vb1ahAg67xAOFSp', '_root', '../..', 'ü'.repeat(600)]) {
      assert.equal((await apply({ via })).status, 'pending', via);
    }
    const referred = t.app.db.query.selectFrom('enrolment').where('referred_by_partner_id', 'is not', null);
    for (const { ws } of [p, strangers]) {
      assert.deepEqual(await referred.selectAll().where('workspace_id', '=', ws.id).execute(), []);
    }
    await p.refused(409, undefined, 'POST', `/programs/${p.program.slug}/applications`, {
      name: 'Ann',
      email: ann.email,
      via: ann.links[0].key,
    });
    assert.deepEqual(await broughtBy(ann.id), []);
  });

  test('of somebody who applies again the last one who brought them counts', async () => {
    const ann = await fresh();
    const cy = await p.call('POST', '/partners', { email: newEmail(), name: 'Cy' }).then(({ json }) => json);
    const email = newEmail();
    const partnerId = await applicant(await apply({ email, via: ann.links[0].key }));
    for (const [via, expected] of [
      [cy.links[0].key, cy.id],
      ['nobody', cy.id],
    ]) {
      await p.call('POST', '/partners/applications/reject', { partnerId });
      t.clock.advance(30 * DAY_MS);
      await apply({ email, via });
      assert.deepEqual(await broughtBy(expected), [partnerId]);
    }
    await p.call('POST', '/partners/applications/approve', { partnerId });
    assert.equal((await rewards(cy.id)).length, 1);
    assert.deepEqual(await rewards(ann.id), []);
  });

  test('a sum for somebody who may be the partner itself waits until somebody has looked, and goes with a ban', async () => {
    const ann = await fresh({ autoApprovePartners: true });
    const joined: string[] = [];
    for (const n of [2, 3]) {
      await apply({ email: ann.email.replace('@', `+${n}@`), via: ann.links[0].key });
      joined.push((await broughtBy(ann.id)).find((id) => !joined.includes(id)) as string);
    }
    const states = async () =>
      new Map((await p.commissions(ann.id)).map(({ invoice_id, status }) => [invoice_id, status]));
    const expected = (...statuses: string[]) =>
      new Map(joined.map((id, index) => [`referral:partnerApproved:${id}`, statuses[index]]));
    assert.deepEqual(await states(), expected('hold', 'hold'));
    const groups: { id: string; partnerId: string }[] = await p.get('/fraud/groups');
    const first = groups.find(({ partnerId }) => partnerId === joined[0]);
    await p.patch(`/fraud/groups/${first?.id}`, { status: 'resolved' });
    assert.deepEqual(await states(), expected('pending', 'hold'));
    for (const partnerId of joined) await p.call('POST', '/partners/ban', { partnerId, reason: 'fraud' });
    assert.deepEqual(await states(), expected('pending', 'canceled'));
    await p.assertTotals(ann.id);
  });

  test('whoever adds a partner says who brought it; who is there already stays as they are', async () => {
    const ann = await fresh();
    const email = newEmail();
    const add = (more: object) => p.call('POST', '/partners', { email, ...more });
    const bo = (await add({ referredByPartnerId: ann.id })).json;
    assert.deepEqual(await broughtBy(ann.id), [bo.id]);
    assert.equal((await rewards(ann.id)).length, 1);
    const cy = await p.partner();
    assert.equal((await add({ referredByPartnerId: cy.id })).json.id, bo.id);
    assert.equal((await add({ referredByPartnerId: 'pn_unknown' })).status, 201);
    assert.deepEqual([await broughtBy(ann.id), await broughtBy(cy.id)], [[bo.id], []]);
    const field = 'referredByPartnerId';
    await p.refused(422, field, 'POST', '/partners', { email, referredByPartnerId: bo.id });
    const partner = { email: newEmail(), referredByPartnerId: cy.id };
    assert.equal((await p.call('POST', '/tokens/embed/referrals', { partner })).status, 201);
    assert.equal((await broughtBy(cy.id)).length, 1);
  });

  test('a partner who does not take part in the program cannot have brought anybody', async () => {
    const stranger = await fresh();
    await fresh();
    const banned = await p.partner();
    await p.call('POST', '/partners/ban', { partnerId: banned.id, reason: 'spam' });
    const waiting = await applicant(await apply({}));
    for (const referredByPartnerId of ['pn_unknown', stranger.id, banned.id, waiting]) {
      for (const path of ['/partners', '/partners/invite']) {
        const body = { email: newEmail(), referredByPartnerId };
        await p.refused(404, 'referredByPartnerId', 'POST', path, body);
        assert.deepEqual(await p.get(`/partners?email=${body.email}`), []);
      }
    }
  });

  test('somebody who was invited was brought by whoever the invitation names, once they accept', async () => {
    const ann = await fresh();
    const email = newEmail();
    const invite = async (more: object) =>
      (await p.call('POST', '/partners/invite', { email, ...more })).json;
    const { partner } = await invite({});
    assert.deepEqual(await broughtBy(ann.id), []);
    const itself = { email, referredByPartnerId: partner.id };
    await p.refused(422, 'referredByPartnerId', 'POST', '/partners/invite', itself);
    const { token } = await invite({ referredByPartnerId: ann.id });
    assert.deepEqual(await rewards(ann.id), []);
    await p.call('POST', '/partners/invites/accept', { token });
    assert.deepEqual(await broughtBy(ann.id), [partner.id]);
    assert.deepEqual(await rewards(ann.id), [['referral', 2_500, `referral:partnerApproved:${partner.id}`]]);
  });
});
