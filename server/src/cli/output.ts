// What a command says: rows and the result on standard output, as a table and text or as JSON, and
// everything else on standard error. Waits for slow readers.
import type { Column, Row } from './command.ts';
import { createTable } from './table.ts';

export interface Output {
  row(row: Row): Promise<void>;
  /** After the rows, or in their place. */
  end(result: unknown, text: string): Promise<void>;
  error(error: { code: string; message: string }, more?: string): Promise<void>;
  progress(state: object): void;
}

export function createOutput({
  json,
  columns,
}: {
  json: boolean;
  columns?: readonly Column[] | undefined;
}): Output {
  return json ? jsonOutput(columns !== undefined) : textOutput(columns);
}

function textOutput(columns: readonly Column[] | undefined): Output {
  const table = columns && createTable(columns, (text) => write(process.stdout, text));
  return {
    row: async (row) => table?.add(row),
    async end(_result, text) {
      await table?.end();
      if (text !== '') await write(process.stdout, `${text}\n`);
    },
    error: complain,
    progress: showProgress,
  };
}

/** Rows become one array, written as they come. */
function jsonOutput(isList: boolean): Output {
  let rows = 0;
  return {
    async row(row) {
      await write(process.stdout, `${rows === 0 ? '[' : ','}\n  ${JSON.stringify(row)}`);
      rows++;
    },
    async end(result) {
      const text = isList ? `${rows === 0 ? '[' : '\n'}]` : JSON.stringify(result, undefined, 2);
      await write(process.stdout, `${text}\n`);
    },
    async error(error, more) {
      // An array that was begun stays one that can be read.
      const { code, message } = error;
      await write(process.stdout, rows > 0 ? '\n]\n' : `${JSON.stringify({ error: { code, message } })}\n`);
      await complain(error, more);
    },
    progress: showProgress,
  };
}

function complain({ message }: { message: string }, more = ''): Promise<void> {
  return write(process.stderr, `linktrail: ${message}\n${more === '' ? '' : `${more}\n`}`);
}

function showProgress(state: object): void {
  const parts = Object.entries(state).map(([name, value]) => `${name} ${value}`);
  process.stderr.write(`${parts.join(', ')}\n`);
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(text, () => resolve()));
}
