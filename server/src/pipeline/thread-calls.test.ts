import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { type Calls, createCalls, type Handlers } from './thread-calls.ts';

/** Two sides of one channel, as two threads have them. */
function connect(t: { after(work: () => void): void }, left: Handlers, right: Handlers): [Calls, Calls] {
  const { port1, port2 } = new MessageChannel();
  const sides = [port1, port2].map((port, i) => {
    const calls = createCalls((message) => port.postMessage(message), [left, right][i] as Handlers);
    port.on('message', calls.receive);
    return calls;
  });
  t.after(() => port1.close());
  return sides as [Calls, Calls];
}

test('values go over and come back, in both directions and at the same time', async (t) => {
  const [a, b] = connect(
    t,
    { twice: (n: number) => n * 2 },
    { join: async ({ words }: { words: string[] }) => words.join(' ') },
  );
  const answers = await Promise.all([
    a.call('join', { words: ['one', 'two'] }),
    b.call('twice', 4),
    a.call('join', { words: [] }),
  ]);
  assert.deepEqual(answers, ['one two', 8, '']);
});

test('an error on the other side and an unknown name reject', async (t) => {
  const [a] = connect(t, {}, { fail: () => Promise.reject(new Error('no luck')) });
  await assert.rejects(a.call('fail'), /no luck/);
  await assert.rejects(a.call('nothing'), /There is no call nothing/);
});

test('what is told arrives, in order with calls', async (t) => {
  const heard: unknown[] = [];
  const [a] = connect(t, {}, { note: (value: unknown) => void heard.push(value), ask: () => heard.length });
  a.tell('note', 1);
  a.tell('note', 2);
  assert.equal(await a.call('ask'), 2);
});

test('when the other side is gone, calls under way and later ones fail', async (t) => {
  const [a] = connect(t, {}, { never: () => new Promise(() => {}) });
  const waiting = a.call('never');
  a.end(new Error('gone'));
  await assert.rejects(waiting, /gone/);
  await assert.rejects(a.call('never'), /gone/);
});
