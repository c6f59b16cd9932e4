import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import {
  ALLOWED_HOSTNAME,
  isReservedSlug,
  newPublishableKey,
  PUBLISHABLE_KEY,
  slugify,
} from './workspace.ts';

describe('the rules about a workspace', () => {
  for (const [text, slug] of [
    ['Acme', 'acme'],
    ['  Ünïcode & Söhne  ', 'unicode-sohne'],
    ['a__b--c', 'a-b-c'],
    ['ws_123', 'ws-123'],
    ['日本', ''],
  ] as const) {
    test(`"${text}" becomes the slug "${slug}"`, () => assert.equal(slugify(text), slug));
  }

  test('a slug that reads as something else in an address is reserved', () => {
    for (const slug of ['api', 'app', 'admin', 'health', 'metrics', 'login', 'ws_1'])
      assert.ok(isReservedSlug(slug), slug);
    assert.ok(!isReservedSlug('apis'));
  });

  test('a publishable key has its own prefix and 16 to 64 characters after it', () => {
    assert.match(newPublishableKey(), PUBLISHABLE_KEY);
    for (const key of [`lt_pk_${'a'.repeat(16)}`, `lt_pk_${'Z'.repeat(64)}`, `dub_pk_${'_-'.repeat(10)}`])
      assert.match(key, PUBLISHABLE_KEY);
    for (const key of [
      `lt_pk_${'a'.repeat(15)}`,
      `lt_pk_${'a'.repeat(65)}`,
      `lt_${'a'.repeat(20)}`,
      `lt_pk_${'a'.repeat(16)}\n`,
    ]) {
      assert.doesNotMatch(key, PUBLISHABLE_KEY);
    }
  });

  test('an allowed hostname is a name, a wildcard below one, or localhost', () => {
    for (const host of ['example.com', '*.example.com', 'localhost', 'a-b.c1.example.org'])
      assert.match(host, ALLOWED_HOSTNAME);
    for (const host of [
      '',
      '*',
      '*.com.',
      'example',
      'https://example.com',
      'example.com/a',
      'a b.com',
      '-a.com',
      'x..com',
      '127.0.0.1',
      'a.*.com',
    ]) {
      assert.doesNotMatch(host, ALLOWED_HOSTNAME);
    }
  });
});

