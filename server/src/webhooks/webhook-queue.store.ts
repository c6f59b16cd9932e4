// SQL for what is on its way to receivers: who hears of an event, messages and deliveries in, the work that is
// due, and what became of it. A webhook is delivered to by one node at a time, under a lease in its row.
import { type Selectable, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import type { Plan } from '../http/operation.ts';
import type { NewMessage } from './payloads.ts';
import { toWebhook } from './webhook.store.ts';
import type { LinkScope, Trigger, Webhook } from './webhook.ts';

/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_STATEMENT = 500;

/** An enabled webhook, and what its workspace may have. */
export interface Hearer {
  readonly id: string;
  readonly workspaceId: string;
  readonly triggers: ReadonlySet<string>;
  readonly linkScope: LinkScope | null;
  readonly plan: Plan;
  /** JSON: what an operator capped. */
  readonly limits: string;
  readonly eventsUsage: number;
  readonly usageMonth: number;
}

export interface NewDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly messageId: string;
}

export interface DueDelivery {
  readonly id: string;
  readonly messageId: string;
  readonly event: Trigger;
  readonly body: string;
  /** Made so far. */
  readonly attempts: number;
}

/** What an attempt leaves behind. */
export interface AttemptRow {
  readonly id: string;
  readonly deliveryId: string;
  readonly messageId: string;
  readonly url: string;
  readonly status: number;
  readonly response: string;
  readonly durationMs: number;
  readonly next: { readonly state: 'delivered' | 'failed' } | { readonly state: 'waiting'; nextAt: number };
}

