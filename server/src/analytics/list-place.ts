// Where in time the events of a page are. Counting what matches reads little; the wide rows are then read of a short
// stretch only, so a page far down costs little more than the first, and the first of a long window little more than
// that of a short one.
import type { ListQuery } from './query.ts';

export interface SlotCount {
  /** Number of the stretch of `slotMs` since 1970. */
  readonly slot: number;
  readonly events: number;
}

export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Only slots with events, in any order. */
export type CountSlots = (stretch: Stretch, slotMs: number) => Promise<readonly SlotCount[]>;

export interface ListPlace extends Stretch {
  /** Events within the stretch that come before the page. */
  readonly offset: number;
}

/** How much of the window is looked at, step by step, until the page is found. */
const STEPS = [1 / 256, 1 / 16, 1];
const SLOTS_PER_STEP = 256;
/** A stretch with more events than so many pages is looked at again more closely, a few times at most. */
const MAX_PAGES_READ = 8;
const MAX_LOOKS = 4;

/** Undefined when the page is empty. */
export async function findPlace(query: ListQuery, countSlots: CountSlots): Promise<ListPlace | undefined> {
  const { after, order, limit } = query;
  const window = remaining(query);
  let place = await look(window, { order, limit, offset: after ? 0 : query.offset }, countSlots);
  for (let looks = 1; looks < MAX_LOOKS && place && place.events > MAX_PAGES_READ * limit; looks++)
    place = await look(place, { order, limit, offset: place.offset }, countSlots);
  return place;
}

type Page = Pick<ListQuery, 'order' | 'limit' | 'offset'>;

async function look(
  window: Stretch,
  { order, limit, offset }: Page,
  countSlots: CountSlots,
): Promise<(ListPlace & { events: number }) | undefined> {
  const ascending = order === 'asc';
  let passed = 0;
  let first: { slot: Stretch; passed: number } | undefined;
  /** From where the page begins to the end of that stretch, in the direction of the list. */
  const placeUpTo = (last: Stretch, start: { slot: Stretch; passed: number }) => ({
    fromMs: (ascending ? start.slot : last).fromMs,
    toMs: (ascending ? last : start.slot).toMs,
    offset: offset - start.passed,
    events: passed - start.passed,
  });
  for (const step of steps(window, ascending)) {
    const slotMs = Math.max(1, Math.ceil((step.toMs - step.fromMs + 1) / SLOTS_PER_STEP));
    for (const { slot, events } of inOrder(await countSlots(step, slotMs), ascending)) {
      const stretch = {
        fromMs: Math.max(step.fromMs, slot * slotMs),
        toMs: Math.min(step.toMs, (slot + 1) * slotMs - 1),
      };
      if (passed + events > offset) first ??= { slot: stretch, passed };
      passed += events;
      if (first && passed >= offset + limit) return placeUpTo(stretch, first);
    }
  }
  return first && placeUpTo(window, first);
}

/** What is left of the window after the event that the page follows. */
function remaining({ fromMs, toMs, after, order }: ListQuery): Stretch {
  if (!after) return { fromMs, toMs };
  return order === 'asc'
    ? { fromMs: Math.max(fromMs, after.timeMs), toMs }
    : { fromMs, toMs: Math.min(toMs, after.timeMs) };
}

/** Parts of the window that follow each other, each much longer than the one before. */
function steps({ fromMs, toMs }: Stretch, ascending: boolean): Stretch[] {
  const length = toMs - fromMs + 1;
  if (length <= 0) return [];
  const ends = STEPS.map((share) => Math.ceil(length * share));
  return ends.map((end, i) => {
    const begin = ends[i - 1] ?? 0;
    return ascending
      ? { fromMs: fromMs + begin, toMs: fromMs + end - 1 }
      : { fromMs: toMs - end + 1, toMs: toMs - begin };
  });
}

function inOrder(counts: readonly SlotCount[], ascending: boolean): SlotCount[] {
  return [...counts].sort((a, b) => (ascending ? a.slot - b.slot : b.slot - a.slot));
}
