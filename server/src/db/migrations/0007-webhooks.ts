// Webhooks: who is told of what, the messages, their deliveries, and the log of attempts.
import type { Migration } from '../migrate.ts';

export const webhooks: Migration = {
  id: 7,
  name: 'webhooks',
  up: ({ text, integer, tableEnd }) => [
    `create table webhook (
      id ${text} primary key,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      name ${text} not null,
      url ${text} not null,
      secret ${text} not null,
      previous_secret ${text},
      previous_secret_until ${integer},
      triggers ${text} not null,
      link_scope ${text},
      installation_id ${text},
      disabled_at ${integer},
      disabled_reason ${text},
      consecutive_failures ${integer} not null default 0,
      last_success_at ${integer},
      last_failure_at ${integer},
      next_at ${integer},
      lease_owner ${text},
      lease_until ${integer},
      created_at ${integer} not null,
      updated_at ${integer} not null,
      unique (workspace_id, url)
    ) ${tableEnd}`,
    'create index webhook_by_age on webhook (workspace_id, created_at, id)',
    'create index webhook_due on webhook (next_at, id) where next_at is not null and disabled_at is null',
    'create index webhook_of_clicks on webhook (workspace_id) where link_scope is not null and disabled_at is null',

    `create table webhook_link (
      webhook_id ${text} not null references webhook (id) on delete cascade,
      link_id ${text} not null references link (id) on delete cascade,
      created_at ${integer} not null,
      primary key (webhook_id, link_id)
    ) ${tableEnd}`,
    'create index webhook_link_by_link on webhook_link (link_id, webhook_id)',

    `create table webhook_folder (
      webhook_id ${text} not null references webhook (id) on delete cascade,
      folder_id ${text} not null references folder (id) on delete cascade,
      created_at ${integer} not null,
      primary key (webhook_id, folder_id)
    ) ${tableEnd}`,
    'create index webhook_folder_by_folder on webhook_folder (folder_id)',

    `create table webhook_message (
      id ${text} primary key,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      event ${text} not null,
      body ${text} not null,
      -- The customer or the click that it tells of.
      subject_id ${text},
      erased_at ${integer},
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index webhook_message_by_age on webhook_message (created_at, id)',
    'create index webhook_message_of_subject on webhook_message (subject_id) where subject_id is not null',

    // A webhook that is deleted leaves these behind, to be removed in small steps.
    `create table webhook_delivery (
      id ${text} primary key,
      webhook_id ${text} not null,
      message_id ${text} not null references webhook_message (id) on delete cascade,
      state ${text} not null,
      attempts ${integer} not null default 0,
      next_at ${integer} not null,
      last_status ${integer},
      last_attempt_at ${integer},
      created_at ${integer} not null
    ) ${tableEnd}`,
    "create index webhook_delivery_waiting on webhook_delivery (webhook_id, next_at, id) where state = 'waiting'",
    'create index webhook_delivery_by_age on webhook_delivery (webhook_id, created_at, id)',
    'create index webhook_delivery_by_state on webhook_delivery (webhook_id, state, created_at, id)',
    'create index webhook_delivery_settled on webhook_delivery (state, created_at)',
    'create index webhook_delivery_of_message on webhook_delivery (message_id)',

    `create table webhook_attempt (
      id ${text} primary key,
      webhook_id ${text} not null,
      message_id ${text} not null references webhook_message (id) on delete cascade,
      url ${text} not null,
      status ${integer} not null,
      response ${text} not null,
      duration_ms ${integer} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index webhook_attempt_by_age on webhook_attempt (webhook_id, created_at, id)',
    'create index webhook_attempt_to_prune on webhook_attempt (created_at)',
    'create index webhook_attempt_of_message on webhook_attempt (message_id)',
  ],
};
