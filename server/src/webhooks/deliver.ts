// Delivers what is queued, at least once. Each webhook is worked on by one node at a time, in small groups whose
// outcome is stored before the next begins: a receiver that is slow or down holds nobody else, and memory stays
// bounded however much is waiting. A receiver that fails is left alone for longer and longer, then disabled.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { FetchResult, GuardedFetch } from '../kernel/guarded-fetch.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { requestBody } from './receivers.ts';
import { signatureHeaders } from './sign.ts';
import type { WebhookStore } from './webhook.store.ts';
import {
  type DisabledReason,
  FAILURES_TO_DISABLE,
  FAILURES_TO_TELL,
  MAX_ATTEMPTS,
  pauseMs,
  readRetryAfterMs,
  retryDelayMs,
  secretsOf,
  type Trigger,
  type Webhook,
} from './webhook.ts';
import type { AttemptRow, DueDelivery, WebhookQueueStore } from './webhook-queue.store.ts';

/** delivered; failed: it is tried again; given_up: it is not, unless somebody asks. */
export const OUTCOMES = ['delivered', 'failed', 'given_up'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface DeliverParts {
  readonly db: Database;
  readonly store: WebhookQueueStore;
  readonly webhooks: WebhookStore;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly onAttempt?: (outcome: Outcome) => void;
  /** Those for whom it matters that a message of theirs has arrived, or will not. In the same transaction. */
  readonly onSettled?: OnSettled;
  /** For an answer, from the name to the last byte. */
  readonly timeoutMs?: number;
}

/** By event; `body` is the envelope as text. */
export type OnSettled = Partial<
  Record<Trigger, (workspaceId: string, body: string, outcome: 'delivered' | 'failed') => Promise<void>>
>;

/** Delivers to one webhook what is due; false when there is nothing to do or another node does it. */
export type Deliver = (webhookId: string) => Promise<boolean>;

/** Requests to one receiver at once, while it answers well. */
const GROUP = 16;
/** After so many, or so long, others have their turn: receivers that answer slowly must not hold all places. */
const GROUPS_PER_TURN = 20;
const TURN_MS = 15_000;
const LEASE_MS = 60_000;
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 8_192;
const MAX_LOGGED_CHARACTERS = 2_000;
const GONE = 410;
/** How the log shows that there was no answer. */
const UNREACHABLE = 503;

interface Attempt {
  readonly delivery: DueDelivery;
  readonly row: AttemptRow;
  readonly ok: boolean;
  readonly retryAfterMs: number | undefined;
}

export function createDeliver(parts: DeliverParts): Deliver {
  const { db, store, webhooks, clock, ids, log, onAttempt } = parts;

  async function attempt(webhook: Webhook, delivery: DueDelivery): Promise<Attempt> {
    const startedMs = performance.now();
    const result = await send(webhook, delivery, parts);
    const status = result.ok ? result.status : UNREACHABLE;
    const ok = status >= 200 && status < 300;
    const retryAfterMs = retryAfterOf(result, clock.now());
    return {
      delivery,
      ok,
      retryAfterMs,
      row: {
        id: ids('wha_'),
        deliveryId: delivery.id,
        messageId: delivery.messageId,
        url: webhook.url,
        status,
        response: result.ok ? loggable(result.body) : result.message,
        durationMs: Math.round(performance.now() - startedMs),
        next: nextStep(ok, delivery.attempts + 1, retryAfterMs, clock.now()),
      },
    };
  }

  /** Stores what came of a group; the webhook as it is then, undefined when this node has lost it. */
  function record(
    webhook: Webhook,
    lease: string,
    group: readonly Attempt[],
  ): Promise<{ now: Webhook; notBefore: number } | undefined> {
    return db.write(async () => {
      const nowMs = clock.now();
      const held = await store.renew(webhook.id, lease, nowMs + LEASE_MS);
      if (!held) return undefined;
      const rows = group.map(({ row }) => row);
      await store.saveAttempts(held.id, rows, nowMs);
      await tellSettled(held.workspaceId, group);
      const change = judge(held, group, nowMs);
      await webhooks.update(held.id, change);
      tell(log, held, change);
      db.afterCommit(() => {
        for (const { next } of rows) onAttempt?.(outcomeOf(next.state));
      });
      const failures = change.consecutiveFailures ?? held.consecutiveFailures;
      const askedMs = Math.max(0, ...group.map(({ retryAfterMs }) => retryAfterMs ?? 0));
      return { now: { ...held, ...change }, notBefore: nowMs + Math.max(pauseMs(failures), askedMs) };
    });
  }

  async function tellSettled(workspaceId: string, group: readonly Attempt[]): Promise<void> {
    for (const { delivery, row } of group) {
      if (row.next.state === 'waiting') continue;
      await parts.onSettled?.[delivery.event]?.(workspaceId, delivery.body, row.next.state);
    }
  }

  return async (webhookId) => {
    const lease = ids('lease_');
    let webhook = await store.claim(webhookId, lease, clock.now(), LEASE_MS);
    if (!webhook) return false;
    let notBefore = 0;
    const turnEndsMs = clock.now() + TURN_MS;
    try {
      for (let groups = 0; groups < GROUPS_PER_TURN; groups += 1) {
        const size: number = webhook.consecutiveFailures > 0 ? 1 : GROUP;
        const due = await store.findDeliveries(webhook.id, clock.now(), size);
        if (due.length === 0) break;
        const to: Webhook = webhook;
        const group = await Promise.all(due.map((delivery) => attempt(to, delivery)));
        const recorded = await record(to, lease, group);
        if (!recorded) return true;
        webhook = recorded.now;
        notBefore = recorded.notBefore;
        const nowMs = clock.now();
        if (webhook.disabledAt !== null || notBefore > nowMs || nowMs >= turnEndsMs) break;
      }
    } finally {
      // Those who waited meanwhile come first.
      await db.write(() => store.release(webhookId, lease, Math.max(notBefore, clock.now())));
    }
    return true;
  };
}

function send(
  webhook: Webhook,
  { messageId, body: envelope, event }: DueDelivery,
  { fetch, clock, timeoutMs = TIMEOUT_MS }: DeliverParts,
): Promise<FetchResult> {
  const body = requestBody(webhook.url, envelope);
  const atMs = clock.now();
  const secrets = secretsOf(webhook, atMs);
  return fetch(webhook.url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'Linktrail-Webhooks',
      'Linktrail-Event': event,
      ...signatureHeaders({ id: messageId, body, atMs, secrets }),
    },
    body,
    timeoutMs,
    maxBytes: MAX_ANSWER_BYTES,
    truncate: true,
  });
}