eachDatabase('workspaces', (databases) => {
  let t: TestApp;
  let ws: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async (plan?: 'free' | 'pro' | 'business') => {
    ws = await t.workspace(plan);
  };
  const get = (ref = ws.id) => t.request('GET', `/workspaces/${ref}`, { key: ws.key });
  const patch = (body: unknown, ref = ws.id) =>
    t.request('PATCH', `/workspaces/${ref}`, { key: ws.key, body });

  test('is found by its id and by its slug in any case', async () => {
    await fresh();
    const byId = await get();
    assert.equal(byId.status, 200);
    assert.equal((await get(ws.slug)).text, byId.text);
    assert.equal((await get(ws.slug.toUpperCase())).text, byId.text);
    const { id, slug, plan, publishableKey, allowedHostnames, tagsLimit, usage } = byId.json;
    assert.deepEqual(
      { id, slug, plan, publishableKey, allowedHostnames, tagsLimit, usage },
      {
        id: ws.id,
        slug: ws.slug,
        plan: 'enterprise',
        publishableKey: null,
        allowedHostnames: [],
        tagsLimit: 1_000_000_000,
        usage: 0,
      },
    );
    assert.ok(!('inviteCode' in byId.json));
  });

  for (const [field, value, shown = value] of [
    ['name', ' New name ', 'New name'],
    ['slug', 'Brand New', 'brand-new'],
    ['logo', 'https://example.com/logo.png'],
    ['logo', null],
    ['defaultProduct', 'program'],
    ['conversionEnabled', true],
    ['conversionEnabled', false],
    [
      'allowedHostnames',
      ['Example.com', '*.Example.com', 'localhost'],
      ['example.com', '*.example.com', 'localhost'],
    ],
    ['allowedHostnames', []],
    ['publishableKey', 'dub_pk_abcdefghijklmnop'],
    ['publishableKey', null],
    ['ipPrivacy', 'drop'],
    ['attribution', 'first_click'],
    ['attributionDays', 30],
    ['attributionDays', null],
  ] as [string, unknown, unknown?][]) {
    test(`PATCH sets ${field} to ${JSON.stringify(value)} and leaves the rest`, async () => {
      await fresh();
      const before = (await get()).json;
      const reply = await patch({ [field]: value });
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(reply.json, { ...before, [field]: shown });
      assert.deepEqual((await get()).json, reply.json);
      // Slugs and keys are unique: give them back.
      await patch({ slug: ws.slug, publishableKey: null });
    });
  }

  for (const [body, status, start] of [
    [{ name: '' }, 422, 'too_small: name: '],
    [{ name: 'n'.repeat(33) }, 422, 'too_big: name: '],
    [{ slug: 'ab' }, 422, 'too_small: slug: '],
    [{ slug: 's'.repeat(49) }, 422, 'too_big: slug: '],
    [{ slug: '日本語' }, 422, 'custom: slug: '],
    [{ slug: 'API' }, 422, 'custom: slug: '],
    [{ logo: 'data:image/png;base64,AAAA' }, 422, 'custom: logo: '],
    [{ logo: 'javascript:alert(1)' }, 422, 'invalid_format: logo: '],
    [{ logo: 5 }, 400, 'invalid_type: logo: '],
    [{ defaultProduct: 'other' }, 422, 'invalid_value: defaultProduct: '],
    [{ conversionEnabled: 'true' }, 400, 'invalid_type: conversionEnabled: '],
    [{ allowedHostnames: 'example.com' }, 400, 'invalid_type: allowedHostnames: '],
    [{ allowedHostnames: ['ok.example', 'http://x.example'] }, 422, 'invalid_format: allowedHostnames[1]: '],
    [
      { allowedHostnames: Array.from({ length: 11 }, (_, i) => `h${i}.example`) },
      422,
      'too_big: allowedHostnames: ',
    ],
    [{ publishableKey: 'lt_pk_short' }, 422, 'invalid_format: publishableKey: '],
    [{ publishableKey: '' }, 422, 'invalid_format: publishableKey: '],
  ] as const) {
    test(`PATCH refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
      await fresh();
      const reply = await patch(body);
      assert.equal(reply.status, status, reply.text);
      assert.ok(reply.json.error.message.startsWith(start), reply.text);
    });
  }

  test('a slug or a publishable key of another workspace is 409, also when both are given', async () => {
    const other = await t.workspace();
    const publishableKey = 'lt_pk_taken-taken-taken';
    await t.request('PATCH', `/workspaces/${other.id}`, { key: other.key, body: { publishableKey } });
    await fresh();
    const before = (await get()).text;
    for (const [body, field] of [
      [{ slug: other.slug.toUpperCase() }, 'slug'],
      [{ publishableKey }, 'publishableKey'],
      [{ slug: other.slug, publishableKey: null, name: 'Half' }, 'slug'],
      [{ slug: 'quite-free', publishableKey }, 'slug or publishableKey'],
    ] as const) {
      const reply = await patch(body);
      assert.equal(reply.status, 409);
      assert.equal(reply.json.error.message, `Another workspace has this ${field}.`);
    }
    assert.equal((await get()).text, before);
    assert.equal((await patch({ slug: ws.slug })).status, 200);
  });

  test('conversionEnabled needs business', async () => {
    await fresh('pro');
    assert.equal((await patch({ conversionEnabled: true })).status, 403);
    assert.equal((await patch({ conversionEnabled: false })).status, 200);
    await fresh('business');
    assert.equal((await patch({ conversionEnabled: true })).json.conversionEnabled, true);
  });

  test('another workspace is 403 by id and by slug, an unknown one 404', async () => {
    const other = await t.workspace();
    await fresh();
    for (const ref of [other.id, other.slug]) {
      assert.equal((await get(ref)).status, 403);
      assert.equal((await patch({ name: 'Taken over' }, ref)).status, 403);
      assert.equal((await t.request('GET', `/workspaces/${ref}/users`, { key: ws.key })).status, 403);
    }
    assert.equal((await get('ws_unknown')).status, 404);
    assert.equal(
      (await t.request('GET', `/workspaces/${other.id}`, { key: other.key })).json.name.startsWith('Test'),
      true,
    );
  });

  test('a limit that the operator set is shown and can be taken away', async () => {
    await fresh();
    const { workspaces } = t.app.services;
    await workspaces.setLimit(ws.id, 'tags', 7);
    await workspaces.setLimit(ws.slug, 'links', 25);
    const { tagsLimit, linksLimit, usageLimit } = (await get()).json;
    assert.deepEqual([tagsLimit, linksLimit, usageLimit], [7, 25, 1_000_000_000]);
    await workspaces.setLimit(ws.id, 'tags', null);
    assert.equal((await get()).json.tagsLimit, 1_000_000_000);
  });

  test('a plan that the operator set counts from the next request', async () => {
    await fresh('free');
    assert.equal((await get()).headers.get('x-ratelimit-limit'), '60');
    await t.app.services.workspaces.setPlan(ws.id, 'pro');
    const reply = await get();
    assert.equal(reply.headers.get('x-ratelimit-limit'), '600');
    assert.equal(reply.json.plan, 'pro');
  });

  test('requests per minute that the operator set beat the plan’s', async () => {
    await fresh();
    await t.app.services.workspaces.setLimit(ws.id, 'requestsPerMinute', 3);
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await get()).status);
    assert.deepEqual(statuses, [200, 200, 200, 429]);
  });

  test('a slug is made from the name, and two workspaces cannot share one', async () => {
    const { workspaces } = t.app.services;
    const { workspace } = await workspaces.create({ name: `Café ${databases.engine}`, plan: 'pro' });
    assert.equal(workspace.slug, `cafe-${databases.engine}`);
    await assert.rejects(workspaces.create({ name: workspace.slug, plan: 'pro' }), { code: 'conflict' });
    await assert.rejects(workspaces.create({ name: 'API', plan: 'pro' }), { code: 'unprocessable_entity' });
  });

  test('members are listed oldest first, searched, filtered, sorted and paged', async () => {
    await fresh();
    for (const role of ['member', 'viewer', 'billing'] as const) {
      t.clock.advance(1);
      await ws.newKey({ role });
    }
    await t.app.db.query
      .updateTable('user')
      .set({ email: 'ada_1@example.com' })
      .where('id', '=', ws.ownerId)
      .execute();
    const users = async (query: string) => {
      const reply = await t.request('GET', `/workspaces/${ws.id}/users${query}`, { key: ws.key });
      return reply.json.map((user: { name: string }) => user.name);
    };
    assert.deepEqual(await users(''), ['Owner', 'member', 'viewer', 'billing']);
    assert.deepEqual(await users('?sortOrder=desc'), ['billing', 'viewer', 'member', 'Owner']);
    assert.deepEqual(await users('?sortBy=role'), ['billing', 'member', 'Owner', 'viewer']);
    assert.deepEqual(await users('?role=viewer'), ['viewer']);
    assert.deepEqual(await users('?search=EMB'), ['member']);
    assert.deepEqual(await users('?search=ada_1%40EXAMPLE'), ['Owner']);
    assert.deepEqual(await users('?search=%25'), []);
    assert.deepEqual(await users('?pageSize=3&page=2'), ['billing']);
    assert.deepEqual(await users('?search=i&pageSize=1&page=2'), ['billing']);
    assert.deepEqual(await users('?search=i&pageSize=1&page=2&sortOrder=desc'), ['viewer']);
    assert.deepEqual(await users('?search=i&pageSize=1&page=3'), []);
    const [owner] = (await t.request('GET', `/workspaces/${ws.id}/users?role=owner`, { key: ws.key })).json;
    assert.deepEqual(Object.keys(owner).sort(), [
      'createdAt',
      'email',
      'id',
      'image',
      'isMachine',
      'name',
      'role',
    ]);
  });

  test('members are found by letters of any script in any case', async () => {
    await fresh();
    const names = ['Örjan Ångström', 'Zoe\u0308 ΣΟΦΙΑ', 'Ирина'];
    for (const name of names) {
      t.clock.advance(1);
      await t.app.services.users.addMember(ws.id, { name, role: 'member' });
    }
    const search = async (text: string) => {
      const path = `/workspaces/${ws.id}/users?search=${encodeURIComponent(text)}`;
      const { json } = await t.request('GET', path, { key: ws.key });
      return json.map((user: { name: string }) => user.name);
    };
    assert.deepEqual(await search('ÖRJAN å'), [names[0]]);
    assert.deepEqual(await search('ZOË'), [names[1]]);
    assert.deepEqual(await search('σοφ'), [names[1]]);
    assert.deepEqual(await search('ИРИ'), [names[2]]);
    assert.deepEqual(await search('_'), []);
  });

  test('a change leaves its event, and a refused one leaves none', async () => {
    await fresh();
    const events = () =>
      t.app.db.query
        .selectFrom('outbox')
        .select(['type', 'payload'])
        .where('workspace_id', '=', ws.id)
        .execute();
    assert.equal((await patch({ slug: 'api' })).status, 422);
    assert.deepEqual(await events(), []);
    assert.equal((await patch({ allowedHostnames: ['example.com'] })).status, 200);
    await t.app.services.workspaces.setPlan(ws.id, 'pro');
    const event = { type: 'workspace.updated', payload: JSON.stringify({ id: ws.id }) };
    assert.deepEqual(await events(), [event, event]);
  });
});
