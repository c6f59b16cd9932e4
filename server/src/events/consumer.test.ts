// The consumer on a real file journal with sinks in memory that fail, crash and fall behind.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { type ConsumerOptions, createConsumer, type Sink } from './consumer.ts';
import { createEnrich } from './enrich.ts';
import { openFileJournal } from './file-journal.ts';
import { createFileReader } from './file-reader.ts';
import { createChance } from './journal.contract.ts';
import { comparePositions, type Journal, type JournalReader, type Position } from './journal.ts';
import { openJournalDirectory } from './journal-files.ts';
import { createWake } from './wake.ts';

const root = await mkdtemp(join(tmpdir(), 'linktrail-consumer-'));
after(() => rm(root, { recursive: true }));

interface Numbered {
  n: number;
}

/** Numbers above 1000 are dropped as robots; text that is no number is malformed. */
const decode = (payload: Uint8Array) => {
  const n = Number(Buffer.from(payload).toString());
  return Number.isNaN(n) ? { failure: 'malformed' as const } : { event: { n } };
};
const enrich = createEnrich<Numbered>({
  decode,
  steps: [{ name: 'robots', run: (event) => (event.n > 1_000 ? { drop: 'robot' } : event) }],
  onError: assert.fail,
});

/** A store that survives its process: events and position change together. */
interface Store {
  events: number[];
  position: Position | undefined;
  batches: number;
}

type Fault = 'before' | 'after' | undefined;

function sinkOn(
  store: Store,
  name: string,
  fault: () => Fault | Promise<Fault> = () => undefined,
): Sink<Numbered> {
  return {
    name,
    committed: async () => store.position,
    async append(events, upTo) {
      const now = await fault();
      if (now === 'before') throw new Error('not stored');
      assert.ok(!store.position || comparePositions(store.position, upTo) < 0, 'positions grow');
      store.events.push(...events.map(({ n }) => n));
      store.position = upTo;
      store.batches += 1;
      if (now === 'after') throw new Error('stored, but the answer was lost');
    },
  };
}

const newStore = (): Store => ({ events: [], position: undefined, batches: 0 });
const upTo = (end: number, from = 0) => Array.from({ length: end - from }, (_, n) => from + n);

async function openPlace(segmentBytes = 2_000) {
  const path = await mkdtemp(join(root, 'c'));
  const wake = createWake();
  const directory = await openJournalDirectory(path);
  const journal = await openFileJournal({
    directory,
    clock: systemClock,
    log: silentLog,
    segmentBytes,
    onWrite: wake.notify,
  });
  const reader = createFileReader({
    path,
    wake,
    pollMs: 60_000,
    onDamage: (d) => assert.fail(JSON.stringify(d)),
  });
  return { journal, reader };
}

async function append(journal: Journal, numbers: readonly (number | string)[]): Promise<void> {
  await Promise.all(numbers.map((n) => journal.append(Buffer.from(String(n)))));
}

function consume(
  reader: JournalReader,
  sinks: Sink<Numbered>[],
  options: Partial<ConsumerOptions<Numbered>> = {},
) {
  const consumer = createConsumer({
    reader,
    enrich,
    sinks,
    log: silentLog,
    onSkip: () => {},
    maxBatch: 10,
    maxDelayMs: 0,
    retryMs: 0,
    ...options,
  });
  consumer.start();
  return consumer;
}

test('every sink gets every event once and in order, also those that come while it runs', async () => {
  const { journal, reader } = await openPlace();
  const stores = [newStore(), newStore(), newStore()];
  await append(journal, upTo(95));
  const consumer = consume(
    reader,
    stores.map((store, n) => sinkOn(store, `s${n}`)),
  );
  await consumer.idle();
  for (const store of stores) assert.deepEqual(store.events, upTo(95));
  await append(journal, upTo(200, 95));
  await consumer.idle();
  for (const store of stores) assert.deepEqual(store.events, upTo(200));
  await consumer.stop();
  await journal.close();
});

test('sinks at the same place share the work of enriching', async () => {
  const { journal, reader } = await openPlace();
  let enriched = 0;
  const stores = [newStore(), newStore(), newStore()];
  await append(journal, upTo(300));
  const counting: typeof enrich = (payloads) => {
    enriched += payloads.length;
    return enrich(payloads);
  };
  const sinks = stores.map((store, n) => sinkOn(store, `s${n}`));
  const consumer = consume(reader, sinks, { enrich: counting });
  await consumer.idle();
  await consumer.stop();
  assert.equal(enriched, 300);
  await journal.close();
});

