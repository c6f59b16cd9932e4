// Who visited which link within the last hour, so that one visitor counts once. Fixed memory, 40 bytes per
// click: a ring of the latest clicks and an index over it. The oldest is forgotten first, and what is forgotten
// counts again. Visitors are told apart by 64 bits of a hash: with a million clicks in the ring, one visit in
// 10^13 is taken for another's.
import type { Click } from '../events/event.ts';
import type { Clock } from '../kernel/clock.ts';

export interface VisitorWindow {
  /** The id of the click that was recorded for this visitor within the last hour. */
  find(linkId: string, identityHash: string): string | undefined;
  add(linkId: string, identityHash: string, clickId: string, timeMs: number): void;
  /** After a restart: the clicks recorded before, oldest first. */
  restore(clicks: AsyncIterable<Click>): Promise<void>;
  readonly size: number;
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
  const key: Key = { low: 0, high: 0 };

  /** The place of a click that still counts. */
  function place(nowMs: number): number {
    const at = index.find(key);
    // A clock that was set back by more than an hour leaves times that mean nothing any more.
    return at !== NOWHERE && Math.abs(nowMs - (ring.times[at] as number)) < WINDOW_MS ? at : NOWHERE;
  }

  function add(linkId: string, identityHash: string, clickId: string, timeMs: number): void {
    // Ids that are not ours are never recorded here; one that is would be cut.
    if (clickId.length !== ID_LENGTH) return;
    const at = ring.next();
    index.remove(at);
    hashInto(key, linkId, identityHash);
    ring.put(at, key, clickId, timeMs);
    index.put(at);
  }

  return {
    find(linkId, identityHash) {
      hashInto(key, linkId, identityHash);
      const at = place(clock.now());
      return at === NOWHERE ? undefined : ring.idAt(at);
    },
    add,
    async restore(clicks) {
      for await (const { linkId, identityHash, id, timeMs } of clicks) {
        if (Math.abs(clock.now() - timeMs) < WINDOW_MS) add(linkId, identityHash, id, timeMs);
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
  const ids = Buffer.from(new ArrayBuffer(capacity * ID_LENGTH));
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
      ids.write(clickId, at * ID_LENGTH, ID_LENGTH, 'latin1');
    },
    idAt: (at: number) => ids.toString('latin1', at * ID_LENGTH, (at + 1) * ID_LENGTH),
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

function hashInto(key: Key, linkId: string, identityHash: string): void {
  let [a, b] = [0x811c9dc5, 0x9e3779b1];
  for (let i = 0; i < linkId.length; i++) {
    const code = linkId.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13);
  }
  key.low = (a ^ Number.parseInt(identityHash.slice(0, 8), 16)) >>> 0;
  key.high = (b ^ Number.parseInt(identityHash.slice(8, 16), 16)) >>> 0;
}
