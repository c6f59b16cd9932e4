import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StoreBusyError } from '../db/database.ts';
import { AppError } from '../kernel/errors.ts';
import { createIds } from '../kernel/ids.ts';
import { eachDatabase } from '../testing/databases.ts';
import { countLinks, insertLinks } from '../testing/link-rows.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { createDomainStore } from './domain.store.ts';
import { createDomains } from './domains.ts';
import { dnsSetup, type SetupStatus, trustingSetup } from './verify.ts';

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const OWN_HOSTS = {
  LINKTRAIL_PUBLIC_URL: 'https://app.host.example',
  LINKTRAIL_DEFAULT_DOMAIN: 'short.host.example:8443',
  LINKTRAIL_API_HOST: 'api.host.example',
  LINKTRAIL_APP_HOST: 'dash.host.example',
};

let made = 0;
const newSlug = () => `go${++made}.acme.example`;

eachDatabase('domains', (databases) => {
  let t: TestApp;
  let home: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: OWN_HOSTS });
    home = await t.workspace();
  });
  after(() => t.close());

  const call = (method: string, path: string, body?: unknown, key = home.key) =>
    t.request(method, path, { key, body });

  async function create(body: Record<string, unknown> = {}, key = home.key) {
    const reply = await call('POST', '/domains', { slug: newSlug(), ...body }, key);
    assert.equal(reply.status, 201, reply.text);
    return reply.json;
  }

  async function refused(
    status: number,
    field: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    key = home.key,
  ) {
    const reply = await call(method, path, body, key);
    assert.equal(reply.status, status, `${JSON.stringify(body)}: ${reply.text}`);
    if (field) assert.match(reply.json.error.message, new RegExp(`: ${field}: |${field}`), reply.text);
  }

  async function eventsOf(workspaceId: string): Promise<[string, Record<string, unknown>][]> {
    const rows = await t.app.db.query
      .selectFrom('outbox')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .orderBy('id')
      .execute();
    return rows
      .filter((row) => row.type.startsWith('domain.'))
      .map((row) => [row.type, JSON.parse(row.payload)]);
  }

  /** The service on the same store with other surroundings. */
  function serviceWith(parts: Partial<Parameters<typeof createDomains>[0]>) {
    const { db, clock, services } = t.app;
    const links = {
      createRoot: async () => {},
      moveSome: async () => 0,
      deleteSome: async () => 0,
      hasLinks: async () => false,
    };
    return createDomains({
      db,
      store: createDomainStore(db),
      workspaces: services.workspaces,
      links,
      saveImage: async () => assert.fail('no image was given'),
      setup: trustingSetup('host.example'),
      defaultDomain: 'short.host.example:8443',
      ownHosts: [],
      clock,
      ids: createIds(clock),
      ...parts,
    });
  }

  const actorOf = (workspace: TestWorkspace, plan: 'free' | 'enterprise' = 'enterprise') => ({
    tokenId: 'token',
    userId: workspace.ownerId,
    role: 'owner' as const,
    permissions: new Set<string>(),
    workspaceId: workspace.id,
    plan,
    limits: {},
  });

  test('a new domain has every field, the rest null, and is not verified', async () => {
    const workspace = await t.workspace();
    const reply = await call(
      'POST',
      '/domains',
      { slug: ' Go.ACME.example ', notFoundUrl: 'acme.example/404', archived: true },
      workspace.key,
    );
    assert.equal(reply.status, 201);
    const { id, ...rest } = reply.json;
    assert.match(id, /^dom_[0-9A-Z]{26}$/);
    const time = new Date(t.clock.now()).toISOString();
    assert.deepEqual(rest, {
      slug: 'go.acme.example',
      verified: false,
      primary: true,
      archived: false,
      caseSensitive: false,
      placeholder: null,
      expiredUrl: null,
      notFoundUrl: 'https://acme.example/404',
      logo: null,
      assetLinks: null,
      appleAppSiteAssociation: null,
      deepviewData: null,
      createdAt: time,
      updatedAt: time,
      registeredDomain: null,
    });
    assert.deepEqual(
      (await call('GET', '/domains/GO.acme.example', undefined, workspace.key)).json,
      reply.json,
    );
  });

  test('every field can be set, changed and cleared', async () => {
    const full = {
      placeholder: 'https://acme.example',
      expiredUrl: 'https://acme.example/expired',
      notFoundUrl: 'https://acme.example/lost',
      logo: 'https://acme.example/logo.png',
      assetLinks: '[{"relation":[]}]',
      appleAppSiteAssociation: '{"applinks":{}}',
      deepviewData: '{"ios":1}',
      caseSensitive: true,
    };
    const domain = await create(full);
    assert.deepEqual({ ...domain, ...full }, domain);
    const other = { ...full, placeholder: 'https://b.example', assetLinks: '[]', caseSensitive: false };
    const changed = await call('PATCH', `/domains/${domain.slug}`, other);
    assert.deepEqual({ ...changed.json, ...other }, changed.json);
    const same = await call('PATCH', `/domains/${domain.slug}`, {});
    assert.deepEqual({ ...same.json, updatedAt: '' }, { ...changed.json, updatedAt: '' });
    const nothing = {
      placeholder: '',
      expiredUrl: null,
      notFoundUrl: '',
      logo: null,
      assetLinks: '',
      appleAppSiteAssociation: null,
      deepviewData: '',
    };
    const cleared = (await call('PATCH', `/domains/${domain.slug}`, nothing)).json;
    for (const field of Object.keys(nothing)) assert.equal(cleared[field], null, field);
  });

  test('an update archives only when it says so, and un-archives otherwise', async () => {
    const { slug } = await create();
    assert.equal((await call('PATCH', `/domains/${slug}`, { archived: true })).json.archived, true);
    assert.equal(
      (await call('PATCH', `/domains/${slug}`, { placeholder: 'a.example' })).json.archived,
      false,
    );
  });

  test('names that cannot be a short-link domain are 422', async () => {
    for (const slug of [
      'nope',
      'www.acme.example',
      'a_b.example',
      '-a.example',
      'https://a.example',
      'a.example:80',
      'x'.repeat(191),
    ]) {
      await refused(422, 'slug', 'POST', '/domains', { slug });
    }
    await refused(400, 'slug', 'POST', '/domains', {});
    await refused(400, 'slug', 'POST', '/domains', { slug: 5 });
    const { slug } = await create();
    await refused(422, 'slug', 'PATCH', `/domains/${slug}`, { slug: 'nope' });
  });

  test('the service’s own host names are 422', async () => {
    for (const slug of ['app.host.example', 'short.host.example', 'API.host.example', 'dash.host.example']) {
      await refused(422, 'slug', 'POST', '/domains', { slug });
    }
    await create({ slug: 'links.host.example' });
  });

  test('dangerous and unreadable addresses are 422 in every field that holds one', async () => {
    const { slug } = await create();
    for (const field of ['expiredUrl', 'notFoundUrl', 'placeholder']) {
      for (const url of [
        'javascript:alert(1)',
        'data:text/html,x',
        'vbscript:x',
        'file:///etc',
        'blob:x',
        'https://a.example/\u0001',
        'nope',
      ]) {
        await refused(422, field, 'POST', '/domains', { slug: newSlug(), [field]: url });
        await refused(422, field, 'PATCH', `/domains/${slug}`, { [field]: url });
      }
    }
    await refused(422, 'placeholder', 'PATCH', `/domains/${slug}`, {
      placeholder: `https://a.example/${'x'.repeat(100)}`,
    });
    await refused(422, 'expiredUrl', 'PATCH', `/domains/${slug}`, {
      expiredUrl: `https://a.example/${'x'.repeat(32_000)}`,
    });
    for (const field of ['assetLinks', 'appleAppSiteAssociation', 'deepviewData']) {
      await refused(422, field, 'PATCH', `/domains/${slug}`, { [field]: '{no json' });
    }
    await refused(422, 'logo', 'PATCH', `/domains/${slug}`, { logo: 'myapp://x' });
  });

  test('a name that anybody uses is 409, whatever its case', async () => {
    const other = await t.workspace();
    const { slug } = await create();
    const mine = await create({}, other.key);
    await refused(409, undefined, 'POST', '/domains', { slug: slug.toUpperCase() });
    await refused(409, undefined, 'POST', '/domains', { slug }, other.key);
    await refused(409, undefined, 'PATCH', `/domains/${mine.slug}`, { slug }, other.key);
  });

  test('of many requests for one name at once exactly one succeeds', async () => {
    const slug = newSlug();
    const replies = await Promise.all(Array.from({ length: 8 }, () => call('POST', '/domains', { slug })));
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [201, ...Array(7).fill(409)]);
  });

  test('a domain of another workspace is 403, an unknown one 404', async () => {
    const other = await t.workspace();
    const { slug } = await create();
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { archived: true }],
      ['DELETE', '', undefined],
      ['POST', '/primary', undefined],
      ['GET', '/verify', undefined],
    ] as const) {
      await refused(403, undefined, method, `/domains/${slug}${path}`, body, other.key);
      await refused(404, undefined, method, `/domains/unknown.example${path}`, body, other.key);
    }
    assert.equal((await call('GET', `/domains/${slug}`)).json.archived, false);
  });

  test('on the free plan fields of paid plans are 403, clearing them is not', async () => {
    const { key } = await t.workspace('free');
    const { slug } = await create({ placeholder: 'a.example', deepviewData: '{}', logo: null }, key);
    const paid = {
      logo: 'https://a.example/x.png',
      expiredUrl: 'a.example',
      notFoundUrl: 'a.example',
      assetLinks: '[]',
      appleAppSiteAssociation: '{}',
    };
    for (const [field, value] of Object.entries(paid)) {
      await refused(403, field, 'POST', '/domains', { slug: newSlug(), [field]: value }, key);
      await refused(403, field, 'PATCH', `/domains/${slug}`, { [field]: value }, key);
      assert.equal((await call('PATCH', `/domains/${slug}`, { [field]: null }, key)).status, 200);
    }
  });

  test('the limit on domains is 403 before the body is looked at, and holds at once for many', async () => {
    const workspace = await t.workspace();
    await t.app.services.workspaces.setLimit(workspace.id, 'domains', 2);
    const bodies = Array.from({ length: 5 }, () => ({ slug: newSlug() }));
    const replies = await Promise.all(bodies.map((body) => call('POST', '/domains', body, workspace.key)));
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [201, 201, 403, 403, 403]);
    const primaries = replies.filter((reply) => reply.status === 201 && reply.json.primary);
    assert.equal(primaries.length, 1);
    await refused(403, undefined, 'POST', '/domains', { slug: 'nope' }, workspace.key);
  });

  test('a new domain has a root link without a destination', async () => {
    const { slug } = await create();
    const links = await t.app.db.query.selectFrom('link').selectAll().where('domain', '=', slug).execute();
    assert.deepEqual(
      links.map(({ key, url, workspace_id }) => ({ key, url, workspace_id })),
      [{ key: '_root', url: '', workspace_id: home.id }],
    );
  });

  test('lists are paged in order of creation, unarchived by default, searched by part of the name', async () => {
    const { key } = await t.workspace();
    const slugs: string[] = [];
    for (const name of ['beta', 'alpha', 'gamma']) {
      slugs.push((await create({ slug: `${name}.list${++made}.example` }, key)).slug);
      t.clock.advance(1);
    }
    const list = async (query = '') =>
      (await call('GET', `/domains${query}`, undefined, key)).json.map((d: { slug: string }) => d.slug);
    assert.deepEqual(await list(), slugs);
    assert.deepEqual(await list('?page=2&pageSize=2'), slugs.slice(2));
    assert.deepEqual(await list('?sortBy=slug&sortOrder=desc'), [...slugs].sort().reverse());
    assert.deepEqual(await list('?search=LPH'), slugs.slice(1, 2));
    await call('PATCH', `/domains/${slugs[1]}`, { archived: true }, key);
    assert.deepEqual(await list(), [slugs[0], slugs[2]]);
    assert.deepEqual(await list('?archived=true'), [slugs[1]]);
    assert.equal((await call('GET', '/domains/count', undefined, key)).json, 2);
    assert.equal((await call('GET', '/domains/count?archived=true&search=alpha', undefined, key)).json, 1);
    await refused(422, 'pageSize', 'GET', '/domains?pageSize=101', undefined, key);
    await refused(422, 'page', 'GET', '/domains?page=0', undefined, key);
    await refused(400, 'archived', 'GET', '/domains?archived=maybe', undefined, key);
  });

  test('only one domain is primary, the first one until another is chosen', async () => {
    const { key, id } = await t.workspace();
    const [a, b] = [await create({}, key), await create({}, key)];
    assert.deepEqual([a.primary, b.primary], [true, false]);
    const chosen = await call('POST', `/domains/${b.slug}/primary`, undefined, key);
    assert.equal(chosen.json.primary, true);
    assert.equal((await call('GET', `/domains/${a.slug}`, undefined, key)).json.primary, false);
    assert.equal((await call('POST', `/domains/${b.slug}/primary`, undefined, key)).json.primary, true);
    await Promise.all(
      [a, b, a, b].map(({ slug }) => call('POST', `/domains/${slug}/primary`, undefined, key)),
    );
    const listed = (await call('GET', '/domains', undefined, key)).json;
    assert.equal(listed.filter((domain: { primary: boolean }) => domain.primary).length, 1);
    assert.ok(
      (await eventsOf(id)).some(
        ([type, domain]) => type === 'domain.updated' && domain.slug === a.slug && !domain.primary,
      ),
    );
  });

  test('deleting the primary domain promotes no other; links then default to the shared domain', async () => {
    const { key, id } = await t.workspace();
    const { domains } = t.app.services;
    const [a, b] = [await create({}, key), await create({}, key)];
    assert.equal((await domains.forLink(id, undefined)).slug, a.slug);
    assert.deepEqual((await call('DELETE', `/domains/${a.slug}`, undefined, key)).json, { slug: a.slug });
    assert.equal((await call('GET', `/domains/${b.slug}`, undefined, key)).json.primary, false);
    assert.deepEqual(await domains.forLink(id, undefined), {
      slug: 'short.host.example:8443',
      shared: true,
      caseSensitive: false,
    });
    const c = await create({}, key);
    assert.equal(c.primary, false);
  });

  test('renaming takes the links along, frees the old name and asks for verification again', async () => {
    const domain = await create();
    await insertLinks(t.app.db, { workspaceId: home.id, domain: domain.slug }, ['one', 'two']);
    await call('GET', `/domains/${domain.slug}/verify`);
    const slug = newSlug();
    const renamed = await call('PATCH', `/domains/${domain.slug}`, { slug: slug.toUpperCase() });
    assert.equal(renamed.status, 200, renamed.text);
    assert.deepEqual([renamed.json.id, renamed.json.slug, renamed.json.verified], [domain.id, slug, false]);
    assert.equal(await countLinks(t.app.db, { domain: slug }), 3);
    assert.equal(await countLinks(t.app.db, { domain: domain.slug }), 0);
    await refused(404, undefined, 'GET', `/domains/${domain.slug}`);
    const [type, payload] = (await eventsOf(home.id)).at(-1) ?? [];
    assert.deepEqual([type, payload?.slug, payload?.previousSlug], ['domain.updated', slug, domain.slug]);
    await create({ slug: domain.slug });
  });

  test('case can be told apart only while there are no links but the root', async () => {
    const { slug } = await create();
    assert.equal((await call('PATCH', `/domains/${slug}`, { caseSensitive: true })).json.caseSensitive, true);
    assert.equal((await t.app.services.domains.forLink(home.id, slug)).caseSensitive, true);
    await insertLinks(t.app.db, { workspaceId: home.id, domain: slug }, ['key']);
    await refused(422, 'caseSensitive', 'PATCH', `/domains/${slug}`, { caseSensitive: false });
    assert.equal((await call('PATCH', `/domains/${slug}`, { caseSensitive: true })).status, 200);
  });

  test('a deleted domain and its few links are gone with the answer, and its name is free', async () => {
    const { slug } = await create();
    await insertLinks(t.app.db, { workspaceId: home.id, domain: slug }, ['one', 'two']);
    assert.equal((await call('DELETE', `/domains/${slug}`)).status, 200);
    assert.equal(await countLinks(t.app.db, { domain: slug }), 0);
    await refused(404, undefined, 'GET', `/domains/${slug}`);
    await create({ slug });
  });

  test('many links of a deleted domain stop at once and are removed by a job; until then the name is 409', async () => {
    const { slug } = await create();
    await insertLinks(
      t.app.db,
      { workspaceId: home.id, domain: slug },
      Array.from({ length: 1_200 }, (_, i) => `key${i}`),
    );
    assert.equal((await call('DELETE', `/domains/${slug}`)).status, 200);
    assert.equal((await t.app.services.domains.findServing([slug])).size, 0);
    assert.equal(await countLinks(t.app.db, { domain: slug }), 701);
    await refused(409, undefined, 'POST', '/domains', { slug });
    const other = await create();
    await refused(409, undefined, 'PATCH', `/domains/${other.slug}`, { slug });
    const stopped = new AbortController();
    stopped.abort();
    await t.app.services.domains.cleanUp(stopped.signal);
    assert.equal(await countLinks(t.app.db, { domain: slug }), 701);
    await t.app.jobs.tick();
    assert.equal(await countLinks(t.app.db, { domain: slug }), 0);
    await t.app.services.domains.cleanUp(new AbortController().signal);
    await create({ slug });
  });

  test('a link gets a domain of its own workspace or the shared one, and no other', async () => {
    const other = await t.workspace();
    const { slug } = await create({ archived: false });
    await call('PATCH', `/domains/${slug}`, { archived: true });
    const { domains } = t.app.services;
    const forbidden = (error: unknown) => error instanceof AppError && error.code === 'forbidden';
    assert.deepEqual(await domains.forLink(home.id, slug.toUpperCase()), {
      slug,
      formerSlug: null,
      shared: false,
      caseSensitive: false,
    });
    assert.equal((await domains.forLink(other.id, 'Short.host.example:8443')).shared, true);
    await assert.rejects(domains.forLink(other.id, slug), forbidden);
    await assert.rejects(domains.forLink(other.id, 'unknown.example'), forbidden);
  });

  test('a domain cannot be deleted or renamed while a link is being put on it', async () => {
    const { db, services } = t.app;
    const { slug } = await create();
    const { promise: chosen, resolve: choose } = Promise.withResolvers<void>();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const writing = db.write(async () => {
      await services.domains.forLink(home.id, slug);
      choose();
      await gate;
      await insertLinks(db, { workspaceId: home.id, domain: slug }, ['late']);
    });
    await chosen;
    const impatient = { waitMs: 20 };
    await assert.rejects(
      db.write(() => services.domains.delete(home.id, slug), impatient),
      StoreBusyError,
    );
    const renaming = () => services.domains.update(actorOf(home), slug, { slug: newSlug() });
    await assert.rejects(db.write(renaming, impatient), StoreBusyError);
    open();
    await writing;
    await services.domains.delete(home.id, slug);
    assert.equal(await countLinks(db, { domain: slug }), 0);
  });

  test('a filter by a domain of another workspace is the same as by an unknown one', async () => {
    const other = await t.workspace();
    const { slug } = await create();
    const { domains } = t.app.services;
    const notFound = (error: unknown) => error instanceof AppError && error.code === 'not_found';
    assert.equal(await domains.forFilter(home.id, slug.toUpperCase()), slug);
    assert.equal(await domains.forFilter(home.id, 'short.host.example:8443'), 'short.host.example:8443');
    await assert.rejects(domains.forFilter(other.id, slug), notFound);
    await assert.rejects(domains.forFilter(other.id, 'unknown.example'), notFound);
  });

  test('visits find existing domains, archived and unverified ones too', async () => {
    const { slug } = await create({ notFoundUrl: 'https://a.example/404', assetLinks: '[]' });
    await call('PATCH', `/domains/${slug}`, { archived: true });
    const found = await t.app.services.domains.findServing([slug, 'unknown.example']);
    assert.deepEqual([...found.keys()], [slug]);
    const serving = found.get(slug);
    assert.deepEqual(
      [serving?.workspaceId, serving?.notFoundUrl, serving?.assetLinks, serving?.expiredUrl],
      [home.id, 'https://a.example/404', '[]', null],
    );
    assert.equal((await t.app.services.domains.findServing([])).size, 0);
  });

  test('an image given as data is stored, after the plan was looked at', async () => {
    const workspace = await t.workspace();
    const saved: string[][] = [];
    const domains = serviceWith({
      saveImage: async (...image) => {
        saved.push(image);
        return 'https://app.host.example/api/files/logo.png';
      },
    });
    const { slug, logo } = await domains.create(actorOf(workspace), { slug: newSlug(), logo: PNG });
    assert.equal(logo, 'https://app.host.example/api/files/logo.png');
    const changed = await domains.update(actorOf(workspace), slug, { logo: PNG });
    assert.equal(changed.logo, logo);
    assert.deepEqual(saved, [
      [PNG, 'logo'],
      [PNG, 'logo'],
    ]);
    await assert.rejects(
      domains.create(actorOf(workspace, 'free'), { slug: newSlug(), logo: PNG }),
      AppError,
    );
    assert.equal(saved.length, 2);
  });

  test('with DNS checks off, checking a domain verifies it', async () => {
    const { slug } = await create();
    const reply = await call('GET', `/domains/${slug}/verify`);
    assert.deepEqual(reply.json, {
      status: 'Valid Configuration',
      verified: true,
      records: [{ type: 'CNAME', name: slug, value: 'app.host.example' }],
    });
    assert.equal((await call('GET', `/domains/${slug}`)).json.verified, true);
  });

  test('with DNS checks on, the flag follows what DNS says, and stays when DNS does not answer', async () => {
    const workspace = await t.workspace();
    let answer: SetupStatus = 'Pending Verification';
    const setup = {
      ...dnsSetup({ lookup: async () => [], target: 'host.example' }),
      check: async () => answer,
    };
    const domains = serviceWith({ setup });
    const { slug } = await domains.create(actorOf(workspace), { slug: newSlug() });
    const steps: [SetupStatus, boolean][] = [
      ['Pending Verification', false],
      ['Unknown Error', false],
      ['Valid Configuration', true],
      ['Unknown Error', true],
      ['Invalid Configuration', false],
    ];
    for (const [status, verified] of steps) {
      answer = status;
      const result = await domains.verify(workspace.id, slug);
      assert.deepEqual([result.status, result.domain.verified], [status, verified]);
      assert.equal((await domains.get(workspace.id, slug)).verified, verified);
      assert.deepEqual(
        result.records.map((record) => record.type),
        ['TXT', 'CNAME'],
      );
    }
    assert.deepEqual(
      (await eventsOf(workspace.id)).map(([type]) => type),
      ['domain.created', 'domain.updated', 'domain.updated'],
    );
  });

  test('registering a domain and asking for its status are 403 whatever is sent', async () => {
    for (const body of [{ domain: 'acme.link' }, {}, []])
      await refused(403, undefined, 'POST', '/domains/register', body);
    await refused(403, undefined, 'GET', '/domains/status?domains=acme.link');
    await refused(403, undefined, 'GET', '/domains/status');
  });

  test('every change writes one event, a refused one none', async () => {
    const { key, id } = await t.workspace();
    const { slug } = await create({}, key);
    await call('PATCH', `/domains/${slug}`, { archived: true }, key);
    await refused(409, undefined, 'POST', '/domains', { slug }, key);
    await call('DELETE', `/domains/${slug}`, undefined, key);
    const events = await eventsOf(id);
    assert.deepEqual(
      events.map(([type]) => type),
      ['domain.created', 'domain.updated', 'domain.deleted'],
    );
    assert.ok(events.every(([, payload]) => payload.slug === slug && !('verificationCode' in payload)));
  });
});
