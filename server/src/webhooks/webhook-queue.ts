// From events to deliveries: who hears of what, one message per event and one delivery per receiver. It runs in
// the transaction in which an event leaves the outbox, or in which a click is counted: each is queued exactly once.
import type { ClickRecord } from '../analytics/click-record.ts';
import { clickData } from '../conversions/webhook-data.ts';
import type { Database } from '../db/database.ts';
import { planIncludes } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Link } from '../links/link.ts';
import { presentLink } from '../links/link-wire.ts';
import { type Limits, usageMonth } from '../workspaces/workspace.ts';
import { type NewMessage, newMessage, type OutboxChange, publicData } from './payloads.ts';
import type { Trigger } from './webhook.ts';
import type { Hearer, NewDelivery, WebhookQueueStore } from './webhook-queue.store.ts';

export interface WebhookQueueParts {
  readonly db: Database;
  readonly store: WebhookQueueStore;
  readonly findLinks: (ids: readonly string[]) => Promise<Link[]>;
  /** Where the public reaches the service. */
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Told, after the commit, that there is something to deliver. */
  readonly onQueued: () => void;
}

/** Both for the caller's transaction. */
export interface WebhookQueue {
  takeChanges(changes: readonly OutboxChange[]): Promise<void>;
  takeClicks(clicks: readonly ClickRecord[]): Promise<void>;
  /** Workspaces whose clicks somebody hears of: no others need to be taken. */
  findClickWorkspaces(): Promise<string[]>;
  /** One message for one webhook; returns the id of its delivery. */
  queueFor(webhook: { id: string; workspaceId: string }, trigger: Trigger, data: object): Promise<string>;
}

interface Told {
  readonly message: NewMessage;
  readonly webhookIds: readonly string[];
}

const LINKS_PER_QUERY = 500;

export function createWebhookQueue(parts: WebhookQueueParts): WebhookQueue {
  const { db, store, clock, ids } = parts;

  async function queue(told: readonly Told[]): Promise<void> {
    if (told.length === 0) return;
    const deliveries = told.flatMap(({ message, webhookIds }) =>
      webhookIds.map((webhookId): NewDelivery => ({ id: ids('whd_'), webhookId, messageId: message.id })),
    );
    await store.insert(
      told.map(({ message }) => message),
      deliveries,
      clock.now(),
    );
    db.afterCommit(parts.onQueued);
  }

  async function findHearers(workspaceIds: Iterable<string>): Promise<Map<string, Hearer[]>> {
    const found = await store.findHearing([...new Set(workspaceIds)]);
    return Map.groupBy(
      found.filter(({ plan }) => planIncludes(plan, 'business')),
      ({ workspaceId }) => workspaceId,
    );
  }

  async function findLinkTexts(
    linkIds: Iterable<string>,
  ): Promise<Map<string, { link: Link; text: string }>> {
    const all = [...new Set(linkIds)];
    const links = new Map<string, { link: Link; text: string }>();
    for (let start = 0; start < all.length; start += LINKS_PER_QUERY) {
      for (const link of await parts.findLinks(all.slice(start, start + LINKS_PER_QUERY)))
        links.set(link.id, { link, text: JSON.stringify(presentLink(link, parts.publicUrl)) });
    }
    return links;
  }

  return {
    findClickWorkspaces: store.findClickWorkspaces,

    async takeChanges(changes) {
      const open = changes.flatMap((change) => {
        const told = publicData(change);
        return told ? [{ workspaceId: change.workspaceId, ...told }] : [];
      });
      if (open.length === 0) return;
      const hearers = await findHearers(open.map(({ workspaceId }) => workspaceId));
      const nowMs = clock.now();
      const told = open.flatMap(({ workspaceId, trigger, data }): Told[] => {
        const hearing = (hearers.get(workspaceId) ?? []).filter(({ triggers }) => triggers.has(trigger));
        if (hearing.length === 0) return [];
        const message = newMessage(workspaceId, trigger, data, nowMs);
        return [{ message, webhookIds: hearing.map(({ id }) => id) }];
      });
      await queue(told);
    },

    async takeClicks(clicks) {
      if (clicks.length === 0) return;
      const nowMs = clock.now();
      const hearers = await findHearers(clicks.map(({ workspaceId }) => workspaceId));
      const hearing = [...hearers.values()]
        .flat()
        .filter((hearer) => hearer.linkScope !== null && !isOverUsage(hearer, nowMs));
      if (hearing.length === 0) return;
      const folders = await store.findFolders(
        hearing.filter(({ linkScope }) => linkScope === 'folders').map(({ id }) => id),
      );
      const byWorkspace = Map.groupBy(hearing, ({ workspaceId }) => workspaceId);
      const heard = clicks.filter(({ workspaceId }) => byWorkspace.has(workspaceId));
      const links = await findLinkTexts(heard.map(({ linkId }) => linkId));
      await queue(
        heard.flatMap((click): Told[] => {
          const found = links.get(click.linkId);
          if (!found) return [];
          const webhookIds = (byWorkspace.get(click.workspaceId) ?? [])
            .filter((hearer) => hearsOf(hearer, found.link, folders))
            .map(({ id }) => id);
          if (webhookIds.length === 0) return [];
          const data = `{"click":${JSON.stringify(clickData(click))},"link":${found.text}}`;
          const message = newMessage(click.workspaceId, 'link.clicked', data, nowMs, click.id);
          return [{ message, webhookIds }];
        }),
      );
    },

    async queueFor({ id, workspaceId }, trigger, data) {
      // A sample names a customer who does not exist.
      const message = newMessage(workspaceId, trigger, JSON.stringify(data), clock.now(), null);
      const delivery = { id: ids('whd_'), webhookId: id, messageId: message.id };
      await store.insert([message], [delivery], clock.now());
      db.afterCommit(parts.onQueued);
      return delivery.id;
    },
  };
}

function hearsOf(
  { id, linkScope }: Hearer,
  link: Link,
  folders: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  if (linkScope === 'workspace') return true;
  if (linkScope === 'links') return link.webhookIds.includes(id);
  return link.folderId !== null && (folders.get(id)?.has(link.folderId) ?? false);
}

/** Clicks beyond what an operator allows in a month are counted, but not told. */
function isOverUsage({ limits, eventsUsage, usageMonth: month }: Hearer, nowMs: number): boolean {
  const { events } = JSON.parse(limits) as Limits;
  return events !== undefined && month === usageMonth(nowMs) && eventsUsage > events;
}
