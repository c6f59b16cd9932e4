import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sink } from '../events/consumer.ts';
import { createPace } from './pace.ts';

const at = (offset: number) => ({ segment: 1, offset });

/** A sink that notes what it stored, and stores only when told how that ends. */
function slowSink(name: string) {
  const stored: number[] = [];
  let finish = Promise.withResolvers<void>();
  const sink: Sink<number> = {
    name,
    committed: async () => undefined,
    async append(_events, upTo) {
      await finish.promise;
      stored.push(upTo.offset);
    },
  };
  return {
    sink,
    stored,
    end(error?: Error): void {
      if (error) finish.reject(error);
      else finish.resolve();
      finish = Promise.withResolvers<void>();
    },
  };
}

function quickSink(): { sink: Sink<number>; stored: number[] } {
  const stored: number[] = [];
  const sink = {
    name: 'quick',
    committed: async () => undefined,
    append: async (_events: readonly number[], upTo: { offset: number }) => void stored.push(upTo.offset),
  };
  return { sink, stored };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a quick sink stores a batch once the slow one has begun with it, and no later one', async () => {
  const pace = createPace<number>();
  const slow = slowSink('slow');
  const quick = quickSink();
  const [leader, follower] = [pace.lead(slow.sink), pace.follow(quick.sink)];
  const first = follower.append([], at(1));
  await turn();
  assert.deepEqual(quick.stored, []);
  const leading = leader.append([], at(1));
  await first;
  assert.deepEqual([quick.stored, slow.stored], [[1], []]);
  const second = follower.append([], at(2));
  slow.end();
  await leading;
  await turn();
  assert.deepEqual(quick.stored, [1]);
  const next = leader.append([], at(2));
  await second;
  slow.end();
  await next;
  assert.deepEqual(
    [quick.stored, slow.stored],
    [
      [1, 2],
      [1, 2],
    ],
  );
});

test('a slow sink that fails holds nobody, until it works again', async () => {
  const pace = createPace<number>();
  const slow = slowSink('slow');
  const quick = quickSink();
  const [leader, follower] = [pace.lead(slow.sink), pace.follow(quick.sink)];
  const waiting = follower.append([], at(5));
  const leading = leader.append([], at(1));
  slow.end(new Error('no'));
  await assert.rejects(leading);
  await waiting;
  await follower.append([], at(6));
  assert.deepEqual(quick.stored, [5, 6]);
  await leader.committed();
  const held = follower.append([], at(7));
  await turn();
  assert.deepEqual(quick.stored, [5, 6]);
  const late = leader.append([], at(7));
  await held;
  slow.end();
  await late;
});

test('nobody waits for a leader that has stopped', async () => {
  const pace = createPace<number>();
  const quick = quickSink();
  const waiting = pace.follow(quick.sink).append([], at(1));
  pace.end();
  await waiting;
  assert.deepEqual(quick.stored, [1]);
});
