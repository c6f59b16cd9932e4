// SQL for what became of messages: the log of attempts, the state of deliveries, replays, and their end by age,
// with their webhook, or with the customer they tell about.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { envelope } from './payloads.ts';
import type { DeliveryState } from './webhook.ts';

export type LogSort = 'createdAt';

export interface LoggedAttempt {
  readonly id: string;
  readonly webhookId: string;
  readonly messageId: string;
  readonly event: string;
  readonly url: string;
  readonly status: number;
  readonly body: string;
  readonly response: string;
  readonly durationMs: number;
  readonly createdAt: number;
}

export interface Delivery {
  readonly id: string;
  readonly webhookId: string;
  readonly messageId: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextAt: number;
  readonly lastStatus: number | null;
  readonly lastAttemptAt: number | null;
  readonly createdAt: number;
}

const BATCH = 500;

export function createWebhookLogStore(db: Database) {
  const deliveries = (webhookId: string) =>
    db.query
      .selectFrom('webhook_delivery')
      .innerJoin('webhook_message', 'webhook_message.id', 'webhook_delivery.message_id')
      .select([
        'webhook_delivery.id',
        'webhook_delivery.webhook_id as webhookId',
        'webhook_delivery.message_id as messageId',
        'webhook_message.event',
        'webhook_delivery.state',
        'webhook_delivery.attempts',
        'webhook_delivery.next_at as nextAt',
        'webhook_delivery.last_status as lastStatus',
        'webhook_delivery.last_attempt_at as lastAttemptAt',
        'webhook_delivery.created_at as createdAt',
      ])
      .where('webhook_delivery.webhook_id', '=', webhookId);

  async function deleteOldDeliveries(olderThanMs: number): Promise<number> {
    const old = db.query
      .selectFrom('webhook_delivery')
      .select('id')
      .where('state', '=', 'delivered')
      .where('created_at', '<', olderThanMs)
      .limit(BATCH);
    const { numDeletedRows } = await db.query
      .deleteFrom('webhook_delivery')
      .where('id', 'in', old)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  async function deleteOldAttempts(olderThanMs: number): Promise<number> {
    const old = db.query
      .selectFrom('webhook_attempt')
      .select('id')
      .where('created_at', '<', olderThanMs)
      .limit(BATCH);
    const { numDeletedRows } = await db.query
      .deleteFrom('webhook_attempt')
      .where('id', 'in', old)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  return {
    listAttempts(webhookId: string, page: PageRequest<LogSort>): Promise<LoggedAttempt[]> {
      const query = db.query
        .selectFrom('webhook_attempt')
        .innerJoin('webhook_message', 'webhook_message.id', 'webhook_attempt.message_id')
        .select([
          'webhook_attempt.id',
          'webhook_attempt.webhook_id as webhookId',
          'webhook_attempt.message_id as messageId',
          'webhook_message.event',
          'webhook_attempt.url',
          'webhook_attempt.status',
          'webhook_message.body',
          'webhook_attempt.response',
          'webhook_attempt.duration_ms as durationMs',
          'webhook_attempt.created_at as createdAt',
        ])
        .where('webhook_attempt.webhook_id', '=', webhookId);
      const createdAt = 'webhook_attempt.created_at';
      return listPage(query, { columns: { createdAt }, createdAt, id: 'webhook_attempt.id' }, page);
    },

    async listDeliveries(
      webhookId: string,
      state: DeliveryState | undefined,
      page: PageRequest<LogSort>,
    ): Promise<Delivery[]> {
      let query = deliveries(webhookId);
      if (state) query = query.where('webhook_delivery.state', '=', state);
      const createdAt = 'webhook_delivery.created_at';
      const spec = { columns: { createdAt }, createdAt, id: 'webhook_delivery.id' } as const;
      return (await listPage(query, spec, page)) as Delivery[];
    },

    async findDelivery(webhookId: string, id: string): Promise<Delivery | undefined> {
      const row = await deliveries(webhookId).where('webhook_delivery.id', '=', id).executeTakeFirst();
      return row as Delivery | undefined;
    },

    /** From the beginning again, whatever became of it. */
    async replay(id: string, nowMs: number): Promise<void> {
      await db.query
        .updateTable('webhook_delivery')
        .set({ state: 'waiting', attempts: 0, next_at: nowMs })
        .where('id', '=', id)
        .execute();
    },

    /** The same for those that failed, the oldest first; returns how many. */
    async replayFailed(webhookId: string, sinceMs: number, nowMs: number, limit: number): Promise<number> {
      const failed = db.query
        .selectFrom('webhook_delivery')
        .select('id')
        .where('webhook_id', '=', webhookId)
        .where('created_at', '>=', sinceMs)
        .where((eb) =>
          eb.or([eb('state', '=', 'failed'), eb.and([eb('state', '=', 'waiting'), eb('attempts', '>', 0)])]),
        )
        .orderBy('created_at')
        .orderBy('id')
        .limit(limit);
      const { numUpdatedRows } = await db.query
        .updateTable('webhook_delivery')
        .set({ state: 'waiting', attempts: 0, next_at: nowMs })
        .where('id', 'in', failed)
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },

    /** At most so many rows of a webhook that is gone; returns how many. */
    async deleteOf(webhookId: string, limit: number): Promise<number> {
      let deleted = 0;
      for (const table of ['webhook_attempt', 'webhook_delivery'] as const) {
        const rows = db.query.selectFrom(table).select('id').where('webhook_id', '=', webhookId);
        const { numDeletedRows } = await db.query
          .deleteFrom(table)
          .where('id', 'in', rows.limit(limit - deleted))
          .executeTakeFirst();
        deleted += Number(numDeletedRows);
        if (deleted >= limit) break;
      }
      return deleted;
    },

    /** One step of removing what was delivered, or tried, before a time; false when nothing is left. */
    pruneSettled: (olderThanMs: number): Promise<boolean> =>
      db.write(async () => {
        const deliveriesGone = await deleteOldDeliveries(olderThanMs);
        const attemptsGone = await deleteOldAttempts(olderThanMs);
        return deliveriesGone === BATCH || attemptsGone === BATCH;
      }),

    /**
     * One step of removing messages made before `settledBefore` that nobody waits for, and all that were made
     * before `anyBefore`. Returns where to go on; undefined at the end.
     */
    pruneMessages: (
      after: { createdAt: number; id: string },
      settledBefore: number,
      anyBefore: number,
    ): Promise<{ createdAt: number; id: string } | undefined> =>
      db.write(async () => {
        const rows = await db.query
          .selectFrom('webhook_message')
          .select(['id', 'created_at'])
          .select((eb) =>
            eb
              .exists(
                eb
                  .selectFrom('webhook_delivery')
                  .select('webhook_delivery.id')
                  .whereRef('webhook_delivery.message_id', '=', 'webhook_message.id'),
              )
              .as('open'),
          )
          .where('created_at', '<', settledBefore)
          .where(sql<boolean>`(created_at, id) > (${after.createdAt}, ${after.id})`)
          .orderBy('created_at')
          .orderBy('id')
          .limit(BATCH)
          .execute();
        const gone = rows.filter((row) => !row.open || row.created_at < anyBefore).map((row) => row.id);
        if (gone.length > 0) await db.query.deleteFrom('webhook_message').where('id', 'in', gone).execute();
        const last = rows.at(-1);
        return rows.length === BATCH && last ? { createdAt: last.created_at, id: last.id } : undefined;
      }),

    /** Blanks at most so many messages that tell of these customers or clicks; returns how many. */
    async blank(subjectIds: readonly string[], nowMs: number, limit: number): Promise<number> {
      const rows = await db.query
        .selectFrom('webhook_message')
        .select(['id', 'event', 'created_at'])
        .where('subject_id', 'in', subjectIds)
        .limit(limit)
        .execute();
      const ids = rows.map((row) => row.id);
      if (ids.length === 0) return 0;
      for (const { id, event, created_at } of rows) {
        await db.query
          .updateTable('webhook_message')
          .set({ body: envelope(id, event, created_at, '{}'), subject_id: null, erased_at: nowMs })
          .where('id', '=', id)
          .execute();
      }
      await db.query
        .updateTable('webhook_delivery')
        .set({ state: 'canceled' })
        .where('message_id', 'in', ids)
        .where('state', 'in', ['waiting', 'failed'])
        .execute();
      // Receivers like to answer with what they were sent.
      await db.query
        .updateTable('webhook_attempt')
        .set({ response: '' })
        .where('message_id', 'in', ids)
        .execute();
      return ids.length;
    },

    /** True when the message of a delivery tells about somebody who was erased. */
    async isErased(messageId: string): Promise<boolean> {
      const row = await db.query
        .selectFrom('webhook_message')
        .select('erased_at')
        .where('id', '=', messageId)
        .executeTakeFirst();
      return row?.erased_at != null;
    },
  };
}

export type WebhookLogStore = ReturnType<typeof createWebhookLogStore>;
