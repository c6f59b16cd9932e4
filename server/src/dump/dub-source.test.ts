// Links, tags, folders, domains and customers from one instance into another by its public API, over a real port, as
// they would come from any service with this API.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { eachDatabase } from '../testing/databases.ts';
import { exportText, parseDump } from '../testing/dumps.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { type DubSourceParts, openDubSource } from './dub-source.ts';
import type { ImportReport, ImportRequest } from './import.ts';

const MINUTE_MS = 60_000;

eachDatabase('an import by the API', (databases) => {
  let from: TestApp;
  let theirs: TestWorkspace;
  let server: string;
  const targets: TestApp[] = [];
  before(async () => {
    from = await openTestApp({ databaseUrl: await databases.place(), env: { PORT: '0' } });
    theirs = await from.workspace();
    await fill(from, theirs);
    await fillCustomers(from, theirs);
    from.clock.advance(2 * MINUTE_MS);
    const { address } = await from.app.listen();
    server = `http://127.0.0.1:${address.port}/api`;
  });
  after(async () => {
    for (const t of [from, ...targets]) await t.close();
  });

  async function openTarget(): Promise<{ t: TestApp; ours: TestWorkspace }> {
    const t = await openTestApp({ databaseUrl: await databases.place() });
    targets.push(t);
    return { t, ours: await t.workspace() };
  }

  function run(
    t: TestApp,
    ours: TestWorkspace,
    parts: Partial<DubSourceParts> = {},
    options: Partial<ImportRequest> = {},
  ): Promise<ImportReport> {
    const source = openDubSource({
      token: theirs.key,
      server,
      workspaceId: ours.id,
      hasPrimaryDomain: false,
      wait: () => Promise.reject(new Error('told to wait')),
      ...parts,
    });
    return t.app.dump.import({
      source,
      signal: new AbortController().signal,
      progress: async () => {},
      ...options,
    });
  }

  /** What both must have, apart from the workspace and what the API does not show. */
  async function shown(t: TestApp, workspaceId: string): Promise<object[]> {
    const lines = parseDump(await exportText(t.app, workspaceId));
    return lines
      .filter(({ type }) => ['tag', 'folder', 'domain', 'link', 'customer'].includes(String(type)))
      .map(({ workspaceId: _, verificationCode: __, createdAt, updatedAt, caseSensitive: ___, ...line }) =>
        line.type === 'tag' ? line : { ...line, createdAt, ...(line.type !== 'customer' && { updatedAt }) },
      )
      .sort((a, b) => `${a.type}${a.id}`.localeCompare(`${b.type}${b.id}`));
  }

  test('keeps ids, keys, dates, counters, tags and folders; archived ones come too', async () => {
    const { t, ours } = await openTarget();
    const report = await run(t, ours);
    assert.deepEqual(report.written, { tag: 2, folder: 2, domain: 2, link: 254, customer: 213 });
    assert.deepEqual(await shown(t, ours.id), await shown(from, theirs.id));
  });

  test('repeated changes nothing', async () => {
    const { t, ours } = await openTarget();
    await run(t, ours);
    assert.deepEqual((await run(t, ours)).written, {});
  });

  test('goes on where it was interrupted', async () => {
    const { t, ours } = await openTarget();
    const stop = new AbortController();
    const progress = async ({ done }: { done: number }) => {
      if (done > 120) stop.abort(new Error('interrupted'));
    };
    await assert.rejects(run(t, ours, {}, { signal: stop.signal, progress }), /interrupted/);
    const report = await run(t, ours);
    assert.equal(report.resumed, true);
    assert.ok((report.unchanged.link ?? 0) < 100, `${report.unchanged.link} links were read again`);
    assert.deepEqual(await shown(t, ours.id), await shown(from, theirs.id));
  });

  test('goes on with the customers it had come to, and from their start when that one is gone', async () => {
    for (const gone of [false, true]) {
      const { t, ours } = await openTarget();
      const stop = new AbortController();
      const progress = async ({ done }: { done: number }) => {
        if (done > 400) stop.abort(new Error('interrupted'));
      };
      await assert.rejects(run(t, ours, {}, { signal: stop.signal, progress }), /interrupted/);
      if (gone)
        await sql`update import_progress set state = replace(state, 'cus_', 'gone_')`.execute(t.app.db.query);
      const report = await run(t, ours);
      assert.equal(report.resumed, true);
      assert.equal((report.written.link ?? 0) + (report.unchanged.link ?? 0), 0);
      assert.equal((report.unchanged.customer ?? 0) > 0, gone);
      assert.deepEqual(await shown(t, ours.id), await shown(from, theirs.id));
    }
  });

  test('brings no customers where the other service does not show them', async () => {
    const plain = await from.workspace('pro');
    await from.request('POST', '/links', { key: plain.key, body: { url: 'https://example.com/pro' } });
    const { t, ours } = await openTarget();
    assert.deepEqual((await run(t, ours, { token: plain.key })).written, { link: 1 });
  });

  test('goes on although the link it had come to is gone', async () => {
    const { t, ours } = await openTarget();
    const stop = new AbortController();
    const progress = async ({ done }: { done: number }) => {
      if (done > 120) stop.abort(new Error('interrupted'));
    };
    await assert.rejects(run(t, ours, {}, { signal: stop.signal, progress }), /interrupted/);
    await sql`update import_progress set state = replace(state, 'link_', 'gone_')`.execute(t.app.db.query);
    assert.equal((await run(t, ours)).resumed, true);
    assert.deepEqual(await shown(t, ours.id), await shown(from, theirs.id));
  });

  test('waits as long as it is told to', async () => {
    const { t, ours } = await openTarget();
    const front = await limiting(new URL(server));
    const waits: number[] = [];
    const wait = async (seconds: number) => void waits.push(seconds);
    try {
      const report = await run(t, ours, { server: front.url, wait });
      assert.equal(report.written.link, 254);
      assert.deepEqual(new Set(waits), new Set([7]));
    } finally {
      front.server.close();
    }
  });

  test('leaves the primary domain of the workspace what it is', async () => {
    const { t, ours } = await openTarget();
    await t.request('POST', '/domains', { key: ours.key, body: { slug: 'mine.example.com' } });
    await run(t, ours, { hasPrimaryDomain: true });
    assert.equal((await t.app.services.domains.forLink(ours.id, undefined)).slug, 'mine.example.com');
  });

  test('says what the other service says', async () => {
    const { t, ours } = await openTarget();
    await assert.rejects(
      run(t, ours, { token: 'lt_wrong' }),
      /The other service answered 401: .*Check --token, and --server: is it the service that the token belongs to\?$/,
    );
  });
});

