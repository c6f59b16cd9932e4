// The work that comes back: which jobs there are, and how often each runs.
import type { Database } from './db/database.ts';
import { pruneAnswers } from './db/idempotency.ts';
import type { Job } from './db/jobs.ts';
import { pruneOutbox } from './db/outbox.ts';
import type { Clock } from './kernel/clock.ts';
import type { Services } from './operations.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Answers are replayed for at least a day. */
const KEEP_ANSWERS_MS = 2 * DAY_MS;
const KEEP_OUTBOX_MS = 30 * DAY_MS;
const CLEANUP_EVERY_MS = 30_000;
const INDEX_EVERY_MS = 5_000;
const IMPORT_EVERY_MS = 5_000;

export function recurringJobs(
  db: Database,
  clock: Clock,
  {
    domains,
    folders,
    tags,
    customers,
    linkSearch,
    customerSearch,
    testEnd,
    webhooks,
    webhookLogs,
    groups,
    groupDefaultLinks,
    discountCodes,
    partnerTags,
    enrolmentChanges,
    groupMoves,
    applications,
    embedTokens,
    bountyProgress,
    clickCommissions,
    payoutAggregation,
    fraud,
    earlyRefunds,
    invoiceImports,
  }: Services,
  relay: () => Promise<void>,
): Job[] {
  return [
    { name: 'clean-up-domains', everyMs: CLEANUP_EVERY_MS, run: domains.cleanUp },
    { name: 'clean-up-folders', everyMs: CLEANUP_EVERY_MS, run: folders.cleanUp },
    { name: 'clean-up-tags', everyMs: CLEANUP_EVERY_MS, run: tags.cleanUp },
    { name: 'clean-up-partner-groups', everyMs: CLEANUP_EVERY_MS, run: groups.cleanUp },
    { name: 'follow-default-links', everyMs: CLEANUP_EVERY_MS, run: groupDefaultLinks.run },
    { name: 'provide-discount-codes', everyMs: CLEANUP_EVERY_MS, run: discountCodes.provide },
    { name: 'clean-up-partner-tags', everyMs: CLEANUP_EVERY_MS, run: partnerTags.cleanUp },
    { name: 'follow-partner-links', everyMs: CLEANUP_EVERY_MS, run: enrolmentChanges.followLinks },
    { name: 'move-partners', everyMs: 10 * MINUTE_MS, run: groupMoves.run },
    { name: 'reject-applications', everyMs: MINUTE_MS, run: applications.rejectDue },
    { name: 'open-bounties', everyMs: MINUTE_MS, run: bountyProgress.openDue },
    { name: 'prune-embed-tokens', everyMs: HOUR_MS, run: embedTokens.prune },
    { name: 'reward-clicks', everyMs: DAY_MS, run: clickCommissions.run },
    { name: 'gather-payouts', everyMs: HOUR_MS, run: payoutAggregation.run },
    { name: 'expire-fraud-findings', everyMs: HOUR_MS, run: fraud.expire },
    { name: 'import-invoices', everyMs: IMPORT_EVERY_MS, run: invoiceImports.run },
    { name: 'prune-invoice-imports', everyMs: HOUR_MS, run: invoiceImports.prune },
    { name: 'prune-early-refunds', everyMs: HOUR_MS, run: earlyRefunds.prune },
    { name: 'erase-customers', everyMs: CLEANUP_EVERY_MS, run: customers.cleanUp },
    { name: 'index-links', everyMs: INDEX_EVERY_MS, run: linkSearch.index },
    { name: 'index-customers', everyMs: INDEX_EVERY_MS, run: customerSearch.index },
    { name: 'clean-up-webhooks', everyMs: CLEANUP_EVERY_MS, run: webhooks.cleanUp },
    { name: 'bound-webhook-queues', everyMs: MINUTE_MS, run: webhookLogs.boundBacklogs },
    { name: 'prune-webhooks', everyMs: HOUR_MS, run: webhookLogs.prune },
    { name: 'end-link-tests', everyMs: MINUTE_MS, run: testEnd.endTests },
    {
      name: 'prune-answers',
      everyMs: HOUR_MS,
      run: async () => {
        await pruneAnswers(db, clock.now() - KEEP_ANSWERS_MS);
      },
    },
    {
      name: 'prune-outbox',
      everyMs: HOUR_MS,
      // The relay empties it; this bounds it while the journal cannot be written.
      run: async () => {
        await relay().catch(() => {});
        await pruneOutbox(db, clock.now() - KEEP_OUTBOX_MS);
      },
    },
  ];
}
