import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Click } from '../events/event.ts';
import { manualClock } from '../kernel/clock.ts';
import { createVisitorWindow, type Visitor, WINDOW_MS } from './window.ts';

const START = Date.UTC(2027, 0, 15, 10);
const id = (n: number) => String(n).padStart(16, '0');
const visitor = (n: number, linkId = 'link_1'): Visitor => ({
  linkId,
  ip: `10.0.${n >> 8}.${n & 255}`,
  userAgent: `UA ${n}`,
});

test('a visitor of a link is known for exactly an hour from the recorded click', () => {
  const clock = manualClock(START);
  const window = createVisitorWindow({ clock, capacity: 16 });
  assert.equal(window.enter(visitor(1), id(1)), undefined);
  clock.advance(WINDOW_MS - 1);
  assert.equal(window.enter(visitor(1), id(2)), id(1));
  assert.equal(window.find(visitor(1)), id(1));
  clock.advance(1);
  assert.equal(window.find(visitor(1)), undefined);
  assert.equal(window.enter(visitor(1), id(3)), undefined);
  assert.equal(window.enter(visitor(1), id(4)), id(3));
});

test('another link, address or browser is another visitor', () => {
  const window = createVisitorWindow({ clock: manualClock(START), capacity: 16 });
  const base = visitor(1);
  window.enter(base, id(1));
  for (const other of [{ linkId: 'link_2' }, { ip: '10.9.9.9' }, { userAgent: 'UA 2' }]) {
    assert.equal(window.find({ ...base, ...other }), undefined);
  }
  assert.equal(window.find({ ...base, ip: `${base.ip}U`, userAgent: base.userAgent.slice(1) }), undefined);
});

test('when it is full the oldest click is forgotten, and no other', () => {
  const window = createVisitorWindow({ clock: manualClock(START), capacity: 64 });
  for (let n = 0; n < 1_000; n++) {
    assert.equal(window.enter(visitor(n), id(n)), undefined);
    assert.equal(window.size, Math.min(n + 1, 64));
    if (n % 100 !== 99) continue;
    for (let back = 0; back < 64; back++) assert.equal(window.find(visitor(n - back)), id(n - back));
    assert.equal(window.find(visitor(n - 64)), undefined);
  }
});

test('it agrees with a plain map over many visits that come again at random', () => {
  const clock = manualClock(START);
  const window = createVisitorWindow({ clock, capacity: 4_096 });
  const map = new Map<number, { id: string; timeMs: number }>();
  let state = 42;
  const random = (max: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
  for (let i = 0; i < 20_000; i++) {
    clock.advance(random(5_000));
    const n = random(500);
    const known = map.get(n);
    const expected = known && clock.now() - known.timeMs < WINDOW_MS ? known.id : undefined;
    assert.equal(window.enter(visitor(n), id(i)), expected);
    if (expected === undefined) map.set(n, { id: id(i), timeMs: clock.now() });
  }
});

test('after a restart it knows the clicks of the last hour, and no older ones', async () => {
  const clock = manualClock(START);
  const window = createVisitorWindow({ clock, capacity: 16 });
  const click = (n: number, timeMs: number) => ({ ...visitor(n), id: id(n), timeMs }) as Click;
  async function* clicks() {
    yield click(1, START - WINDOW_MS);
    yield click(2, START - WINDOW_MS + 1);
    yield click(3, START);
    yield { ...click(4, START), id: 'an imported id of any length' };
  }
  await window.restore(clicks());
  assert.deepEqual(
    [1, 2, 3, 4].map((n) => window.find(visitor(n))),
    [undefined, id(2), id(3), undefined],
  );
});

test('a clock that is set back by days does not stop visits from being counted', () => {
  const clock = manualClock(START);
  const window = createVisitorWindow({ clock, capacity: 16 });
  window.enter(visitor(1), id(1));
  clock.set(START - 2 * WINDOW_MS);
  assert.equal(window.enter(visitor(1), id(2)), undefined);
});
