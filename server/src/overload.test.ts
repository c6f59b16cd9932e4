// More API requests than the server takes at once, arriving whether or not answers come: the API sheds,
// visits go on, and nothing grows with the number of requests that were refused.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { openTestApp, type TestApp } from './testing/test-app.ts';

const CAP = 8;

describe('more API requests than the cap', () => {
  let t: TestApp;
  let key: string;
  let origin: string;
  let port: number;
  before(async () => {
    t = await openTestApp({ env: { PORT: '0', LINKTRAIL_MAX_IN_FLIGHT: String(CAP) } });
    key = (await t.workspace()).key;
    port = (await t.app.listen()).address.port;
    origin = `http://127.0.0.1:${port}`;
  });
  after(() => t.close());

  /** Requests that hold their place: the body is announced and does not come. */
  async function holdPlaces(): Promise<Socket[]> {
    const sockets: Socket[] = [];
    for (let i = 0; i < CAP; i++) {
      const socket = connect(port, '127.0.0.1');
      const body = JSON.stringify({ name: `held ${i}` });
      socket.write(
        `POST /api/tags HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      sockets.push(socket);
    }
    while (t.app.api.inFlight() < CAP) await new Promise((resolve) => setImmediate(resolve));
    return sockets;
  }

  async function release(sockets: Socket[]): Promise<string[]> {
    return Promise.all(
      sockets.map(async (socket, i) => {
        let text = '';
        socket.on('data', (chunk) => {
          text += chunk;
        });
        socket.write(JSON.stringify({ name: `held ${i}` }));
        await once(socket, 'close');
        return text;
      }),
    );
  }

  const shedCount = async () =>
    Number(
      /^linktrail_requests_shed_total (\d+)$/m.exec(await (await fetch(`${origin}/metrics`)).text())?.[1],
    );

  test('are refused with 429 while visits and probes are answered, and nothing under way is lost', async (context) => {
    const held = await holdPlaces();
    const before = await shedCount();
    const asked = Array.from({ length: 200 }, async (_, i) => {
      const response = await fetch(`${origin}/api/tags?n=${i}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      return {
        status: response.status,
        headers: response.headers,
        text: await response.text(),
        inFlight: t.app.api.inFlight(),
      };
    });
    const visited = Array.from({ length: 200 }, async (_, i) => {
      const response = await fetch(`${origin}/some-link-${i}`, { redirect: 'manual' });
      return { status: response.status, text: await response.text() };
    });
    const [refused, visits] = await Promise.all([Promise.all(asked), Promise.all(visited)]);
    for (const { status, headers, text, inFlight } of refused) {
      assert.equal(status, 429);
      assert.equal(headers.get('retry-after'), '1');
      assert.ok(headers.get('x-request-id'));
      const { error } = JSON.parse(text);
      assert.equal(error.code, 'rate_limit_exceeded');
      assert.match(error.doc_url, /#rate-limit-exceeded$/);
      assert.ok(inFlight <= CAP, `${inFlight} in flight`);
    }
    assert.deepEqual(new Set(visits.map((visit) => visit.status)), new Set([404]));
    assert.ok(visits.every((visit) => visit.text.startsWith('<!doctype html>')));
    assert.equal((await fetch(`${origin}/health/ready`)).status, 200);
    assert.equal((await shedCount()) - before, refused.length);
    const answers = await release(held);
    assert.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 201 ')));
    assert.equal(t.app.api.inFlight(), 0);
    assert.equal((await t.request('GET', '/tags/count', { key })).json, CAP);
    context.diagnostic(
      `cap ${CAP}: ${refused.length} API requests tried, all refused; ${visits.length} visits tried, none refused`,
    );
  });

  test('are told to pages of other sites too, where the operation is for them', async () => {
    const held = await holdPlaces();
    const ask = (path: string) => fetch(`${origin}${path}`, { method: 'POST', body: '{}' });
    const paths = ['/api/track/click', '/api/files/some.png', '/api/tags', '/api/nothing'];
    const replies = await Promise.all(paths.map(ask));
    assert.deepEqual(
      replies.map(({ status, headers }) => [status, headers.get('access-control-allow-origin')]),
      [
        [429, '*'],
        [429, '*'],
        [429, null],
        [429, null],
      ],
    );
    await release(held);
  });

  test('never are more under way than the cap, and the rest are refused before they cost anything', async (context) => {
    let most = 0;
    const replies = Array.from({ length: 2_000 }, () => {
      const reply = t.request('GET', '/tags', { key });
      most = Math.max(most, t.app.api.inFlight());
      return reply;
    });
    const statuses = (await Promise.all(replies)).map((reply) => reply.status);
    const answered = statuses.filter((status) => status === 200).length;
    const refused = statuses.filter((status) => status === 429).length;
    assert.equal(most, CAP);
    assert.equal(answered, CAP);
    assert.equal(refused, statuses.length - CAP);
    assert.equal((await t.request('GET', '/tags', { key })).status, 200);
    context.diagnostic(
      `cap ${CAP}: ${statuses.length} tried at once, ${answered} answered, ${refused} refused`,
    );
  });

  test('clients that go away before or while they send give their places back', {
    timeout: 20_000,
  }, async () => {
    for (const socket of await holdPlaces()) socket.destroy();
    while (t.app.api.inFlight() > 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await t.request('GET', '/tags', { key })).status, 200);
  });
});
