// Webhooks as lines of a dump, with their secrets: receivers go on checking signatures with those they have.
import { sql } from 'kysely';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { DISABLED_REASONS, LINK_SCOPES, newSecret, TRIGGERS } from '../webhooks/webhook.ts';
import type { Entity } from './entity.ts';
import {
  address,
  count,
  type Field,
  id,
  idOrNull,
  oneOfOrNull,
  text,
  textOr,
  textOrNull,
  timeOrNull,
  times,
} from './field.ts';
import { tableEntity } from './table-entity.ts';

const triggers: Field = {
  schema: z
    .array(z.enum(TRIGGERS))
    .min(1)
    .transform((list) => [...new Set(list)].join(' ')),
  show: (value) => (value as string).split(' '),
};

export function webhookEntities(parts: { db: Database; clock: Clock }): Entity[] {
  const ofWorkspace = (workspaceId: string) =>
    sql`webhook_id in (select id from webhook where workspace_id = ${workspaceId})`;
  const { createdAt } = times();
  return [
    tableEntity(parts, {
      name: 'webhook',
      table: 'webhook',
      fields: {
        id: id(),
        workspaceId: id(),
        name: text(),
        url: address(),
        secret: textOr(newSecret),
        previousSecret: textOrNull(),
        previousSecretUntil: timeOrNull(),
        triggers,
        linkScope: oneOfOrNull(LINK_SCOPES),
        installationId: idOrNull(),
        disabledAt: timeOrNull(),
        disabledReason: oneOfOrNull(DISABLED_REASONS),
        consecutiveFailures: count(),
        lastSuccessAt: timeOrNull(),
        lastFailureAt: timeOrNull(),
        ...times(),
      },
      references: { workspaceId: 'workspace' },
      unique: [{ field: 'url', columns: ['workspace_id', 'url'] }],
    }),
    tableEntity(parts, {
      name: 'webhookLink',
      table: 'webhook_link',
      key: ['webhookId', 'linkId'],
      fields: { webhookId: id(), linkId: id(), createdAt },
      references: { webhookId: 'webhook', linkId: 'link' },
      ofWorkspace,
    }),
    tableEntity(parts, {
      name: 'webhookFolder',
      table: 'webhook_folder',
      key: ['webhookId', 'folderId'],
      fields: { webhookId: id(), folderId: id(), createdAt },
      references: { webhookId: 'webhook', folderId: 'folder' },
      ofWorkspace,
    }),
  ];
}
