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

export interface Looking {
  /** Only slots with events, in any order. */
  readonly countSlots: (stretch: Stretch, slotMs: number) => Promise<readonly SlotCount[]>;
  /** When the earliest event of the stretch was; undefined where there is none. */
  readonly findFirst: (stretch: Stretch) => Promise<number | undefined>;
}

export interface ListPlace extends Stretch {
  /** Events within the stretch that come before the page. */
  readonly offset: number;
}

interface Counted extends ListPlace {
  readonly events: number;
}

const SLOTS_PER_STEP = 256;
/** So much of the window is looked at first; then as much as the page seems to need, within these bounds. */
const FIRST_STEP_MS = 3_600_000;
const GROWTH = { least: 4, most: 64, spare: 1.25 };
/** A stretch with more events than so many pages is looked at again more closely, a few times at most. */
const MAX_PAGES_READ = 8;
const MAX_LOOKS = 4;

/** Undefined when the page is empty. */
export async function findPlace(query: ListQuery, looking: Looking): Promise<ListPlace | undefined> {
  const { after, order, limit } = query;
  const window = await beginning(query, looking);
  if (!window) return undefined;
  const page = { order, limit, offset: after ? 0 : query.offset };
  const isFirst = order === 'asc' && !after && page.offset + limit === 1;
  if (isFirst) return { fromMs: window.fromMs, toMs: window.fromMs, offset: 0 };
  let place = await look(window, page, FIRST_STEP_MS, looking);
  for (let looks = 1; looks < MAX_LOOKS && place && place.events > MAX_PAGES_READ * limit; looks++) {
    const { fromMs, toMs, offset } = place;
    place = await look(place, { order, limit, offset }, toMs - fromMs + 1, looking);
  }
  return place;
}

/** Windows mostly end where events do, and may begin long before the first: all time does. */
async function beginning(query: ListQuery, { findFirst }: Looking): Promise<Stretch | undefined> {
  const window = remaining(query);
  if (query.order === 'desc' || query.after) return window;
  const fromMs = await findFirst(window);
  return fromMs === undefined ? undefined : { ...window, fromMs };
}

type Page = Pick<ListQuery, 'order' | 'limit' | 'offset'>;

async function look(
  window: Stretch,
  { order, limit, offset }: Page,
  firstStepMs: number,
  { countSlots }: Looking,
): Promise<Counted | undefined> {
  const ascending = order === 'asc';
  const wanted = offset + limit;
  const lengthMs = window.toMs - window.fromMs + 1;
  let passed = 0;
  let place: Counted | undefined;
  for (let lookedMs = 0, upToMs = firstStepMs; lookedMs < lengthMs; ) {
    const step = partOf(window, lookedMs, Math.min(upToMs, lengthMs), ascending);
    const slotMs = Math.max(1, Math.ceil((step.toMs - step.fromMs + 1) / SLOTS_PER_STEP));
    for (const { slot, events } of inOrder(await countSlots(step, slotMs), ascending)) {
      const stretch = {
        fromMs: Math.max(step.fromMs, slot * slotMs),
        toMs: Math.min(step.toMs, (slot + 1) * slotMs - 1),
      };
      if (place) place = extended(place, stretch, events);
      else if (passed + events > offset) place = { ...stretch, offset: offset - passed, events };
      passed += events;
      if (place && passed >= wanted) return place;
    }
    lookedMs = upToMs;
    upToMs = Math.ceil(lookedMs * growth(passed, wanted));
  }
  return place;
}

function extended({ fromMs, toMs, offset, events }: Counted, by: Stretch, more: number): Counted {
  return {
    fromMs: Math.min(fromMs, by.fromMs),
    toMs: Math.max(toMs, by.toMs),
    offset,
    events: events + more,
  };
}

/** How many times longer the part that holds the page seems to be than the part in which so many were found. */
function growth(found: number, wanted: number): number {
  const estimate = (GROWTH.spare * wanted) / Math.max(found, 1);
  return Math.min(GROWTH.most, Math.max(GROWTH.least, estimate));
}

/** What is left of the window after the event that the page follows. */
function remaining({ fromMs, toMs, after, order }: ListQuery): Stretch {
  if (!after) return { fromMs, toMs };
  return order === 'asc'
    ? { fromMs: Math.max(fromMs, after.timeMs), toMs }
    : { fromMs, toMs: Math.min(toMs, after.timeMs) };
}

/** Counted from the end at which the list begins. */
function partOf({ fromMs, toMs }: Stretch, beginMs: number, endMs: number, ascending: boolean): Stretch {
  return ascending
    ? { fromMs: fromMs + beginMs, toMs: fromMs + endMs - 1 }
    : { fromMs: toMs - endMs + 1, toMs: toMs - beginMs };
}

function inOrder(counts: readonly SlotCount[], ascending: boolean): SlotCount[] {
  return [...counts].sort((a, b) => (ascending ? a.slot - b.slot : b.slot - a.slot));
}
