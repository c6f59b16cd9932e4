// Which time is where in the journal: a mark a twentieth of a second while records are written, in shared memory, so
// that a record whose time is known is found without reading all that lies before it. A hint, no promise: a clock that
// is set back puts marks out of order. Hand `shared` to another thread and look there.
import type { Position } from './journal.ts';

export interface JournalMarks {
  readonly shared: SharedArrayBuffer;
  /** All that was written up to now ends here. */
  note(timeMs: number, end: Position): void;
  /** Records of these times lie between; where there is no mark the place is unknown. */
  around(fromMs: number, toMs: number): Between;
}

export interface Between {
  readonly from: Position | undefined;
  readonly upTo: Position | undefined;
}

const EVERY_MS = 50;
/** Some minutes of writing without a pause; 200 KB. */
const CAPACITY = 8_192;
/** Those about to be overwritten are not looked at. */
const SPARED = 16;
const FIELDS = 3;
const COUNTER_BYTES = 8;
const BYTES = COUNTER_BYTES + CAPACITY * FIELDS * Float64Array.BYTES_PER_ELEMENT;

export function createJournalMarks(shared: SharedArrayBuffer = new SharedArrayBuffer(BYTES)): JournalMarks {
  const counter = new Int32Array(shared, 0, 1);
  const fields = new Float64Array(shared, COUNTER_BYTES);
  let lastMs = Number.NEGATIVE_INFINITY;

  const timeOf = (mark: number) => fields[(mark % CAPACITY) * FIELDS] as number;
  const placeOf = (mark: number): Position => {
    const at = (mark % CAPACITY) * FIELDS;
    return { segment: fields[at + 1] as number, offset: fields[at + 2] as number };
  };

  return {
    shared,
    note(timeMs, { segment, offset }) {
      if (Math.abs(timeMs - lastMs) < EVERY_MS) return;
      lastMs = timeMs;
      const mark = Atomics.load(counter, 0);
      fields.set([timeMs, segment, offset], (mark % CAPACITY) * FIELDS);
      // Told last: whoever sees the count sees the mark.
      Atomics.store(counter, 0, mark + 1);
    },
    around(fromMs, toMs) {
      const count = Atomics.load(counter, 0);
      let from: Position | undefined;
      for (let mark = Math.max(0, count - CAPACITY + SPARED); mark < count; mark++) {
        const timeMs = timeOf(mark);
        if (timeMs <= fromMs) from = placeOf(mark);
        else if (timeMs >= toMs) return { from, upTo: placeOf(mark) };
      }
      return { from, upTo: undefined };
    },
  };
}
