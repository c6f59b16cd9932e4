// The stream of events: what it sends, how it is gone on with, and where it ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createEventFeed } from '../testing/event-feed.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from '../testing/test-app.ts';
import { formatCursor, parseCursor } from './event-follower.ts';
import { createEventStreams, type StreamLimits } from './event-stream.ts';

let t: TestApp;
before(async () => {
  t = await openTestApp({ events: true });
});
const toClose: { close(): void }[] = [];
after(async () => {
  for (const streams of toClose) streams.close();
  await t.close();
});

interface Received {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: TestReply['json'] | undefined;
}

/** Takes a stream apart as a browser does. */
function readStream(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const waiting: Received[] = [];
  let rest = '';
  let lastId: string | undefined;

  async function nextMessage(): Promise<Received | undefined> {
    while (waiting.length === 0) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      const parts = (rest + new TextDecoder().decode(value)).split('\n\n');
      rest = parts.pop() ?? '';
      waiting.push(...parts.map(parseMessage));
    }
    const message = waiting.shift() as Received;
    lastId = message.id ?? lastId;
    return message;
  }

  return {
    nextMessage,
    lastId: () => lastId,
    cancel: () => reader.cancel(),
    /** So many events; undefined for the end of the stream. */
    async take(count: number): Promise<(Received | undefined)[]> {
      const events: (Received | undefined)[] = [];
      while (events.length < count) {
        const message = await nextMessage();
        if (message === undefined || message.data !== undefined) events.push(message);
      }
      return events;
    },
  };
}

