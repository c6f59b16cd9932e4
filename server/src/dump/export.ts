// Writes a dump: a header, a line per record and a trailer with the counts, as chunks of text. It reads page
// by page beside other work, in no transaction: what changes meanwhile may or may not be in it, but whatever a
// line refers to is in a line before it.
import type { Clock } from '../kernel/clock.ts';
import { isoTime } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Entity, Reference, Scope } from './entity.ts';
import { fileName } from './field.ts';
import type { DumpFiles } from './file-entity.ts';
import { readAhead } from './read-ahead.ts';
import type { Row } from './record.ts';

export const HEADER_TYPE = 'linktrail';
export const TRAILER_TYPE = 'end';
export const DUMP_VERSION = 1;

export interface ExportReport {
  readonly lines: Readonly<Record<string, number>>;
  /** Records that refer to something that is gone, and are about to go too. */
  readonly leftOut: number;
  /** Images that rows show and that are not in the data directory. */
  readonly missingFiles: number;
}

export interface ExportParts {
  readonly entities: readonly Entity[];
  readonly files: Pick<DumpFiles, 'isOwn' | 'findContent'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface ExportRequest {
  readonly scope: Scope;
  readonly signal: AbortSignal;
  readonly write: (text: string) => Promise<void>;
  readonly progress: (state: { done: number; total: number; unit: string }) => Promise<void>;
}

const ROWS_PER_PAGE = 1_000;
/** Clocks of several nodes differ by less. */
const CLOCK_MARGIN_MS = 60_000;
/** Images remembered as written; one that is forgotten is written again, which does no harm. */
const REMEMBERED_FILES = 10_000;
const CHUNK_LENGTH = 65_536;

export function createExport(parts: ExportParts) {
  return async (request: ExportRequest): Promise<ExportReport> => {
    const { scope, signal } = request;
    const startMs = parts.clock.now();
    const output = createOutput(parts, request, startMs - CLOCK_MARGIN_MS);
    await output.line(HEADER_TYPE, {
      version: DUMP_VERSION,
      id: parts.ids('dump_'),
      createdAt: isoTime(startMs),
      ...(scope.workspaceId !== undefined && { workspaceId: scope.workspaceId }),
    });
    const total = await countAll(parts.entities, scope);
    let done = 0;
    for (const entity of parts.entities) {
      for await (const rows of readAhead(pages(entity, scope))) {
        signal.throwIfAborted();
        await output.rows(entity, rows);
        done += rows.length;
        await request.progress({ done, total, unit: 'records' });
      }
    }
    const report = output.report();
    const { lines: counts, leftOut, missingFiles } = report;
    await output.line(TRAILER_TYPE, {
      counts,
      ...(leftOut && { leftOut }),
      ...(missingFiles && { missingFiles }),
    });
    await output.flush();
    return report;
  };
}

async function countAll(entities: readonly Entity[], scope: Scope): Promise<number> {
  let total = 0;
  for (const entity of entities) total += (await entity.count?.(scope)) ?? 0;
  return total;
}

async function* pages(entity: Entity, scope: Scope): AsyncGenerator<readonly Row[]> {
  if (!entity.list) return;
  let after: Row | undefined;
  for (;;) {
    const rows = await entity.list(scope, after, ROWS_PER_PAGE);
    if (rows.length > 0) yield rows;
    if (rows.length < ROWS_PER_PAGE) return;
    after = rows.at(-1);
  }
}

function createOutput({ entities, files }: ExportParts, { write }: ExportRequest, horizonMs: number) {
  const byName = new Map(entities.map((entity) => [entity.name, entity]));
  const counts: Record<string, number> = {};
  const writtenFiles = new Set<string>();
  /** What was made since the horizon and is written: the pass over its type may have missed others. */
  const recent = new Set<string>();
  const isRecent = (row: Row): boolean => (row.created_at as number) >= horizonMs;
  let [chunk, leftOut, missingFiles] = ['', 0, 0];

  async function line(type: string, values: object): Promise<void> {
    chunk += `${JSON.stringify({ type, ...values })}\n`;
    if (chunk.length >= CHUNK_LENGTH) await flush();
  }

  async function flush(): Promise<void> {
    const text = chunk;
    chunk = '';
    if (text !== '') await write(text);
  }

  async function record(type: string, values: object): Promise<void> {
    counts[type] = (counts[type] ?? 0) + 1;
    await line(type, values);
  }

  async function rows(entity: Entity, read: readonly Row[]): Promise<void> {
    let kept = read;
    for (const reference of entity.references) kept = await resolve(reference, kept);
    leftOut += read.length - kept.length;
    for (const row of kept) {
      for (const column of entity.imageColumns) await file(row[column] as string | null);
      if (isRecent(row)) recent.add(markOf(entity.name, row));
      await record(entity.name, entity.present(row));
    }
  }

  /** Writes what these rows refer to where its own pass may have been too early; drops what is gone. */
  async function resolve(reference: Reference, referring: readonly Row[]): Promise<readonly Row[]> {
    const target = byName.get(reference.to);
    const wanted = valuesOf(reference, referring);
    const found = (await target?.find?.(reference.toColumn, wanted)) ?? [];
    const late = found.filter((row) => isRecent(row) && !recent.has(markOf(reference.to, row)));
    if (target && late.length > 0) await rows(target, late);
    const written = target ? await withoutOrphans(target, found) : found;
    const there = new Set(written.map((row) => row[reference.toColumn] as string));
    return there.size === wanted.length ? referring : withoutDangling(reference, referring, there);
  }

  /** Of rows that are referred to, those that are not left out themselves. */
  async function withoutOrphans(target: Entity, found: readonly Row[]): Promise<readonly Row[]> {
    let kept = found;
    for (const reference of target.references.filter(({ isOptional }) => !isOptional)) {
      const wanted = valuesOf(reference, kept);
      const rows = (await byName.get(reference.to)?.find?.(reference.toColumn, wanted)) ?? [];
      const there = new Set(rows.map((row) => row[reference.toColumn] as string));
      if (there.size < wanted.length) kept = withoutDangling(reference, kept, there);
    }
    return kept;
  }

  async function file(url: string | null): Promise<void> {
    if (url === null || writtenFiles.has(url) || !files.isOwn(url)) return;
    const content = await files.findContent(url);
    if (content)
      await record('file', { name: fileName(url), content: Buffer.from(content).toString('base64') });
    else missingFiles += 1;
    if (writtenFiles.size >= REMEMBERED_FILES) writtenFiles.clear();
    writtenFiles.add(url);
  }

  return { line, rows, flush, report: (): ExportReport => ({ lines: counts, leftOut, missingFiles }) };
}

function markOf(type: string, row: Row): string {
  return `${type} ${row.id ?? ''}`;
}

/** Distinct values that need something to refer to. */
export function valuesOf(
  { column, isFree }: Reference,
  rows: readonly Readonly<Record<string, unknown>>[],
): string[] {
  const values = new Set<string>();
  for (const row of rows) {
    const value = row[column];
    for (const entry of Array.isArray(value) ? (value as string[]) : [value]) {
      if (typeof entry === 'string' && !isFree?.(entry)) values.add(entry);
    }
  }
  return [...values];
}

/** A reference that may be absent goes; a row that needs it is about to be removed itself, and is left out. */
function withoutDangling(reference: Reference, rows: readonly Row[], there: ReadonlySet<string>): Row[] {
  const { column, isFree, isOptional } = reference;
  const resolves = (value: string) => there.has(value) || Boolean(isFree?.(value));
  return rows.flatMap((row) => {
    const value = row[column];
    if (Array.isArray(value)) return [{ ...row, [column]: (value as string[]).filter(resolves) }];
    if (typeof value !== 'string' || resolves(value)) return [row];
    return isOptional ? [{ ...row, [column]: null }] : [];
  });
}
