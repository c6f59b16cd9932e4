// Who visited which link within the last hour, so that one visitor counts once. Fixed memory, 40 bytes per
// click: a ring of the latest clicks and an index over it. The oldest is forgotten first, and what is forgotten
// counts again. Visitors are told apart by 64 bits of a hash: with a million clicks in the ring, one visit in
// 10^13 is taken for another's.
import type { Click } from '../events/event.ts';
import type { Clock } from '../kernel/clock.ts';
import { randomSeed } from '../kernel/ids.ts';

export interface VisitorWindow {
  /**
   * The id of the click that was recorded for this visitor of the link within the last hour. Without one, the
   * visitor is remembered from now on with the id given.
   */
  enter(visitor: Visitor, clickId: string): string | undefined;
  /** The same without remembering. */
  find(visitor: Visitor): string | undefined;
  /** After a restart: the clicks recorded before, oldest first. */
  restore(clicks: AsyncIterable<Click>): Promise<void>;
  readonly size: number;
}

/** Whoever has the same address and the same browser is the same visitor. */
export interface Visitor {
  readonly linkId: string;
  readonly ip: string;
  readonly userAgent: string;
}

export const WINDOW_MS = 3_600_000;
/** 42 MB when full; untouched memory is not taken from the machine. */
const DEFAULT_CAPACITY = 2 ** 20;
const ID_LENGTH = 16;

/** `capacity`: how many clicks are remembered, a power of two. */
export function createVisitorWindow({
  clock,
  capacity = DEFAULT_CAPACITY,
}: {
  clock: Clock;
  capacity?: number;
}): VisitorWindow {
  const ring = createRing(capacity);
  const index = createIndex(capacity, ring);
  const hash = createVisitorHash();

  /** The place of a click that still counts. */
  function recent(key: Key, nowMs: number): number {
    const at = index.find(key);
    // A clock that was set back by more than an hour leaves times that mean nothing any more.
    return at !== NOWHERE && Math.abs(nowMs - (ring.times[at] as number)) < WINDOW_MS ? at : NOWHERE;
  }

  function remember(key: Key, clickId: string, timeMs: number): void {
    const at = ring.next();
    index.remove(at);
    ring.put(at, key, clickId, timeMs);
    index.put(at);
  }

  return {
    enter(visitor, clickId) {
      const key = hash(visitor);
      const nowMs = clock.now();
      const at = recent(key, nowMs);
      if (at !== NOWHERE) return ring.idAt(at);
      remember(key, clickId, nowMs);
      return undefined;
    },
    find(visitor) {
      const at = recent(hash(visitor), clock.now());
      return at === NOWHERE ? undefined : ring.idAt(at);
    },
    async restore(clicks) {
      for await (const click of clicks) {
        const inTime = Math.abs(clock.now() - click.timeMs) < WINDOW_MS;
        if (inTime && click.id.length === ID_LENGTH) remember(hash(click), click.id, click.timeMs);
      }
    },
    get size() {
      return ring.used();
    },
  };
}

interface Key {
  low: number;
  high: number;
}

const NOWHERE = -1;

function createRing(capacity: number) {
  const lows = new Uint32Array(capacity);
  const highs = new Uint32Array(capacity);
  const times = new Float64Array(capacity);
  const ids = new Uint8Array(capacity * ID_LENGTH);
  let added = 0;
  return {
    lows,
    highs,
    times,
    used: () => Math.min(added, capacity),
    next: () => added++ % capacity,
    put(at: number, { low, high }: Key, clickId: string, timeMs: number): void {
      lows[at] = low;
      highs[at] = high;
      times[at] = timeMs;
      const start = at * ID_LENGTH;
      // Cheaper than a call into the buffer's native code for so few characters.
      for (let i = 0; i < ID_LENGTH; i++) ids[start + i] = clickId.charCodeAt(i);
    },
    idAt: (at: number) => String.fromCharCode(...ids.subarray(at * ID_LENGTH, (at + 1) * ID_LENGTH)),
  };
}

/** Open addressing over the ring, never more than half full; 0 is an empty slot, others are places + 1. */
function createIndex(capacity: number, { lows, highs }: ReturnType<typeof createRing>) {
  const slots = new Uint32Array(capacity * 2);
  const mask = slots.length - 1;

  /** The slot of the key, or the empty one where it would go. */
  function slotOf(low: number, high: number): number {
    let slot = low & mask;
    for (;;) {
      const place = (slots[slot] as number) - 1;
      if (place === NOWHERE || (lows[place] === low && highs[place] === high)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  /** Moves later ones up, so that no search stops at the gap. */
  function close(gap: number): void {
    let hole = gap;
    for (let slot = (gap + 1) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const home = (lows[(slots[slot] as number) - 1] as number) & mask;
      const reachable = hole <= slot ? home <= hole || home > slot : home <= hole && home > slot;
      if (!reachable) continue;
      slots[hole] = slots[slot] as number;
      hole = slot;
    }
    slots[hole] = 0;
  }

  return {
    find: ({ low, high }: Key) => (slots[slotOf(low, high)] as number) - 1,
    put(place: number): void {
      slots[slotOf(lows[place] as number, highs[place] as number)] = place + 1;
    },
    remove(place: number): void {
      const slot = slotOf(lows[place] as number, highs[place] as number);
      // The same visitor may have a later click by now.
      if (slots[slot] === place + 1) close(slot);
    },
  };
}

/** Seeded by chance, so that nobody can make up a browser that is taken for somebody else's. */
function createVisitorHash(): (visitor: Visitor) => Key {
  const [seedLow, seedHigh] = [randomSeed(), randomSeed()];
  const key: Key = { low: 0, high: 0 };

  function add(text: string): void {
    let { low, high } = key;
    // Two letters a round: user agents are long, and this is done for every visit.
    for (let i = 0; i < text.length; i += 2) {
      const next = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
      const codes = text.charCodeAt(i) | (next << 16);
      low = Math.imul(low ^ codes, 0x01000193);
      low ^= low >>> 15;
      high = Math.imul(high ^ (codes + low), 0x85ebca6b);
    }
    key.low = low ^ (low >>> 13);
    key.high = high ^ (high >>> 16);
  }

  return ({ linkId, ip, userAgent }) => {
    key.low = seedLow;
    key.high = seedHigh;
    add(linkId);
    add(ip);
    add(userAgent);
    // One more round: the index takes its slots from the lower bits.
    key.low = Math.imul(key.low ^ (key.high >>> 15), 0x2c1b3c6d) >>> 0;
    key.high = Math.imul(key.high ^ (key.low >>> 12), 0x297a2d39) >>> 0;
    return key;
  };
}
