// A command of the command line as a value: its words, what goes in, what it does and how its result reads.
// Help, parsing and validation all come from this one value, and the running server runs the same values.
import { z } from 'zod';
import type { App } from '../app.ts';
import { AppError } from '../kernel/errors.ts';

/** An argument or an option; its schema reads the text (or the switch) of the command line. */
export interface Field<S extends z.ZodType = z.ZodType> {
  readonly schema: S;
  readonly description: string;
  /** What stands for the value in the help; an option without it is a switch. */
  readonly value?: string;
  /**
   * The value names a file of the caller (`-`: standard input or output): its content is what the command reads
   * (in), or it takes what the command writes (out) or its rows (rows).
   */
  readonly stream?: 'in' | 'out' | 'rows';
}

export type Fields = Readonly<Record<string, Field>>;
type Values<F extends Fields> = { [K in keyof F]: z.output<F[K]['schema']> };

/** What a command that works on the stores is given. */
export interface Context {
  readonly app: App;
  /** Aborted when the caller goes away or the server stops: long commands look at it. */
  readonly signal: AbortSignal;
  /** Sends one row of a list that may be too long to hold; waits while the receiver is slower. */
  readonly row: (row: Row) => Promise<void>;
  /** Says how far a long command has come. */
  readonly progress: (state: ProgressState) => Promise<void>;
  /** What the caller streams in; nothing where the command names no file to read. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Streams text out to the file that the command names; waits while the receiver is slower. */
  readonly data: (text: string) => Promise<void>;
}

export interface ProgressState {
  readonly done: number;
  readonly total?: number;
  /** What an earlier run had done: it took none of the time. */
  readonly before?: number;
  readonly unit: string;
  /** What it waits for. */
  readonly note?: string;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Column {
  readonly title: string;
  readonly text: (row: Row) => string;
}

export interface Command<C = Context> {
  readonly path: readonly string[];
  readonly summary: string;
  readonly args: Fields;
  readonly options: Fields;
  /** For other commands, not for people: the help leaves it out. */
  readonly isInternal: boolean;
  /** Makes sense before the first start: it may make the data directory. */
  readonly mayCreateData: boolean;
  /** How the rows that the command sends read as a table; without it, it sends none. */
  readonly columns: readonly Column[] | undefined;
  /** Reads the input and does the work. What it returns can be written as JSON. */
  run(context: C, input: unknown): Promise<unknown>;
  /** The result for people. */
  print(result: unknown): string;
  exitCode(result: unknown): number;
}

interface Definition<C, A extends Fields, O extends Fields, R> {
  readonly path: readonly string[];
  readonly summary: string;
  readonly args?: A;
  readonly options?: O;
  readonly isInternal?: boolean;
  readonly mayCreateData?: boolean;
  readonly columns?: readonly Column[];
  readonly run: (context: C, input: Values<A> & Values<O>) => Promise<R>;
  readonly print?: (result: R) => string;
  readonly exitCode?: (result: R) => number;
}

export function command<C, A extends Fields, O extends Fields, R>(
  definition: Definition<C, A, O, R>,
): Command<C> {
  const {
    path,
    summary,
    args = {},
    options = {},
    isInternal = false,
    mayCreateData = false,
    columns,
  } = definition;
  return {
    path,
    summary,
    args,
    options,
    isInternal,
    mayCreateData,
    columns,
    run: async (context, input) =>
      definition.run(context, readInput({ args, options }, input) as Values<A> & Values<O>),
    print: (result) => definition.print?.(result as R) ?? '',
    exitCode: (result) => definition.exitCode?.(result as R) ?? 0,
  };
}

/** Refuses input that does not fit, in the words of the command line. */
export function readInput({ args, options }: { args: Fields; options: Fields }, input: unknown): unknown {
  const shape = Object.entries({ ...args, ...options }).map(([name, field]) => [name, field.schema]);
  const result = z.strictObject(Object.fromEntries(shape)).safeParse(input);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0] ?? { path: [], message: 'does not fit' };
  const name = String(path[0] ?? '');
  const place = name in args ? `<${name}>` : name in options ? `--${name}` : 'input';
  throw new AppError('unprocessable_entity', `${place}: ${message}`);
}

export function isOptional(field: Field): boolean {
  return field.schema.safeParse(undefined).success;
}
