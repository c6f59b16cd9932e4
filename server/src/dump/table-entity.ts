// A type of line that is a row of a table, from a description of the table: how it is read, checked against
// what is there and brought in. Importing the same rows again changes nothing.
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Conflict, Entity, ImportedEvent, Reference, Tell } from './entity.ts';
import type { Field } from './field.ts';
import { createListStore, type ListShape, type ListStore } from './list.store.ts';
import {
  type DraftItem,
  type DraftRow,
  type Problem,
  RejectedLines,
  type Row,
  sameRow,
  type WriteResult,
} from './record.ts';
import { createTableStore, type Partition, type TableStore } from './table.store.ts';

export interface TableSpec {
  readonly name: string;
  readonly table: string;
  /** The fields that make the key; `id` if absent. */
  readonly key?: readonly string[];
  readonly fields: Readonly<Record<string, Field>>;
  /** Columns that no line holds and `derive` fills. */
  readonly derived?: readonly string[];
  /** What the index of a workspace's rows by time goes by; `created_at` if absent. */
  readonly timeColumn?: string;
  /** How the index of a workspace's rows by time is split. */
  readonly partition?: Partition;
  /** A field that is a list in a table of its own. */
  readonly list?: ListShape & { readonly field: string };
  /** Field → type whose id it holds. Where the column may be null, a line may leave it out. */
  readonly references?: Readonly<Record<string, string | Pick<Reference, 'to' | 'toColumn' | 'isFree'>>>;
  /** Fields whose values together belong to one row only, apart from the key. */
  readonly unique?: readonly UniqueRule[];
  readonly imageFields?: readonly string[];
  /** Fields that an import does not change in a row that is there, and why. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** The column that says whose the row is; a row never changes hands. */
  readonly workspaceColumn?: string;
  readonly ofWorkspace?: (workspaceId: string) => RawBuilder<unknown>;
  /** Checks of the fields together, as for one line. */
  readonly check?: (schema: z.ZodType<DraftRow>) => z.ZodType<DraftRow>;
  /** Fills the derived columns. */
  readonly derive?: (items: readonly DraftItem[]) => Promise<void>;
  /** What the event store learns of rows of one workspace that were written. */
  readonly eventsOf?: (rows: readonly DraftRow[]) => readonly ImportedEvent[];
  /** After new rows went in. */
  readonly onInsert?: (rows: readonly DraftRow[]) => Promise<void>;
}

export interface UniqueRule {
  /** The field to name when it is taken. */
  readonly field: string;
  readonly columns: readonly string[];
  /** Rows that the rule is not about. */
  readonly where?: (row: DraftRow) => boolean;
}

export function tableEntity({ db, clock }: { db: Database; clock: Clock }, spec: TableSpec): Entity {
  const shape = shapeOf(spec);
  const layout = layoutOf(spec);
  const store = createTableStore(db, shape);
  const list = spec.list && createListStore(db, spec.list);
  const references = referencesOf(spec);
  const withLists = (rows: Row[]) => attachLists(spec, list, rows);
  const write = createWriter({ clock, spec, layout, store, list, columns: shape.columns });

  return {
    name: spec.name,
    tables: [spec.table, ...(spec.list ? [spec.list.table] : [])],
    columns: [...shape.columns.map((column) => `${spec.table}.${column}`), ...listColumns(spec)],
    schema: schemaOf(spec, layout),
    references,
    imageColumns: (spec.imageFields ?? []).map((field) => columnOf(spec, field)),
    present: (row) => present(layout, row),
    list: async ({ workspaceId }, after, limit) => withLists(await store.list(workspaceId, after, limit)),
    count: ({ workspaceId }) => store.count(workspaceId),
    find: async (column, values) => withLists(await store.find(column, values)),
    write,
    ...(spec.eventsOf && { eventsOf: spec.eventsOf }),
    findConflicts: (items) => findConflicts(spec, store, items),
  };
}

function listColumns({ list }: TableSpec): string[] {
  if (!list) return [];
  return [list.owner, list.value, list.position, ...list.copied].map((column) => `${list.table}.${column}`);
}

