// Payment providers that tell of sales, and what else they call an invoice.
import type { Migration } from '../migrate.ts';

export const payments: Migration = {
  id: 9,
  name: 'payments',
  up: ({ text, integer, tableEnd }) => [
    `create table payment_bridge (
      workspace_id ${text} not null references workspace (id) on delete cascade,
      provider ${text} not null,
      secret ${text} not null,
      created_at ${integer} not null,
      updated_at ${integer} not null,
      primary key (workspace_id, provider)
    ) ${tableEnd}`,
    `create table payment_reference (
      workspace_id ${text} not null references workspace (id) on delete cascade,
      reference ${text} not null,
      invoice_id ${text} not null,
      created_at ${integer} not null,
      primary key (workspace_id, reference)
    ) ${tableEnd}`,
  ],
};
