// What payment providers leave to be done: refunds that came before their sale, and invoices that are to be fetched with
// the key of the workspace.
import type { Migration } from '../migrate.ts';

export const paymentWork: Migration = {
  id: 11,
  name: 'payment work',
  up: ({ text, integer, tableEnd }) => [
    `alter table payment_bridge add column api_key ${text}`,
    `create table early_refund (
      workspace_id ${text} not null references workspace (id) on delete cascade,
      reference ${text} not null,
      refund_id ${text} not null,
      amount ${integer},
      created_at ${integer} not null,
      primary key (workspace_id, reference, refund_id)
    ) ${tableEnd}`,
    'create index early_refund_by_age on early_refund (created_at)',
    `create table invoice_import (
      workspace_id ${text} not null references workspace (id) on delete cascade,
      customer_id ${text} not null references customer (id) on delete cascade,
      partner_id ${text} not null,
      link_id ${text} not null,
      status ${text} not null,
      attempts ${integer} not null,
      next_at ${integer},
      recorded ${integer} not null,
      error ${text},
      created_at ${integer} not null,
      updated_at ${integer} not null,
      primary key (workspace_id, customer_id, partner_id)
    ) ${tableEnd}`,
    'create index invoice_import_due on invoice_import (next_at)',
    'create index invoice_import_by_age on invoice_import (workspace_id, updated_at)',
    'create index invoice_import_of_customer on invoice_import (customer_id)',
  ],
};
