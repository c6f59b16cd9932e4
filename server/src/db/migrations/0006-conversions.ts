// Customers, their leads and sales, clicks that were brought along, what receivers of webhooks are told, and the
// settings of a workspace that go with them.
import type { Migration } from '../migrate.ts';
import { customerSearchStatements } from './0006-customer-search.ts';

export const conversions: Migration = {
  id: 6,
  name: 'conversions',
  up: ({ engine, text, integer, counter, computed, tableEnd }) => [
    `alter table outbox add column webhook ${text}`,

    `alter table workspace add column ip_privacy ${text} not null default 'standard'`,
    `alter table workspace add column attribution ${text} not null default 'last_click'`,
    `alter table workspace add column attribution_days ${integer}`,

    `create table customer (
      seq ${counter},
      id ${text} not null unique,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      external_id ${text} not null,
      name ${text},
      email ${text},
      email_folded ${text},
      avatar ${text},
      stripe_customer_id ${text},
      country ${text},
      click_id ${text},
      clicked_at ${integer},
      link_id ${text},
      program_id ${text},
      partner_id ${text},
      sales ${integer} not null default 0,
      sale_amount ${integer} not null default 0,
      first_sale_at ${integer},
      subscription_canceled_at ${integer},
      search_text ${text} not null default '',
      created_at ${integer} not null,
      updated_at ${integer} not null,
      -- Lists are sorted by these: engines disagree on where null belongs.
      first_sale_order ${integer} generated always as (coalesce(first_sale_at, 0)) ${computed},
      cancellation_order ${integer} generated always as (coalesce(subscription_canceled_at, 0)) ${computed},
      unique (workspace_id, external_id)
    ) ${tableEnd}`,
    'create unique index customer_by_stripe_id on customer (workspace_id, stripe_customer_id) where stripe_customer_id is not null',
    'create index customer_by_age on customer (workspace_id, created_at, id)',
    'create index customer_by_revenue on customer (workspace_id, sale_amount, created_at, id)',
    'create index customer_by_first_sale on customer (workspace_id, first_sale_order, created_at, id)',
    'create index customer_by_cancellation on customer (workspace_id, cancellation_order, created_at, id)',
    ...['email_folded', 'country', 'link_id', 'program_id', 'partner_id'].map(
      (column) =>
        `create index customer_by_${column} on customer (workspace_id, ${column}, created_at, id) where ${column} is not null`,
    ),
    ...customerSearchStatements(engine),

    // Clicks whose ids were not made here, or that no visit made: imported ones and those of conversions entered by hand.
    `create table click_index (
      id ${text} primary key,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      link_id ${text} not null,
      time_ms ${integer} not null,
      click ${text} not null
    ) ${tableEnd}`,
    'create index click_index_by_time on click_index (workspace_id, time_ms, id)',

    `create table lead (
      id ${text} primary key,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      customer_id ${text} not null,
      link_id ${text} not null,
      click_id ${text} not null,
      event_name ${text} not null,
      url ${text} not null,
      click ${text} not null,
      metadata ${text},
      time_ms ${integer} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index lead_of_customer on lead (customer_id, time_ms, id)',
    'create index lead_by_time on lead (workspace_id, time_ms, id)',
    'create index lead_of_link on lead (link_id, time_ms)',

    `create table sale (
      id ${text} primary key,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      customer_id ${text} not null,
      link_id ${text} not null,
      click_id ${text} not null,
      event_name ${text} not null,
      click ${text} not null,
      metadata ${text},
      amount ${integer} not null,
      currency ${text} not null,
      original_amount ${integer} not null,
      original_currency ${text} not null,
      payment_processor ${text} not null,
      invoice_id ${text},
      refunded_amount ${integer} not null default 0,
      refunded_at ${integer},
      time_ms ${integer} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index sale_of_customer on sale (customer_id, time_ms, id)',
    'create index sale_by_time on sale (workspace_id, time_ms, id)',
    'create index sale_of_link on sale (link_id, customer_id, time_ms)',

    // One row for whatever may happen once: a lead of that name of a customer, an invoice. Kept for ever.
    `create table conversion_key (
      workspace_id ${text} not null references workspace (id) on delete cascade,
      kind ${text} not null,
      key ${text} not null,
      customer_id ${text},
      event_id ${text},
      answer ${text} not null,
      created_at ${integer} not null,
      primary key (workspace_id, kind, key)
    ) ${tableEnd}`,
    'create index conversion_key_of_customer on conversion_key (customer_id)',
  ],
};
