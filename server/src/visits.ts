// The part of the composition root that serves visits: journal, snapshot, visitor window, redirect. Opened
// before the port, closed after it, so that every answered visit is in the journal.
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Domains } from './domains/domains.ts';
import { createClickIds } from './events/click-id.ts';
import { type Click, createEventEncoder } from './events/event.ts';
import { type FileJournal, openFileJournal } from './events/file-journal.ts';
import type { Position } from './events/journal.ts';
import { openJournalDirectory } from './events/journal-files.ts';
import { createJournalMarks, type JournalMarks } from './events/journal-marks.ts';
import { createLoopLoad, type LoopLoad } from './events/loop-load.ts';
import { readRecentClicks } from './events/recent-clicks.ts';
import { createWake, type Wake } from './events/wake.ts';
import type { HealthPart } from './http/health.ts';
import { createHosts } from './http/host.ts';
import type { Clock } from './kernel/clock.ts';
import { createCountries } from './kernel/geo.ts';
import { chance } from './kernel/ids.ts';
import type { Log } from './kernel/log.ts';
import type { Metrics } from './kernel/metrics.ts';
import { createLinkSnapshot, type LinkSnapshot, type SnapshotSource } from './links/link-snapshot.ts';
import { followChanges } from './links/snapshot-follower.ts';
import type { VisitDomain } from './links/visit-link.ts';
import { type ClientClicks, createClientClicks } from './redirect/client-clicks.ts';
import { COUNTED } from './redirect/counting.ts';
import { OUTCOMES } from './redirect/outcome.ts';
import { createRedirect, type Redirect } from './redirect/redirect.ts';
import { slugServedBy } from './redirect/resolve.ts';
import { createStoreVisits, leadsToStore, type StoreVisits } from './redirect/store-visits.ts';
import { createVisitorWindow } from './redirect/window.ts';

/** About 220 bytes each for plain links. Those beyond it are read from the store again, many at a time. */
const MAX_LINKS = 100_000;
const SECOND_MS = 1_000;
/** Of the journal, read at a start for the visitor window: some 300,000 clicks. */
const RESTORE_BYTES = 128 * 1024 * 1024;

export interface VisitsParts {
  readonly config: Config;
  readonly db: Database;
  readonly domains: Pick<Domains, 'findServing'>;
  readonly loadLinks: SnapshotSource['loadLinks'];
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  /** Up to where the journal was read: its numbering goes on after it even if its files are gone. */
  readonly after: Position | undefined;
}

export interface Visits {
  readonly handle: Redirect;
  /** What was visited, for whoever stores events: it reads `journalPath`, is woken by `wake`, and tells `journal` what it has passed. */
  readonly journal: FileJournal;
  readonly journalPath: string;
  readonly wake: Wake;
  readonly marks: Pick<JournalMarks, 'shared'>;
  /** Of the thread that answers visits. */
  readonly loopLoad: Pick<LoopLoad, 'shared'>;
  readonly snapshot: LinkSnapshot;
  /** For clicks that pages and apps report: counted together with visits. */
  readonly clientClicks: ClientClicks;
  readonly findStoreVisit: StoreVisits['find'];
  /** The short-link domain that a host stands for. */
  readonly slugOf: (host: string) => string;
  readonly health: HealthPart;
  close(): Promise<void>;
}

