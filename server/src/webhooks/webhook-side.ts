// What app.ts composes of webhooks, in one piece: their services on their stores, the queue that events flow into,
// and the dispatcher that empties it. Started with the port; without it what is queued waits.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { createAddressCheck, createGuardedFetch } from '../kernel/guarded-fetch.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { createDeliver, type OnSettled, OUTCOMES } from './deliver.ts';
import { createDispatcher, type Dispatcher, WAITING_COUNTED } from './dispatcher.ts';
import { createWebhookStore } from './webhook.store.ts';
import { createWebhookLogStore } from './webhook-log.store.ts';
import { createWebhookLogs, type WebhookLogs } from './webhook-logs.ts';
import { createWebhookQueueStore } from './webhook-queue.store.ts';
import { createWebhookQueue, type WebhookQueue, type WebhookQueueParts } from './webhook-queue.ts';
import { createWebhooks, type Webhooks, type WebhooksParts } from './webhooks.ts';

export interface WebhookSideParts
  extends Pick<WebhookQueueParts, 'findLinks'>,
    Pick<WebhooksParts, 'workspaces'> {
  /** Where the public reaches the service. */
  readonly publicUrl: string;
  /** Addresses and networks that are open although they are private. */
  readonly allowPrivate: readonly string[];
  readonly db: Database;
  readonly onSettled?: OnSettled;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface WebhookFlow extends WebhookQueue, Dispatcher {
  /** Everything else goes on without webhooks. */
  readonly health: { readonly name: string; readonly needed: false; check(): Promise<void> };
}

export interface WebhookSide {
  readonly webhooks: Webhooks;
  readonly webhookLogs: WebhookLogs;
  readonly webhookFlow: WebhookFlow;
}

export function createWebhookSide(parts: WebhookSideParts): WebhookSide {
  const { publicUrl, allowPrivate, db, metrics, clock, ids, log } = parts;
  const webhookStore = createWebhookStore(db);
  const queueStore = createWebhookQueueStore(db);
  const logStore = createWebhookLogStore(db);
  const deliver = createDeliver({
    db,
    store: queueStore,
    webhooks: webhookStore,
    fetch: createGuardedFetch({ allowPrivate, keepAlive: true }),
    ...(parts.onSettled && { onSettled: parts.onSettled }),
    clock,
    ids,
    log,
    onAttempt: metrics.counts(
      'linktrail_webhook_attempts_total',
      'Attempts to deliver a message, by outcome.',
      'outcome',
      OUTCOMES,
    ),
  });
  const dispatcher = createDispatcher({ store: queueStore, deliver, clock, log });
  const onQueued = dispatcher.wake;
  const queue = createWebhookQueue({ ...parts, store: queueStore, publicUrl, onQueued });
  const checkAddress = createAddressCheck({ allowPrivate });
  const webhooks = createWebhooks({
    ...parts,
    store: webhookStore,
    log: logStore,
    queue,
    checkAddress,
    publicUrl,
  });
  const webhookLogs = createWebhookLogs({
    ...parts,
    store: logStore,
    queue: queueStore,
    webhooks,
    webhookStore,
    onQueued,
  });
  watch(metrics, dispatcher);
  const health = healthOf(dispatcher);
  return { webhooks, webhookLogs, webhookFlow: { ...queue, ...dispatcher, health } };
}

function healthOf(dispatcher: Dispatcher): WebhookFlow['health'] {
  return {
    name: 'webhooks',
    needed: false,
    async check() {
      const { failure } = dispatcher.state();
      if (failure !== undefined) throw new Error(`webhooks cannot be delivered: ${failure}`);
    },
  };
}

function watch(metrics: Metrics, dispatcher: Dispatcher): void {
  metrics.gauge(
    'linktrail_webhook_deliveries_waiting',
    `Deliveries that wait, for all nodes; counted now and then, and no further than ${WAITING_COUNTED}.`,
    () => dispatcher.state().waiting,
  );
  metrics.gauge(
    'linktrail_webhooks_active',
    'Webhooks that are delivered to at the moment.',
    () => dispatcher.state().active,
  );
}
