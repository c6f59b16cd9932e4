// Rows as a table for people, written as they come: the first rows set the widths, so that a list of any
// length is printed with bounded memory.
import type { Column, Row } from './command.ts';

const ROWS_TO_MEASURE = 100;
const GAP = '  ';

export interface Table {
  add(row: Row): Promise<void>;
  /** Prints what is left. */
  end(): Promise<void>;
}

export function createTable(columns: readonly Column[], write: (text: string) => Promise<void>): Table {
  let waiting: string[][] = [];
  let widths: number[] | undefined;

  async function flush(): Promise<void> {
    if (widths === undefined) {
      const lines = [columns.map(({ title }) => title), ...waiting];
      widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
      waiting = lines;
    }
    const lines = waiting;
    waiting = [];
    if (lines.length > 0) await write(lines.map((line) => `${layOut(line, widths ?? [])}\n`).join(''));
  }

  return {
    async add(row) {
      waiting.push(columns.map(({ text }) => printable(text(row))));
      if (waiting.length >= ROWS_TO_MEASURE) await flush();
    },
    end: flush,
  };
}

function layOut(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, i) => cell.padEnd(widths[i] ?? 0))
    .join(GAP)
    .trimEnd();
}

/** Names come from users: control characters must not reach a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\uFFFD');
}
