// What became of messages, for those who look after a webhook: the log, deliveries, replays; and the end of it
// all by age, backlog or erasure.
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { WebhookStore } from './webhook.store.ts';
import type { DeliveryState, Webhook } from './webhook.ts';
import type { Delivery, LoggedAttempt, LogSort, WebhookLogStore } from './webhook-log.store.ts';
import type { WebhookQueueStore } from './webhook-queue.store.ts';
import { assertEnabled, type Webhooks } from './webhooks.ts';

export interface WebhookLogsParts {
  readonly db: Database;
  readonly store: WebhookLogStore;
  readonly queue: Pick<WebhookQueueStore, 'findBusy' | 'countWaiting'>;
  readonly webhooks: Pick<Webhooks, 'get'>;
  readonly webhookStore: Pick<WebhookStore, 'update'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Told, after the commit, that there is something to deliver. */
  readonly onQueued: () => void;
  /** So many deliveries may wait for one receiver. */
  readonly maxWaiting?: number;
}

const DAY_MS = 86_400_000;
/** What was delivered is kept so long, to look into; what was not, longer, to be replayed. */
export const KEEP_DELIVERED_MS = 7 * DAY_MS;
export const KEEP_UNDELIVERED_MS = 30 * DAY_MS;
const MAX_REPLAYED = 10_000;
const MAX_WAITING = 100_000;
const WEBHOOKS_PER_LOOK = 100;

export function createWebhookLogs(parts: WebhookLogsParts) {
  const { db, store, queue, webhooks, webhookStore, clock, log, maxWaiting = MAX_WAITING } = parts;

  async function getDelivery(webhook: Webhook, id: string): Promise<Delivery> {
    const delivery = await store.findDelivery(webhook.id, id);
    if (!delivery) throw new AppError('not_found', 'There is no such delivery of this webhook.');
    return delivery;
  }

  /** Whoever replays knows that the receiver is well again: no pause is kept. */
  async function begin(webhook: Webhook): Promise<void> {
    await webhookStore.update(webhook.id, { nextAt: clock.now() });
    db.afterCommit(parts.onQueued);
  }

  async function boundOne({ id, workspaceId }: Webhook): Promise<void> {
    if ((await queue.countWaiting(maxWaiting + 1, id)) <= maxWaiting) return;
    const nowMs = clock.now();
    await webhookStore.update(id, { disabledAt: nowMs, disabledReason: 'backlog', updatedAt: nowMs });
    log.warn(
      { webhook: id, workspace: workspaceId },
      'A webhook is disabled: too much is waiting for its receiver.',
    );
  }

  return {
    async listAttempts(
      workspaceId: string,
      id: string,
      page: PageRequest<LogSort>,
    ): Promise<LoggedAttempt[]> {
      await webhooks.get(workspaceId, id);
      return store.listAttempts(id, page);
    },

    async listDeliveries(
      workspaceId: string,
      id: string,
      filter: { state: DeliveryState | undefined },
      page: PageRequest<LogSort>,
    ): Promise<Delivery[]> {
      await webhooks.get(workspaceId, id);
      return store.listDeliveries(id, filter.state, page);
    },

    async getDelivery(workspaceId: string, id: string, deliveryId: string): Promise<Delivery> {
      return getDelivery(await webhooks.get(workspaceId, id), deliveryId);
    },

    /** Sends a message again, also one that was delivered. */
    replay(workspaceId: string, id: string, deliveryId: string): Promise<Delivery> {
      return db.write(async () => {
        const webhook = await webhooks.get(workspaceId, id);
        const delivery = await getDelivery(webhook, deliveryId);
        if (delivery.state === 'canceled' || (await store.isErased(delivery.messageId))) {
          throw new AppError('conflict', 'What this message told of has been erased: it cannot be sent.');
        }
        assertEnabled(webhook);
        await store.replay(deliveryId, clock.now());
        await begin(webhook);
        return getDelivery(webhook, deliveryId);
      });
    },

    /** Sends again what failed since a time, the oldest first; `more` says that there is still some left. */
    replaySince(
      workspaceId: string,
      id: string,
      sinceMs: number,
    ): Promise<{ replayed: number; more: boolean }> {
      return db.write(async () => {
        const webhook = await webhooks.get(workspaceId, id);
        assertEnabled(webhook);
        const replayed = await store.replayFailed(id, sinceMs, clock.now(), MAX_REPLAYED);
        await begin(webhook);
        return { replayed, more: replayed === MAX_REPLAYED };
      });
    },

    /** Blanks at most so many messages that tell about a customer; returns how many. In the caller's transaction. */
    forgetCustomer: (customerId: string, limit: number): Promise<number> =>
      store.blank([customerId], clock.now(), limit),

    /** Blanks what tells of these clicks: one message each. In the caller's transaction. */
    async forgetClicks(clickIds: readonly string[]): Promise<void> {
      if (clickIds.length > 0) await store.blank(clickIds, clock.now(), clickIds.length);
    },

    /** Removes what is older than is kept; for a job. */
    async prune(signal: AbortSignal): Promise<void> {
      const settledBefore = clock.now() - KEEP_DELIVERED_MS;
      const anyBefore = clock.now() - KEEP_UNDELIVERED_MS;
      while (!signal.aborted && (await store.pruneSettled(settledBefore)));
      let at: { createdAt: number; id: string } | undefined = { createdAt: 0, id: '' };
      while (at && !signal.aborted) at = await store.pruneMessages(at, settledBefore, anyBefore);
    },

    /** Disables webhooks that too much is waiting for, so that no queue grows without end; for a job. */
    async boundBacklogs(signal: AbortSignal): Promise<void> {
      for (let after = ''; !signal.aborted; ) {
        const busy = await queue.findBusy(after, WEBHOOKS_PER_LOOK);
        for (const webhook of busy) await boundOne(webhook);
        if (busy.length < WEBHOOKS_PER_LOOK) return;
        after = busy.at(-1)?.id ?? '';
      }
    },
  };
}

export type WebhookLogs = ReturnType<typeof createWebhookLogs>;
