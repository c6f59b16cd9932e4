// The composition root: builds the stores, the services and the HTTP side from a configuration, and takes
// them down again. Nothing else constructs a part.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthenticator } from './access/authenticate.ts';
import { createTokenStore } from './access/token.store.ts';
import { createAnalyticsSide } from './analytics/analytics-side.ts';
import type { EventReader } from './analytics/query.ts';
import type { Config } from './config.ts';
import { browserScriptPages } from './conversions/browser-script.ts';
import { type ClickTracking, createClickTracking } from './conversions/click-tracking.ts';
import { createConversionRowsStore } from './conversions/conversion-rows.store.ts';
import { openCurrencies } from './conversions/conversion-side.ts';
import { createHostnameCache } from './conversions/hostname-cache.ts';
import { type Database, openDatabase } from './db/database.ts';
import { createJobs, type Jobs } from './db/jobs.ts';
import { migrate } from './db/migrate.ts';
import { lockFile } from './db/sqlite-file.ts';
import { createDemo, type Demo } from './demo/demo.ts';
import { createDump, type Dump } from './dump/dump.ts';
import { createProgressStore } from './dump/progress.store.ts';
import { createApiSide, createHandler, type Handler, openPort } from './edge.ts';
import { createEventFlow, type EventFlow, readJournalNode } from './event-flow.ts';
import { createEventRows } from './event-rows.ts';
import type { Api } from './http/api.ts';
import type { Listener } from './http/listener.ts';
import type { PipelineParts } from './http/pipeline.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import { freeBytes } from './kernel/disk.ts';
import { createIds } from './kernel/ids.ts';
import { createLog, type Log } from './kernel/log.ts';
import { createMetrics, type Metrics } from './kernel/metrics.ts';
import { createLinkCounterStore } from './links/link-counters.store.ts';
import { createLinkDimensionStore } from './links/link-dimension.store.ts';
import { toColumns } from './links/link-row.ts';
import { createVisitLinkStore } from './links/visit-link.store.ts';
import type { Services } from './operations.ts';
import { createEnrolmentStore } from './partners/enrolment.store.ts';
import { createEnrolmentRowsStore } from './partners/enrolment-rows.store.ts';
import { createPartnerCards } from './partners/partner-cards.ts';
import { createDiscountStore } from './partners/reward.store.ts';
import { recurringJobs } from './recurring-jobs.ts';
import { createServices, type ServiceParts } from './services.ts';
import { openVisits, type Visits } from './visits.ts';
import { createWorkspaceStore } from './workspaces/workspace.store.ts';

export interface AppOptions {
  readonly config: Config;
  readonly clock?: Clock;
  readonly log?: Log;
  /** For tests: every answer is checked against its schema. */
  readonly checkAnswers?: boolean;
  /** For tests: where Stripe is. */
  readonly stripeUrl?: string;
}

export interface App {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly db: Database;
  readonly services: Services;
  readonly dump: Dump;
  readonly demo: Demo;
  readonly api: Api;
  readonly jobs: Jobs;
  readonly metrics: Metrics;
  readonly visits: Visits;
  readonly events: EventFlow;
  readonly handler: Handler;
  /** Opens the port and starts the background jobs. */
  listen(): Promise<Listener>;
  /** Finishes what is under way and closes the stores. Safe to call twice. */
  close(): Promise<void>;
}

/** Another process works on the data directory. */
export class DataDirLockedError extends Error {
  override name = 'DataDirLockedError';
}

