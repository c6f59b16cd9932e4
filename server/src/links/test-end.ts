// The end of A/B tests: once the time is over, the destination that brought the most leads becomes the link's
// own. Safe to run again and on several nodes at once: a test is ended, and told of, exactly once.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { pick } from '../kernel/ids.ts';
import type { LinkStore, TestPosition } from './link.store.ts';
import type { Link } from './link.ts';
import type { RecordLinks } from './link-events.ts';
import { campaignOf } from './link-url.ts';

export interface TestEndParts {
  readonly db: Database;
  readonly store: LinkStore;
  readonly record: RecordLinks;
  readonly clock: Clock;
  /** Leads since the test began, by the destination that the visitor was sent to. */
  readonly leadsByUrl: (link: Link) => Promise<ReadonlyMap<string, number>>;
  readonly batchSize?: number;
}

const BATCH_SIZE = 100;

export function createTestEnd({
  db,
  store,
  record,
  clock,
  leadsByUrl,
  batchSize = BATCH_SIZE,
}: TestEndParts) {
  /** Leads are counted outside of the transaction, which is why it looks whether the test is still the same. */
  async function endTest(link: Link): Promise<void> {
    const url = winner(link, await leadsByUrl(link));
    const change = url === undefined ? {} : { url, ...campaignOf(url) };
    await db.write(async () => {
      if (await store.endTest(link, change, clock.now()))
        await record('link.updated', await store.findByIds([link.id]));
    });
  }

  return {
    /** Ends every test whose time is over; one that fails does not hold up the others. For a job. */
    async endTests(signal: AbortSignal): Promise<void> {
      const failures: unknown[] = [];
      for (let last: TestPosition | undefined; ; ) {
        const due = await store.findDueTests(clock.now(), last, batchSize);
        for (const link of due) {
          if (signal.aborted) return;
          await endTest(link).catch((error: unknown) => failures.push(error));
        }
        if (due.length < batchSize) break;
        last = due.at(-1);
      }
      if (failures.length > 0) {
        throw new Error(`${failures.length} A/B tests could not be ended`, { cause: failures[0] });
      }
    },
  };
}

export type TestEnd = ReturnType<typeof createTestEnd>;

/** The destination with the most leads, one of them by chance when several have as many; undefined without leads. */
function winner(link: Link, leads: ReadonlyMap<string, number>): string | undefined {
  const urls = (link.testVariants ?? []).map((variant) => variant.url);
  const most = Math.max(0, ...urls.map((url) => leads.get(url) ?? 0));
  if (most === 0) return undefined;
  return pick(urls.filter((url) => leads.get(url) === most));
}
