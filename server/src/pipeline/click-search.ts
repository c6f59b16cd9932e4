// Finds a click by its id, wherever it is: in the event store, or still only in the journal. A lead may follow
// its click within milliseconds and must find it even while the pipeline is behind: an id tells its time, and marks
// tell where that time is. Those who look at once share one reading of the journal.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { EventStore } from '../analytics/store.ts';
import { clickTime } from '../events/click-id.ts';
import type { Enrich } from '../events/enrich.ts';
import { comparePositions, compareStarts, type JournalReader, type Position } from '../events/journal.ts';
import type { Between, JournalMarks } from '../events/journal-marks.ts';
import type { PipelineEvent } from './pipeline-event.ts';

const LIMITS = { maxRecords: 5_000, maxBytes: 4 * 1024 * 1024 };
/** Each record is compared with every id that is looked for. */
const MAX_TOGETHER = 64;
/** A click is written in the moment that its id tells, give or take a clock that is corrected. */
const AROUND_MS = 200;

export interface ClickSearchParts {
  readonly store: { get(): Promise<EventStore> };
  readonly reader: JournalReader;
  readonly enrich: Enrich<PipelineEvent>;
  readonly marks: JournalMarks;
}

interface Wanted {
  readonly id: string;
  /** Up to here the store has been looked through; undefined: from the start. */
  readonly from: Position | undefined;
  resolve(click: ClickRecord | undefined): void;
  reject(error: unknown): void;
}

export type FindClick = (id: string) => Promise<ClickRecord | undefined>;

export function createClickSearch(parts: ClickSearchParts): FindClick {
  const queue: Wanted[] = [];
  let reading = false;

  async function workOff(): Promise<void> {
    reading = true;
    while (queue.length > 0) {
      const wanted = queue.splice(0, MAX_TOGETHER);
      try {
        const found = await findInJournal(wanted, parts);
        for (const { id, resolve } of wanted) resolve(found.get(id));
      } catch (error) {
        for (const { reject } of wanted) reject(error);
      }
    }
    reading = false;
  }

  return async (id) => {
    const store = await parts.store.get();
    // Taken first: what the store takes in meanwhile is then in one of the two.
    const from = await store.committed();
    const stored = await store.findClick(id);
    if (stored) return stored;
    return new Promise((resolve, reject) => {
      queue.push({ id, from, resolve, reject });
      if (!reading) void workOff();
    });
  };
}

/** First where the marks say they are, then everywhere. */
async function findInJournal(
  wanted: readonly Wanted[],
  parts: ClickSearchParts,
): Promise<Map<string, ClickRecord>> {
  const found = new Map<string, ClickRecord>();
  const likely = new Map(wanted.map((each) => [each, likelyStretch(each, parts.marks)]));
  for (const stretch of join([...likely.values()].flatMap((stretch) => stretch ?? [])))
    await readStretch(stretch, found, parts);
  const rest = wanted.filter((each) => !found.has(each.id) && !isWhole(likely.get(each), each));
  const [first, ...others] = rest;
  if (!first) return found;
  const from = others.reduce<Position | undefined>((at, other) => earlierOf(at, other.from), first.from);
  await readStretch({ from, upTo: undefined, ids: rest.map(({ id }) => id) }, found, parts);
  return found;
}

interface Stretch extends Between {
  readonly ids: readonly string[];
}

/** None where the id does not tell its time. */
function likelyStretch({ id, from }: Wanted, marks: JournalMarks): Stretch | undefined {
  const timeMs = clickTime(id);
  if (timeMs === undefined) return undefined;
  const between = marks.around(timeMs - AROUND_MS, timeMs + AROUND_MS);
  return { from: laterOf(from, between.from), upTo: between.upTo, ids: [id] };
}

function isWhole(stretch: Stretch | undefined, { from }: Wanted): boolean {
  return stretch !== undefined && stretch.from === from && stretch.upTo === undefined;
}

/** Those that overlap, as one: what many look for is read once. */
function join(stretches: readonly Stretch[]): Stretch[] {
  const joined: Stretch[] = [];
  for (const next of stretches.toSorted((a, b) => compareStarts(a.from, b.from))) {
    const last = joined.at(-1);
    const apart = last?.upTo && next.from && comparePositions(last.upTo, next.from) < 0;
    if (!last || apart) joined.push(next);
    else {
      const upTo = last.upTo && next.upTo && laterOf(last.upTo, next.upTo);
      joined[joined.length - 1] = { from: last.from, upTo, ids: [...last.ids, ...next.ids] };
    }
  }
  return joined;
}

/** Looks for the bytes of the ids first: decoding everything would take many times as long. */
async function readStretch(
  { from, upTo: until, ids }: Stretch,
  found: Map<string, ClickRecord>,
  { reader, enrich }: ClickSearchParts,
): Promise<void> {
  const left = new Map(ids.map((id) => [id, Buffer.from(id)]));
  let at = from;
  while (left.size > 0) {
    const { records, next } = await reader.read(at, { ...LIMITS, until });
    if (records.length === 0) break;
    const texts = [...left.values()];
    const candidates = records
      .map(({ payload }) => payload)
      .filter((payload) => texts.some((text) => viewOf(payload).includes(text)));
    for (const event of enrich(candidates).events) {
      if (event.kind === 'click' && left.delete(event.record.id)) found.set(event.record.id, event.record);
    }
    at = next;
  }
}

function earlierOf(a: Position | undefined, b: Position | undefined): Position | undefined {
  return compareStarts(a, b) <= 0 ? a : b;
}

function laterOf(a: Position | undefined, b: Position | undefined): Position | undefined {
  return compareStarts(a, b) > 0 ? a : b;
}

function viewOf(payload: Uint8Array): Buffer {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}
