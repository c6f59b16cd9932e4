import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DuckdbStore, openDuckdb } from '../analytics/duckdb.ts';
import type { AggregateQuery, ListQuery } from '../analytics/query.ts';
import type { EventSource } from '../analytics/store.ts';
import { AppError } from '../kernel/errors.ts';
import { clickRecord, leadRecord } from '../testing/click-records.ts';
import { createOpenedStore } from './event-sink.ts';
import { createRemoteStore, createStoreAnswers } from './store-questions.ts';

const everything = { workspaceId: 'ws_1', fromMs: 0, toMs: Date.UTC(2100, 0) };
const LIST: ListQuery<'clicks'> = { ...everything, kind: 'clicks', order: 'asc', limit: 10, offset: 0 };
const COUNT: AggregateQuery = { ...everything, event: 'composite', groupBy: 'count' };

/** Both sides, without a thread between them; what crosses is cloned as threads do. */
function connect(store: { get(): Promise<EventSource> }): EventSource {
  const answers: Readonly<Record<string, ((question: never) => Promise<string>) | undefined>> =
    createStoreAnswers(store);
  return createRemoteStore(async (name, params) => {
    const answer = answers[name];
    assert.ok(answer, name);
    return answer(structuredClone(params) as never);
  });
}

const openMemory = (): Promise<DuckdbStore> => openDuckdb({ path: ':memory:', threads: 1, memoryMb: 256 });
/** A store of which only these questions are asked. */
const only = (questions: Partial<EventSource>) => ({ get: async () => questions as EventSource });

test('the main side gets what the store answers', async () => {
  const store = await openMemory();
  const batch = { clicks: [clickRecord(1), clickRecord(2)], links: [], leads: [leadRecord('l1')] };
  await store.append(batch, { segment: 1, offset: 1 });
  const remote = connect({ get: async () => store });
  assert.deepEqual(await remote.list(LIST), batch.clicks);
  assert.deepEqual(await remote.list({ ...LIST, kind: 'leads' }), batch.leads);
  assert.deepEqual(await remote.aggregate(COUNT), [
    { group: {}, clicks: 2, leads: 1, sales: 0, saleAmount: 0 },
  ]);
  assert.equal(await remote.findEnd(), await store.findEnd());
  await store.close();
});

test('a failure with words for the caller arrives as it was, any other without its own', async () => {
  const refusal = new AppError('rate_limit_exceeded', 'Too much at once.', { retryAfterSeconds: 7 });
  const remote = connect(
    only({
      list: () => Promise.reject(refusal),
      aggregate: () => Promise.reject(new Error('secret detail')),
    }),
  );
  await assert.rejects(remote.list(LIST), {
    code: 'rate_limit_exceeded',
    message: 'Too much at once.',
    retryAfterSeconds: 7,
  });
  await assert.rejects(remote.aggregate(COUNT), (error: AppError) => {
    assert.equal(error.code, 'internal_server_error');
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test('when nobody waits any more the store is told, and is not asked at all when that was so before', async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const remote = connect(
    only({
      list: (_query, signal) =>
        new Promise((_resolve, reject) => {
          assert.ok(signal);
          asked.resolve(signal);
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    }),
  );
  const waiting = new AbortController();
  const listing = remote.list(LIST, waiting.signal);
  const signal = await asked.promise;
  waiting.abort();
  await assert.rejects(listing, { name: 'AbortError' });
  assert.equal(signal.aborted, true);
  const notAsked = connect(only({}));
  await assert.rejects(notAsked.list(LIST, waiting.signal), { name: 'AbortError' });
});

test('a store that is opened anew under a question is asked again', async () => {
  const store = createOpenedStore(openMemory);
  const first = await store.get();
  const remote = connect({
    async get() {
      const open = await store.get();
      if (open !== first) return open;
      return { ...open, aggregate: () => store.reset().then(() => Promise.reject(new Error('closed'))) };
    },
  });
  assert.deepEqual(await remote.aggregate(COUNT), [
    { group: {}, clicks: 0, leads: 0, sales: 0, saleAmount: 0 },
  ]);
  await store.reset();
});
