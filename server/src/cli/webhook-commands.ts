// Webhooks from the command line. A secret is shown by the commands that make one, and by no other.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import { readDraft, readSince } from '../webhooks/webhook.api.ts';
import { LINK_SCOPES, TRIGGERS, type Trigger, type Webhook } from '../webhooks/webhook.ts';
import { type Command, type Context, command, type Field } from './command.ts';
import { workspaceArg } from './workspace-commands.ts';

const PAGE_SIZE = 100;
const MAX_SHOWN_RESPONSE = 60;
const TRIGGER_LIST = `some of ${TRIGGERS.join(', ')}`;

const webhookArg = {
  schema: z.string().trim().min(1),
  description: 'The id of the webhook, from webhook list.',
} satisfies Field;
const ids = z
  .string()
  .transform((text) => text.split(',').map((id) => id.trim()))
  .optional();
const triggers = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(TRIGGERS, { error: `takes ${TRIGGER_LIST}` })));
const name = z.string().trim().min(1).max(40);
const scopeOptions = {
  scope: {
    schema: z.enum(LINK_SCOPES, { error: `takes one of ${LINK_SCOPES.join(', ')}` }).optional(),
    value: 'scope',
    description: `For link.clicked: one of ${LINK_SCOPES.join(', ')}.`,
  },
  links: { schema: ids, value: 'a,b', description: 'Ids of links, for the scope links.' },
  folders: { schema: ids, value: 'a,b', description: 'Ids of folders, for the scope folders.' },
} satisfies Record<string, Field>;
const both = { workspace: workspaceArg, webhook: webhookArg };

export const webhookCommands: readonly Command[] = [
  ...changingCommands(),
  ...switchingCommands(),
  command({
    path: ['webhook', 'list'],
    summary: 'List the webhooks of a workspace, without their secrets',
    args: { workspace: workspaceArg },
    columns: [
      { title: 'ID', text: ({ id }) => String(id) },
      { title: 'NAME', text: (row) => String(row.name) },
      { title: 'URL', text: ({ url }) => String(url) },
      { title: 'TRIGGERS', text: (row) => (row.triggers as string[]).join(',') },
      { title: 'STATE', text: ({ state }) => String(state) },
    ],
    run: listWebhooks,
  }),
  ...deliveryCommands(),
];

function changingCommands(): Command[] {
  return [
    command({
      path: ['webhook', 'create'],
      summary: 'Tell an address of what happens in a workspace',
      args: {
        workspace: workspaceArg,
        url: { schema: z.string().trim().min(1), description: 'Where messages are sent.' },
      },
      options: {
        triggers: {
          schema: triggers,
          value: 'a,b',
          description: `The events it is told of: ${TRIGGER_LIST}.`,
        },
        name: {
          schema: name.default('Command line'),
          value: 'name',
          description: 'What the webhook is for.',
        },
        ...scopeOptions,
      },
      run: async ({ app }: Context, input) => {
        const { id } = await app.services.workspaces.get(input.workspace);
        const draft = { name: input.name, url: input.url, triggers: input.triggers, ...scopeOf(input) };
        return withSecret(await app.services.webhooks.create(id, readDraft(draft)));
      },
      print: printSecret,
    }),
    command({
      path: ['webhook', 'update'],
      summary: 'Change a webhook',
      args: both,
      options: {
        url: { schema: z.string().optional(), value: 'url', description: 'Where messages are sent.' },
        triggers: { schema: triggers.optional(), value: 'a,b', description: 'All events it is told of.' },
        name: { schema: name.optional(), value: 'name', description: 'What the webhook is for.' },
        ...scopeOptions,
      },
      run: async ({ app }: Context, input) => {
        const { id } = await app.services.workspaces.get(input.workspace);
        const draft = { name: input.name, url: input.url, triggers: input.triggers, ...scopeOf(input) };
        return present(await app.services.webhooks.update(id, input.webhook, readDraft(draft)));
      },
      print: ({ id }) => `The webhook ${id} is changed.`,
    }),
    command({
      path: ['webhook', 'delete'],
      summary: 'Delete a webhook and what is waiting for it',
      args: both,
      run: ({ app }: Context, input) => act(app, input, 'delete'),
      print: ({ id }) => `The webhook ${id} is gone.`,
    }),
  ];
}

function switchingCommands(): Command[] {
  return [
    command({
      path: ['webhook', 'enable'],
      summary: 'Enable a webhook and send what is waiting for it',
      args: both,
      run: ({ app }: Context, input) => act(app, input, 'enable'),
      print: ({ id }) => `The webhook ${id} is enabled.`,
    }),
    command({
      path: ['webhook', 'disable'],
      summary: 'Disable a webhook; what is waiting for it stays',
      args: both,
      run: ({ app }: Context, input) => act(app, input, 'disable'),
      print: ({ id }) => `The webhook ${id} is disabled.`,
    }),
    command({
      path: ['webhook', 'rotate'],
      summary: 'Give a webhook a new secret',
      args: both,
      options: {
        overlap: {
          schema: z
            .string()
            .regex(/^\d{1,3}$/, 'takes a number of hours, up to 168')
            .transform(Number)
            .refine((hours) => hours <= 168, 'takes a number of hours, up to 168')
            .default(24),
          value: 'hours',
          description: 'How long the old secret signs as well (default: 24).',
        },
      },
      run: async ({ app }: Context, { workspace, webhook, overlap }) => {
        const { id } = await app.services.workspaces.get(workspace);
        return withSecret(await app.services.webhooks.rotateSecret(id, webhook, overlap));
      },
      print: printSecret,
    }),
  ];
}

