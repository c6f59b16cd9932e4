// What looks like fraud, from the conversion to the person who looks at it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openEarning } from '../testing/earning-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const DAY_MS = 86_400_000;

eachDatabase('fraud', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const states = (rows: readonly { status: string }[]) => rows.map(({ status }) => status);

  test('a commission is held, and released when somebody has looked at all that was found', async () => {
    const p = await openEarning(t);
    const email = `mia-${p.ws.id}@people.example`;
    const mia = await p.partner({ email });
    const self = await p.customer(mia, { customerEmail: `mia-${p.ws.id}+me@people.example` });
    await p.sell(self, 10_000);
    await p.sell(self, 20_000);
    assert.deepEqual(states(await p.commissions()), ['hold', 'hold']);
    assert.equal((await p.get(`/partners/${mia.id}`)).totalCommissions, 0);
    await p.gather();
    assert.deepEqual(await p.payouts(), []);
    const trash = await p.customer(mia, { customerEmail: 'x@mailinator.com' });
    await p.sell(trash, 5_000);
    const [byTrash, byMatch] = await p.get('/fraud/groups?sortBy=createdAt');
    assert.partialDeepStrictEqual(
      [byMatch, byTrash].map(({ type, eventCount }) => [type, eventCount]).toSorted(),
      [
        ['customerEmailMatch', 2],
        ['customerEmailSuspiciousDomain', 1],
      ],
    );
    const match = [byMatch, byTrash].find(({ type }) => type === 'customerEmailMatch');
    const events = await p.get(`/fraud/events?groupId=${match.id}`);
    assert.equal(events.length, 2);
    assert.deepEqual(events[0].metadata, { match: 'selfReferral' });
    const resolved = await p.patch(`/fraud/groups/${match.id}`, {
      status: 'resolved',
      resolutionReason: 'Allowed',
    });
    assert.deepEqual([resolved.status, resolved.userId], ['resolved', p.ws.ownerId]);
    assert.deepEqual(states(await p.commissions()).toSorted(), ['hold', 'pending', 'pending']);
    await p.assertTotals(mia.id);
    await p.refused(400, 'status', 'PATCH', `/fraud/groups/${match.id}`, { status: 'resolved' });
    await p.refused(422, 'status', 'PATCH', `/fraud/groups/${match.id}`, { status: 'pending' });
    await p.post('/partners/ban', { partnerId: mia.id, reason: 'fraud' });
    assert.deepEqual(states(await p.get('/fraud/groups')), ['resolved', 'resolved']);
    assert.deepEqual(new Set(states(await p.commissions())), new Set(['canceled']));
  });

  test('while something about the partner is open, what is entered by hand waits too, but no clawback', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    const nowMs = t.clock.now();
    const group = {
      program_id: p.program.id,
      workspace_id: p.ws.id,
      id: `frg_${p.ws.id}`,
      partner_id: mia.id,
      type: 'partnerCrossProgramBan',
      status: 'pending',
      event_count: 1,
      last_event_at: nowMs,
      resolved_at: null,
      resolution_reason: null,
      user_id: null,
      created_at: nowMs,
      updated_at: nowMs,
    };
    await t.app.db.query.insertInto('fraud_group').values(group).execute();
    await p.post('/commissions', { type: 'custom', partnerId: mia.id, amount: 2_000 });
    const claw = { type: 'custom', partnerId: mia.id, amount: -500, description: 'order_canceled' };
    await p.post('/commissions', claw);
    assert.deepEqual(states(await p.commissions()).toSorted(), ['hold', 'pending']);
    await p.patch(`/fraud/groups/${group.id}`, { status: 'resolved' });
    await p.gather();
    assert.equal((await p.payouts())[0]?.amount, 1_500);
    await p.assertTotals(mia.id);
  });

  test('nobody watches on lower plans, where it is switched off, or where the rule is off', async () => {
    const trash = { customerEmail: 'x@mailinator.com' };
    const lower = await openEarning(t, { plan: 'business' });
    await lower.sell(await lower.customer(await lower.partner(), trash), 1_000);
    assert.deepEqual(states(await lower.commissions()), ['pending']);
    const p = await openEarning(t);
    const mia = await p.partner();
    await p.patch(`/partners/${mia.id}`, { riskMonitoring: false });
    await p.sell(await p.customer(mia, trash), 1_000);
    const rules = [{ type: 'customerEmailSuspiciousDomain', enabled: false }];
    const changed = await p.patch('/fraud/rules', { rules });
    assert.equal(changed.find((rule: { type: string }) => rule.type === rules[0]?.type).enabled, false);
    await p.sell(await p.customer(await p.partner(), trash), 1_000);
    assert.deepEqual(states(await p.commissions()), ['pending', 'pending']);
    await p.refused(422, 'rules[0].type', 'PATCH', '/fraud/rules', { rules: [{ type: 'luck' }] });
  });

  test('findings that nobody looks at are over after a month, and hold nothing any more', async () => {
    const p = await openEarning(t);
    const mia = await p.partner();
    await p.sell(await p.customer(mia, { customerEmail: 'x@mailinator.com' }), 1_000);
    const { signal } = new AbortController();
    t.clock.advance(30 * DAY_MS);
    await t.app.services.fraud.expire(signal);
    assert.deepEqual(states(await p.commissions()), ['hold']);
    t.clock.advance(1);
    await t.app.services.fraud.expire(signal);
    assert.deepEqual(states(await p.get('/fraud/groups')), ['expired']);
    assert.deepEqual(states(await p.commissions()), ['pending']);
    await p.assertTotals(mia.id);
  });

  test('whoever joins twice is looked at', async () => {
    const p = await openEarning(t);
    const name = `cy-${p.ws.id}`.toLowerCase();
    const first = await p.partner({ email: `${name}@people.example` });
    const second = await p.partner({ email: `${name}+2@people.example` });
    await p.partner({ email: `${name}x@people.example` });
    const groups = await p.get('/fraud/groups');
    assert.deepEqual(
      groups.map(({ type, partnerId }: { type: string; partnerId: string }) => [type, partnerId]),
      [['partnerDuplicateAccount', second.id]],
    );
    assert.deepEqual((await p.get('/fraud/events'))[0].metadata, { partnerId: first.id });
    await p.sell(await p.customer(second), 1_000);
    assert.deepEqual(states(await p.commissions()), ['hold']);
  });

  test('whoever is banned in one program is looked at in the others, and held there', async () => {
    const [here, there] = [await openEarning(t), await openEarning(t)];
    const email = `ann-${here.ws.id}@people.example`;
    const ann = await here.partner({ email });
    const same = await there.partner({ email });
    assert.equal(ann.id, same.id);
    await here.post('/partners/ban', { partnerId: ann.id, reason: 'fake_traffic' });
    const [group] = await there.get('/fraud/groups');
    assert.deepEqual([group.type, group.partnerId], ['partnerCrossProgramBan', ann.id]);
    await there.sell(await there.customer(same), 1_000);
    assert.deepEqual(states(await there.commissions()), ['hold']);
    await there.patch(`/fraud/groups/${group.id}`, { status: 'resolved' });
    assert.deepEqual(states(await there.commissions()), ['pending']);
  });
});
