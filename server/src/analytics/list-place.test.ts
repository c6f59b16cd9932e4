import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../testing/event-data.ts';
import { findPlace, type Stretch } from './list-place.ts';
import type { ListQuery } from './query.ts';

const WINDOW = { fromMs: 1_000_000, toMs: 2_000_000 };

/** Asks for the place of a page of these times, and tells how many events were counted on the way. */
async function place(times: readonly number[], query: Partial<ListQuery>) {
  const full: ListQuery = {
    workspaceId: 'w',
    kind: 'clicks',
    order: 'desc',
    limit: 10,
    offset: 0,
    ...WINDOW,
    ...query,
  };
  const within = ({ fromMs, toMs }: Stretch) => times.filter((timeMs) => timeMs >= fromMs && timeMs <= toMs);
  let counted = 0;
  let counts = 0;
  const found = await findPlace(full, {
    async countSlots(stretch, slotMs) {
      counts += 1;
      const slots = new Map<number, number>();
      for (const time of within(stretch)) {
        counted += 1;
        const slot = Math.floor(time / slotMs);
        slots.set(slot, (slots.get(slot) ?? 0) + 1);
      }
      return [...slots].map(([slot, events]) => ({ slot, events }));
    },
    findFirst: async (stretch) => within(stretch).sort((a, b) => a - b)[0],
  });
  return { found, counted, counts, full };
}

test('reading the place gives the page, for whatever times, pages and windows', async () => {
  const random = createRandom(7);
  for (let n = 0; n < 500; n++) {
    const spread = random.pick([10, 5_000, 1_000_001]);
    const times = Array.from({ length: random.whole(400) }, () => WINDOW.fromMs + random.whole(spread));
    const query = {
      order: random.pick(['asc', 'desc'] as const),
      limit: 1 + random.whole(50),
      offset: random.whole(300),
      ...(random.chance(0.2) ? { toMs: WINDOW.fromMs + random.whole(300) } : {}),
    };
    const { found, full } = await place(times, query);
    const sign = query.order === 'asc' ? 1 : -1;
    const inWindow = times.filter((timeMs) => timeMs <= full.toMs).sort((a, b) => sign * (a - b));
    const page = inWindow.slice(query.offset, query.offset + query.limit);
    const read = found
      ? inWindow
          .filter((timeMs) => timeMs >= found.fromMs && timeMs <= found.toMs)
          .slice(found.offset, found.offset + query.limit)
      : [];
    assert.deepEqual(read, page);
  }
});

describe('of a year with an event every five minutes', () => {
  const YEAR = { fromMs: Date.UTC(2026, 0), toMs: Date.UTC(2027, 0) - 1 };
  const STEP_MS = 300_000;
  const times = Array.from({ length: 105_120 }, (_, n) => YEAR.fromMs + n * STEP_MS);

  test('the first page of any window is found by counting little of it', async () => {
    for (const window of [YEAR, { fromMs: 0, toMs: YEAR.toMs }])
      for (const order of ['asc', 'desc'] as const) {
        const { found, counted, counts } = await place(times, { ...window, order, limit: 100 });
        assert.ok(counted <= 1_000 && counts <= 3, `${counted} in ${counts}`);
        assert.ok(found && found.toMs - found.fromMs < 200 * STEP_MS);
      }
  });

  test('the first event of all is found without counting', async () => {
    const { found, counts } = await place(times, { ...YEAR, fromMs: 0, order: 'asc', limit: 1 });
    assert.deepEqual([found, counts], [{ fromMs: YEAR.fromMs, toMs: YEAR.fromMs, offset: 0 }, 0]);
  });

  test('a page far down is a short stretch, and little beyond it is counted', async () => {
    const { found, counted } = await place(times, { ...YEAR, limit: 100, offset: 20_000 });
    assert.ok(counted <= 40_000, `${counted}`);
    assert.ok(found && found.toMs - found.fromMs < 1_000 * STEP_MS);
  });

  test('a page that is not full ends with the last event', async () => {
    const few = [YEAR.fromMs + 30_000 * STEP_MS, YEAR.toMs - 40 * STEP_MS];
    const { found, counts } = await place(few, { ...YEAR, limit: 100 });
    assert.ok(found && found.fromMs > YEAR.fromMs && found.toMs < YEAR.toMs, JSON.stringify(found));
    assert.ok(counts <= 6, `${counts}`);
  });
});

test('where all happened in a short time, that time is looked at more closely', async () => {
  const times = Array.from({ length: 50_000 }, (_, n) => 1_500_000 + (n % 1_000));
  const { found } = await place(times, { fromMs: 0, toMs: 2 ** 40, limit: 10, offset: 20_000 });
  assert.ok(found && found.toMs - found.fromMs < 600, JSON.stringify(found));
});

test('an empty page or window has no place', async () => {
  assert.equal((await place([], {})).found, undefined);
  assert.equal((await place([WINDOW.fromMs], { offset: 1 })).found, undefined);
  assert.equal((await place([5], { fromMs: 6, toMs: 4 })).found, undefined);
});
