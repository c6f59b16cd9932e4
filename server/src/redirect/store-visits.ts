// Who was sent to an app store within the last hour, so that an app that is opened for the first time learns
// which link brought it. Bounded: when many are sent there, the earliest are forgotten.
import type { Click } from '../events/event.ts';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';
import { WINDOW_MS } from './window.ts';

/** A visit that ended in an app store; the link may have changed since. */
export interface StoreVisit {
  readonly clickId: string;
  readonly linkId: string;
  readonly key: string;
}

export interface StoreVisits {
  /** Remembers the click if it led to an app store. */
  note(click: Click): void;
  /** The latest one from this address on this domain. */
  find(ip: string, domain: string): StoreVisit | undefined;
  /** After a restart: the clicks recorded before, oldest first. Passes them on. */
  restore(clicks: AsyncIterable<Click>): AsyncIterable<Click>;
}

/** About 30 MB when full. */
const DEFAULT_CAPACITY = 100_000;
const APP_STORE = /^https?:\/\/(apps\.apple\.com|play\.google\.com)(?:[/?#]|$)/i;

export function leadsToStore({ url }: Pick<Click, 'url'>): boolean {
  return APP_STORE.test(url);
}

export function createStoreVisits({
  clock,
  capacity = DEFAULT_CAPACITY,
}: {
  clock: Clock;
  capacity?: number;
}): StoreVisits {
  const visits = createBoundedMap<string, StoreVisit & { readonly timeMs: number }>(capacity);
  const nameOf = (ip: string, domain: string) => `${ip} ${domain}`;
  const isRecent = (timeMs: number) => Math.abs(clock.now() - timeMs) < WINDOW_MS;

  function note(click: Click): void {
    // What pages and apps report was sent nowhere.
    if ((click.trigger !== 'link' && click.trigger !== 'qr') || !leadsToStore(click)) return;
    const { id: clickId, linkId, key, timeMs } = click;
    visits.set(nameOf(click.ip, click.domain), { clickId, linkId, key, timeMs });
  }

  return {
    note,
    find(ip, domain) {
      const visit = visits.get(nameOf(ip, domain));
      return visit && isRecent(visit.timeMs) ? visit : undefined;
    },
    async *restore(clicks) {
      for await (const click of clicks) {
        if (isRecent(click.timeMs)) note(click);
        yield click;
      }
    },
  };
}