function parseMessage(text: string): Received {
  const field = (name: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const data = field('data');
  return { event: field('event'), id: field('id'), data: data === undefined ? undefined : JSON.parse(data) };
}

async function open({ key }: TestWorkspace, query = '', lastEventId?: string) {
  const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
  if (lastEventId !== undefined) headers['Last-Event-ID'] = lastEventId;
  const request = new Request(`http://localhost:3000/api/events/stream?${query}`, { headers });
  const peer = { ip: '10.0.0.1', secure: true, host: 'localhost:3000', origin: 'http://localhost:3000' };
  const response = await t.app.api.fetch(request, { peer });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  return readStream(response.body as ReadableStream<Uint8Array>);
}

const clickIds = (events: readonly (Received | undefined)[]) => events.map((event) => event?.data.click.id);

test('events come as they are recorded, those that match, as in the list', async () => {
  const ws = await t.workspace();
  const feed = createEventFeed(t, ws);
  const [link, other] = [await feed.link(), await feed.link()];
  await feed.click(link);
  await feed.settle();
  const all = await open(ws);
  const some = await open(ws, `linkId=${link.id}`);
  const leads = await open(ws, 'event=leads');
  const made = [await feed.click(other), await feed.click(link), await feed.click(link)];
  await feed.lead(link);
  await feed.settle();
  const received = await all.take(3);
  assert.deepEqual(clickIds(received).sort(), made.toSorted());
  assert.deepEqual(clickIds(await some.take(2)).sort(), made.slice(1).sort());
  const [lead] = await leads.take(1);
  assert.deepEqual([received[0]?.event, lead?.event], ['click', 'lead']);
  const listed = (await t.request('GET', '/events?event=leads', { key: ws.key })).json;
  assert.deepEqual([lead?.data], listed);
  await Promise.all([all.cancel(), some.cancel(), leads.cancel()]);
});

test('who comes back gets what was missed, late events too, and nothing twice', async () => {
  const ws = await t.workspace();
  const feed = createEventFeed(t, ws);
  const link = await feed.link();
  const stream = await open(ws);
  const made: string[] = [];
  const click = async (timeMs = t.clock.now()) => made.push(await feed.click(link, { timeMs }));
  for (let i = 0; i < 5; i++) await click();
  await feed.settle();
  const seen = clickIds(await stream.take(2));
  const lastId = stream.lastId();
  await stream.cancel();
  // Recorded long ago on a node that was cut off: by time it stands before all that was seen.
  await click(t.clock.now() - 3_600_000);
  await feed.settle();
  const again = await open(ws, '', lastId);
  seen.push(...clickIds(await again.take(4)));
  assert.deepEqual(seen.toSorted(), made.toSorted());
  await again.cancel();
  // One that saw everything has nothing to catch up with; what follows is new.
  const caughtUp = await open(ws, `lastEventId=${encodeURIComponent(again.lastId() as string)}`);
  await click();
  await feed.settle();
  assert.deepEqual(clickIds(await caughtUp.take(1)), made.slice(-1));
  await caughtUp.cancel();
});

test('more than one chunk of missed events comes whole', async () => {
  const ws = await t.workspace();
  const feed = createEventFeed(t, ws);
  const link = await feed.link();
  const stream = await open(ws);
  await stream.nextMessage();
  await stream.cancel();
  const made = new Set<string>();
  for (let i = 0; i < 450; i++) made.add(await feed.click(link));
  await feed.settle();
  const again = await open(ws, '', stream.lastId());
  assert.deepEqual(new Set(clickIds(await again.take(450))), made);
  await again.cancel();
});

test('after the store was rebuilt nothing is missed', async () => {
  const ws = await t.workspace();
  const feed = createEventFeed(t, ws);
  const link = await feed.link();
  const stream = await open(ws);
  const before = await feed.click(link);
  await feed.settle();
  assert.deepEqual(clickIds(await stream.take(1)), [before]);
  await stream.cancel();
  const missed = await feed.click(link);
  await feed.settle();
  await t.app.events.rebuild({ signal: new AbortController().signal, progress: async () => {} });
  await feed.settle();
  const again = await open(ws, '', stream.lastId());
  const found = clickIds(await again.take(2));
  assert.ok(found.includes(missed), found.join());
  await again.cancel();
});

test('an id that is none of ours is refused', async () => {
  const { key } = await t.workspace();
  for (const id of ['x', '1.2.3', '..0.', 'a.b.c.d', 'a.1.2.%zz']) {
    const reply = await t.request('GET', '/events/stream', { key, headers: { 'Last-Event-ID': id } });
    assert.equal(reply.status, 422, id);
    assert.match(reply.json.error.message, /^custom: lastEventId: /);
  }
  const place = { store: 'a-b', batch: 7, timeMs: 8, id: 'x.y/ž' };
  assert.deepEqual(parseCursor(formatCursor(place)), place);
});

describe('a stream', () => {
  const openWith = async (limits: StreamLimits, times: { pollMs: number; heartbeatMs: number }) => {
    const { eventQuestions: questions, events } = t.app.services;
    const streams = createEventStreams({
      follower: t.app.events.source,
      questions,
      events,
      limits,
      clock: t.clock,
      ...times,
    });
    toClose.push(streams);
    const ws = await t.workspace();
    const start = async () => {
      const reply = await streams.open(
        ws.actor,
        { event: 'clicks' },
        { lastEventId: undefined, origin: '', signal: new AbortController().signal },
      );
      return readStream(reply.body as ReadableStream<Uint8Array>);
    };
    return { streams, start };
  };
  const limits = { perWorkspace: 2, all: 3, lifeMs: 60_000 };

  test('is one of a few, and makes room when its client goes', async () => {
    const { streams, start } = await openWith(limits, { pollMs: 1_000, heartbeatMs: 15_000 });
    const [first] = [await start(), await start()];
    await assert.rejects(start(), { code: 'rate_limit_exceeded' });
    await first?.cancel();
    const third = await start();
    streams.close();
    assert.deepEqual(await third.take(1), [undefined]);
  });

  test('says that it is still there, and ends after a while', async () => {
    const { streams, start } = await openWith({ ...limits, lifeMs: 50 }, { pollMs: 2, heartbeatMs: 10 });
    const stream = await start();
    const messages: Received[] = [];
    for (let message = await stream.nextMessage(); message; message = await stream.nextMessage())
      messages.push(message);
    assert.ok(messages.length > 1 && messages.length < 30, `${messages.length} messages`);
    assert.ok(messages.every(({ id, data }) => id !== undefined && data === undefined));
    streams.close();
  });

  test('ends when the server does', async () => {
    const { streams, start } = await openWith(limits, { pollMs: 1_000, heartbeatMs: 15_000 });
    const stream = await start();
    await stream.nextMessage();
    const ended = stream.nextMessage();
    streams.close();
    assert.equal(await ended, undefined);
  });

  test('over the network is let go with its client, and ends at once when the server does', async () => {
    const own = await openTestApp({ env: { PORT: '0' } });
    try {
      const { port } = (await own.app.listen()).address;
      const { key } = await own.workspace();
      const start = () => openSocket(port, key);
      const first = await start();
      const second = await start();
      assert.equal(own.app.services.eventStreams.size(), 2);
      first.destroy();
      while (own.app.services.eventStreams.size() > 1) await nextTurn();
      const ended = once(second, 'end');
      second.resume();
      await Promise.all([own.app.close(), ended]);
      assert.equal(own.app.services.eventStreams.size(), 0);
    } finally {
      await own.close();
    }
  });
});

/** Resolves with the answer when its first bytes are there. */
async function openSocket(port: number, key: string): Promise<IncomingMessage> {
  const headers = { Authorization: `Bearer ${key}` };
  const call = request({ host: '127.0.0.1', port, path: '/api/events/stream', headers, agent: false }).end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  await once(response, 'readable');
  return response;
}
