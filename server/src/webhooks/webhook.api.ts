// Webhooks over HTTP.
import { z } from 'zod';
import { deletedId, idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import { parseHumanDate } from '../kernel/dates.ts';
import { readDestination } from '../kernel/destination.ts';
import { invalid } from '../kernel/errors.ts';
import { requestBody } from './receivers.ts';
import {
  DELIVERY_STATES,
  DISABLED_REASONS,
  LINK_SCOPES,
  MAX_FOLDERS,
  MAX_LINKS,
  TRIGGERS,
  type Webhook,
} from './webhook.ts';
import type { Delivery, LoggedAttempt } from './webhook-log.store.ts';
import type { WebhookLogs } from './webhook-logs.ts';
import type { NewWebhook, WebhookDraft, Webhooks } from './webhooks.ts';

const time = z.iso.datetime();

const webhookSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    secret: z.string().describe('What messages are signed with.'),
    triggers: z.array(z.enum(TRIGGERS)),
    linkScope: z.enum(LINK_SCOPES).nullable().describe('Which clicks it hears of.'),
    disabledAt: time.nullable(),
    disabledReason: z
      .enum(DISABLED_REASONS)
      .nullable()
      .describe(
        'Why nothing is sent: turned off by hand, answered 410, failed too often in a row, or too much was waiting.',
      ),
    consecutiveFailures: z.number(),
    lastSuccessAt: time.nullable(),
    lastFailureAt: time.nullable(),
    previousSecretUntil: time.nullable().describe('Until when the secret before this one signs as well.'),
    installationId: z.string().nullable(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Webhook', description: 'A webhook.' });

const attemptSchema = z
  .object({
    event_id: z.string().describe('The id of this attempt.'),
    webhook_id: z.string(),
    message_id: z.string().describe('The id in the envelope, the same for every attempt.'),
    event: z.enum(TRIGGERS),
    url: z.string(),
    http_status: z.number().describe('503 where there was no answer.'),
    request_body: z.record(z.string(), z.unknown()),
    response_body: z.string().describe('The beginning of the answer, or why there was none.'),
    duration_ms: z.number(),
    timestamp: time,
  })
  .meta({ id: 'WebhookAttempt', description: 'One try to deliver a message.' });

const deliverySchema = z
  .object({
    id: z.string(),
    webhookId: z.string(),
    messageId: z.string(),
    event: z.enum(TRIGGERS),
    state: z.enum(DELIVERY_STATES),
    attempts: z.number(),
    nextAttemptAt: time.nullable().describe('Null unless it is waiting.'),
    lastStatus: z.number().nullable(),
    lastAttemptAt: time.nullable(),
    createdAt: time,
  })
  .meta({ id: 'WebhookDelivery', description: 'A message on its way to a receiver.' });

const MAX_URL_LENGTH = 2_048;
const MAX_OVERLAP_HOURS = 168;
const id = z.string().min(1).max(190);
const fields = {
  name: z.string().trim().min(1).max(40),
  url: z
    .string()
    .trim()
    .min(1)
    .describe('Where messages are sent: an http or https address on the public Internet.'),
  triggers: z.array(z.enum(TRIGGERS)).min(1).describe('The events it is told of.'),
  linkScope: z
    .enum(LINK_SCOPES)
    .nullable()
    .optional()
    .describe(
      'For link.clicked, and then required: clicks on all links, on links in folders, or on single links.',
    ),
  linkIds: z.array(id).max(MAX_LINKS).optional().describe('For linkScope links.'),
  folderIds: z.array(id).max(MAX_FOLDERS).optional().describe('For linkScope folders.'),
};
const trigger = z.enum(TRIGGERS);

const PARAMS = idParams('webhook');
const READ = requires('webhooks.read', 'business');
const WRITE = requires('webhooks.write', 'business');
const GROUP = 'Webhooks';
const log = listQuery({ sortBy: ['createdAt'], defaultOrder: 'desc' });

interface Parts {
  readonly webhooks: Webhooks;
  readonly webhookLogs: WebhookLogs;
  readonly clock: Clock;
}

export function webhookOperations(parts: Parts): Operation[] {
  return [...basicOperations(parts), ...scopeOperations(parts), ...switches(parts), ...logOperations(parts)];
}

function basicOperations({ webhooks }: Parts): Operation[] {
  return [
    operation({
      id: 'getWebhooks',
      method: 'GET',
      path: '/webhooks',
      group: GROUP,
      summary: 'List webhooks',
      access: READ,
      query: z.object(listQuery({ sortBy: ['createdAt', 'name'], defaultOrder: 'desc' })),
      response: { status: 200, description: 'The webhooks.', schema: z.array(webhookSchema) },
      run: async ({ query }, actor) => (await webhooks.list(actor.workspaceId, query)).map(present),
    }),
    operation({
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      group: GROUP,
      summary: 'Create a webhook',
      description: 'Its secret is made here and shown with it.',
      access: WRITE,
      secret: true,
      body: z.object(fields),
      response: { status: 201, description: 'The new webhook.', schema: webhookSchema },
      run: async ({ body }, actor) =>
        present(await webhooks.create(actor.workspaceId, readDraft<NewWebhook>(body))),
    }),
    operation({
      id: 'getWebhook',
      method: 'GET',
      path: '/webhooks/{id}',
      group: GROUP,
      summary: 'Retrieve a webhook',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'The webhook.', schema: webhookSchema },
      run: async ({ params }, actor) => present(await webhooks.get(actor.workspaceId, params.id)),
    }),
    operation({
      id: 'updateWebhook',
      method: 'PATCH',
      path: '/webhooks/{id}',
      group: GROUP,
      summary: 'Update a webhook',
      description:
        'Fields that are absent stay as they are. Without the trigger link.clicked it has no scope any more.',
      access: WRITE,
      secret: true,
      params: PARAMS,
      body: z.object(fields).partial(),
      response: { status: 200, description: 'The webhook as it is now.', schema: webhookSchema },
      run: async ({ params, body }, actor) =>
        present(await webhooks.update(actor.workspaceId, params.id, readDraft(body))),
    }),
    operation({
      id: 'deleteWebhook',
      method: 'DELETE',
      path: '/webhooks/{id}',
      group: GROUP,
      summary: 'Delete a webhook',
      description: 'What is still waiting for it is not sent.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The webhook is gone.', schema: deletedId },
      run: async ({ params }, actor) => {
        const { id: deleted } = await webhooks.delete(actor.workspaceId, params.id);
        return { id: deleted };
      },
    }),
  ];
}

