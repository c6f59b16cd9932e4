import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Database } from '../db/database.ts';
import { createAnswerStore } from '../db/idempotency.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Answer, Slot } from '../kernel/answer.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp, type TestReply } from '../testing/test-app.ts';
import { createIdempotency } from './idempotency.ts';
import { refusalAnswer } from './problem.ts';

const refusal = (error: unknown) => refusalAnswer(error, 'http://localhost');

let slots = 0;
const newSlot = (): Slot => ({ scope: 'ws_1', key: `key ${++slots}`, fingerprint: 'same', secret: false });

eachDatabase('running once', (databases) => {
  let db: Database;
  before(async () => {
    db = await databases.open();
  });
  const node = (waitMs = 5_000) =>
    createIdempotency({ store: createAnswerStore({ db, clock: systemClock }), waitMs });

  /** Leaves a row for each time it ran to its end. */
  function countedWork(
    slot: Slot,
    end: () => Promise<Answer> = async () => ({ status: 201, body: '"done"' }),
  ) {
    const work = async () => {
      await appendOutbox(db.query, [{ workspaceId: slot.key, type: 'ran', payload: {} }], 0);
      return end();
    };
    const effects = async () =>
      (await db.query.selectFrom('outbox').select('id').where('workspace_id', '=', slot.key).execute())
        .length;
    return { work, effects };
  }

  test('100 at once have one effect and one answer', async () => {
    const slot = newSlot();
    const { work, effects } = countedWork(slot);
    const run = node();
    const answers = await Promise.all(Array.from({ length: 100 }, () => run(slot, work, refusal)));
    assert.equal(await effects(), 1);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    assert.deepEqual(
      new Set(answers.map(({ status, body }) => `${status} ${body}`)),
      new Set(['201 "done"']),
    );
  });

  test('two nodes at once have one effect and one answer', async () => {
    const slot = newSlot();
    const { work, effects } = countedWork(slot);
    const nodes = [node(), node()];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => nodes[i % 2]!(slot, work, refusal)),
    );
    assert.equal(await effects(), 1);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
  });

  test('a key that was used with another request is refused and keeps its answer', async () => {
    const slot = newSlot();
    const { work, effects } = countedWork(slot);
    const run = node();
    await run(slot, work, refusal);
    await assert.rejects(run({ ...slot, fingerprint: 'other' }, work, refusal), {
      code: 'unprocessable_entity',
    });
    assert.equal((await run(slot, work, refusal)).replayed, true);
    assert.equal(await effects(), 1);
  });

  test('a refusal is kept and repeated, and its work is undone', async () => {
    const slot = newSlot();
    let text = 'first';
    const { work, effects } = countedWork(slot, () => Promise.reject(new AppError('conflict', text)));
    const run = node();
    await assert.rejects(run(slot, work, refusal), { code: 'conflict', message: 'first' });
    text = 'second';
    const repeat = await run(slot, work, refusal);
    assert.equal(repeat.status, 409);
    assert.match(repeat.body, /first/);
    assert.equal(await effects(), 0);
  });

  test('a fault stores nothing: neither the effect nor an answer, and a repeat may succeed', async () => {
    const slot = newSlot();
    const faults: unknown[] = [new Error('broken'), new AppError('internal_server_error', 'broken')];
    const { work, effects } = countedWork(slot, async () => {
      const fault = faults.pop();
      if (fault) throw fault;
      return { status: 200, body: '1' };
    });
    const run = node();
    await assert.rejects(run(slot, work, refusal), /broken/);
    await assert.rejects(run(slot, work, refusal), /broken/);
    assert.equal(await effects(), 0);
    assert.deepEqual(await run(slot, work, refusal), { status: 200, body: '1', replayed: false });
    assert.equal(await effects(), 1);
  });

  test('a secret answer is never stored, so that a repeat is refused', async () => {
    const slot = { ...newSlot(), secret: true };
    const { work, effects } = countedWork(slot, async () => ({ status: 200, body: '"hush"' }));
    const run = node();
    assert.equal((await run(slot, work, refusal)).body, '"hush"');
    await assert.rejects(run(slot, work, refusal), { code: 'conflict' });
    assert.equal(await effects(), 1);
    const rows = await db.query
      .selectFrom('idempotency')
      .select('body')
      .where('key', '=', slot.key)
      .execute();
    assert.deepEqual(rows, [{ body: null }]);
  });

  for (const where of ['the same node', 'another node'] as const) {
    test(`a repeat on ${where} that waits too long is refused, which is not kept as the answer`, async () => {
      const slot = newSlot();
      const gate = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      const { work, effects } = countedWork(slot, async () => {
        started.resolve();
        await gate.promise;
        return { status: 201, body: '"late"' };
      });
      const run = node(30);
      const first = run(slot, work, refusal);
      await started.promise;
      const repeat = where === 'the same node' ? run : node(30);
      await assert.rejects(repeat(slot, work, refusal), { code: 'conflict', message: /still running/ });
      gate.resolve();
      assert.deepEqual(await first, { status: 201, body: '"late"', replayed: false });
      assert.deepEqual(await repeat(slot, work, refusal), { status: 201, body: '"late"', replayed: true });
      assert.equal(await effects(), 1);
    });
  }

  test('a wait that was too long is not kept even when the first request comes to nothing', async () => {
    const slot = newSlot();
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { work } = countedWork(slot, async () => {
      started.resolve();
      await gate.promise;
      throw new Error('broken');
    });
    const first = node()(slot, work, refusal);
    await started.promise;
    await assert.rejects(node(30)(slot, work, refusal), { code: 'conflict' });
    gate.resolve();
    await assert.rejects(first, /broken/);
    const fresh = await node()(slot, async () => ({ status: 200, body: '2' }), refusal);
    assert.deepEqual(fresh, { status: 200, body: '2', replayed: false });
  });

  test('keys that are empty or longer than 255 characters are refused', async () => {
    for (const key of ['', 'k'.repeat(256)]) {
      const run = node()({ ...newSlot(), key }, async () => ({ status: 200, body: '' }), refusal);
      await assert.rejects(run, { code: 'unprocessable_entity', message: /Idempotency-Key/ });
    }
    const longest = { ...newSlot(), key: 'k'.repeat(255) };
    assert.equal((await node()(longest, async () => ({ status: 200, body: '' }), refusal)).status, 200);
  });
});

