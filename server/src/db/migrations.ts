// The migrations this program knows, in order. Released ones never change: what is wrong is put right by a new one.
import type { Migration } from './migrate.ts';
import { ground } from './migrations/0001-ground.ts';
import { links } from './migrations/0002-links.ts';
import { importProgress } from './migrations/0003-import-progress.ts';
import { sinks } from './migrations/0004-sinks.ts';
import { domainRenames } from './migrations/0005-domain-renames.ts';
import { conversions } from './migrations/0006-conversions.ts';
import { webhooks } from './migrations/0007-webhooks.ts';
import { partners } from './migrations/0008-partners.ts';
import { payments } from './migrations/0009-payments.ts';
import { sortedScopes } from './migrations/0010-sorted-scopes.ts';
import { paymentWork } from './migrations/0011-payment-work.ts';
import { commissionLists } from './migrations/0012-commission-lists.ts';
import { triggerPlans } from './migrations/0013-trigger-plans.ts';

export const migrations: readonly Migration[] = [
  ground,
  links,
  importProgress,
  sinks,
  domainRenames,
  conversions,
  webhooks,
  partners,
  payments,
  sortedScopes,
  paymentWork,
  commissionLists,
  triggerPlans,
];
