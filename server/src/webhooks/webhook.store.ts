// SQL for webhooks and for what they are about: single links, folders.
import type { Updateable } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Schema } from '../db/schema.ts';
import type { DisabledReason, LinkScope, Trigger, Webhook } from './webhook.ts';

export type WebhookSort = 'createdAt' | 'name';
type Row = Schema['webhook'];

/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_INSERT = 500;

export type WebhookChange = Partial<Omit<Webhook, 'id' | 'workspaceId' | 'createdAt'>> & {
  readonly nextAt?: number | null;
};

export function createWebhookStore(db: Database) {
  return {
    async find(id: string): Promise<Webhook | undefined> {
      const row = await db.query.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toWebhook(row);
    },

    async findByIds(workspaceId: string, ids: readonly string[]): Promise<Webhook[]> {
      const rows = await db.query
        .selectFrom('webhook')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('id', 'in', ids)
        .execute();
      return rows.map(toWebhook);
    },

    async list(workspaceId: string, page: PageRequest<WebhookSort>): Promise<Webhook[]> {
      const query = db.query.selectFrom('webhook').selectAll().where('workspace_id', '=', workspaceId);
      const columns = { createdAt: 'created_at', name: 'name' } as const;
      const rows = await listPage(query, { columns, createdAt: 'created_at', id: 'id' }, page);
      return rows.map(toWebhook);
    },

    async count(workspaceId: string): Promise<number> {
      const row = await db.query
        .selectFrom('webhook')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    async insert(webhook: Webhook): Promise<void> {
      const { id, workspaceId, createdAt } = webhook;
      const columns = toColumns(webhook) as Row;
      await db.query
        .insertInto('webhook')
        .values({ ...columns, id, workspace_id: workspaceId, created_at: createdAt })
        .execute();
    },

    async update(id: string, change: WebhookChange): Promise<void> {
      await db.query.updateTable('webhook').set(toColumns(change)).where('id', '=', id).execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('webhook').where('id', '=', id).execute();
    },

    async findLinkIds(id: string, limit: number): Promise<string[]> {
      const rows = await db.query
        .selectFrom('webhook_link')
        .select('link_id')
        .where('webhook_id', '=', id)
        .orderBy('link_id')
        .limit(limit)
        .execute();
      return rows.map((row) => row.link_id);
    },

    async findFolderIds(id: string, limit: number): Promise<string[]> {
      const rows = await db.query
        .selectFrom('webhook_folder')
        .select('folder_id')
        .where('webhook_id', '=', id)
        .orderBy('folder_id')
        .limit(limit)
        .execute();
      return rows.map((row) => row.folder_id);
    },

    /** Of these links, the ones of the workspace. */
    async findOwnLinks(workspaceId: string, ids: readonly string[]): Promise<Set<string>> {
      const query = db.query.selectFrom('link').select('id').where('workspace_id', '=', workspaceId);
      return new Set((await query.where('id', 'in', ids).execute()).map((row) => row.id));
    },

    async findOwnFolders(workspaceId: string, ids: readonly string[]): Promise<Set<string>> {
      const query = db.query.selectFrom('folder').select('id').where('workspace_id', '=', workspaceId);
      return new Set((await query.where('id', 'in', ids).execute()).map((row) => row.id));
    },

    /** True where a program pays its partners through the product: nobody outside has to be told. */
    async paysInside(workspaceId: string): Promise<boolean> {
      const row = await db.query
        .selectFrom('program')
        .select('payout_mode')
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst();
      return row?.payout_mode === 'internal';
    },

    /** Replaces what the webhook is about. */
    async setLinks(id: string, linkIds: readonly string[], nowMs: number): Promise<void> {
      await db.query.deleteFrom('webhook_link').where('webhook_id', '=', id).execute();
      for (let start = 0; start < linkIds.length; start += ROWS_PER_INSERT) {
        const some = linkIds.slice(start, start + ROWS_PER_INSERT);
        await db.query
          .insertInto('webhook_link')
          .values(some.map((linkId) => ({ webhook_id: id, link_id: linkId, created_at: nowMs })))
          .execute();
      }
    },

    async setFolders(id: string, folderIds: readonly string[], nowMs: number): Promise<void> {
      await db.query.deleteFrom('webhook_folder').where('webhook_id', '=', id).execute();
      if (folderIds.length === 0) return;
      await db.query
        .insertInto('webhook_folder')
        .values(folderIds.map((folderId) => ({ webhook_id: id, folder_id: folderId, created_at: nowMs })))
        .execute();
    },
  };
}

export type WebhookStore = ReturnType<typeof createWebhookStore>;

const COLUMNS: Readonly<Record<keyof WebhookChange, keyof Row>> = {
  name: 'name',
  url: 'url',
  secret: 'secret',
  previousSecret: 'previous_secret',
  previousSecretUntil: 'previous_secret_until',
  triggers: 'triggers',
  linkScope: 'link_scope',
  installationId: 'installation_id',
  disabledAt: 'disabled_at',
  disabledReason: 'disabled_reason',
  consecutiveFailures: 'consecutive_failures',
  lastSuccessAt: 'last_success_at',
  lastFailureAt: 'last_failure_at',
  nextAt: 'next_at',
  updatedAt: 'updated_at',
};

function toColumns(change: WebhookChange): Updateable<Row> {
  const columns: Record<string, unknown> = {};
  for (const [field, column] of Object.entries(COLUMNS)) {
    const value = change[field as keyof WebhookChange];
    if (value !== undefined) columns[column] = value;
  }
  if (change.triggers) columns.triggers = change.triggers.join(' ');
  return columns;
}

export function toWebhook(row: Row): Webhook {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    url: row.url,
    secret: row.secret,
    previousSecret: row.previous_secret,
    previousSecretUntil: row.previous_secret_until,
    triggers: row.triggers.split(' ').filter(Boolean) as Trigger[],
    linkScope: row.link_scope as LinkScope | null,
    installationId: row.installation_id,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason as DisabledReason | null,
    consecutiveFailures: row.consecutive_failures,
    lastSuccessAt: row.last_success_at,
    lastFailureAt: row.last_failure_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
