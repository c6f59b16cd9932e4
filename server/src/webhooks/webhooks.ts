// The webhooks of a workspace and their rules. What happens to them while they are delivered to is in deliver.ts.
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import type { AddressCheck } from '../kernel/guarded-fetch.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { sampleOf } from './samples.ts';
import type { WebhookSort, WebhookStore } from './webhook.store.ts';
import {
  assertScope,
  type ClickScope,
  type DisabledReason,
  type LinkScope,
  MAX_FOLDERS,
  MAX_LINKS,
  MAX_WEBHOOKS,
  newSecret,
  type Trigger,
  type Webhook,
} from './webhook.ts';
import type { WebhookLogStore } from './webhook-log.store.ts';
import type { WebhookQueue } from './webhook-queue.ts';

export interface WebhooksParts {
  readonly db: Database;
  readonly store: WebhookStore;
  readonly log: WebhookLogStore;
  readonly queue: Pick<WebhookQueue, 'queueFor'>;
  readonly workspaces: Pick<Workspaces, 'lock' | 'setWebhookEnabled'>;
  readonly checkAddress: AddressCheck;
  /** Where the public reaches the service. */
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface WebhookDraft {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly triggers?: readonly Trigger[] | undefined;
  readonly linkScope?: LinkScope | null | undefined;
  readonly linkIds?: readonly string[] | undefined;
  readonly folderIds?: readonly string[] | undefined;
}

export interface NewWebhook extends WebhookDraft {
  readonly name: string;
  readonly url: string;
  readonly triggers: readonly Trigger[];
}

interface ScopeLists {
  readonly linkIds: readonly string[] | undefined;
  readonly folderIds: readonly string[] | undefined;
}

const HOUR_MS = 3_600_000;

export function createWebhooks(parts: WebhooksParts) {
  const { db, store, log, queue, workspaces, clock, ids } = parts;
  const step = (_workspaceId: string, id: string, limit: number) => log.deleteOf(id, limit);
  const cleanup = createCleanup({ db, kind: 'webhook', step });

  async function get(workspaceId: string, id: string): Promise<Webhook> {
    return owned(await store.find(id), workspaceId, 'webhook');
  }

  async function change(webhook: Webhook, values: Parameters<WebhookStore['update']>[1]): Promise<Webhook> {
    await store.update(webhook.id, { ...values, updatedAt: clock.now() }).catch(urlTaken);
    return get(webhook.workspaceId, webhook.id);
  }

  /** Lists that are not given stay as they are. */
  async function saveScope(id: string, workspaceId: string, lists: ScopeLists): Promise<void> {
    const { linkIds, folderIds } = lists;
    if (linkIds) {
      await assertKnown('linkIds', linkIds, (wanted) => store.findOwnLinks(workspaceId, wanted));
      await store.setLinks(id, linkIds, clock.now());
    }
    if (folderIds) {
      await assertKnown('folderIds', folderIds, (wanted) => store.findOwnFolders(workspaceId, wanted));
      await store.setFolders(id, folderIds, clock.now());
    }
  }

  /** The scope after a change: what is not named stays, what no longer fits goes. */
  async function changeScope(webhook: Webhook, draft: WebhookDraft): Promise<Partial<ClickScope>> {
    const { triggers: wanted, linkScope: asked, linkIds, folderIds } = draft;
    if ([wanted, asked, linkIds, folderIds].every((value) => value === undefined)) return {};
    const triggers = unique(wanted ?? webhook.triggers);
    const kept = triggers.includes('link.clicked') ? webhook.linkScope : null;
    const linkScope = asked === undefined ? kept : asked;
    const lists = {
      linkIds: linkIds ? unique(linkIds) : linkScope === 'links' ? undefined : [],
      folderIds: folderIds ? unique(folderIds) : linkScope === 'folders' ? undefined : [],
    };
    assertScope({
      triggers,
      linkScope,
      linkIds: lists.linkIds ?? (await store.findLinkIds(webhook.id, 1)),
      folderIds: lists.folderIds ?? (await store.findFolderIds(webhook.id, 1)),
    });
    await saveScope(webhook.id, webhook.workspaceId, lists);
    return { triggers, linkScope };
  }

  async function assertPayouts(workspaceId: string, draft: WebhookDraft): Promise<void> {
    if (!draft.triggers?.includes('payout.confirmed') || !(await store.paysInside(workspaceId))) return;
    throw invalid('triggers', 'payout.confirmed needs a program whose payouts are made outside');
  }

  async function turn(workspaceId: string, id: string, reason: DisabledReason | null): Promise<Webhook> {
    return db.write(async () => {
      const webhook = await get(workspaceId, id);
      if ((webhook.disabledAt !== null) === (reason !== null)) return webhook;
      if (reason) return change(webhook, { disabledAt: clock.now(), disabledReason: reason });
      // What was waiting goes on from here.
      const fresh = { consecutiveFailures: 0, nextAt: clock.now() };
      return change(webhook, { disabledAt: null, disabledReason: null, ...fresh });
    });
  }

  return {
    get,
    list: (workspaceId: string, page: PageRequest<WebhookSort>): Promise<Webhook[]> =>
      store.list(workspaceId, page),

    async create(workspaceId: string, draft: NewWebhook): Promise<Webhook> {
      await assertAddress(parts, draft.url);
      return db.write(async () => {
        await workspaces.lock(workspaceId);
        const count = await store.count(workspaceId);
        if (count >= MAX_WEBHOOKS) {
          throw new AppError('forbidden', `A workspace has at most ${MAX_WEBHOOKS} webhooks.`);
        }
        const webhook = newWebhook(ids('wh_'), workspaceId, draft, clock.now());
        const { linkIds = [], folderIds = [] } = draft;
        const scope = { ...webhook, linkIds: unique(linkIds), folderIds: unique(folderIds) };
        assertScope(scope);
        await assertPayouts(workspaceId, draft);
        await store.insert(webhook).catch(urlTaken);
        await saveScope(webhook.id, workspaceId, scope);
        if (count === 0) await workspaces.setWebhookEnabled(workspaceId, true);
        return webhook;
      });
    },

    async update(workspaceId: string, id: string, draft: WebhookDraft): Promise<Webhook> {
      const before = await get(workspaceId, id);
      if (draft.url !== undefined && draft.url !== before.url) await assertAddress(parts, draft.url);
      return db.write(async () => {
        const webhook = await get(workspaceId, id);
        assertUnmanaged(webhook, draft);
        await assertPayouts(workspaceId, draft);
        const scope = await changeScope(webhook, draft);
        const { name = webhook.name, url = webhook.url } = draft;
        return change(webhook, { name, url, ...scope });
      });
    },

    /** It is gone at once, with all that waits for it; its log takes a while to go. */
    delete(workspaceId: string, id: string): Promise<Webhook> {
      return db.write(async () => {
        await workspaces.lock(workspaceId);
        const webhook = await get(workspaceId, id);
        await store.delete(id);
        await cleanup.begin(workspaceId, id, clock.now());
        if ((await store.count(workspaceId)) === 0) await workspaces.setWebhookEnabled(workspaceId, false);
        return webhook;
      });
    },

    enable: (workspaceId: string, id: string): Promise<Webhook> => turn(workspaceId, id, null),
    disable: (workspaceId: string, id: string): Promise<Webhook> => turn(workspaceId, id, 'by_hand'),

    /** For so many hours messages are signed with the old secret as well. */
    rotateSecret(workspaceId: string, id: string, overlapHours: number): Promise<Webhook> {
      return db.write(async () => {
        const webhook = await get(workspaceId, id);
        const previous =
          overlapHours === 0
            ? { previousSecret: null, previousSecretUntil: null }
            : {
                previousSecret: webhook.secret,
                previousSecretUntil: clock.now() + overlapHours * HOUR_MS,
              };
        return change(webhook, { secret: newSecret(), ...previous });
      });
    },

    /** Queues a sample of an event, whether or not the webhook listens to it; returns the id of the delivery. */
    test(workspaceId: string, id: string, trigger: Trigger): Promise<string> {
      return db.write(async () => {
        const webhook = await get(workspaceId, id);
        assertEnabled(webhook);
        const data = sampleOf(trigger, { publicUrl: parts.publicUrl, workspaceId, nowMs: clock.now() });
        const deliveryId = await queue.queueFor(webhook, trigger, data);
        // Whoever tests wants to know now, not after a pause.
        await store.update(id, { nextAt: clock.now() });
        return deliveryId;
      });
    },

    async listLinkIds(workspaceId: string, id: string): Promise<string[]> {
      await get(workspaceId, id);
      return store.findLinkIds(id, MAX_LINKS);
    },

    async listFolderIds(workspaceId: string, id: string): Promise<string[]> {
      await get(workspaceId, id);
      return store.findFolderIds(id, MAX_FOLDERS);
    },

    /** Refuses ids that a link cannot name: unknown ones, and webhooks that do not hear of single links. */
    async assertAttachable(workspaceId: string, webhookIds: readonly string[]): Promise<void> {
      const found = await store.findByIds(workspaceId, webhookIds);
      const known = new Map(found.map((webhook) => [webhook.id, webhook]));
      const unknown = webhookIds.filter((id) => !known.has(id));
      if (unknown.length > 0) throw invalid('webhookIds', `there are no webhooks ${unknown.join(', ')}`);
      const deaf = found.filter(({ linkScope }) => linkScope !== 'links').map(({ id }) => id);
      if (deaf.length === 0) return;
      throw invalid(
        'webhookIds',
        `${deaf.join(', ')} must have the trigger link.clicked and linkScope links`,
      );
    },

    /** Goes on removing the log of deleted webhooks; for a job. */
    cleanUp: (signal: AbortSignal): Promise<void> => cleanup.run(signal),
  };
}

export type Webhooks = ReturnType<typeof createWebhooks>;

export function assertEnabled(webhook: Webhook): void {
  if (webhook.disabledAt === null) return;
  throw new AppError('conflict', 'This webhook is disabled: enable it first.');
}

function newWebhook(id: string, workspaceId: string, draft: NewWebhook, nowMs: number): Webhook {
  return {
    id,
    workspaceId,
    name: draft.name,
    url: draft.url,
    secret: newSecret(),
    previousSecret: null,
    previousSecretUntil: null,
    triggers: unique(draft.triggers),
    linkScope: draft.linkScope ?? null,
    installationId: null,
    disabledAt: null,
    disabledReason: null,
    consecutiveFailures: 0,
    lastSuccessAt: null,
    lastFailureAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

async function assertAddress({ checkAddress }: WebhooksParts, url: string): Promise<void> {
  const refusal = await checkAddress(url);
  if (refusal !== undefined) throw invalid('url', refusal);
}

function assertUnmanaged(webhook: Webhook, { name, url }: WebhookDraft): void {
  if (webhook.installationId === null) return;
  const field =
    name !== undefined && name !== webhook.name
      ? 'name'
      : url !== undefined && url !== webhook.url
        ? 'url'
        : undefined;
  if (field) throw invalid(field, 'this webhook is managed by an integration, which alone may change it');
}

async function assertKnown(
  field: string,
  wanted: readonly string[],
  find: (ids: readonly string[]) => Promise<Set<string>>,
): Promise<void> {
  if (wanted.length === 0) return;
  const known = await find(wanted);
  const unknown = wanted.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalid(field, `there is no ${unknown} in this workspace`);
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

function urlTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('conflict', 'custom: url: another webhook of this workspace has this address', {
    cause: error,
  });
}