function scopeOperations({ webhooks }: Parts): Operation[] {
  const scope = (
    name: 'Links' | 'Folders',
    read: (workspaceId: string, webhookId: string) => Promise<string[]>,
  ) =>
    operation({
      id: `getWebhook${name}`,
      method: 'GET',
      path: `/webhooks/{id}/${name === 'Links' ? 'links' : 'folders'}`,
      group: GROUP,
      summary: `List the ${name.toLowerCase()} of a webhook`,
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'Their ids.', schema: z.array(z.string()) },
      run: ({ params }, actor) => read(actor.workspaceId, params.id),
    });
  return [scope('Links', webhooks.listLinkIds), scope('Folders', webhooks.listFolderIds)];
}

function switches({ webhooks }: Parts): Operation[] {
  const act = (
    word: 'enable' | 'disable',
    description: string,
    run: (workspaceId: string, webhookId: string) => Promise<Webhook>,
  ) =>
    operation({
      id: `${word}Webhook`,
      method: 'POST',
      path: `/webhooks/{id}/${word}`,
      group: GROUP,
      summary: `${word === 'enable' ? 'Enable' : 'Disable'} a webhook`,
      description,
      access: WRITE,
      secret: true,
      params: PARAMS,
      response: { status: 200, description: 'The webhook as it is now.', schema: webhookSchema },
      run: async ({ params }, actor) => present(await run(actor.workspaceId, params.id)),
    });
  return [
    act('enable', 'Its failures are forgotten, and what was waiting is sent.', webhooks.enable),
    act('disable', 'It is told of nothing until it is enabled; what is waiting stays.', webhooks.disable),
    operation({
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{id}/rotate-secret',
      group: GROUP,
      summary: 'Give a webhook a new secret',
      description:
        'Dub-Signature is made with the new secret at once; webhook-signature holds one for each of the two until the overlap is over.',
      access: WRITE,
      secret: true,
      params: PARAMS,
      body: z.object({
        overlapHours: z
          .int()
          .min(0)
          .max(MAX_OVERLAP_HOURS)
          .default(24)
          .describe('How long the old secret signs as well.'),
      }),
      bodyOptional: true,
      response: { status: 200, description: 'The webhook with its new secret.', schema: webhookSchema },
      run: async ({ params, body }, actor) =>
        present(await webhooks.rotateSecret(actor.workspaceId, params.id, body.overlapHours)),
    }),
  ];
}