function deliveryCommands(): Command[] {
  return [
    command({
      path: ['webhook', 'test'],
      summary: 'Send a webhook a sample of an event',
      args: both,
      options: {
        trigger: {
          schema: z.enum(TRIGGERS, { error: `takes ${TRIGGER_LIST}` }).default('link.created'),
          value: 'event',
          description: 'The event (default: link.created).',
        },
      },
      run: testWebhook,
      print: ({ event, state, status }) =>
        state === 'delivered'
          ? `${event} was delivered, and answered with ${status}.`
          : `${event} was not delivered (${status ?? 'not tried yet'}); webhook log says more.`,
      exitCode: ({ state }) => (state === 'delivered' ? 0 : 1),
    }),
    command({
      path: ['webhook', 'log'],
      summary: 'Show the last attempts to deliver, the newest first',
      args: both,
      options: {
        limit: {
          schema: z
            .string()
            .regex(/^[1-9]\d{0,2}$/, 'takes a number from 1 to 999')
            .transform(Number)
            .default(20),
          value: 'number',
          description: 'How many (default: 20).',
        },
      },
      columns: [
        { title: 'TIME', text: ({ time }) => String(time) },
        { title: 'EVENT', text: ({ event }) => String(event) },
        { title: 'STATUS', text: ({ status }) => String(status) },
        { title: 'MS', text: ({ durationMs }) => String(durationMs) },
        { title: 'MESSAGE', text: ({ messageId }) => String(messageId) },
        { title: 'ANSWER', text: ({ response }) => String(response).slice(0, MAX_SHOWN_RESPONSE) },
      ],
      run: showLog,
    }),
    command({
      path: ['webhook', 'replay'],
      summary: 'Send again what failed',
      args: both,
      options: {
        since: {
          schema: z.string().min(1).default('30 days ago'),
          value: 'when',
          description: 'From when on: a time, or words such as "2 hours ago" (default: all that is kept).',
        },
      },
      run: replay,
      print: ({ replayed }) => `Messages that are sent again: ${replayed}.`,
    }),
  ];
}

interface Named {
  workspace: string;
  webhook: string;
}

async function act({ services }: Context['app'], input: Named, what: 'delete' | 'enable' | 'disable') {
  const { id } = await services.workspaces.get(input.workspace);
  return present(await services.webhooks[what](id, input.webhook));
}

async function listWebhooks(
  { app, row, signal }: Context,
  { workspace: ref }: { workspace: string },
): Promise<void> {
  const { id } = await app.services.workspaces.get(ref);
  for (let page = 1; ; page++) {
    signal.throwIfAborted();
    const request = { sortBy: 'createdAt', sortOrder: 'asc', pageSize: PAGE_SIZE, page } as const;
    const found = await app.services.webhooks.list(id, request);
    for (const webhook of found) await row(present(webhook));
    if (found.length < PAGE_SIZE) return;
  }
}

async function testWebhook({ app }: Context, input: Named & { trigger: Trigger }) {
  const { workspaces, webhooks, webhookLogs, webhookFlow } = app.services;
  const { id } = await workspaces.get(input.workspace);
  const deliveryId = await webhooks.test(id, input.webhook, input.trigger);
  await webhookFlow.deliverTo(input.webhook);
  const { event, state, lastStatus } = await webhookLogs.getDelivery(id, input.webhook, deliveryId);
  return { deliveryId, event, state, status: lastStatus };
}

async function showLog({ app, row, signal }: Context, input: Named & { limit: number }): Promise<void> {
  const { id } = await app.services.workspaces.get(input.workspace);
  for (let page = 1, left = input.limit; left > 0; page++) {
    signal.throwIfAborted();
    const request = { sortBy: 'createdAt', sortOrder: 'desc', pageSize: PAGE_SIZE, page } as const;
    const found = await app.services.webhookLogs.listAttempts(id, input.webhook, request);
    for (const { createdAt, body: _, ...attempt } of found.slice(0, left))
      await row({ ...attempt, time: isoTime(createdAt) });
    left = found.length < PAGE_SIZE ? 0 : left - found.length;
  }
}

async function replay({ app, signal }: Context, input: Named & { since: string }) {
  const { id } = await app.services.workspaces.get(input.workspace);
  const sinceMs = readSince(input.since, app.clock.now());
  let replayed = 0;
  for (let more = true; more; ) {
    signal.throwIfAborted();
    const step = await app.services.webhookLogs.replaySince(id, input.webhook, sinceMs);
    replayed += step.replayed;
    more = step.more;
  }
  return { replayed };
}

function scopeOf(input: {
  scope: (typeof LINK_SCOPES)[number] | undefined;
  links: string[] | undefined;
  folders: string[] | undefined;
}) {
  return { linkScope: input.scope, linkIds: input.links, folderIds: input.folders };
}

function present(webhook: Webhook) {
  const { id, name: given, url, triggers: events, linkScope, disabledReason, consecutiveFailures } = webhook;
  const failing = consecutiveFailures > 0 ? `failing (${consecutiveFailures} in a row)` : 'enabled';
  const state = webhook.disabledAt === null ? failing : `disabled (${disabledReason})`;
  return { id, name: given, url, triggers: events, linkScope, state };
}

function withSecret(webhook: Webhook) {
  return { ...present(webhook), secret: webhook.secret };
}

function printSecret({ id, url, secret }: ReturnType<typeof withSecret>): string {
  return `The webhook for ${url}.\n\n  id      ${id}\n  secret  ${secret}`;
}