eachDatabase('Idempotency-Key over HTTP', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const post = (app: TestApp, path: string, key: string, idempotencyKey: string, body: unknown) =>
    app.request('POST', path, { key, body, headers: { 'Idempotency-Key': idempotencyKey } });
  const same = (replies: TestReply[]) =>
    new Set(replies.map((reply) => `${reply.status} ${reply.text}`)).size === 1;

  test('100 at once make one tag, one event and one answer', async () => {
    const { key, id } = await t.workspace();
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => post(t, '/tags', key, 'k', { name: 'Once' })),
    );
    assert.ok(same(replies));
    assert.equal(replies[0]!.status, 201);
    assert.equal(replies.filter((reply) => reply.headers.get('idempotency-replayed') === 'true').length, 99);
    assert.equal((await t.request('GET', '/tags/count', { key })).json, 1);
    const events = await t.app.db.query
      .selectFrom('outbox')
      .select('type')
      .where('workspace_id', '=', id)
      .execute();
    assert.deepEqual(events, [{ type: 'tag.created' }]);
  });

  test('another body, path or method with the same key is 422', async () => {
    const { key } = await t.workspace();
    const first = await post(t, '/tags', key, 'k', { name: 'One' });
    assert.equal((await post(t, '/tags', key, 'k', { name: 'Two' })).status, 422);
    assert.equal((await post(t, '/tags?x=1', key, 'k', { name: 'One' })).status, 422);
    const headers = { 'Idempotency-Key': 'k' };
    const patched = await t.request('PATCH', `/tags/${first.json.id}`, {
      key,
      headers,
      body: { name: 'One' },
    });
    assert.equal(patched.status, 422);
    assert.match(patched.json.error.message, /^custom: Idempotency-Key: /);
    assert.equal((await t.request('GET', '/tags/count', { key })).json, 1);
  });

  test('a key counts per workspace, and reads and deletions take none', async () => {
    const [one, two] = [await t.workspace(), await t.workspace()];
    const first = await post(t, '/tags', one.key, 'k', { name: 'Same' });
    const second = await post(t, '/tags', two.key, 'k', { name: 'Same' });
    assert.equal(second.status, 201);
    assert.notEqual(first.json.id, second.json.id);
    const headers = { 'Idempotency-Key': 'k' };
    assert.equal((await t.request('GET', '/tags', { key: one.key, headers })).status, 200);
    assert.equal(
      (await t.request('DELETE', `/tags/${first.json.id}`, { key: one.key, headers })).status,
      200,
    );
    assert.equal(
      (await t.request('DELETE', `/tags/${first.json.id}`, { key: one.key, headers })).status,
      404,
    );
  });

  test('PATCH and PUT are run once too', async () => {
    const { key, id } = await t.workspace();
    const { json } = await t.request('POST', '/tags', { key, body: { name: 'A' } });
    for (const method of ['PATCH', 'PUT']) {
      const options = { key, headers: { 'Idempotency-Key': method }, body: { name: `By ${method}` } };
      const replies = await Promise.all(
        Array.from({ length: 5 }, () => t.request(method, `/tags/${json.id}`, options)),
      );
      assert.ok(same(replies));
    }
    const events = await t.app.db.query
      .selectFrom('outbox')
      .select('id')
      .where('workspace_id', '=', id)
      .execute();
    assert.equal(events.length, 3);
  });

  test('a new key is shown once: a repeat is 409 and makes no second one', async () => {
    const { key } = await t.workspace();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => post(t, '/tokens', key, 'k', { name: 'CI' })),
    );
    const shown = replies.filter((reply) => reply.status === 200);
    assert.equal(shown.length, 1);
    assert.ok(replies.filter((reply) => reply !== shown[0]).every((reply) => reply.status === 409));
    const named = (await t.request('GET', '/tokens', { key })).json.filter(
      (item: { name: string }) => item.name === 'CI',
    );
    assert.equal(named.length, 1);
    const rows = await t.app.db.query.selectFrom('idempotency').selectAll().execute();
    assert.ok(!JSON.stringify(rows).includes(shown[0]!.json.token));
  });

  test('a refusal is repeated word for word, from whatever host, even when it no longer applies', async () => {
    const { key } = await t.workspace();
    const taken = await t.request('POST', '/tags', { key, body: { name: 'Taken' } });
    const first = await post(t, '/tags', key, 'k', { name: 'taken' });
    assert.equal(first.status, 409);
    await t.request('DELETE', `/tags/${taken.json.id}`, { key });
    const repeat = await post(t, '/tags', key, 'k', { name: 'taken' });
    assert.equal(repeat.headers.get('idempotency-replayed'), 'true');
    assert.ok(same([first, repeat]));
    const peer = {
      ip: '127.0.0.1',
      secure: true,
      host: 'links.example.com',
      origin: 'https://links.example.com',
    };
    const send = async () => {
      const headers = { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'from another host' };
      const request = new Request('http://localhost/api/tags', { method: 'POST', headers, body: '{}' });
      return (await t.app.api.fetch(request, { peer })).text();
    };
    const text = await send();
    assert.match(text, /https:\/\/links\.example\.com\/api\/errors#bad-request/);
    assert.equal(await send(), text);
  });

  test('a repeat after the limit is used up still gets its first answer', async () => {
    const { key, id } = await t.workspace();
    await t.app.services.workspaces.setLimit(id, 'tags', 1);
    const first = await post(t, '/tags', key, 'k', { name: 'The last' });
    assert.equal(first.status, 201);
    assert.equal((await post(t, '/tags', key, 'other', { name: 'One more' })).status, 403);
    assert.ok(same([first, await post(t, '/tags', key, 'k', { name: 'The last' })]));
  });

  test('a key without the right is refused even when the answer is known', async () => {
    const workspace = await t.workspace();
    await post(t, '/tags', workspace.key, 'k', { name: 'A' });
    const reader = await workspace.newKey({ scopes: ['tags.read'] });
    assert.equal((await post(t, '/tags', reader, 'k', { name: 'A' })).status, 403);
  });

  // SQLite belongs to one process.
  if (databases.engine === 'postgres') {
    test('the same key at two applications at once has one effect and one answer', async () => {
      const url = await databases.place();
      const [one, two] = [await openTestApp({ databaseUrl: url }), await openTestApp({ databaseUrl: url })];
      const { key } = await one.workspace();
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, i) => post(i % 2 ? one : two, '/tags', key, 'k', { name: 'Once' })),
      );
      assert.equal(replies[0]!.status, 201);
      assert.ok(same(replies));
      assert.equal((await two.request('GET', '/tags/count', { key })).json, 1);
      await one.close();
      await two.close();
    });
  }
});
