// All events that match, as a file of any size: read page by page while the client takes it, or, as Parquet, written
// by the engine into a file that is gone as soon as it is open for reading.
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Actor, Reply } from '../http/operation.ts';
import { csvLine } from '../kernel/csv.ts';
import { invalid } from '../kernel/errors.ts';
import { createGate } from '../kernel/gate.ts';
import type { Ids } from '../kernel/ids.ts';
import type { WireEvent } from './event-records.ts';
import { readEventTable } from './event-table.ts';
import type { Events, ListParams, Reading } from './events.ts';
import type { EventKind, ListQuery } from './query.ts';

export const EXPORT_TYPES = {
  csv: 'application/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
} as const;
export type ExportFormat = keyof typeof EXPORT_TYPES;
export const EXPORT_FORMATS = Object.keys(EXPORT_TYPES) as [ExportFormat, ...ExportFormat[]];

/** Writes everything that matches into a new file, in the order of the query. */
export type WriteParquet = (query: ListQuery, path: string, signal: AbortSignal) => Promise<void>;

export interface EventExportsParts {
  readonly events: Pick<Events, 'open' | 'pages'>;
  readonly writeParquet: WriteParquet;
  /** Holds files while they are written. */
  readonly folder: string;
  readonly ids: Ids;
}

export interface ExportParams extends ListParams {
  readonly format: ExportFormat;
  readonly columns?: readonly string[] | undefined;
}

/** Each takes a good part of the engine and of the disk while it is written. */
const PARQUET_GATE = { running: 1, waiting: 4 };
const CHUNK_BYTES = 256 * 1024;

export function createEventExports({ events, writeParquet, folder, ids }: EventExportsParts) {
  const inTurn = createGate(PARQUET_GATE);

  async function parquet(query: ListQuery, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${ids('export_')}.parquet`);
    try {
      await inTurn(() => writeParquet(query, path, signal));
      return fileStream(await open(path));
    } finally {
      await rm(path, { force: true });
    }
  }

  return {
    async export(actor: Actor, params: ExportParams, reading: Reading): Promise<Reply> {
      const { format, event: kind, columns } = params;
      if (columns && format !== 'csv') throw invalid('columns', 'can only be chosen for format=csv');
      const table = readEventTable(columns, kind);
      const query = await events.open(actor, params);
      if (format === 'parquet') return reply(kind, format, await parquet(query, reading.signal));
      const pages = events.pages(query, reading);
      const lines =
        format === 'csv'
          ? linesOf(pages, csvLine(table.headings), (event) => csvLine(table.row(event)))
          : linesOf(pages, '', (event) => `${JSON.stringify(event)}\n`);
      return reply(kind, format, ReadableStream.from(lines));
    },

    /** Removes what a process that was killed has left behind; for a start. */
    async clear(): Promise<void> {
      const left = await readdir(folder).catch(() => []);
      for (const name of left) await rm(join(folder, name), { force: true });
    },
  };
}

export type EventExports = ReturnType<typeof createEventExports>;

function reply(kind: EventKind, format: ExportFormat, body: ReadableStream<Uint8Array>): Reply {
  const headers = { 'Content-Disposition': `attachment; filename=${kind}_export.${format}` };
  return { contentType: EXPORT_TYPES[format], body, headers };
}

async function* linesOf(
  pages: AsyncIterable<readonly WireEvent[]>,
  head: string,
  line: (event: WireEvent) => string,
): AsyncGenerator<Uint8Array> {
  let text = head;
  for await (const page of pages) {
    yield Buffer.from(text + page.map(line).join(''));
    text = '';
  }
}

/** Reads as fast as it is taken, and closes the file at the end or when nobody wants more. */
function fileStream(file: Awaited<ReturnType<typeof open>>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES));
      if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
      await file.close();
      controller.close();
    },
    cancel: () => file.close(),
  });
}