export function createWebhookQueueStore(db: Database) {
  async function findHearing(workspaceIds: readonly string[]): Promise<Hearer[]> {
    const hearers: Hearer[] = [];
    for (const ids of chunksOf(workspaceIds)) {
      const rows = await db.query
        .selectFrom('webhook')
        .innerJoin('workspace', 'workspace.id', 'webhook.workspace_id')
        .select(['webhook.id', 'workspace_id', 'triggers', 'link_scope'])
        .select(['plan', 'limits', 'events_usage', 'usage_month'])
        .where('workspace_id', 'in', ids)
        .where('disabled_at', 'is', null)
        .orderBy('webhook.id')
        .execute();
      for (const row of rows) hearers.push(toHearer(row));
    }
    return hearers;
  }

  async function insert(
    messages: readonly NewMessage[],
    deliveries: readonly NewDelivery[],
    nowMs: number,
  ): Promise<void> {
    for (const some of chunksOf(messages)) {
      const rows = some.map(({ id, workspaceId, event, body, subjectId }) => ({
        id,
        workspace_id: workspaceId,
        event,
        body,
        subject_id: subjectId,
        erased_at: null,
        created_at: nowMs,
      }));
      await db.query.insertInto('webhook_message').values(rows).execute();
    }
    for (const some of chunksOf(deliveries)) {
      const rows = some.map(({ id, webhookId, messageId }) => ({
        id,
        webhook_id: webhookId,
        message_id: messageId,
        state: 'waiting',
        attempts: 0,
        next_at: nowMs,
        last_status: null,
        last_attempt_at: null,
        created_at: nowMs,
      }));
      await db.query.insertInto('webhook_delivery').values(rows).execute();
    }
    await makeDue([...new Set(deliveries.map(({ webhookId }) => webhookId))], nowMs);
  }

  /**
   * There is something to deliver. Runs after the deliveries went in: whoever ends a lease locks the row first
   * and looks at the deliveries then, so that one of the two sees the other. A receiver that fails keeps its pause.
   */
  async function makeDue(webhookIds: readonly string[], nowMs: number): Promise<void> {
    for (const ids of chunksOf(webhookIds)) {
      await db.query
        .updateTable('webhook')
        .set({ next_at: nowMs })
        .where('id', 'in', ids)
        .where((eb) =>
          eb.or([
            eb('next_at', 'is', null),
            eb.and([eb('consecutive_failures', '=', 0), eb('next_at', '>', nowMs)]),
          ]),
        )
        .execute();
    }
  }

  return {
    findHearing,
    insert,
    makeDue,

    /** Workspaces that have somebody who hears of clicks. */
    async findClickWorkspaces(): Promise<string[]> {
      const rows = await db.query
        .selectFrom('webhook')
        .select('workspace_id')
        .distinct()
        .where('link_scope', 'is not', null)
        .where('disabled_at', 'is', null)
        .execute();
      return rows.map((row) => row.workspace_id);
    },

    /** The folders of each webhook. */
    async findFolders(webhookIds: readonly string[]): Promise<Map<string, Set<string>>> {
      const folders = new Map(webhookIds.map((id) => [id, new Set<string>()]));
      for (const ids of chunksOf(webhookIds)) {
        const query = db.query.selectFrom('webhook_folder').selectAll().where('webhook_id', 'in', ids);
        for (const row of await query.execute()) folders.get(row.webhook_id)?.add(row.folder_id);
      }
      return folders;
    },

    /** Webhooks with something to deliver and nobody at it, the longest waiting first. */
    async findDue(nowMs: number, limit: number): Promise<string[]> {
      const rows = await db.query
        .selectFrom('webhook')
        .select('id')
        .where('next_at', '<=', nowMs)
        .where('disabled_at', 'is', null)
        .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', nowMs)]))
        .orderBy('next_at')
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map((row) => row.id);
    },

    /** One conditional update decides between nodes that saw the same webhook due. */
    async claim(id: string, lease: string, nowMs: number, leaseMs: number): Promise<Webhook | undefined> {
      const row = await db.query
        .updateTable('webhook')
        .set({ lease_owner: lease, lease_until: nowMs + leaseMs })
        .where('id', '=', id)
        .where('next_at', '<=', nowMs)
        .where('disabled_at', 'is', null)
        .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', nowMs)]))
        .returningAll()
        .executeTakeFirst();
      return row && toWebhook(row);
    },

    /** The webhook as it is now; undefined when the lease was lost or the webhook is gone. */
    async renew(id: string, lease: string, untilMs: number): Promise<Webhook | undefined> {
      const row = await db.query
        .updateTable('webhook')
        .set({ lease_until: untilMs })
        .where('id', '=', id)
        .where('lease_owner', '=', lease)
        .returningAll()
        .executeTakeFirst();
      return row && toWebhook(row);
    },

    async findDeliveries(webhookId: string, nowMs: number, limit: number): Promise<DueDelivery[]> {
      const rows = await db.query
        .selectFrom('webhook_delivery as delivery')
        .innerJoin('webhook_message as message', 'message.id', 'delivery.message_id')
        .select(['delivery.id', 'delivery.message_id', 'delivery.attempts', 'message.event', 'message.body'])
        .where('delivery.webhook_id', '=', webhookId)
        .where('delivery.state', '=', sql.lit('waiting'))
        .where('delivery.next_at', '<=', nowMs)
        .orderBy('delivery.next_at')
        .orderBy('delivery.id')
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        id: row.id,
        messageId: row.message_id,
        event: row.event as Trigger,
        body: row.body,
        attempts: row.attempts,
      }));
    },

    /** Outcomes of attempts; a delivery that was canceled meanwhile stays so. */
    async saveAttempts(webhookId: string, attempts: readonly AttemptRow[], nowMs: number): Promise<void> {
      for (const same of sameOutcome(attempts)) {
        const { next, status } = same[0] as AttemptRow;
        await db.query
          .updateTable('webhook_delivery')
          .set((eb) => ({
            state: next.state,
            attempts: eb('attempts', '+', 1),
            last_status: status,
            last_attempt_at: nowMs,
            ...(next.state === 'waiting' && { next_at: next.nextAt }),
          }))
          .where(
            'id',
            'in',
            same.map(({ deliveryId }) => deliveryId),
          )
          .where('state', '=', 'waiting')
          .execute();
      }
      const rows = attempts.map(({ id, messageId, url, status, response, durationMs }) => ({
        id,
        webhook_id: webhookId,
        message_id: messageId,
        url,
        status,
        response,
        duration_ms: durationMs,
        created_at: nowMs,
      }));
      await db.query.insertInto('webhook_attempt').values(rows).execute();
    },

    /** Ends the lease and says when there is something to do again, not before `notBefore`. */
    async release(id: string, lease: string, notBefore: number): Promise<void> {
      const held = await db.query
        .updateTable('webhook')
        .set({ lease_owner: null, lease_until: null })
        .where('id', '=', id)
        .where('lease_owner', '=', lease)
        .returning('id')
        .executeTakeFirst();
      if (!held) return;
      const row = await db.query
        .selectFrom('webhook_delivery')
        .select('next_at')
        .where('webhook_id', '=', id)
        .where('state', '=', sql.lit('waiting'))
        .orderBy('next_at')
        .limit(1)
        .executeTakeFirst();
      const nextAt = row ? Math.max(row.next_at, notBefore) : null;
      await db.query.updateTable('webhook').set({ next_at: nextAt }).where('id', '=', id).execute();
    },

    /** How many deliveries wait, counted up to a limit; of one webhook, or of all. */
    async countWaiting(limit: number, webhookId?: string): Promise<number> {
      let waiting = db.query
        .selectFrom('webhook_delivery')
        .select('id')
        .where('state', '=', sql.lit('waiting'))
        .limit(limit);
      if (webhookId !== undefined) waiting = waiting.where('webhook_id', '=', webhookId);
      const row = await db.query
        .selectFrom(waiting.as('waiting'))
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** Enabled webhooks with something waiting, in order of their ids. */
    async findBusy(after: string, limit: number): Promise<Webhook[]> {
      const rows = await db.query
        .selectFrom('webhook')
        .selectAll()
        .where('next_at', 'is not', null)
        .where('disabled_at', 'is', null)
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(toWebhook);
    },
  };
}

export type WebhookQueueStore = ReturnType<typeof createWebhookQueueStore>;

type HearerRow = Pick<Selectable<Schema['webhook']>, 'id' | 'workspace_id' | 'triggers' | 'link_scope'> &
  Pick<Selectable<Schema['workspace']>, 'plan' | 'limits' | 'events_usage' | 'usage_month'>;

function toHearer(row: HearerRow): Hearer {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    triggers: new Set(row.triggers.split(' ')),
    linkScope: row.link_scope as LinkScope | null,
    plan: row.plan as Plan,
    limits: row.limits,
    eventsUsage: row.events_usage,
    usageMonth: row.usage_month,
  };
}

/** Most attempts of a group end in the same way, and are written with one statement. */
function sameOutcome(attempts: readonly AttemptRow[]): AttemptRow[][] {
  const key = ({ next, status }: AttemptRow) =>
    `${next.state} ${status} ${next.state === 'waiting' ? next.nextAt : ''}`;
  return [...Map.groupBy(attempts, key).values()];
}

function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
    yield items.slice(start, start + ROWS_PER_STATEMENT);
  }
}
