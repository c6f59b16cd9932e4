// Webhooks over the API: made, changed, turned off and on, and what links have to do with them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { type WebhookCalls, webhookCalls } from '../testing/webhook-calls.ts';
import { MAX_LINKS } from './webhook.ts';

const HOUR_MS = 3_600_000;

eachDatabase('webhooks', (databases) => {
  let t: TestApp;
  let hooks: WebhookCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    hooks = webhookCalls(t, await t.workspace());
  });
  after(() => t.close());

  const valid = { name: 'Orders', url: 'https://8.8.8.8/orders', triggers: ['link.created'] };
  const refusedBody = (status: number, field: string | undefined, body: object) =>
    hooks.refused(status, field, 'POST', '/webhooks', { ...valid, ...body });

  describe('are made', () => {
    test('with a secret, and shown as they are', async () => {
      const made = await hooks.create({ name: ' Orders ', triggers: ['sale.created', 'sale.created'] });
      assert.match(made.id, /^wh_/);
      assert.match(made.secret, /^whsec_[0-9a-f]{32}$/);
      assert.deepEqual(
        [made.name, made.triggers, made.linkScope, made.disabledAt, made.installationId],
        ['Orders', ['sale.created'], null, null, null],
      );
      assert.deepEqual(await hooks.get(`/webhooks/${made.id}`), made);
      assert.deepEqual((await hooks.get('/webhooks?pageSize=1'))[0], made);
    });

    test('and listed, the newest first', async () => {
      const own = webhookCalls(t, await t.workspace());
      const ids: string[] = [];
      for (const name of ['a', 'b', 'c']) ids.push((await own.create({ name })).id);
      const listed: { id: string }[] = await own.get('/webhooks');
      assert.deepEqual(listed.map(({ id }) => id).reverse(), ids);
      assert.deepEqual((await own.get('/webhooks?page=2&pageSize=2')).length, 1);
    });

    test('and the workspace says whether it has any', async () => {
      const own = webhookCalls(t, await t.workspace());
      const enabled = async () => (await own.get(`/workspaces/${own.ws.id}`)).webhookEnabled;
      assert.equal(await enabled(), false);
      const [first, second] = [await own.create({}), await own.create({})];
      assert.equal(await enabled(), true);
      await own.call('DELETE', `/webhooks/${first.id}`);
      assert.equal(await enabled(), true);
      assert.deepEqual((await own.call('DELETE', `/webhooks/${second.id}`)).json, { id: second.id });
      assert.equal(await enabled(), false);
      assert.equal((await own.call('GET', `/webhooks/${second.id}`)).status, 404);
    });

    test('once for an address, however it is spelt', async () => {
      await hooks.create({ url: 'https://8.8.8.8/taken' });
      await refusedBody(409, 'url', { url: 'HTTPS://8.8.8.8:443/taken' });
      await webhookCalls(t, await t.workspace()).create({ url: 'https://8.8.8.8/taken' });
    });

    for (const [status, field, body] of [
      [400, 'name', { name: undefined }],
      [422, 'name', { name: '' }],
      [422, 'name', { name: 'n'.repeat(41) }],
      [400, 'url', { url: undefined }],
      [400, 'url', { url: 5 }],
      [422, 'url', { url: 'nonsense' }],
      [422, 'url', { url: 'ftp://8.8.8.8/' }],
      [422, 'url', { url: 'javascript:alert(1)' }],
      [422, 'url', { url: `https://8.8.8.8/${'u'.repeat(2_048)}` }],
      [400, 'triggers', { triggers: undefined }],
      [422, 'triggers', { triggers: [] }],
      [422, 'triggers[0]', { triggers: ['link.opened'] }],
      [422, 'triggers', { triggers: ['link.clicked'] }],
      [422, 'linkScope', { linkScope: 'workspace' }],
      [422, 'linkScope', { triggers: ['link.clicked'], linkScope: 'domain' }],
      [422, 'linkIds', { triggers: ['link.clicked'], linkScope: 'links' }],
      [422, 'linkIds', { triggers: ['link.clicked'], linkScope: 'links', linkIds: [] }],
      [422, 'linkIds', { triggers: ['link.clicked'], linkScope: 'links', linkIds: ['link_x'] }],
      [422, 'folderIds', { triggers: ['link.clicked'], linkScope: 'folders' }],
      [422, 'folderIds', { triggers: ['link.clicked'], linkScope: 'folders', folderIds: ['fold_x'] }],
      [422, 'linkIds', { linkIds: ['link_x'] }],
      [
        422,
        'linkIds',
        { triggers: ['link.clicked'], linkScope: 'links', linkIds: Array(MAX_LINKS + 1).fill('a') },
      ],
    ] as const) {
      test(`but not with ${JSON.stringify(body).slice(0, 80)}: ${status} ${field}`, () =>
        refusedBody(status, field, body));
    }

    for (const url of [
      'http://127.0.0.1/',
      'http://localhost:9/',
      'http://10.0.0.1/',
      'http://192.168.1.1/',
      'http://169.254.169.254/latest/meta-data/',
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[fe80::1]/',
      'http://2130706433/',
      'http://0x7f.1/',
    ]) {
      test(`but not for ${url}, which is not on the public Internet`, async () => {
        const { status, json } = await hooks.call('POST', '/webhooks', { ...valid, url });
        assert.equal(status, 422);
        assert.match(json.error.message, /url: .*not an address on the public Internet/);
      });
    }

    test('their answers are never stored: a repeat with the same key is refused', async () => {
      const body = { ...valid, url: 'https://8.8.8.8/once' };
      const send = () =>
        t.request('POST', '/webhooks', {
          key: hooks.ws.key,
          body,
          headers: { 'Idempotency-Key': 'webhook-once' },
        });
      const { secret } = (await send()).json;
      const repeat = await send();
      assert.equal(repeat.status, 409);
      assert.ok(!repeat.text.includes(secret));
      const stored = await t.app.db.query.selectFrom('idempotency').select('body').execute();
      assert.ok(!JSON.stringify(stored).includes(secret));
    });
  });

  describe('hear of clicks', () => {
    const clicked = { triggers: ['link.clicked'] };

    test('on links of the same workspace only', async () => {
      const foreign = await webhookCalls(t, await t.workspace()).links.create({});
      await refusedBody(422, 'linkIds', { ...clicked, linkScope: 'links', linkIds: [foreign.id] });
    });

    test('on single links, which show it', async () => {
      const [a, b] = [await hooks.links.create({}), await hooks.links.create({})];
      const hook = await hooks.create({ ...clicked, linkScope: 'links', linkIds: [a.id, a.id] });
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/links`), [a.id]);
      assert.deepEqual((await hooks.get(`/links/${a.id}`)).webhookIds, [hook.id]);
      const listed = await hooks.get('/links?pageSize=100');
      assert.deepEqual(listed.find(({ id }: { id: string }) => id === a.id).webhookIds, [hook.id]);
      await hooks.update(hook.id, { linkIds: [b.id] });
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/links`), [b.id]);
      assert.deepEqual((await hooks.get(`/links/${a.id}`)).webhookIds, []);
      // A change of something else leaves them.
      await hooks.update(hook.id, { name: 'Renamed' });
      await hooks.update(hook.id, { triggers: ['link.clicked', 'lead.created'] });
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/links`), [b.id]);
      const without = await hooks.update(hook.id, { triggers: ['lead.created'] });
      assert.equal(without.linkScope, null);
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/links`), []);
      assert.deepEqual((await hooks.get(`/links/${b.id}`)).webhookIds, []);
    });

    test('named by a new link, by a change, or by a change of many', async () => {
      const first = await hooks.links.create({});
      const hook = await hooks.create({ ...clicked, linkScope: 'links', linkIds: [first.id] });
      const link = await hooks.links.create({ webhookIds: [hook.id, hook.id] });
      assert.deepEqual(link.webhookIds, [hook.id]);
      assert.deepEqual((await hooks.links.newEvents()).at(-1)?.[1].webhookIds, [hook.id]);
      assert.deepEqual((await hooks.links.update(link.id, { title: 'Other' })).webhookIds, [hook.id]);
      assert.deepEqual((await hooks.links.update(link.id, { webhookIds: [] })).webhookIds, []);
      const changed = await hooks.links.newEvents();
      await hooks.links.update(link.id, { webhookIds: null });
      assert.deepEqual(await hooks.links.newEvents(), [], `after ${changed.length} changes`);
      const many = await hooks.call('PATCH', '/links/bulk', {
        linkIds: [link.id],
        data: { webhookIds: [hook.id] },
      });
      assert.deepEqual(many.json[0].webhookIds, [hook.id]);
      assert.deepEqual(
        (await hooks.get(`/webhooks/${hook.id}/links`)).toSorted(),
        [first.id, link.id].toSorted(),
      );
      await hooks.call('DELETE', `/links/${link.id}`);
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/links`), [first.id]);
    });

    test('but links cannot name those that do not, or that are not there', async () => {
      const all = await hooks.create({ ...clicked, linkScope: 'workspace' });
      const foreign = await webhookCalls(t, await t.workspace()).create({
        ...clicked,
        linkScope: 'workspace',
      });
      for (const id of [all.id, foreign.id, 'wh_x'])
        await hooks.refused(422, 'webhookIds', 'POST', '/links', {
          url: 'https://example.com',
          webhookIds: [id],
        });
    });

    test('in folders, until those are deleted', async () => {
      const folder = await hooks.post('/folders', { name: 'Heard' });
      const hook = await hooks.create({ ...clicked, linkScope: 'folders', folderIds: [folder.id] });
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/folders`), [folder.id]);
      await hooks.call('DELETE', `/folders/${folder.id}`);
      assert.deepEqual(await hooks.get(`/webhooks/${hook.id}/folders`), []);
      const all = await hooks.update(hook.id, { linkScope: 'workspace' });
      assert.equal(all.linkScope, 'workspace');
    });
  });

  describe('are changed', () => {
    test('without losing what is not named', async () => {
      const before = await hooks.create({ triggers: ['link.created', 'link.deleted'] });
      t.clock.advance(1_000);
      const after = await hooks.update(before.id, { name: 'Other' });
      const { name, updatedAt, ...rest } = after;
      assert.deepEqual({ ...before, ...rest, name: 'Other', updatedAt }, after);
      assert.notEqual(updatedAt, before.updatedAt);
    });

    test('but an address cannot be taken over, nor lead inside', async () => {
      const [a, b] = [await hooks.create({}), await hooks.create({})];
      await hooks.refused(409, 'url', 'PATCH', `/webhooks/${a.id}`, { url: b.url });
      await hooks.refused(422, 'url', 'PATCH', `/webhooks/${a.id}`, { url: 'http://10.0.0.1/' });
      assert.equal((await hooks.update(a.id, { url: a.url })).url, a.url);
    });

    test('by an integration alone, where one manages them', async () => {
      const { id } = await hooks.create({});
      await t.app.db.query
        .updateTable('webhook')
        .set({ installation_id: 'inst_1' })
        .where('id', '=', id)
        .execute();
      await hooks.refused(422, 'name', 'PATCH', `/webhooks/${id}`, { name: 'Mine' });
      await hooks.refused(422, 'url', 'PATCH', `/webhooks/${id}`, { url: 'https://8.8.8.8/mine' });
      assert.deepEqual((await hooks.update(id, { triggers: ['sale.created'] })).triggers, ['sale.created']);
    });

    test('off and on by hand', async () => {
      const { id } = await hooks.create({});
      const off = await hooks.post(`/webhooks/${id}/disable`);
      assert.deepEqual(
        [off.disabledAt, off.disabledReason],
        [new Date(t.clock.now()).toISOString(), 'by_hand'],
      );
      assert.deepEqual(await hooks.post(`/webhooks/${id}/disable`), off);
      await hooks.refused(409, undefined, 'POST', `/webhooks/${id}/test`, { trigger: 'link.created' });
      const on = await hooks.post(`/webhooks/${id}/enable`);
      assert.deepEqual([on.disabledAt, on.disabledReason], [null, null]);
    });

    test('to a new secret, which the old one overlaps', async () => {
      const made = await hooks.create({});
      const rotated = await hooks.post(`/webhooks/${made.id}/rotate-secret`);
      assert.notEqual(rotated.secret, made.secret);
      assert.equal(rotated.previousSecretUntil, new Date(t.clock.now() + 24 * HOUR_MS).toISOString());
      const again = await hooks.post(`/webhooks/${made.id}/rotate-secret`, { overlapHours: 0 });
      assert.equal(again.previousSecretUntil, null);
      await hooks.refused(422, 'overlapHours', 'POST', `/webhooks/${made.id}/rotate-secret`, {
        overlapHours: 1_000,
      });
    });
  });

  test('hear of payouts only where somebody outside makes them', async () => {
    const own = webhookCalls(t, await t.workspace());
    const { id, workspaceId } = { id: `prog_${own.ws.id}`, workspaceId: own.ws.id };
    const program = { id, workspace_id: workspaceId, name: 'Program', slug: own.ws.slug };
    const times = { created_at: t.clock.now(), updated_at: t.clock.now() };
    const columns = { ...program, payout_mode: 'internal', ...times };
    await sql`insert into program (${sql.join(Object.keys(columns).map((name) => sql.ref(name)))})
      values (${sql.join(Object.values(columns))})`.execute(t.app.db.query);
    const body = { ...valid, triggers: ['payout.confirmed'] };
    await own.refused(422, 'triggers', 'POST', '/webhooks', body);
    const hook = await own.create({});
    await own.refused(422, 'triggers', 'PATCH', `/webhooks/${hook.id}`, { triggers: ['payout.confirmed'] });
    await t.app.db.query
      .updateTable('program')
      .set({ payout_mode: 'external' })
      .where('id', '=', id)
      .execute();
    await own.create({ triggers: ['payout.confirmed'] });
  });

  test('deleted ones leave no log behind', async () => {
    const { id } = await hooks.create({});
    await hooks.post(`/webhooks/${id}/test`, { trigger: 'sale.created' });
    await hooks.call('DELETE', `/webhooks/${id}`);
    const left = await t.app.db.query
      .selectFrom('webhook_delivery')
      .selectAll()
      .where('webhook_id', '=', id)
      .execute();
    assert.deepEqual(left, []);
  });
});