function logOperations({ webhooks, webhookLogs, clock }: Parts): Operation[] {
  return [
    operation({
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{id}/test',
      group: GROUP,
      summary: 'Send a sample of an event',
      description: 'Signed and delivered like any other message; the delivery shows what became of it.',
      access: WRITE,
      params: PARAMS,
      body: z.object({ trigger }),
      response: { status: 202, description: 'The delivery that was queued.', schema: deliverySchema },
      run: async ({ params, body }, { workspaceId }) => {
        const deliveryId = await webhooks.test(workspaceId, params.id, body.trigger);
        return presentDelivery(await webhookLogs.getDelivery(workspaceId, params.id, deliveryId));
      },
    }),
    operation({
      id: 'getWebhookEvents',
      method: 'GET',
      path: '/webhooks/{id}/events',
      group: GROUP,
      summary: 'List attempts to deliver',
      description: 'Those of the last days, the newest first.',
      access: READ,
      params: PARAMS,
      query: z.object(log),
      response: { status: 200, description: 'The attempts.', schema: z.array(attemptSchema) },
      run: async ({ params, query }, actor) =>
        (await webhookLogs.listAttempts(actor.workspaceId, params.id, query)).map(presentAttempt),
    }),
    operation({
      id: 'getWebhookDeliveries',
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      group: GROUP,
      summary: 'List deliveries',
      access: READ,
      params: PARAMS,
      query: z.object({
        state: z.enum(DELIVERY_STATES).optional().describe('Only those that are so.'),
        ...log,
      }),
      response: { status: 200, description: 'The deliveries.', schema: z.array(deliverySchema) },
      run: async ({ params, query }, actor) => {
        const filter = { state: query.state };
        const found = await webhookLogs.listDeliveries(actor.workspaceId, params.id, filter, query);
        return found.map(presentDelivery);
      },
    }),
    operation({
      id: 'replayWebhookDelivery',
      method: 'POST',
      path: '/webhooks/{id}/deliveries/{deliveryId}/replay',
      group: GROUP,
      summary: 'Send a message again',
      description: 'The same message under the same id, also where it was delivered before.',
      access: WRITE,
      params: PARAMS.extend({ deliveryId: z.string().min(1).describe('The id of the delivery.') }),
      response: { status: 202, description: 'The delivery, waiting again.', schema: deliverySchema },
      run: async ({ params }, actor) =>
        presentDelivery(await webhookLogs.replay(actor.workspaceId, params.id, params.deliveryId)),
    }),
    operation({
      id: 'replayWebhook',
      method: 'POST',
      path: '/webhooks/{id}/replay',
      group: GROUP,
      summary: 'Send again what failed',
      description: 'Everything that failed since a time, up to 10,000 messages a call, the oldest first.',
      access: WRITE,
      params: PARAMS,
      body: z.object({
        since: z.string().min(1).max(100).describe('A time, or words such as "2 hours ago".'),
      }),
      response: {
        status: 202,
        description: 'How many are waiting again, and whether there are more.',
        schema: z.object({ replayed: z.number(), more: z.boolean() }),
      },
      run: ({ params, body }, actor) =>
        webhookLogs.replaySince(actor.workspaceId, params.id, readSince(body.since, clock.now())),
    }),
  ];
}

/** When a replay begins; the command line reads it in the same way. */
export function readSince(text: string, nowMs: number): number {
  const ms = parseHumanDate(text, nowMs);
  if (ms === undefined)
    throw invalid('since', 'must be a time such as 2031-03-01T09:00:00Z, or words such as "2 hours ago"');
  return ms;
}

/** An address in its normal form, so that two spellings of it are one. */
export function readDraft<D extends WebhookDraft>(draft: D): D {
  if (draft.url === undefined) return draft;
  const url = URL.parse(readDestination('url', draft.url))?.href ?? '';
  if (url.length > MAX_URL_LENGTH) throw invalid('url', `must have at most ${MAX_URL_LENGTH} characters`);
  return { ...draft, url };
}

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

function present(webhook: Webhook): z.input<typeof webhookSchema> {
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    secret: webhook.secret,
    triggers: [...webhook.triggers],
    linkScope: webhook.linkScope,
    disabledAt: timeOrNull(webhook.disabledAt),
    disabledReason: webhook.disabledReason,
    consecutiveFailures: webhook.consecutiveFailures,
    lastSuccessAt: timeOrNull(webhook.lastSuccessAt),
    lastFailureAt: timeOrNull(webhook.lastFailureAt),
    previousSecretUntil: timeOrNull(webhook.previousSecretUntil),
    installationId: webhook.installationId,
    createdAt: isoTime(webhook.createdAt),
    updatedAt: isoTime(webhook.updatedAt),
  };
}

function presentAttempt(attempt: LoggedAttempt): z.input<typeof attemptSchema> {
  return {
    event_id: attempt.id,
    webhook_id: attempt.webhookId,
    message_id: attempt.messageId,
    event: attempt.event as z.input<typeof trigger>,
    url: attempt.url,
    http_status: attempt.status,
    request_body: JSON.parse(requestBody(attempt.url, attempt.body)) as Record<string, unknown>,
    response_body: attempt.response,
    duration_ms: attempt.durationMs,
    timestamp: isoTime(attempt.createdAt),
  };
}

function presentDelivery(delivery: Delivery): z.input<typeof deliverySchema> {
  const { id: deliveryId, webhookId, messageId, state, attempts, nextAt, lastStatus } = delivery;
  return {
    id: deliveryId,
    webhookId,
    messageId,
    event: delivery.event as z.input<typeof trigger>,
    state,
    attempts,
    nextAttemptAt: state === 'waiting' ? isoTime(nextAt) : null,
    lastStatus,
    lastAttemptAt: timeOrNull(delivery.lastAttemptAt),
    createdAt: isoTime(delivery.createdAt),
  };
}