export function columnOf(spec: Pick<TableSpec, 'fields'>, field: string): string {
  return spec.fields[field]?.column ?? field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function keyColumns(spec: TableSpec): string[] {
  return (spec.key ?? ['id']).map((field) => columnOf(spec, field));
}

function shapeOf(spec: TableSpec) {
  const fields = Object.keys(spec.fields).filter((field) => field !== spec.list?.field);
  const workspaceColumn = spec.workspaceColumn ?? 'workspace_id';
  return {
    table: spec.table,
    key: keyColumns(spec),
    columns: [...fields.map((field) => columnOf(spec, field)), ...(spec.derived ?? [])],
    ofWorkspace: spec.ofWorkspace ?? ((id: string) => sql`${sql.ref(workspaceColumn)} = ${id}`),
    createdAt: spec.timeColumn ?? (spec.ofWorkspace ? undefined : 'created_at'),
    partition: spec.partition,
  };
}

function referencesOf(spec: TableSpec): Reference[] {
  return Object.entries(spec.references ?? {}).map(([field, target]) => ({
    field,
    column: field === spec.list?.field ? field : columnOf(spec, field),
    isOptional: spec.fields[field]?.schema.safeParse(null).success ?? false,
    ...(typeof target === 'string' ? { to: target, toColumn: 'id' } : target),
  }));
}

/** Where each field is in a row. */
type Layout = readonly { readonly name: string; readonly column: string; readonly field: Field }[];

function layoutOf(spec: TableSpec): Layout {
  return Object.entries(spec.fields).map(([name, field]) => ({
    name,
    column: name === spec.list?.field ? name : columnOf(spec, name),
    field,
  }));
}

function schemaOf(spec: TableSpec, layout: Layout): z.ZodType<DraftRow> {
  const shape = Object.fromEntries(layout.map(({ name, field }) => [name, field.schema]));
  const schema = z.strictObject(shape).transform((values): DraftRow => {
    const row: DraftRow = {};
    for (const { name, column } of layout) row[column] = values[name];
    return row;
  });
  return spec.check?.(schema) ?? schema;
}

function present(layout: Layout, row: Row): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const { name, column, field } of layout) {
    const value = row[column];
    const shown = Array.isArray(value) ? value : field.show(value as string);
    if (shown !== null && !(Array.isArray(shown) && shown.length === 0)) line[name] = shown;
  }
  return line;
}

async function attachLists(spec: TableSpec, list: ListStore | undefined, rows: Row[]): Promise<Row[]> {
  const field = spec.list?.field;
  if (!list || field === undefined) return rows;
  const lists = await list.find(rows.map((row) => row.id as string));
  return rows.map((row) => ({ ...row, [field]: lists.get(row.id as string) ?? [] }));
}

interface WriterParts {
  readonly clock: Clock;
  readonly spec: TableSpec;
  readonly layout: Layout;
  readonly store: TableStore;
  readonly list: ListStore | undefined;
  readonly columns: readonly string[];
}

function createWriter(parts: WriterParts): Entity['write'] {
  const { spec, store, clock, columns } = parts;
  const compared = spec.list ? [...columns, spec.list.field] : columns;
  const keyOf = keyReader(spec);
  const gaps = parts.layout.filter(({ field }) => field.fallback !== undefined);

  return async (all, tell): Promise<WriteResult> => {
    const items = [...new Map(all.map((item) => [keyOf(item.row), item])).values()];
    const rows = await attachLists(
      spec,
      parts.list,
      await store.findSame(
        keyColumns(spec),
        items.map(({ row }) => row as Row),
      ),
    );
    const existing = new Map(rows.map((row) => [keyOf(row), row]));
    reject(spec, ownershipProblems(spec, items, existing, keyOf));
    reject(spec, fixedProblems(spec, items, existing, keyOf));
    for (const { row } of items) fillGaps(gaps, row, existing.get(keyOf(row)), clock.now());
    await spec.derive?.(items);

    const drafts = items.map(({ row }) => row);
    const added = drafts.filter((row) => !existing.has(keyOf(row)));
    const changed = drafts.filter((row) => {
      const before = existing.get(keyOf(row));
      return before && !sameRow(row, before, compared);
    });
    await store.insert(added as Row[]);
    await store.replace(changed as Row[]);
    await writeLists(parts, added, changed);
    await spec.onInsert?.(added);
    for (const row of [...added, ...changed]) tellOf(spec, row, existing.get(keyOf(row)), tell);
    return { written: added.length + changed.length, unchanged: all.length - added.length - changed.length };
  };
}

