// What pages are told of the partner behind a link, through the whole application and with a store that counts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { BROWSER } from '../testing/visitors.ts';
import type { EnrolledPartner } from './partner.ts';
import { createPartnerCards } from './partner-cards.ts';

eachDatabase('clicks on links of partners', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: { PORT: '0' } });
    await t.app.listen();
    p = await openProgram(t);
  });
  after(() => t.close());

  async function click({ domain, key }: { domain: string; key: string }) {
    const { clickId, ...told } = (
      await t.request('POST', '/track/click', { body: { domain, key }, headers: { 'user-agent': BROWSER } })
    ).json;
    assert.match(clickId, /^[0-9A-Za-z]{16}$/);
    return told;
  }

  test('tell who the partner is and what customers pay less, as it is now', async () => {
    const mia = await p.partner({ name: 'Mia Lund', tenantId: 'u_1' });
    const [link] = mia.links;
    const { defaultGroupId: groupId } = p.program;
    const partner = { id: mia.id, name: 'Mia Lund', image: null, groupId, tenantId: 'u_1' };
    assert.deepEqual(await click(link), { partner, discount: null });
    const made = { type: 'percentage', amount: 20, maxDuration: 3, couponId: 'C20' };
    const { id } = await p.post('/discounts', made);
    const discount = { id, ...made, couponTestId: null };
    assert.deepEqual(await click(link), { partner, discount });
    await p.patch(`/discounts/${id}`, { amount: 25 });
    assert.deepEqual((await click(link)).discount, { ...discount, amount: 25 });
    await p.patch(`/partners/${mia.id}`, { tenantId: 'u_2' });
    assert.equal((await click(link)).partner.tenantId, 'u_2');
    const group = await p.post('/groups', { name: 'VIP', slug: 'vip' });
    await p.patch(`/partners/${mia.id}`, { groupId: 'vip' });
    assert.deepEqual(await click(link), {
      partner: { ...partner, tenantId: 'u_2', groupId: group.id },
      discount: null,
    });
  });

  test('tell nothing of partners who earn nothing, and of links of nobody', async () => {
    const mia = await p.partner();
    const [link] = mia.links;
    assert.equal((await click(link)).partner.id, mia.id);
    await p.post('/partners/deactivate', { partnerId: mia.id });
    assert.deepEqual(await click(link), {});
    await p.post('/partners/reactivate', { partnerId: mia.id });
    assert.equal((await click(link)).partner.id, mia.id);
    const own = await p.post('/links', { url: 'https://acme.example/', key: `own-${databases.engine}` });
    assert.deepEqual(await click(own), {});
  });
});

test('a partner is read once until something about it changes, whoever it is', async () => {
  const asked: string[][] = [];
  const cards = createPartnerCards({
    db: { inTransaction: false },
    enrolments: {
      async findEnrolled(_programId, partnerIds) {
        asked.push([...partnerIds]);
        return partnerIds
          .filter((id) => id !== 'nobody')
          .map((id) => ({
            partner: { id, name: id, email: null, image: null },
            enrolment: { status: 'approved', discountId: null, groupId: null, tenantId: null },
          })) as unknown as EnrolledPartner[];
      },
    },
    discounts: { findByIds: async () => [] },
  });
  const find = (partnerId: string) => cards.find({ programId: 'prog', partnerId });
  const tell = (type: string, payload: object) => {
    const digest = cards.follower.digest({ workspaceId: 'ws', type, payload });
    if (digest !== undefined) cards.follower.receive([digest]);
  };
  await Promise.all([find('a'), find('b'), find('nobody'), find('a')]);
  assert.deepEqual(asked.splice(0), [['a', 'b', 'nobody']]);
  await Promise.all([find('a'), find('nobody')]);
  assert.deepEqual(asked, []);
  tell('link.created', { programId: 'prog', partnerId: 'a' });
  tell('partner.changed', { programId: 'prog', partnerId: 'a' });
  await Promise.all([find('a'), find('b')]);
  assert.deepEqual(asked.splice(0), [['a']]);
  tell('discount.changed', {});
  await Promise.all([find('a'), find('b')]);
  assert.deepEqual(asked.splice(0), [['a', 'b']]);
  assert.deepEqual(await cards.find({ programId: null, partnerId: null }), {});
  assert.deepEqual(asked, []);
});
