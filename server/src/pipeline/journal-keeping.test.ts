import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Position } from '../events/journal.ts';
import { silentLog } from '../kernel/log.ts';
import { createJournalKeeping } from './journal-keeping.ts';

test('journal files are released when they were passed long enough ago, and not before', async () => {
  const released: Position[] = [];
  let nowMs = 0;
  const keeping = createJournalKeeping({
    keepMs: 1_000,
    everyMs: 60_000,
    release: async (upTo) => void released.push(upTo),
    log: silentLog,
    now: () => nowMs,
  });
  await keeping.passed({ segment: 1, offset: 10 });
  nowMs = 900;
  await keeping.passed({ segment: 2, offset: 10 });
  assert.deepEqual(released, []);
  nowMs = 1_000;
  await keeping.passed({ segment: 2, offset: 20 });
  assert.deepEqual(released, [{ segment: 1, offset: 10 }]);
  nowMs = 1_900;
  await keeping.passed({ segment: 2, offset: 30 });
  assert.deepEqual(released.at(-1), { segment: 2, offset: 10 });
});