function keyReader(spec: TableSpec): (row: DraftRow | Row) => string {
  const key = keyColumns(spec);
  return (row) => key.map((column) => row[column]).join('\0');
}

/** An id that is another workspace's must not be taken from it. */
function ownershipProblems(
  spec: TableSpec,
  items: readonly DraftItem[],
  existing: ReadonlyMap<string, Row>,
  keyOf: (row: DraftRow) => string,
): Conflict[] {
  const column = spec.workspaceColumn ?? 'workspace_id';
  return items.flatMap(({ line, row }) => {
    const before = existing.get(keyOf(row));
    if (!before || row[column] === undefined || before[column] === row[column]) return [];
    return [{ line, field: 'id', reason: `${row.id} is taken in the workspace ${before[column]}` }];
  });
}

function fixedProblems(
  spec: TableSpec,
  items: readonly DraftItem[],
  existing: ReadonlyMap<string, Row>,
  keyOf: (row: DraftRow) => string,
): Conflict[] {
  return Object.entries(spec.fixed ?? {}).flatMap(([field, why]) => {
    const column = columnOf(spec, field);
    return items.flatMap(({ line, row }) => {
      const before = existing.get(keyOf(row));
      return !before || before[column] === row[column]
        ? []
        : [{ line, field, reason: `${row.id} has ${before[column]} here, and ${why}` }];
    });
  });
}

export function reject(spec: Pick<TableSpec, 'name'>, conflicts: readonly Conflict[]): void {
  if (conflicts.length === 0) return;
  throw new RejectedLines(conflicts.map((conflict): Problem => ({ ...conflict, type: spec.name })));
}

function fillGaps(layout: Layout, row: DraftRow, before: Row | undefined, nowMs: number): void {
  for (const { column, field } of layout) {
    if (field.fallback && row[column] === undefined)
      row[column] = before?.[column] ?? field.fallback(nowMs, row);
  }
}

async function writeLists(
  { spec, list }: WriterParts,
  added: DraftRow[],
  changed: DraftRow[],
): Promise<void> {
  const field = spec.list?.field;
  if (!list || field === undefined) return;
  await list.clear(changed.map((row) => row.id as string));
  await list.insert(
    [...added, ...changed].map((row) => ({ row: row as Row, values: row[field] as string[] })),
  );
}

function tellOf(spec: TableSpec, now: DraftRow, before: Row | undefined, tell: Tell): void {
  const { [spec.workspaceColumn ?? 'workspace_id']: workspaceId, id } = now;
  if (typeof workspaceId === 'string' && typeof id === 'string') tell({ workspaceId, id, now, before });
}

async function findConflicts(
  spec: TableSpec,
  store: TableStore,
  items: readonly DraftItem[],
): Promise<Conflict[]> {
  const keyOf = keyReader(spec);
  const found: Conflict[] = [];
  for (const { field, columns, where } of spec.unique ?? []) {
    const concerned = items.filter(
      ({ row }) => columns.every((c) => row[c] != null) && (where?.(row) ?? true),
    );
    const slotOf = (row: DraftRow | Row) => columns.map((column) => row[column]).join('\0');
    const rows = await store.findSame(
      columns,
      concerned.map(({ row }) => row as Row),
    );
    const holders = new Map(
      rows.filter((row) => where?.(row as DraftRow) ?? true).map((row) => [slotOf(row), keyOf(row)]),
    );
    for (const { line, row } of concerned) {
      const holder = holders.get(slotOf(row));
      if (holder === undefined) holders.set(slotOf(row), keyOf(row));
      else if (holder !== keyOf(row)) found.push({ line, field, reason: takenBy(spec, field, holder) });
    }
  }
  return found;
}

function takenBy(spec: TableSpec, field: string, holder: string): string {
  return `the ${spec.name} ${holder.replaceAll('\0', ', ')} has this ${field} already`;
}