test('sinks that begin at different places meet and share from there', async () => {
  const { journal, reader } = await openPlace();
  const [ahead, behind] = [newStore(), newStore()];
  await append(journal, upTo(100));
  const first = consume(reader, [sinkOn(ahead, 'ahead')], { maxBatch: 7 });
  await first.idle();
  await first.stop();
  await append(journal, upTo(400, 100));
  let enriched = 0;
  const counting: typeof enrich = (payloads) => {
    enriched += payloads.length;
    return enrich(payloads);
  };
  const gate = Promise.withResolvers<void>();
  const held = sinkOn(ahead, 'ahead', () => gate.promise.then(() => undefined));
  const catching = sinkOn(behind, 'behind', () => {
    if (behind.events.length === 100) gate.resolve();
    return undefined;
  });
  const consumer = consume(reader, [held, catching], { enrich: counting });
  await consumer.idle();
  await consumer.stop();
  assert.deepEqual([ahead.events, behind.events], [upTo(400), upTo(400)]);
  // Each for itself would be 700; a batch or two may be made again where they meet.
  assert.ok(enriched >= 400 && enriched <= 420, `${enriched}`);
  await journal.close();
});

test('idle waits for what was there when it was asked, however much comes afterwards', async () => {
  const { journal, reader } = await openPlace();
  const store = newStore();
  let feeding = true;
  let next = 1_000;
  const sink = sinkOn(store, 'fed', async () => {
    next += 1;
    if (feeding) await append(journal, [next]);
    return undefined;
  });
  await append(journal, upTo(50));
  const consumer = consume(reader, [sink]);
  await consumer.idle();
  assert.deepEqual(store.events.slice(0, 50), upTo(50));
  feeding = false;
  await consumer.stop();
  await journal.close();
});

test('a sink that stands still holds no other, and catches up later', async () => {
  const { journal, reader } = await openPlace();
  const [fast, slow] = [newStore(), newStore()];
  const gate = Promise.withResolvers<undefined>();
  const reached = Promise.withResolvers<void>();
  const fastSink = sinkOn(fast, 'fast', () => {
    if (fast.events.length >= 490) reached.resolve();
    return undefined;
  });
  const consumer = consume(reader, [fastSink, sinkOn(slow, 'slow', () => gate.promise)]);
  await append(journal, upTo(500));
  await reached.promise;
  assert.deepEqual(slow.events, []);
  gate.resolve(undefined);
  await consumer.idle();
  assert.deepEqual([fast.events, slow.events], [upTo(500), upTo(500)]);
  await consumer.stop();
  await journal.close();
});

test('a sink that fails before or after its commit gets each event exactly once, and others never notice', async () => {
  const { journal, reader } = await openPlace();
  const chance = createChance(2);
  const faults: Fault[] = ['before', 'after', undefined];
  const [failing, steady] = [newStore(), newStore()];
  const sinks = [
    sinkOn(failing, 'failing', () => faults[Math.floor(chance() * 3)]),
    sinkOn(steady, 'steady'),
  ];
  const consumer = consume(reader, sinks);
  await append(journal, upTo(400));
  await consumer.idle();
  assert.deepEqual([failing.events, steady.events], [upTo(400), upTo(400)]);
  assert.equal(steady.batches, 40);
  await consumer.stop();
  await journal.close();
});

test('a failing sink is told apart, and is well again after a success', async () => {
  const { journal, reader } = await openPlace();
  const store = newStore();
  const failed = Promise.withResolvers<void>();
  let broken = true;
  const sink = sinkOn(store, 'db', () => (broken ? 'before' : undefined));
  const warned: object[] = [];
  const log = {
    ...silentLog,
    warn(fields: object) {
      warned.push(fields);
      if (warned.length === 3) failed.resolve();
    },
  };
  const consumer = consume(reader, [sink], { log });
  await append(journal, [1]);
  await failed.promise;
  const [state] = consumer.state();
  assert.ok(state && state.failures >= 3 && state.lastError === 'not stored');
  broken = false;
  await consumer.idle();
  assert.deepEqual(
    consumer.state().map(({ name, failures, lastError }) => ({ name, failures, lastError })),
    [{ name: 'db', failures: 0, lastError: undefined }],
  );
  await consumer.stop();
  await journal.close();
});

test('a consumer that ends anywhere is followed by one that goes on exactly there', async () => {
  const { journal, reader } = await openPlace();
  const stores = [newStore(), newStore()];
  await append(journal, upTo(300));
  for (let crash = 1; stores.some((store) => store.events.length < 300); crash++) {
    assert.ok(crash < 200);
    // The second sink gets through less before each end, so the two are never at the same place.
    const allowed = [crash % 4, crash % 3];
    const sinks = stores.map((store, n) =>
      sinkOn(store, `s${n}`, () => (allowed[n]!-- > 0 ? undefined : crash % 2 ? 'before' : 'after')),
    );
    const consumer = consume(reader, sinks, { maxBatch: 3 + (crash % 5), retryMs: 60_000 });
    await consumer.stop();
  }
  for (const store of stores) assert.deepEqual(store.events, upTo(300));
  await journal.close();
});