export async function openApp(options: AppOptions): Promise<App> {
  const { config, clock = systemClock, log = createLog(options.config.logLevel) } = options;
  const lock = await lockDataDir(config.dataDir);
  try {
    const db = await openStore(config, log);
    try {
      await migrate(db, { clock });
      return await compose({ ...options, clock, log }, db, lock);
    } catch (error) {
      await db.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function lockDataDir(dataDir: string): Promise<{ release(): void }> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockFile(join(dataDir, 'lock'));
  if (!lock) throw new DataDirLockedError(`Another Linktrail process is using ${dataDir}.`);
  return lock;
}

function openStore(config: Config, log: Log): Promise<Database> {
  return openDatabase({
    url: config.databaseUrl ?? join(config.dataDir, 'linktrail.db'),
    log,
    sqlite: { sync: config.sqliteSync },
    postgres: { poolSize: config.databasePool },
  });
}

async function compose(
  options: AppOptions & { clock: Clock; log: Log },
  db: Database,
  lock: { release(): void },
): Promise<App> {
  const { config, clock, log } = options;
  const ids = createIds(clock);
  const metrics = createMetrics();
  const findClick = (id: string) => events.findClick(id);
  const aggregate: EventReader['aggregate'] = (query, signal) => events.source.aggregate(query, signal);
  const tokenStore = createTokenStore(db);
  const currencies = await openCurrencies(config.currencyRatesFile);
  const stored = createServices({
    config,
    db,
    clock,
    ids,
    tokenStore,
    findClick,
    aggregate,
    currencies,
    stripeUrl: options.stripeUrl,
    metrics,
    log,
  });
  const { loadLinks } = createVisitLinkStore(db);
  const node = await readJournalNode({ dataDir: config.dataDir, db, clock, ids });
  const after = node.position;
  const visits = await openVisits({
    config,
    db,
    domains: stored.domains,
    loadLinks,
    metrics,
    clock,
    log,
    after,
  });
  const clickTracking = await composeClickTracking(db, visits);
  const counted = {
    links: createLinkCounterStore(db),
    partners: createEnrolmentStore(db),
    workspaces: createWorkspaceStore(db),
  };
  const conversionRows = createConversionRowsStore(db);
  const listRows = createEventRows({
    links: createLinkDimensionStore(db).list,
    partners: createEnrolmentRowsStore(db).list,
    leads: conversionRows.listLeads,
    sales: conversionRows.listSales,
  });
  const { webhookFlow } = stored;
  const events = createEventFlow({
    config,
    db,
    node,
    visits,
    ...counted,
    hearers: webhookFlow,
    listRows,
    metrics,
    clock,
    log,
  });
  const analyticsSide = createAnalyticsSide({
    ...stored,
    source: events.source,
    dataDir: config.dataDir,
    findCustomers: stored.customers.findByIds,
    ...stored.partnerLookups,
    ids,
  });
  const services: Services = { ...stored, ...analyticsSide, clickTracking };
  const authenticator = createAuthenticator({ store: tokenStore, clock, log });
  const { embedTokens } = stored;
  const authenticate: PipelineParts['authenticate'] = (key, kind) =>
    kind === 'embed_token' ? embedTokens.authenticate(key) : authenticator.authenticate(key, kind);
  const checkAnswers = options.checkAnswers ?? false;
  const api = createApiSide({ config, clock, log, checkAnswers, db, services, ids, metrics, authenticate });
  const jobs = createJobs({
    db,
    clock,
    log,
    owner: ids('node_'),
    jobs: recurringJobs(db, clock, services, () => events.relay()),
    onRun: metrics.job,
  });
  let draining = false;
  const handler = createHandler({
    config,
    api,
    db,
    metrics,
    isDraining: () => draining,
    health: [visits.health, events.health, webhookFlow.health],
    pages: browserScriptPages(),
    visit: visits.handle,
  });
  metrics.gauge('linktrail_requests_in_flight', 'API requests under way.', api.inFlight);
  const { eventStreams } = analyticsSide;
  metrics.gauge('linktrail_event_streams', 'Open streams of events.', eventStreams.size);
  metrics.gauge('linktrail_writes_waiting', 'Writes waiting for the store.', () => db.stats().waitingWrites);
  const dump = composeDump({ config, db, clock, ids }, services, events);
  let listener: Listener | undefined;
  let closing: Promise<void> | undefined;

  async function shutDown(): Promise<void> {
    draining = true;
    eventStreams.close();
    await listener?.close(config.drainMs);
    await events.close();
    await webhookFlow.stop(config.drainMs);
    await visits.close();
    await jobs.stop();
    await authenticator.flush();
    await db.close();
    lock.release();
  }

  return {
    config,
    clock,
    log,
    db,
    services,
    dump,
    demo: createDemo({
      importLines: dump.import,
      marks: createProgressStore(db),
      settle: events.settle,
      freeBytes: () => freeBytes(config.dataDir),
      clock,
    }),
    api,
    jobs,
    metrics,
    visits,
    events,
    handler,
    async listen() {
      await analyticsSide.eventExports.clear();
      listener = await openPort(config, handler, metrics, log);
      metrics.gauge('linktrail_connections', 'Open connections.', listener.connections);
      jobs.start();
      events.start();
      webhookFlow.start();
      return listener;
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** Pages and apps report clicks; they are counted where visits are. */
async function composeClickTracking(db: Database, visits: Visits): Promise<ClickTracking> {
  const hostnames = createHostnameCache({ db, load: createWorkspaceStore(db).findAllowedHostnames });
  await db.follow(hostnames.follower);
  const cards = createPartnerCards({
    db,
    enrolments: createEnrolmentStore(db),
    discounts: createDiscountStore(db),
  });
  await db.follow(cards.follower);
  const { snapshot, slugOf, clientClicks: clicks, findStoreVisit } = visits;
  return createClickTracking({
    snapshot,
    slugOf,
    clicks,
    findStoreVisit,
    findAllowedHostnames: hostnames.find,
    findPartner: cards.find,
  });
}

function composeDump(
  parts: Pick<ServiceParts, 'config' | 'db' | 'clock' | 'ids'>,
  services: Services,
  events: EventFlow,
): Dump {
  return createDump({
    ...parts,
    files: services.files,
    defaultDomain: parts.config.defaultDomain,
    findDomains: services.domains.findServing,
    findPresentNames: services.domains.findPresentNames,
    urlColumns: (url) => toColumns({ url }) as { url_hash: string; url_folded: string | null },
    addTotalLinks: services.workspaces.addTotalLinks,
    clicks: events.source,
    openClicks: events.open,
    flushEvents: events.flush,
  });
}