/** Only where the receiver says that it has too much to do. */
function retryAfterOf(result: FetchResult, nowMs: number): number | undefined {
  if (!result.ok || (result.status !== 429 && result.status !== 503)) return undefined;
  return readRetryAfterMs(result.headers['retry-after'], nowMs);
}

function nextStep(
  ok: boolean,
  attempts: number,
  retryAfterMs: number | undefined,
  nowMs: number,
): AttemptRow['next'] {
  if (ok) return { state: 'delivered' };
  if (attempts >= MAX_ATTEMPTS) return { state: 'failed' };
  return { state: 'waiting', nextAt: nowMs + Math.max(retryDelayMs(attempts), retryAfterMs ?? 0) };
}

function outcomeOf(state: AttemptRow['next']['state']): Outcome {
  return state === 'delivered' ? 'delivered' : state === 'failed' ? 'given_up' : 'failed';
}

interface Judgement {
  readonly consecutiveFailures?: number;
  readonly lastSuccessAt?: number;
  readonly lastFailureAt?: number;
  readonly disabledAt?: number;
  readonly disabledReason?: DisabledReason;
  readonly updatedAt: number;
}

/** Attempts side by side fail for one reason: together they count as one failure. */
function judge(webhook: Webhook, group: readonly Attempt[], nowMs: number): Judgement {
  const failed = group.filter(({ ok }) => !ok);
  const succeeded = failed.length < group.length;
  const consecutiveFailures = succeeded ? 0 : webhook.consecutiveFailures + 1;
  const reason = failed.some(({ row }) => row.status === GONE)
    ? 'gone'
    : consecutiveFailures >= FAILURES_TO_DISABLE
      ? 'failures'
      : undefined;
  return {
    consecutiveFailures,
    updatedAt: webhook.updatedAt,
    ...(succeeded && { lastSuccessAt: nowMs }),
    ...(failed.length > 0 && { lastFailureAt: nowMs }),
    ...(reason && webhook.disabledAt === null && { disabledAt: nowMs, disabledReason: reason }),
  };
}

/** Nobody is mailed: the log and the webhook itself say it. */
function tell(log: Log, { id, workspaceId }: Webhook, change: Judgement): void {
  const fields = { webhook: id, workspace: workspaceId, failures: change.consecutiveFailures };
  if (change.disabledReason === 'gone') {
    log.warn(fields, 'A webhook is disabled: its receiver answered that it is gone.');
  } else if (change.disabledReason) {
    log.warn(fields, 'A webhook is disabled: it failed too often in a row.');
  } else if (FAILURES_TO_TELL.includes(change.consecutiveFailures ?? 0)) {
    log.warn(fields, 'A webhook fails again and again; it will be disabled if that goes on.');
  }
}

/** The start of an answer as text; a database takes no zero bytes. */
function loggable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '').slice(0, MAX_LOGGED_CHARACTERS);
}
