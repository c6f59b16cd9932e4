// The fields of dump lines: what a line may hold, and how a value is kept in a column. One definition serves
// both ways. Values are kept as they are given; only what no store could hold, or no visitor should be sent
// to, is refused.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import { refusedDestination } from '../kernel/destination.ts';
import type { DraftRow, SqlValue } from './record.ts';

export interface Field {
  /** Reads the value of a line into the value of the column; undefined where the line says nothing. */
  readonly schema: z.ZodType<SqlValue | readonly string[] | undefined>;
  /** The value of the column as it stands in a line. */
  readonly show: (value: SqlValue) => unknown;
  /** Where it is not the name of the field in snake case. */
  readonly column?: string;
  /** For columns that a line may leave out: what a new row gets. Absent: null. */
  readonly fallback?: (nowMs: number, row: DraftRow) => SqlValue;
}

const MAX_TEXT = 100_000;
const MAX_ID = 255;

const asIs = (value: SqlValue): unknown => value;
/** Columns without a value stay out of the line, and a line may leave them out. */
const orNull = <T extends SqlValue>(schema: z.ZodType<T>) =>
  schema.nullish().transform((value): SqlValue => value ?? null);

export const wellFormed = (max: number, min = 0) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine(
      (value) => !value.includes('\0') && value.isWellFormed(),
      'must not hold NUL or broken characters',
    );

/** Any form of id is accepted. */
export const id = (): Field => ({ schema: wellFormed(MAX_ID, 1), show: asIs });
export const idOrNull = (column?: string): Field => ({
  schema: orNull(wellFormed(MAX_ID, 1)),
  show: asIs,
  ...(column !== undefined && { column }),
});
export const text = (max = MAX_TEXT): Field => ({ schema: wellFormed(max), show: asIs });
export const textOrNull = (max = MAX_TEXT): Field => ({ schema: orNull(wellFormed(max)), show: asIs });

/** A text that a line may leave out; a new row then gets one that is made up. */
export const textOr = (fallback: () => string): Field => ({
  schema: wellFormed(MAX_TEXT, 1).optional(),
  show: asIs,
  fallback,
});

export const oneOf = (values: readonly string[], fallback?: string): Field => {
  const schema = z.enum(values as [string, ...string[]]);
  return { schema: fallback === undefined ? schema : schema.default(fallback), show: asIs };
};
export const oneOfOrNull = (values: readonly string[]): Field => ({
  schema: orNull(z.enum(values as [string, ...string[]])),
  show: asIs,
});

export const flag = (column?: string): Field => ({
  schema: z.boolean().default(false).transform(Number),
  show: (value) => value === 1,
  ...(column !== undefined && { column }),
});

export const count = (): Field => ({ schema: z.int().default(0), show: asIs });

export const countOrNull = (): Field => ({ schema: orNull(z.int()), show: asIs });

const FIRST_MS = Date.UTC(1970, 0, 1);
const LAST_MS = Date.UTC(9999, 11, 31);
export const instant = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-15T10:00:00.000Z' })
  .transform((value) => Date.parse(value))
  .refine((ms) => ms >= FIRST_MS && ms <= LAST_MS, 'must be between the years 1970 and 9999');

/** When something happened. */
export const time = (column: string): Field => ({
  schema: instant,
  show: (value) => isoTime(value as number),
  column,
});

export const timeOrNull = (column?: string): Field => ({
  schema: orNull(instant),
  show: (value) => (value === null ? null : isoTime(value as number)),
  ...(column !== undefined && { column }),
});

/** Kept as 0 where there is none, so that lists can be sorted by it. */
export const timeOrZero = (column: string): Field => ({
  schema: instant.nullish().transform((value) => value ?? 0),
  show: (value) => (value === 0 ? null : isoTime(value as number)),
  column,
});

/**
 * When a row was made and changed. A line may leave them out: then the row keeps those it has, or was made at
 * the time of the import and not changed since.
 */
export const times = (): { createdAt: Field; updatedAt: Field } => {
  const field = { schema: instant.optional(), show: (value: SqlValue) => isoTime(value as number) };
  return {
    createdAt: { ...field, fallback: (nowMs) => nowMs },
    updatedAt: { ...field, fallback: (_nowMs, row) => row.created_at as number },
  };
};

const destination = wellFormed(MAX_TEXT).superRefine((value, context) => {
  const refusal = value === '' ? undefined : refusedDestination(value);
  if (refusal !== undefined) context.addIssue({ code: 'custom', message: refusal });
});
export const address = (): Field => ({ schema: destination, show: asIs });
export const addressOrNull = (): Field => ({ schema: orNull(destination), show: asIs });

/** Kept as text in the column, as JSON in the line. */
export const json = (schema: z.ZodType, fallback: unknown): Field => ({
  schema: schema.default(fallback).transform((value) => JSON.stringify(value)),
  show: (value) => JSON.parse(value as string),
});
export const jsonOrNull = (schema: z.ZodType): Field => ({
  schema: schema.nullish().transform((value) => (value == null ? null : JSON.stringify(value))),
  show: (value) => (value === null ? null : JSON.parse(value as string)),
});
export { destination };

/** A list of words without spaces, kept in one text; null when empty. */
export const words = (): Field => ({
  schema: z
    .array(wellFormed(MAX_ID, 1).regex(/^\S+$/, 'must not hold spaces'))
    .default([])
    .transform((list) => (list.length === 0 ? null : list.join(' '))),
  show: (value) => (value === null ? [] : (value as string).split(' ')),
});

/** Ids in order, each once. */
export const idList = (): Field => ({
  schema: z
    .array(wellFormed(MAX_ID, 1))
    .max(1_000)
    .default([])
    .transform((list) => [...new Set(list)]),
  show: asIs,
});

const FILE_PREFIX = 'file:';

/** Addresses of files that the instance keeps itself, in lines as `file:` and their name. */
export interface FileAddresses {
  isOwn(url: string): boolean;
  addressOf(name: string): string | undefined;
}

/** An image: its address, or the name of a file that goes along in the dump. */
export const image = (files: FileAddresses): Field => ({
  schema: orNull(
    wellFormed(MAX_TEXT).transform((value, context) => {
      if (!value.startsWith(FILE_PREFIX)) return value;
      const url = files.addressOf(value.slice(FILE_PREFIX.length));
      if (url !== undefined) return url;
      context.addIssue({ code: 'custom', message: `${value} is not the name of a file` });
      return z.NEVER;
    }),
  ),
  show: (value) =>
    value !== null && files.isOwn(value as string) ? `${FILE_PREFIX}${fileName(value as string)}` : value,
});

export function fileName(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
