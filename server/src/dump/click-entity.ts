// All clicks as lines of a dump, in order of time. They are in no table: they are read from the event store page
// by page, and go in through the outbox as they are, past the counters, which links bring along themselves. The
// event store passes over those that it has.

import type { ClickPages, ClickPlace } from '../analytics/click-pages.ts';
import type { ClickRecord } from '../analytics/click-record.ts';
import { packClicks } from '../analytics/packed-clicks.ts';
import type { Database } from '../db/database.ts';
import { clickTime } from '../events/click-id.ts';
import { clickLine, presentClick } from './click-line.ts';
import type { Entity } from './entity.ts';
import { type DraftRow, inGroups, type Row } from './record.ts';

export interface ClickEntityParts {
  readonly db: Database;
  readonly clicks: ClickPages;
  /** Makes the event store ready to be read; false when there is nothing in it. */
  readonly openClicks: () => Promise<boolean>;
}

/** So few that a change stays small, and so many that they share most of what they hold. */
const CLICKS_PER_CHANGE = 500;
/** Ids of our own carry a time so near to the click's. */
const OWN_ID_SLACK_MS = 3_600_000;

export function clickEntity({ db, clicks, openClicks }: ClickEntityParts): Entity {
  /** Where the page after a row begins; as many as there are exports under way. */
  const places = new WeakMap<Row, ClickPlace>();

  return {
    name: 'click',
    tables: [],
    columns: [],
    schema: clickLine.transform((record): DraftRow => clickRow(record)),
    references: [
      { field: 'workspaceId', column: 'workspace_id', to: 'workspace', toColumn: 'id', isOptional: false },
    ],
    imageColumns: [],
    present: (row) => presentClick(recordOf(row)),
    async list({ workspaceId }, after, limit) {
      if (!after && !(await openClicks())) return [];
      const place = after && places.get(after);
      const page = await clicks.listClicks({ workspaceId, after: place, limit });
      const rows = page.clicks.map(clickRow);
      const last = rows.at(-1);
      if (last && page.next) places.set(last, page.next);
      return rows;
    },
    async count({ workspaceId }) {
      return (await openClicks()) ? clicks.countClicks(workspaceId) : 0;
    },
    eventsOf: (rows) =>
      inGroups(rows.map(recordOf), CLICKS_PER_CHANGE).map((some) => ({
        type: 'clicks.imported',
        payload: packClicks(some),
      })),
    async write(items, tell) {
      await indexForeign(
        db,
        items.map(({ row }) => row),
      );
      for (const { row } of items)
        tell({ workspaceId: row.workspaceId as string, id: row.id as string, now: row, before: undefined });
      return { written: items.length, unchanged: 0 };
    },
  };
}

/** Those that cannot be found by the time in their id are kept in SQL too. */
async function indexForeign(db: Database, clicks: readonly DraftRow[]): Promise<void> {
  const foreign = clicks.filter(
    ({ id, timeMs }) =>
      Math.abs((clickTime(id as string) ?? Number.NEGATIVE_INFINITY) - (timeMs as number)) > OWN_ID_SLACK_MS,
  );
  if (foreign.length === 0) return;
  const rows = foreign.map(recordOf).map((record) => ({
    id: record.id,
    workspace_id: record.workspaceId,
    link_id: record.linkId,
    time_ms: record.timeMs,
    click: JSON.stringify(record),
  }));
  await db.query
    .insertInto('click_index')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** The fields of the record, and the column that names its workspace. */
export function clickRow(record: ClickRecord): DraftRow & Row {
  return { ...record, qr: Number(record.qr), workspace_id: record.workspaceId };
}

function recordOf({ workspace_id: _, ...row }: DraftRow | Row): ClickRecord {
  return { ...row, qr: row.qr === 1 } as unknown as ClickRecord;
}
