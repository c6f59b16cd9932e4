// SQL for embed tokens. They are known by their hash only.
import type { Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { type Fields, toColumns, toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';

export type EmbedToken = Fields<Selectable<Schema['embed_token']>>;

export function createEmbedTokenStore(db: Database) {
  return {
    async insert(token: EmbedToken): Promise<void> {
      const row = toColumns(token) as unknown as Selectable<Schema['embed_token']>;
      await db.query.insertInto('embed_token').values(row).execute();
    },

    async find(hashedToken: string): Promise<EmbedToken | undefined> {
      const row = await db.query
        .selectFrom('embed_token')
        .selectAll()
        .where('hashed_token', '=', hashedToken)
        .executeTakeFirst();
      return row && toFields(row);
    },

    /** Deletes at most so many that have expired by then; returns how many. */
    async deleteExpired(nowMs: number, limit: number): Promise<number> {
      const expired = db.query
        .selectFrom('embed_token')
        .select('hashed_token')
        .where('expires_at', '<=', nowMs)
        .orderBy('expires_at')
        .limit(limit);
      const { numDeletedRows } = await db.query
        .deleteFrom('embed_token')
        .where('hashed_token', 'in', expired)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

export type EmbedTokenStore = ReturnType<typeof createEmbedTokenStore>;
