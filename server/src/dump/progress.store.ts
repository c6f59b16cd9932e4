// SQL for how far an import has come, written in the transaction of each batch: after an interruption it says
// exactly what is in.
import type { Database } from '../db/database.ts';

export function createProgressStore(db: Database) {
  return {
    async find(source: string): Promise<unknown> {
      const row = await db.query
        .selectFrom('import_progress')
        .select('state')
        .where('source', '=', source)
        .executeTakeFirst();
      return row && JSON.parse(row.state);
    },

    async save(source: string, state: object, nowMs: number): Promise<void> {
      const values = { state: JSON.stringify(state), updated_at: nowMs };
      await db.query
        .insertInto('import_progress')
        .values({ source, ...values })
        .onConflict((conflict) => conflict.column('source').doUpdateSet(values))
        .execute();
    },

    async delete(source: string): Promise<void> {
      await db.query.deleteFrom('import_progress').where('source', '=', source).execute();
    },
  };
}

export type ProgressStore = ReturnType<typeof createProgressStore>;
