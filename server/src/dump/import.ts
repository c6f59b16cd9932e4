// Brings records into the stores, batch by batch: each is one transaction with the mark of how far the import
// has come. What cannot be taken stops it, with the line and the reason, or is handed out and passed over.
import { announce, type Database, isUniqueViolation } from '../db/database.ts';
import { appendOutbox, type OutboxEvent } from '../db/outbox.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Change, Entity, Reference } from './entity.ts';
import { valuesOf } from './export.ts';
import { fileName } from './field.ts';
import { type DumpFiles, exists } from './file-entity.ts';
import type { ProgressStore } from './progress.store.ts';
import { readAhead } from './read-ahead.ts';
import {
  type DraftItem,
  type DraftRow,
  describeProblem,
  type Problem,
  RejectedLines,
  type Row,
} from './record.ts';

/** One record as it comes in; its values are not looked at yet. */
export interface InputLine {
  readonly number: number;
  readonly type: string;
  readonly values: unknown;
  /** As it stood in the dump. */
  readonly text?: string;
  /** Why there are no values. */
  readonly problem?: string;
  /** What the values would be read into, where the source is sure of it: reading costs more than all the rest. */
  readonly row?: DraftRow;
}

export interface Batch {
  readonly lines: readonly InputLine[];
  /** Where to go on after it. */
  readonly state: object;
}

/** Where records come from. */
export interface Source {
  /** The same for a repeat, so that it goes on where it was interrupted. */
  readonly name: string;
  /** What comes after the state of an earlier run; throws StaleProgress when there is no going on from it. */
  batches(state: unknown): AsyncIterable<Batch>;
}

/** The mark of an earlier run does not fit the source any more. */
export class StaleProgress extends AppError {
  constructor(message: string) {
    super('conflict', message);
  }
}

export interface ImportReport {
  readonly lines: number;
  /** By type. */
  readonly written: Readonly<Record<string, number>>;
  readonly unchanged: Readonly<Record<string, number>>;
  readonly rejected: number;
  /** An earlier run was interrupted and this one went on after it. */
  readonly resumed: boolean;
}

export interface ImportRequest {
  readonly source: Source;
  readonly signal: AbortSignal;
  readonly progress: (state: { done: number; unit: string }) => Promise<void>;
  /** Takes the lines that are passed over; without it the first one stops the import. */
  readonly onRejected?: ((problem: Problem, line: InputLine) => Promise<void>) | undefined;
}

export interface ImportParts {
  readonly db: Database;
  readonly entities: readonly Entity[];
  readonly files: DumpFiles;
  readonly store: ProgressStore;
  /** Moves what was told on its way, so that it does not pile up. */
  readonly flushEvents: () => Promise<void>;
  readonly clock: Clock;
}

const SHOWN_PROBLEMS = 10;
const BATCHES_PER_FLUSH = 20;

interface Prepared extends DraftItem {
  readonly entity: Entity;
}

