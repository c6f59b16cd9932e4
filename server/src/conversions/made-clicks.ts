// Clicks that stand for a visit which nobody recorded, so that a conversion without one is credited, counted and shown
// like every other. A click is written, counted and told of in the transaction of its conversion: neither is there
// without the other.
import { type ClickRecord, DIRECT, UNKNOWN } from '../analytics/click-record.ts';
import { destinationParts } from '../analytics/destination-parts.ts';
import { packClicks } from '../analytics/packed-clicks.ts';
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import { createClickIds } from '../events/click-id.ts';
import type { Clock } from '../kernel/clock.ts';
import { continentOf } from '../kernel/continents.ts';
import type { Link } from '../links/link.ts';
import type { ConversionStore } from './conversion.store.ts';

export interface MadeClicksParts {
  readonly db: Database;
  readonly store: Pick<ConversionStore, 'indexClick'>;
  /** Adds a click to all counters and tells who hears of clicks; in the caller's transaction. */
  readonly countClick: (click: ClickRecord) => Promise<void>;
  readonly clock: Clock;
}

/** Whoever clicks needs a while until something is bought. */
const CLICK_BEFORE_MS = 5 * 60_000;

export function createMadeClicks({ db, store, countClick, clock }: MadeClicksParts) {
  return {
    /** A click shortly before the conversion at this time. Nothing is written yet. */
    make(link: Link, atMs: number, country: string | null): ClickRecord {
      const timeMs = atMs - CLICK_BEFORE_MS;
      const { workspaceId, id: linkId, domain, key, url } = link;
      const agent = { device: UNKNOWN, browser: UNKNOWN, browserVersion: UNKNOWN, os: UNKNOWN };
      return {
        id: createClickIds({ now: () => timeMs })(),
        timeMs,
        workspaceId,
        linkId,
        domain,
        key,
        url,
        ...destinationParts(url),
        ip: '',
        continent: continentOf(country ?? ''),
        country: country || UNKNOWN,
        region: UNKNOWN,
        city: UNKNOWN,
        ...agent,
        osVersion: UNKNOWN,
        userAgent: UNKNOWN,
        trigger: 'link',
        qr: false,
        referer: DIRECT,
        refererUrl: DIRECT,
      };
    },

    /**
     * In the transaction of its conversion, and as the last of it: the rows of counters that are locked by now are
     * locked in the order in which everybody else locks them.
     */
    async add(click: ClickRecord): Promise<void> {
      const { workspaceId } = click;
      await store.indexClick(click);
      const payload = packClicks([click]);
      await appendOutbox(db.query, [{ workspaceId, type: 'clicks.imported', payload }], clock.now());
      await countClick(click);
    },
  };
}

export type MadeClicks = ReturnType<typeof createMadeClicks>;
