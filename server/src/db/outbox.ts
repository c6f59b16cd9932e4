// The outbox: what happened, written in the same transaction as the change itself, for whoever relays it. Those
// who follow the store hear of it with the commit.
import { announce, type CommittedEvent, type Database, type Queries } from './database.ts';

export type OutboxEvent = CommittedEvent;

/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_INSERT = 500;

/** `trx` is the transaction of the change that the events tell of. */
export async function appendOutbox(
  trx: Queries,
  events: readonly OutboxEvent[],
  nowMs: number,
): Promise<void> {
  for (let start = 0; start < events.length; start += ROWS_PER_INSERT) {
    const rows = events.slice(start, start + ROWS_PER_INSERT).map((event) => ({
      workspace_id: event.workspaceId,
      type: event.type,
      payload: JSON.stringify(event.payload),
      webhook: event.webhook === undefined ? null : JSON.stringify(event.webhook),
      created_at: nowMs,
    }));
    await trx.insertInto('outbox').values(rows).execute();
  }
  announce(trx, events);
}

/** Deletes what is older, in transactions of at most `batch` rows; returns how many went. */
export async function pruneOutbox(db: Database, olderThanMs: number, batch = 1_000): Promise<number> {
  let total = 0;
  for (;;) {
    const deleted = await db.write(async (trx) => {
      const old = trx
        .selectFrom('outbox')
        .select('id')
        .where('created_at', '<', olderThanMs)
        .orderBy('created_at')
        .limit(batch);
      const { numDeletedRows } = await trx.deleteFrom('outbox').where('id', 'in', old).executeTakeFirst();
      return Number(numDeletedRows);
    });
    total += deleted;
    if (deleted < batch) return total;
  }
}