export function createImport(parts: ImportParts) {
  const { db, store, clock } = parts;
  const byName = new Map(parts.entities.map((entity) => [entity.name, entity]));

  /** Returns how the rows of each type fared. */
  async function write(items: readonly Prepared[], source: string, state: object): Promise<Tally> {
    return db.write(async (trx) => {
      const tally = newTally();
      const events: OutboxEvent[] = [];
      for (const run of runsOf(items)) {
        const { entity } = run[0] as Prepared;
        for (const reference of entity.references) await checkReference(entity, reference, byName, run);
        await checkFiles(parts.files, entity, run);
        const changes: Change[] = [];
        const result = await entity.write(run, (change) => changes.push(change));
        add(tally.written, entity.name, result.written);
        add(tally.unchanged, entity.name, result.unchanged);
        announce(
          trx,
          changes.map((change) => announcementOf(entity, change)),
        );
        events.push(...summariesOf(entity, changes));
      }
      await appendOutbox(trx, events, clock.now());
      await store.save(source, state, clock.now());
      return tally;
    });
  }

  return async ({ source, signal, progress, onRejected }: ImportRequest): Promise<ImportReport> => {
    const before = await store.find(source.name);
    const total = { ...newTally(), lines: 0, rejected: 0 };
    let batches = 0;

    /** Passes over the lines, or stops. */
    async function pass(problems: readonly Problem[], { lines }: Batch): Promise<Set<number>> {
      if (!onRejected) throw stopped(problems, lines);
      const numbers = new Set<number>();
      for (const problem of problems) {
        if (numbers.has(problem.line)) continue;
        numbers.add(problem.line);
        await onRejected(problem, lines.find(({ number }) => number === problem.line) as InputLine);
      }
      total.rejected += numbers.size;
      return numbers;
    }

    async function take({ batch, items: all, problems }: PreparedBatch): Promise<void> {
      if (problems.length > 0) await pass(problems, batch);
      for (let items = all; ; ) {
        try {
          addTally(total, await write(items, source.name, batch.state));
          return;
        } catch (error) {
          const rejected = await pass(await problemsOf(error, items), batch);
          items = items.filter(({ line }) => !rejected.has(line));
        }
      }
    }

    try {
      for await (const prepared of readAhead(prepare(source.batches(before), byName))) {
        const { batch } = prepared;
        signal.throwIfAborted();
        await take(prepared);
        batches += 1;
        if (batches % BATCHES_PER_FLUSH === 0) await parts.flushEvents();
        total.lines += batch.lines.length;
        await progress({ done: batch.lines.at(-1)?.number ?? total.lines, unit: 'lines' });
      }
    } catch (error) {
      if (error instanceof StaleProgress) await store.delete(source.name);
      throw error;
    }
    await store.delete(source.name);
    return { ...total, resumed: before !== undefined };
  };
}

/** For those who keep rows in memory: row by row, and not stored. */
function announcementOf(entity: Entity, { workspaceId, now, before }: Change): OutboxEvent {
  return { workspaceId, type: `${entity.name}.imported`, payload: now, previous: before };
}

/** For those who read the outbox: a few events for all rows of a workspace, and no webhook for each of a million links. */
function summariesOf(entity: Entity, changes: readonly Change[]): OutboxEvent[] {
  const byWorkspace = Map.groupBy(changes, ({ workspaceId }) => workspaceId);
  return [...byWorkspace].flatMap(([workspaceId, some]) => {
    const ids = { type: 'dump.imported', payload: { type: entity.name, ids: some.map(({ id }) => id) } };
    const events = entity.eventsOf?.(some.map(({ now }) => now)) ?? [ids];
    return events.map((event) => ({ workspaceId, ...event }));
  });
}

interface Tally {
  readonly written: Record<string, number>;
  readonly unchanged: Record<string, number>;
}

function newTally(): Tally {
  return { written: {}, unchanged: {} };
}

function add(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}

function addTally(total: Tally, more: Tally): void {
  for (const [name, count] of Object.entries(more.written)) add(total.written, name, count);
  for (const [name, count] of Object.entries(more.unchanged)) add(total.unchanged, name, count);
}

interface PreparedBatch {
  readonly batch: Batch;
  readonly items: Prepared[];
  readonly problems: readonly Problem[];
}

async function* prepare(
  batches: AsyncIterable<Batch>,
  byName: ReadonlyMap<string, Entity>,
): AsyncGenerator<PreparedBatch> {
  for await (const batch of batches) {
    const items: Prepared[] = [];
    const problems: Problem[] = [];
    for (const line of batch.lines) {
      const item = readItem(line, byName);
      if ('row' in item) items.push(item);
      else problems.push(item);
    }
    yield { batch, items, problems };
  }
}

function readItem(
  { number: line, type, values, problem, row }: InputLine,
  byName: ReadonlyMap<string, Entity>,
): Prepared | Problem {
  if (problem !== undefined) return { line, type, field: '', reason: problem };
  const entity = byName.get(type);
  if (!entity)
    return { line, type, field: 'type', reason: `must be one of ${[...byName.keys()].join(', ')}` };
  if (row) return { line, entity, row };
  const result = entity.schema.safeParse(values);
  return result.success
    ? { line, entity, row: result.data }
    : { line, type, ...firstIssue(result.error.issues) };
}

interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

function firstIssue(issues: readonly Issue[]): { field: string; reason: string } {
  const { code, path, message, keys } = issues[0] as Issue;
  if (code === 'unrecognized_keys') {
    return { field: [...path.map(String), keys?.[0]].join('.'), reason: 'is not a field of this type' };
  }
  const reason = /received undefined$/.test(message) ? 'is missing' : message.replace('Invalid input: ', '');
  return { field: path.map(String).join('.'), reason };
}

/** Neighbours of one type go in together. */
function runsOf(items: readonly Prepared[]): Prepared[][] {
  const runs: Prepared[][] = [];
  for (const item of items) {
    const run = runs.at(-1);
    if (run?.[0]?.entity === item.entity) run.push(item);
    else runs.push([item]);
  }
  return runs;
}

async function checkReference(
  entity: Entity,
  reference: Reference,
  byName: ReadonlyMap<string, Entity>,
  items: readonly DraftItem[],
): Promise<void> {
  const { to, toColumn, field } = reference;
  const found =
    (await byName.get(to)?.find?.(
      toColumn,
      valuesOf(
        reference,
        items.map(({ row }) => row),
      ),
    )) ?? [];
  const rows = new Map(found.map((row) => [row[toColumn] as string, row]));
  const problems = items.flatMap(({ line, row }) =>
    valuesOf(reference, [row]).flatMap((value): Problem[] => {
      const reason = refusal(to, value, rows.get(value), row.workspace_id);
      return reason === undefined ? [] : [{ line, type: entity.name, field, reason }];
    }),
  );
  if (problems.length > 0) throw new RejectedLines(problems);
}

function refusal(
  to: string,
  value: string,
  target: Row | undefined,
  workspaceId: unknown,
): string | undefined {
  if (!target) return `there is no ${to} ${value}, neither here nor in the lines before`;
  const { workspace_id: owner } = target;
  if (owner === undefined || workspaceId === undefined || owner === workspaceId) return undefined;
  return `the ${to} ${value} belongs to another workspace`;
}

async function checkFiles(files: DumpFiles, entity: Entity, items: readonly DraftItem[]): Promise<void> {
  for (const { line, row } of items) {
    for (const column of entity.imageColumns) {
      const url = row[column];
      if (typeof url !== 'string' || !files.isOwn(url)) continue;
      if (await exists(files, fileName(url))) continue;
      const reason = `there is no file ${fileName(url)}, neither here nor in the lines before`;
      throw new RejectedLines([{ line, type: entity.name, field: column, reason }]);
    }
  }
}

/** What in the lines made the batch fail; other failures pass through. */
async function problemsOf(error: unknown, items: readonly Prepared[]): Promise<readonly Problem[]> {
  if (error instanceof RejectedLines) return error.problems;
  if (!isUniqueViolation(error)) throw error;
  const problems: Problem[] = [];
  for (const run of runsOf(items)) {
    const { entity } = run[0] as Prepared;
    const conflicts = (await entity.findConflicts?.(run)) ?? [];
    problems.push(...conflicts.map((conflict) => ({ ...conflict, type: entity.name })));
  }
  if (problems.length === 0) throw error;
  return problems;
}

function stopped(problems: readonly Problem[], lines: readonly InputLine[]): AppError {
  const [first, last] = [lines[0]?.number, lines.at(-1)?.number];
  const shown = problems.slice(0, SHOWN_PROBLEMS).map((problem) => describeProblem(problem));
  const more =
    problems.length > shown.length ? [`… and ${problems.length - shown.length} more in this batch.`] : [];
  const state = `Nothing of the lines ${first} to ${last} was taken; what comes before them is in. Put it right and run the same command again, or pass over such lines with --skip-invalid <file>.`;
  return new AppError('unprocessable_entity', [...shown, ...more, state].join('\n'));
}
