import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AppError } from '../kernel/errors.ts';
import { openEngine } from './duckdb-engine.ts';
import { createReadPool, type ReadPoolOptions } from './read-pool.ts';

const ENDLESS = {
  sql: 'select count(*) from range(1000000000000) a where a.range % 7 = (select random())',
  texts: [],
};
const QUICK = { sql: 'select $1 as x', texts: ['1'] };

async function openPool(options: Partial<ReadPoolOptions> & { readers?: number } = {}) {
  const engine = await openEngine({ path: ':memory:', threads: 1, memoryMb: 100 });
  const connections = [await engine.connect()];
  while (connections.length < (options.readers ?? 1)) connections.push(await engine.connect());
  const pool = createReadPool({ connections, maxWaiting: 1, limitMs: 60_000, ...options });
  const close = async () => {
    await pool.close();
    engine.close();
  };
  return { ...pool, close };
}

const hasCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

describe('statements of readers', () => {
  test('are stopped when they take too long, with words that help', async () => {
    const { run, close } = await openPool({ limitMs: 50 });
    await assert.rejects(run(ENDLESS), (error: AppError) => {
      assert.match(error.message, /shorter time/);
      return hasCode('unprocessable_entity')(error);
    });
    assert.deepEqual(await run(QUICK), [{ x: '1' }]);
    await close();
  });

  test('are stopped when nobody waits any more, and do not begin when that was so before', async () => {
    const { run, close } = await openPool();
    const waiting = new AbortController();
    const running = run(ENDLESS, waiting.signal);
    setImmediate(() => waiting.abort());
    await assert.rejects(running, { name: 'AbortError' });
    await assert.rejects(run(ENDLESS, waiting.signal), { name: 'AbortError' });
    assert.deepEqual(await run(QUICK), [{ x: '1' }]);
    await close();
  });

  test('are refused when too many wait already', async () => {
    const { run, close } = await openPool();
    const stopping = new AbortController();
    const running = assert.rejects(run(ENDLESS, stopping.signal), { name: 'AbortError' });
    const waiting = run(QUICK);
    await assert.rejects(run(QUICK), hasCode('rate_limit_exceeded'));
    stopping.abort();
    await running;
    assert.deepEqual(await waiting, [{ x: '1' }]);
    await close();
  });

  test('run beside each other', async () => {
    const { run, close } = await openPool({ readers: 2 });
    const stopping = new AbortController();
    const running = assert.rejects(run(ENDLESS, stopping.signal), { name: 'AbortError' });
    assert.deepEqual(await run(QUICK), [{ x: '1' }]);
    stopping.abort();
    await running;
    await close();
  });

  test('that need too much memory fail with words that help', async () => {
    const { run, close } = await openPool();
    const sql =
      'select max(x) from (select list(repeat(i::VARCHAR, 100)) as x from range(20000000) t(i) group by i % 3)';
    await assert.rejects(run({ sql, texts: [] }), hasCode('unprocessable_entity'));
    await close();
  });

  test('are stopped when the store is closed', async () => {
    const { run, close } = await openPool();
    const running = assert.rejects(run(ENDLESS), /closed/);
    await close();
    await running;
    await assert.rejects(run(QUICK), /closed/);
  });
});
