// The types of lines of a dump, in the order in which they are written: what is referred to comes first. A
// new feature joins with one entry; a test finds tables that are neither here nor in LEFT_OUT.
import { accountEntities, membershipEntities } from './account-entities.ts';
import { type ClickEntityParts, clickEntity } from './click-entity.ts';
import { conversionEntities } from './conversion-entities.ts';
import { earningEntities } from './earning-entities.ts';
import type { Entity } from './entity.ts';
import { type DumpFiles, fileEntity } from './file-entity.ts';
import { folderRoleEntity, type LinkEntityParts, linkEntity, sortingEntities } from './link-entities.ts';
import { partnerEntities } from './partner-entities.ts';
import { paymentEntities } from './payment-entities.ts';

export type EntityParts = LinkEntityParts & ClickEntityParts & { readonly files: DumpFiles };

import { webhookEntities } from './webhook-entities.ts';

export function createEntities(parts: EntityParts): readonly Entity[] {
  return [
    fileEntity(parts.files),
    ...accountEntities(parts),
    ...sortingEntities(parts),
    ...membershipEntities(parts),
    folderRoleEntity(parts),
    linkEntity(parts),
    ...webhookEntities(parts),
    ...partnerEntities(parts),
    ...earningEntities(parts),
    ...conversionEntities(parts),
    ...paymentEntities(parts),
    // By far the most, and nothing refers to them.
    clickEntity(parts),
  ];
}

/** Tables that no dump holds, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  schema_migration: 'the shape of the database, which each instance has of its own',
  outbox: 'work under way: told within moments, and of no meaning elsewhere',
  job: 'when this instance does its own work next',
  idempotency: 'answers kept for repeats of requests to this instance',
  cleanup: 'work under way: what it is about to remove is left out of the dump',
  link_count: 'kept by the database itself as links come in',
  link_search_queue: 'work under way: what the index has still to take in',
  customer_search_queue: 'work under way: what the index has still to take in',
  embed_token: 'good for three hours and of this instance only',
  sink_offset: 'how far this instance has come with its own journal',
  import_progress: 'how far imports into this instance have come',
  invoice_import: 'work under way and its log: it needs a key that no dump holds',
  webhook_message: 'work under way and its log: of no meaning elsewhere, and nobody is told twice',
  webhook_delivery: 'work under way and its log, like the messages',
  webhook_attempt: 'the log of what this instance has sent',
};

/** Columns that no dump holds, and why. */
export const LEFT_OUT_COLUMNS: Readonly<Record<string, string>> = {
  'payment_bridge.api_key': 'opens the account of the workspace at a payment provider: it is entered anew',
  'webhook.next_at': 'work under way: when there is something to deliver',
  'webhook.lease_owner': 'work under way: which node delivers',
  'webhook.lease_until': 'work under way: for how long that node has said so',
  'domain.former_slug': 'work under way: links are written with the present name of their domain',
  'workspace.total_links': 'counted anew as links come in',
  'link.search_text': 'made by the database itself from other columns',
  'link.seq': 'the order of insertion, given anew',
  'customer.seq': 'the order of insertion, given anew',
  'customer.first_sale_order': 'made by the database itself from other columns',
  'customer.cancellation_order': 'made by the database itself from other columns',
};