async function fillCustomers(t: TestApp, { id, key }: TestWorkspace): Promise<void> {
  const { customers } = t.app.services;
  const link = (await t.request('GET', '/links?search=key-7', { key })).json[0];
  for (let i = 0; i < 212; i++) {
    await customers.create(id, {
      externalId: `user-${i}`,
      country: 'US',
      ...(i % 2 && { email: `user${i}@acme.example` }),
      ...(i % 3 === 0 && { name: `Person ${i}`, linkId: link.id }),
    });
    t.clock.advance(1);
  }
  const full = await customers.create(id, {
    externalId: 'all',
    name: 'Ada Ray',
    email: 'ada@acme.example',
    avatar: 'https://acme.example/ada.png',
    stripeCustomerId: 'cus_stripe',
    country: 'DE',
    programId: 'prog_1',
  });
  await customers.addSale(full.id, { amount: 4900, atMs: t.clock.now() });
  await customers.setSubscriptionCanceledAt(full.id, t.clock.now());
}

async function fill(t: TestApp, { key }: TestWorkspace): Promise<void> {
  const call = async (method: string, path: string, body: object) => {
    const reply = await t.request(method, path, { key, body });
    assert.ok(reply.status < 300, reply.text);
    t.clock.advance(1_000);
    return reply.json;
  };
  const tags = [await call('POST', '/tags', { name: 'News' }), await call('POST', '/tags', { name: 'Old' })];
  const folders = [
    await call('POST', '/folders', { name: 'A', accessLevel: 'write' }),
    await call('POST', '/folders', { name: 'B' }),
  ];
  await call('POST', '/domains', { slug: 'go.example.com', notFoundUrl: 'https://example.com/404' });
  await call('POST', '/domains', { slug: 'old.example.com', archived: true });
  for (let start = 0; start < 250; start += 50) {
    const links = Array.from({ length: 50 }, (_, i) => ({
      url: `https://example.com/${start + i}?utm_source=mail`,
      key: `Key-${start + i}`,
      externalId: `ext-${start + i}`,
      ...(i % 2 && { domain: 'go.example.com' }),
      ...(i % 3 === 0 && { tagIds: tags.map((tag) => tag.id) }),
      ...(i % 5 === 0 && { folderId: folders[(i / 5) % 2].id }),
      ...(i % 7 === 0 && { archived: true }),
    }));
    await call('POST', '/links/bulk', links);
  }
  await call('POST', '/links', {
    url: 'https://example.com/all',
    key: 'all',
    trackConversion: true,
    expiresAt: '2030-01-01T00:00:00Z',
    expiredUrl: 'https://example.com/expired',
    password: 'secret',
    title: 'Title',
    geo: { DE: 'https://example.com/de' },
    ios: 'https://example.com/ios',
    testVariants: [
      { url: 'https://example.com/1', percentage: 50 },
      { url: 'https://example.com/2', percentage: 50 },
    ],
    testStartedAt: '2027-01-01T00:00:00Z',
    testCompletedAt: '2027-03-01T00:00:00Z',
  });
  await call('POST', '/links', { url: 'https://example.com/u', key: 'ünïcode', domain: 'go.example.com' });
  await sql`update link set clicks = 5, leads = 4, conversions = 3, sales = 2, sale_amount = 100, last_clicked_at = 1700000000000,
    disabled_at = 1700000000000 where key = 'all'`.execute(t.app.db.query);
}

/** In front of the service: refuses every second request and passes the others on. */
async function limiting(target: URL): Promise<{ server: Server; url: string }> {
  let count = 0;
  const server = createServer((incoming, response) => {
    count += 1;
    if (count % 2 === 1) {
      response.writeHead(429, { 'Retry-After': '7', 'Content-Type': 'application/json' });
      response.end('{"error":{"code":"rate_limit_exceeded","message":"Slow down."}}');
      return;
    }
    const { method, url, headers } = incoming;
    const outgoing = request(
      { host: target.hostname, port: target.port, method, path: url, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api` };
}
