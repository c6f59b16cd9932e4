// What each type of line must be able to do to take part in a dump. Export and import know nothing else of it.
import type { z } from 'zod';
import type { DraftItem, DraftRow, Row, WriteResult } from './record.ts';

/** Everything, or what belongs to one workspace. */
export interface Scope {
  readonly workspaceId: string | undefined;
}

export interface Reference {
  /** The field of the line, for messages. */
  readonly field: string;
  /** The column that refers; a list refers with each of its entries. */
  readonly column: string;
  /** The type that is referred to, and by which of its columns. */
  readonly to: string;
  readonly toColumn: string;
  /** A row can be without it. */
  readonly isOptional: boolean;
  /** Values that need nothing to refer to. */
  readonly isFree?: (value: string) => boolean;
}

export interface Entity {
  /** The `type` of its lines. */
  readonly name: string;
  /** The tables it moves, for the check that none is forgotten. */
  readonly tables: readonly string[];
  /** The columns it moves, as `table.column`. */
  readonly columns: readonly string[];
  readonly schema: z.ZodType<DraftRow>;
  readonly references: readonly Reference[];
  /** A row as a line, without its type; what is null is left out. */
  present(row: Row): Record<string, unknown>;
  /** Columns that may hold the address of a file of our own. */
  readonly imageColumns: readonly string[];

  /** Rows in order of their key, from after the given one. Absent: it has no pass of its own. */
  list?(scope: Scope, after: Row | undefined, limit: number): Promise<readonly Row[]>;
  count?(scope: Scope): Promise<number>;
  /** Rows whose column has one of these values. */
  find?(column: string, values: readonly string[]): Promise<readonly Row[]>;

  /** What the event store learns of rows of one workspace that were written. Absent: they are told by their ids. */
  eventsOf?(rows: readonly DraftRow[]): readonly ImportedEvent[];

  /** Brings the rows in, by their ids; throws RejectedLines. Runs inside the transaction of a batch. */
  write(items: readonly DraftItem[], tell: Tell): Promise<WriteResult>;
  /** Which of these rows hold a value that must be unique and that another row has. After a batch that failed. */
  findConflicts?(items: readonly DraftItem[]): Promise<readonly Conflict[]>;
}

/** Goes through the outbox; receivers of webhooks hear nothing of it. */
export interface ImportedEvent {
  readonly type: string;
  readonly payload: object;
}

export interface Conflict {
  readonly line: number;
  readonly field: string;
  readonly reason: string;
}

/** A row that was written, for whoever keeps copies of it. */
export interface Change {
  readonly workspaceId: string;
  readonly id: string;
  readonly now: DraftRow;
  readonly before: Row | undefined;
}

export type Tell = (change: Change) => void;
