// What goes through a dump: records as rows of columns, the lines they come from, and how a line that cannot
// be taken is told. Pure.

export type SqlValue = string | number | null;

/** A record in the form of its table. A list (the tags of a link) has the name of its field. */
export type Row = Readonly<Record<string, SqlValue | readonly string[]>>;

/** A row on its way in. What the line does not say is undefined: it stays as it is, or is made up. */
export type DraftRow = Record<string, SqlValue | readonly string[] | undefined>;

export interface DraftItem {
  readonly line: number;
  readonly row: DraftRow;
}

export interface Problem {
  readonly line: number;
  readonly type: string;
  /** Empty when it is about the line as a whole. */
  readonly field: string;
  readonly reason: string;
}

/** Lines that cannot be taken. Whoever throws it has written nothing, or is inside a transaction that ends with it. */
export class RejectedLines extends Error {
  override name = 'RejectedLines';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[], options?: { cause?: unknown }) {
    super(describeProblem(problems[0] as Problem), options);
    this.problems = problems;
  }
}

export function describeProblem({ line, type, field, reason }: Problem): string {
  const place = [`Line ${line}`, type && `(${type})`, field && `field ${field}`].filter(Boolean).join(' ');
  return `${place}: ${reason}`;
}

export interface WriteResult {
  readonly written: number;
  readonly unchanged: number;
}

export function sameRow(a: DraftRow, b: Row, columns: readonly string[]): boolean {
  return columns.every((column) => {
    const [left, right] = [a[column], b[column]];
    return Array.isArray(left) && Array.isArray(right)
      ? left.length === right.length && left.every((value, i) => value === right[i])
      : left === right;
  });
}

export function inGroups<T>(items: readonly T[], size: number): T[][] {
  const groups: T[][] = [];
  for (let start = 0; start < items.length; start += size) groups.push(items.slice(start, start + size));
  return groups;
}
