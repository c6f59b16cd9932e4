// The store fails under the running application: every request gets an error envelope, nothing is half
// written, and work goes on without a restart once the store is back.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { createLog } from './kernel/log.ts';
import { eachDatabase } from './testing/databases.ts';
import { openTestApp, type TestApp, type TestReply } from './testing/test-app.ts';

function assertFault(reply: TestReply, message: RegExp): void {
  assert.equal(reply.status, 500, reply.text);
  const { error } = reply.json;
  assert.equal(error.code, 'internal_server_error');
  assert.match(error.message, message);
  assert.match(error.doc_url, /#internal-server-error$/);
}

describe('SQLite', () => {
  let t: TestApp;
  const lines: { level: number }[] = [];
  before(async () => {
    t = await openTestApp({ log: createLog('error', (line) => lines.push(JSON.parse(line))) });
  });
  after(() => t.close());

  /** A name as long as a name may be, so that few of them fill a page. */
  const longName = (i: number) => `${i} ${'x'.repeat(180)}`;

  test('that is full answers writes with 500 and reads as ever, and takes writes again when there is room', async () => {
    const { key, id } = await t.workspace();
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(t.app.db.query);
    await sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + 3}`).execute(t.app.db.query);
    let written = 0;
    let reply: TestReply;
    for (;;) {
      const headers = { 'Idempotency-Key': `k${written}` };
      reply = await t.request('POST', '/tags', { key, headers, body: { name: longName(written) } });
      if (reply.status !== 201 || written > 1000) break;
      written += 1;
    }
    assertFault(reply, /database is full/);
    assert.equal((await t.request('GET', '/tags/count', { key })).json, written);
    await sql.raw('pragma max_page_count = 1000000').execute(t.app.db.query);
    const headers = { 'Idempotency-Key': `k${written}` };
    assert.equal(
      (await t.request('POST', '/tags', { key, headers, body: { name: longName(written) } })).status,
      201,
    );
    const events = await t.app.db.query
      .selectFrom('outbox')
      .select('id')
      .where('workspace_id', '=', id)
      .execute();
    assert.equal(events.length, written + 1);
  });

  test('that fails in the middle of a change leaves nothing of it and tells no internals', async () => {
    const { key } = await t.workspace();
    const file = new DatabaseSync(`${t.app.config.dataDir}/linktrail.db`);
    file.exec(`create trigger broken before insert on outbox begin select raise(abort, 'no outbox'); end`);
    lines.length = 0;
    const headers = { 'Idempotency-Key': 'k' };
    const refused = await t.request('POST', '/tags', { key, headers, body: { name: 'Again' } });
    assertFault(refused, /went wrong/);
    assert.ok(!refused.text.includes('outbox'));
    assert.equal(lines.length, 1);
    assert.equal((await t.request('GET', '/tags/count', { key })).json, 0);
    file.exec('drop trigger broken');
    file.close();
    assert.equal((await t.request('POST', '/tags', { key, headers, body: { name: 'Again' } })).status, 201);
  });
});

eachDatabase('a store that is lost', (databases) => {
  if (databases.engine !== 'postgres') return;

  test('requests get 500 while PostgreSQL cannot be reached, and work again without a restart', async () => {
    const url = new URL(await databases.place());
    const wire = await createWire(url.hostname, Number(url.port || 5432));
    url.host = `127.0.0.1:${wire.port}`;
    const t = await openTestApp({ databaseUrl: url.href });
    try {
      const { key } = await t.workspace();
      const headers = { 'Idempotency-Key': 'k' };
      const create = () => t.request('POST', '/tags', { key, headers, body: { name: 'kept' } });
      await wire.cut();
      for (let i = 0; i < 3; i++) assertFault(await create(), /database cannot be reached/);
      assertFault(await t.request('GET', '/tags', { key }), /database cannot be reached/);
      await wire.mend();
      assert.equal((await create()).status, 201);
      assert.equal((await create()).headers.get('idempotency-replayed'), 'true');
      assert.equal((await t.request('GET', '/tags/count', { key })).json, 1);
    } finally {
      await t.close();
      await wire.cut();
    }
  });

  test('connections that the server ends are replaced', async () => {
    const url = await databases.place();
    const schema = new URL(url).searchParams.get('application_name');
    const t = await openTestApp({ databaseUrl: url });
    try {
      const { key } = await t.workspace();
      await Promise.all(Array.from({ length: 5 }, () => t.request('GET', '/tags', { key })));
      const others = sql`application_name = ${schema} and pid <> pg_backend_pid()`;
      const { rows } =
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`.execute(
          t.app.db.query,
        );
      assert.ok(rows.length > 0);
      const replies = await Promise.all(Array.from({ length: 20 }, () => t.request('GET', '/tags', { key })));
      for (const reply of replies.filter(({ status }) => status !== 200))
        assertFault(reply, /database cannot be reached/);
      assert.equal((await t.request('GET', '/tags', { key })).status, 200);
    } finally {
      await t.close();
    }
  });
});

/** A wire to another port that can be cut and mended. */
async function createWire(host: string, to: number) {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, host);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async cut() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
    mend: () => listen(port),
  };
}
