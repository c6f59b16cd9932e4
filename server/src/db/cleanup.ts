// What a deleted thing leaves behind in large tables is removed in small steps: the first in the transaction
// that deletes it, the rest by a job. Steps can be repeated, so that a job that died is simply run again.
import type { Database } from './database.ts';

export type CleanupKind =
  | 'domain'
  | 'folder'
  | 'tag'
  | 'customer'
  | 'webhook'
  | 'partner-group'
  | 'partner-tag'
  | 'partner-links';

/** Removes at most `limit` rows of what the target left behind; returns how many. */
export type CleanupStep = (workspaceId: string, target: string, limit: number) => Promise<number>;

export interface Cleanup {
  /** Call it in the transaction that deletes the target. */
  begin(workspaceId: string, target: string, nowMs: number): Promise<void>;
  /** True while something of the target is left. */
  pending(target: string): Promise<boolean>;
  /** Goes on with everything pending, until nothing is or the signal says stop. */
  run(signal: AbortSignal): Promise<void>;
}

/** Small enough that other writes wait for a step no longer than they notice. */
const ROWS_PER_STEP = 500;
const TARGETS_PER_LOOK = 100;

export function createCleanup(parts: {
  db: Database;
  kind: CleanupKind;
  step: CleanupStep;
  rowsPerStep?: number;
}): Cleanup {
  const { db, kind, step, rowsPerStep = ROWS_PER_STEP } = parts;
  const ofKind = () => db.query.selectFrom('cleanup').where('kind', '=', kind);

  async function advance(workspaceId: string, target: string): Promise<boolean> {
    return db.write(async (trx) => {
      if ((await step(workspaceId, target, rowsPerStep)) >= rowsPerStep) return false;
      await trx.deleteFrom('cleanup').where('kind', '=', kind).where('target', '=', target).execute();
      return true;
    });
  }

  return {
    async begin(workspaceId, target, nowMs) {
      if ((await step(workspaceId, target, rowsPerStep)) < rowsPerStep) return;
      await db.query
        .insertInto('cleanup')
        .values({ kind, target, workspace_id: workspaceId, created_at: nowMs })
        .execute();
    },

    async pending(target) {
      const row = await ofKind().select('target').where('target', '=', target).executeTakeFirst();
      return row !== undefined;
    },

    async run(signal) {
      for (;;) {
        const rows = await ofKind()
          .select(['target', 'workspace_id'])
          .orderBy('created_at')
          .limit(TARGETS_PER_LOOK)
          .execute();
        if (rows.length === 0) return;
        for (const { target, workspace_id } of rows) {
          do {
            if (signal.aborted) return;
          } while (!(await advance(workspace_id, target)));
        }
      }
    },
  };
}
