// Fixed request windows, per key by its plan and per address by the operation, and the counter in memory.
// Memory stays bounded: a window's counts are forgotten when the next one begins, and a flood of addresses
// within one ends in a fixed number of counts that they share.
import type { Clock } from '../kernel/clock.ts';
import type { Actor, Plan } from './operation.ts';

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

/** Requests per window; `analytics` is 0 where the plan has no analytics at all. */
const RATES: Record<Plan, { perMinute: number; analyticsPerSecond: number }> = {
  free: { perMinute: 60, analyticsPerSecond: 0 },
  pro: { perMinute: 600, analyticsPerSecond: 2 },
  business: { perMinute: 1_200, analyticsPerSecond: 4 },
  advanced: { perMinute: 3_000, analyticsPerSecond: 8 },
  enterprise: { perMinute: 100_000, analyticsPerSecond: 1_000 },
};

export interface RateWindow {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** What pages send: every page of a site the same key, and whoever is a partner a token of their own. */
export const PAGE_WINDOWS: Readonly<Record<'publishable_key' | 'embed_token', RateWindow>> = {
  publishable_key: { name: 'publishable', limit: 600, windowMs: MINUTE_MS },
  embed_token: { name: 'embed', limit: 600, windowMs: MINUTE_MS },
};

export interface RateState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly nowMs: number;
}

/** The seam for counters that several nodes share. */
export interface RateCounter {
  /** Counts one request and returns how many the window has seen. */
  count(bucket: string, window: number, windowMs: number): Promise<number> | number;
}

export function rateWindow(actor: Actor, kind: 'standard' | 'analytics'): RateWindow {
  const { requestsPerMinute, analyticsPerSecond } = actor.limits;
  const { perMinute, analyticsPerSecond: perSecond } = RATES[actor.plan];
  const analytics = analyticsPerSecond ?? perSecond;
  return kind === 'analytics' && analytics > 0
    ? { name: 'analytics', limit: analytics, windowMs: SECOND_MS }
    : { name: 'standard', limit: requestsPerMinute ?? perMinute, windowMs: MINUTE_MS };
}

export type TakeRequest = (bucket: string, window: RateWindow) => Promise<RateState>;

export function createRateLimit({ counter, clock }: { counter: RateCounter; clock: Clock }): TakeRequest {
  return async (bucket, { name, limit, windowMs }) => {
    const nowMs = clock.now();
    const window = Math.floor(nowMs / windowMs);
    const seen = await counter.count(`${name}:${bucket}`, window, windowMs);
    const resetMs = (window + 1) * windowMs;
    return { allowed: seen <= limit, limit, remaining: Math.max(0, limit - seen), resetMs, nowMs };
  };
}

/** Exact counts in one window; who comes later shares one of as many more. */
const MAX_BUCKETS = 50_000;

export function memoryRateCounter(maxBuckets = MAX_BUCKETS): RateCounter {
  const windows = new Map<number, { window: number; counts: Map<string, number> }>();
  return {
    count(bucket, window, windowMs) {
      let current = windows.get(windowMs);
      if (current?.window !== window) {
        current = { window, counts: new Map() };
        windows.set(windowMs, current);
      }
      const { counts } = current;
      const slot =
        counts.has(bucket) || counts.size < maxBuckets ? bucket : `shared ${hash(bucket) % maxBuckets}`;
      const seen = (counts.get(slot) ?? 0) + 1;
      counts.set(slot, seen);
      return seen;
    },
  };
}

/** FNV-1a: spreads well enough, and whoever finds two equal values only shares a count with himself. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

export function rateHeaders(state: RateState): [string, string][] {
  return [
    ['X-RateLimit-Limit', String(state.limit)],
    ['X-RateLimit-Remaining', String(state.remaining)],
    ['X-RateLimit-Reset', String(Math.ceil(state.resetMs / 1000))],
  ];
}