test('what is dropped is counted once per sink and reason, and its position still counts', async () => {
  const { journal, reader } = await openPlace();
  const stores = [newStore(), newStore()];
  const skipped: Record<string, number> = {};
  const onSkip = (sink: string, reason: string, count: number) => {
    const key = `${sink} ${reason}`;
    skipped[key] = (skipped[key] ?? 0) + count;
  };
  const consumer = consume(
    reader,
    stores.map((store, n) => sinkOn(store, `s${n}`)),
    { onSkip },
  );
  await append(journal, [1, 'nonsense', 2_000, 2, 3_000]);
  await consumer.idle();
  await append(journal, [4_000]);
  await consumer.idle();
  assert.deepEqual(skipped, { 's0 malformed': 1, 's0 robot': 3, 's1 malformed': 1, 's1 robot': 3 });
  for (const store of stores) assert.deepEqual(store.events, [1, 2]);
  const again = consume(reader, [sinkOn(stores[0]!, 's0')], { onSkip: assert.fail });
  await again.idle();
  await again.stop();
  await consumer.stop();
  await journal.close();
});

test('journal files go when the last sink has passed them, not before', async () => {
  const { journal, reader } = await openPlace(500);
  const [fast, slow] = [newStore(), newStore()];
  const gate = Promise.withResolvers<undefined>();
  for (const n of upTo(200)) await append(journal, [n]);
  const before = journal.state().segments;
  const reached = Promise.withResolvers<void>();
  const fastSink = sinkOn(fast, 'fast', () => {
    if (fast.events.length >= 190) reached.resolve();
    return undefined;
  });
  const consumer = consume(reader, [fastSink, sinkOn(slow, 'slow', () => gate.promise)], {
    release: journal.release,
  });
  await reached.promise;
  assert.equal(journal.state().segments, before);
  gate.resolve(undefined);
  await consumer.idle();
  await consumer.stop();
  assert.ok(before > 3);
  assert.equal(journal.state().segments, 1);
  assert.deepEqual(slow.events, upTo(200));
  await journal.close();
});

test('stopping takes what is in the journal, and leaves a sink that fails', async () => {
  const { journal, reader } = await openPlace();
  const [good, bad] = [newStore(), newStore()];
  await append(journal, upTo(120));
  const consumer = consume(reader, [sinkOn(good, 'good'), sinkOn(bad, 'bad', () => 'before')], {
    retryMs: 60_000,
  });
  await consumer.stop();
  assert.deepEqual([good.events, bad.events], [upTo(120), []]);
  await consumer.idle();
  await journal.close();
});

test('a batch that is not full waits for more', async () => {
  const { journal, reader } = await openPlace();
  const store = newStore();
  const consumer = consume(reader, [sinkOn(store, 's')], { maxDelayMs: 60_000, maxBatch: 100 });
  await append(journal, [1]);
  await append(journal, [2]);
  await append(journal, [3]);
  await consumer.stop();
  assert.deepEqual(store.events, [1, 2, 3]);
  assert.ok(store.batches <= 2, `${store.batches} batches`);
  await journal.close();
});

/**
 * A store without transactions: it notes which batch it begins, may take it in without noting the position, and knows
 * a batch again by where it begins and ends.
 */
function namedBatchStore(chance: () => number) {
  const kept = new Map<string, number[]>();
  const ends: string[] = [];
  let position: Position | undefined;
  let begun: { after: Position | undefined; upTo: Position } | undefined;
  const sink: Sink<Numbered> = {
    name: 'named',
    committed: async () => position,
    begun: async () => (begun && begun.after === position ? begun.upTo : undefined),
    async append(events, upTo) {
      begun = { after: position, upTo };
      const name = JSON.stringify(begun);
      if (chance() < 0.3) throw new Error('not stored');
      if (!kept.has(name))
        kept.set(
          name,
          events.map(({ n }) => n),
        );
      if (chance() < 0.3) throw new Error('stored, but the position is not');
      ends.push(name);
      position = upTo;
    },
  };
  return { sink, stored: () => [...kept.values()].flat(), names: () => [kept.size, ends.length] };
}

test('a batch whose fate is unknown comes again with the same end, however many records have come since', async () => {
  const { journal, reader } = await openPlace();
  const store = namedBatchStore(createChance(7));
  const other = newStore();
  await append(journal, upTo(5));
  const consumer = consume(reader, [store.sink, sinkOn(other, 'other')]);
  for (let n = 5; n < 200; n += 3) {
    await append(journal, upTo(n + 3, n));
    if (n % 2 === 0) await consumer.idle();
  }
  await consumer.idle();
  await consumer.stop();
  const all = other.events;
  assert.ok(all.length >= 200);
  assert.deepEqual(store.stored(), all);
  const [kept, ended] = store.names();
  assert.equal(kept, ended);
  await journal.close();
});
