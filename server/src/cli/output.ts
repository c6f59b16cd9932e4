// What a command says: rows and the result on standard output, as a table and text or as JSON, and
// everything else on standard error. Waits for slow readers.
import type { Column, ProgressState, Row } from './command.ts';
import { createProgress, type Progress } from './progress.ts';
import { createTable } from './table.ts';

export interface Output {
  row(row: Row): Promise<void>;
  /** After the rows, or in their place. */
  end(result: unknown, text: string): Promise<void>;
  error(error: { code: string; message: string }, more?: string): Promise<void>;
  progress(state: ProgressState): void;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly columns?: readonly Column[] | undefined;
  /** Standard output belongs to something else: the result goes to standard error. */
  readonly isStdoutTaken?: boolean;
  readonly fraction?: (() => number | undefined) | undefined;
}

export function createOutput({ json, columns, isStdoutTaken = false, fraction }: OutputOptions): Output {
  const stdout = isStdoutTaken ? process.stderr : process.stdout;
  const progress = createProgress({
    write: (text) => process.stderr.write(text),
    isTerminal: process.stderr.isTTY === true,
    nowMs: () => performance.now(),
    fraction,
  });
  return json ? jsonOutput(stdout, progress, columns !== undefined) : textOutput(stdout, progress, columns);
}

function textOutput(
  stdout: NodeJS.WriteStream,
  progress: Progress,
  columns: readonly Column[] | undefined,
): Output {
  const table = columns && createTable(columns, (text) => write(stdout, text));
  return {
    row: async (row) => table?.add(row),
    async end(_result, text) {
      progress.end();
      await table?.end();
      if (text !== '') await write(stdout, `${text}\n`);
    },
    error: (error, more) => {
      progress.end();
      return complain(error, more);
    },
    progress: progress.show,
  };
}

/** Rows become one array, written as they come. */
function jsonOutput(stdout: NodeJS.WriteStream, progress: Progress, isList: boolean): Output {
  let rows = 0;
  return {
    async row(row) {
      await write(stdout, `${rows === 0 ? '[' : ','}\n  ${JSON.stringify(row)}`);
      rows++;
    },
    async end(result) {
      progress.end();
      const text = isList ? `${rows === 0 ? '[' : '\n'}]` : JSON.stringify(result, undefined, 2);
      await write(stdout, `${text}\n`);
    },
    async error(error, more) {
      progress.end();
      // An array that was begun stays one that can be read.
      const { code, message } = error;
      await write(stdout, rows > 0 ? '\n]\n' : `${JSON.stringify({ error: { code, message } })}\n`);
      await complain(error, more);
    },
    progress: progress.show,
  };
}

function complain({ message }: { message: string }, more = ''): Promise<void> {
  return write(process.stderr, `linktrail: ${message}\n${more === '' ? '' : `${more}\n`}`);
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(text, () => resolve()));
}