export async function openVisits(parts: VisitsParts): Promise<Visits> {
  const { config, db, clock, log, metrics } = parts;
  const journalPath = join(config.dataDir, 'journal');
  const wake = createWake();
  const loopLoad = createLoopLoad();
  const stopMeasuring = loopLoad.measure();
  const directory = await openJournalDirectory(journalPath);
  const marks = createJournalMarks();
  const onWrite = (end: Position | undefined) => {
    wake.notify();
    if (end) marks.note(clock.now(), end);
  };
  const journal = await openFileJournal({ directory, clock, log, onWrite, after: parts.after });
  // What comes from now on lies after all that an earlier run has left.
  if (journal.begin) marks.note(clock.now() - SECOND_MS, journal.begin);
  const snapshot = createLinkSnapshot({ source: createSource(parts), maxLinks: MAX_LINKS });
  await db.follow(followChanges(snapshot));
  const window = createVisitorWindow({ clock });
  const storeVisits = createStoreVisits({ clock });
  const recent = readRecentClicks(journalPath, journal.recovery.sizes, RESTORE_BYTES);
  await window.restore(storeVisits.restore(recent));
  const counters = watchVisits(metrics, journal, snapshot);
  metrics.gauge(
    'linktrail_loop_load',
    'How busy the thread is that answers visits, from 0 to 1.',
    loopLoad.read,
  );
  const encoder = createEventEncoder();
  const record = (click: Click) => journal.append(encoder.click(click));
  const clickIds = createClickIds(clock);
  const served = servedHosts(config);
  const handle = createRedirect({
    snapshot,
    window,
    record(click) {
      const written = record(click);
      if (leadsToStore(click)) void written.then((stored) => stored && storeVisits.note(click));
      return written;
    },
    clickIds,
    countries: createCountries({
      onError: (error) => log.error({ err: error }, 'No countries: the file cannot be read'),
    }),
    clock,
    chance,
    ...served,
    ...counters,
    onError: (error) => log.error({ err: error }, 'A visit failed'),
  });
  return {
    handle,
    journal,
    journalPath,
    wake,
    marks,
    loopLoad,
    snapshot,
    clientClicks: createClientClicks({ record, window, clickIds, clock, onCounted: counters.onCounted }),
    findStoreVisit: storeVisits.find,
    slugOf: (host) => slugServedBy(host, served),
    health: journalHealth(journal),
    close() {
      stopMeasuring();
      return journal.close();
    },
  };
}

function servedHosts(config: Config) {
  const hosts = createHosts(config);
  const isOwnHost = (host: string) => hosts.classify(host) !== 'domain';
  return { defaultDomain: config.defaultDomain, isOwnHost };
}

function createSource({ config, domains, loadLinks }: VisitsParts): SnapshotSource {
  const { defaultDomain } = config;
  return {
    loadLinks,
    async loadDomains(slugs) {
      const serving = await domains.findServing(slugs.filter((slug) => slug !== defaultDomain));
      const found = new Map<string, VisitDomain>();
      for (const [slug, domain] of serving) found.set(slug, { ...domain, slug, shared: false });
      if (slugs.includes(defaultDomain)) found.set(defaultDomain, sharedDomain(defaultDomain));
      return found;
    },
  };
}

function sharedDomain(slug: string): VisitDomain {
  return {
    slug,
    shared: true,
    caseSensitive: false,
    notFoundUrl: null,
    expiredUrl: null,
    logo: null,
    assetLinks: null,
    appleAppSiteAssociation: null,
  };
}

/** Visits go on when the journal cannot be written, uncounted: that is told, but no reason to stop. */
function journalHealth(journal: FileJournal): HealthPart {
  return {
    name: 'journal',
    needed: false,
    async check() {
      const { failing, lostRecords, lastError } = journal.state();
      if (failing) throw new Error(`cannot be written, ${lostRecords} clicks lost: ${lastError}`);
    },
  };
}

function watchVisits(metrics: Metrics, journal: FileJournal, snapshot: LinkSnapshot) {
  const visit = metrics.counts('linktrail_visits_total', 'Visits by what they got.', 'outcome', OUTCOMES);
  const counted = metrics.counts(
    'linktrail_clicks_total',
    'Visits that reached their destination, by how they count.',
    'counted',
    COUNTED,
  );
  metrics.gauge('linktrail_snapshot_links', 'Links in memory.', () => snapshot.stats().links);
  metrics.gauge(
    'linktrail_snapshot_hits',
    'Links found in memory since the start.',
    () => snapshot.stats().hits,
  );
  metrics.gauge('linktrail_snapshot_misses', 'Links loaded since the start.', () => snapshot.stats().misses);
  metrics.gauge('linktrail_journal_failing', '1 while the journal cannot be written or synced.', () =>
    journal.state().failing ? 1 : 0,
  );
  metrics.gauge(
    'linktrail_journal_lost',
    'Clicks that could not be written since the start.',
    () => journal.state().lostRecords,
  );
  metrics.gauge('linktrail_journal_bytes', 'Bytes in the journal.', () => journal.state().bytes);
  return { onVisit: visit, onCounted: counted };
}
