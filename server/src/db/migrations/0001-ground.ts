// The first tables: people, workspaces, keys, tags, and what the store itself needs.
import type { Migration } from '../migrate.ts';

export const ground: Migration = {
  id: 1,
  name: 'ground',
  up: ({ text, integer, counter, tableEnd }) => [
    `create table "user" (
      id ${text} primary key,
      name ${text},
      email ${text} unique,
      image ${text},
      is_machine ${integer} not null default 0,
      created_at ${integer} not null,
      updated_at ${integer} not null
    ) ${tableEnd}`,

    `create table workspace (
      id ${text} primary key,
      name ${text} not null,
      slug ${text} not null unique,
      logo ${text},
      plan ${text} not null,
      default_product ${text} not null,
      default_program_id ${text},
      invite_code ${text} unique,
      publishable_key ${text} unique,
      conversion_enabled ${integer} not null default 0,
      webhook_enabled ${integer} not null default 0,
      allowed_hostnames ${text} not null,
      limits ${text} not null,
      events_usage ${integer} not null default 0,
      links_usage ${integer} not null default 0,
      usage_month ${integer} not null default 0,
      payouts_usage ${integer} not null default 0,
      total_links ${integer} not null default 0,
      total_clicks ${integer} not null default 0,
      created_at ${integer} not null,
      updated_at ${integer} not null
    ) ${tableEnd}`,

    `create table member (
      user_id ${text} not null references "user" (id) on delete cascade,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      role ${text} not null,
      default_folder_id ${text},
      created_at ${integer} not null,
      updated_at ${integer} not null,
      primary key (user_id, workspace_id)
    ) ${tableEnd}`,
    'create index member_by_workspace on member (workspace_id, created_at, user_id)',

    `create table token (
      id ${text} primary key,
      name ${text} not null,
      hashed_key ${text} not null unique,
      partial_key ${text} not null,
      scopes ${text},
      expires_at ${integer},
      last_used_at ${integer},
      user_id ${text} not null references "user" (id) on delete cascade,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      created_at ${integer} not null,
      updated_at ${integer} not null
    ) ${tableEnd}`,
    'create index token_by_workspace on token (workspace_id, created_at, id)',
    'create index token_by_user on token (user_id)',

    `create table tag (
      id ${text} primary key,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      name ${text} not null,
      name_folded ${text} not null,
      color ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null,
      unique (workspace_id, name_folded)
    ) ${tableEnd}`,
    'create index tag_by_workspace on tag (workspace_id, created_at, id)',

    `create table outbox (
      id ${counter},
      workspace_id ${text} not null,
      type ${text} not null,
      payload ${text} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index outbox_by_created_at on outbox (created_at)',

    `create table job (
      name ${text} primary key,
      next_run_at ${integer} not null,
      lease_owner ${text},
      lease_until ${integer},
      last_run_at ${integer},
      last_error ${text}
    ) ${tableEnd}`,

    `create table idempotency (
      scope ${text} not null,
      key ${text} not null,
      fingerprint ${text} not null,
      status ${integer},
      body ${text},
      created_at ${integer} not null,
      primary key (scope, key)
    ) ${tableEnd}`,
    'create index idempotency_by_created_at on idempotency (created_at)',
  ],
};
