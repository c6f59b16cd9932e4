import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../kernel/clock.ts';
import { type Actor, PLANS, type Plan } from './operation.ts';
import { createRateLimit, memoryRateCounter, rateHeaders, rateWindow } from './rate-limit.ts';

const actor = (plan: Plan, limits: Actor['limits'] = {}): Actor => ({
  tokenId: 'tok_1',
  userId: 'user_1',
  role: 'owner',
  permissions: new Set(),
  workspaceId: 'ws_1',
  plan,
  limits,
});

describe('windows', () => {
  const numbers: Record<Plan, [number, number]> = {
    free: [60, 60],
    pro: [600, 2],
    business: [1_200, 4],
    advanced: [3_000, 8],
    enterprise: [100_000, 1_000],
  };
  for (const plan of PLANS) {
    test(`${plan} has ${numbers[plan].join(' and ')}`, () => {
      const [standard, analytics] = numbers[plan];
      assert.deepEqual(rateWindow(actor(plan), 'standard'), {
        name: 'standard',
        limit: standard,
        windowMs: 60_000,
      });
      // Free has no analytics: the plan refuses it, and the request counts like any other.
      const expected =
        plan === 'free'
          ? { name: 'standard', limit: 60, windowMs: 60_000 }
          : { name: 'analytics', limit: analytics, windowMs: 1_000 };
      assert.deepEqual(rateWindow(actor(plan), 'analytics'), expected);
    });
  }

  test('numbers that an operator set win', () => {
    const set = actor('pro', { requestsPerMinute: 7, analyticsPerSecond: 3 });
    assert.equal(rateWindow(set, 'standard').limit, 7);
    assert.equal(rateWindow(set, 'analytics').limit, 3);
    assert.equal(rateWindow(actor('pro', { requestsPerMinute: 7 }), 'analytics').limit, 2);
  });
});

describe('counting', () => {
  const START = Date.UTC(2027, 0, 1, 0, 0, 46);
  const window = { name: 'standard', limit: 2, windowMs: 60_000 } as const;

  test('allows the limit, refuses the next, and starts again with the next window', async () => {
    const clock = manualClock(START);
    const take = createRateLimit({ counter: memoryRateCounter(), clock });
    const remaining = async () => {
      const { allowed, remaining: left } = await take('a', window);
      return allowed ? left : 'refused';
    };
    assert.deepEqual(
      [await remaining(), await remaining(), await remaining(), await remaining()],
      [1, 0, 'refused', 'refused'],
    );
    clock.advance(13_999);
    assert.equal(await remaining(), 'refused');
    clock.advance(1);
    assert.equal(await remaining(), 1);
  });

  test('keeps keys and kinds of windows apart', async () => {
    const take = createRateLimit({ counter: memoryRateCounter(), clock: manualClock(START) });
    const second = { name: 'analytics', limit: 1, windowMs: 1_000 } as const;
    await take('a', window);
    await take('a', window);
    assert.equal((await take('a', window)).allowed, false);
    assert.equal((await take('b', window)).allowed, true);
    assert.equal((await take('a', second)).allowed, true);
    assert.equal((await take('a', second)).allowed, false);
  });

  test('tells the limit, what is left and when the window ends in epoch seconds', async () => {
    const take = createRateLimit({ counter: memoryRateCounter(), clock: manualClock(START) });
    const reset = String(Date.UTC(2027, 0, 1, 0, 1) / 1000);
    const expected = (left: string) => [
      ['X-RateLimit-Limit', '2'],
      ['X-RateLimit-Remaining', left],
      ['X-RateLimit-Reset', reset],
    ];
    assert.deepEqual(rateHeaders(await take('a', window)), expected('1'));
    assert.deepEqual(rateHeaders(await take('a', window)), expected('0'));
    assert.deepEqual(rateHeaders(await take('a', window)), expected('0'));
  });

  test('refuses nobody for a clock that was set back', async () => {
    const clock = manualClock(START);
    const take = createRateLimit({ counter: memoryRateCounter(), clock });
    for (let i = 0; i < 3; i++) await take('a', window);
    clock.advance(-120_000);
    assert.equal((await take('a', window)).allowed, true);
  });
});
