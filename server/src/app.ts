// The composition root: builds the stores, the services and the HTTP side from a configuration, and takes
// them down again. Nothing else constructs a part.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthenticator } from './access/authenticate.ts';
import { createTokenStore } from './access/token.store.ts';
import { createTokens } from './access/tokens.ts';
import { createUserStore } from './access/user.store.ts';
import { createUsers } from './access/users.ts';
import type { Config } from './config.ts';
import { type ClickTracking, createClickTracking } from './conversions/click-tracking.ts';
import { createHostnameCache } from './conversions/hostname-cache.ts';
import { type Database, openDatabase } from './db/database.ts';
import { createJobs, type Jobs } from './db/jobs.ts';
import { migrate } from './db/migrate.ts';
import { lockFile } from './db/sqlite-file.ts';
import { createDnsLookup } from './domains/dns.ts';
import { createDomainStore } from './domains/domain.store.ts';
import { createDomains } from './domains/domains.ts';
import { dnsSetup, trustingSetup } from './domains/verify.ts';
import { createDump, type Dump } from './dump/dump.ts';
import { createApiSide, createHandler, type Handler, openPort } from './edge.ts';
import { createEventFlow, type EventFlow, readJournalNode } from './event-flow.ts';
import { createFiles } from './files/files.ts';
import { createFolderStore } from './folders/folder.store.ts';
import { createFolders } from './folders/folders.ts';
import type { Api } from './http/api.ts';
import type { Listener } from './http/listener.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import { createGuardedFetch } from './kernel/guarded-fetch.ts';
import { createIds, type Ids } from './kernel/ids.ts';
import { createLog, type Log } from './kernel/log.ts';
import { createMetrics, type Metrics } from './kernel/metrics.ts';
import { createLinkStore, toColumns } from './links/link.store.ts';
import { createLinkCascade } from './links/link-cascade.ts';
import { createLinkCounterStore } from './links/link-counters.store.ts';
import { createLinkDimensionStore } from './links/link-dimension.store.ts';
import { createRecordLinks } from './links/link-events.ts';
import { createLinkListStore } from './links/link-list.store.ts';
import { createLinkLists } from './links/link-lists.ts';
import { createLinkSearchStore } from './links/link-search.store.ts';
import { createLinks } from './links/links.ts';
import { createShortUrlLookup } from './links/short-url.ts';
import { createTestEnd } from './links/test-end.ts';
import { createVisitLinkStore } from './links/visit-link.store.ts';
import type { Services } from './operations.ts';
import { createQrCodes } from './qr/qr-codes.ts';
import { recurringJobs } from './recurring-jobs.ts';
import { createTagStore } from './tags/tag.store.ts';
import { createTags } from './tags/tags.ts';
import { openVisits, type Visits } from './visits.ts';
import { createWorkspaceStore } from './workspaces/workspace.store.ts';
import { createWorkspaces } from './workspaces/workspaces.ts';

const DNS_TIMEOUT_MS = 3_000;

export interface AppOptions {
  readonly config: Config;
  readonly clock?: Clock;
  readonly log?: Log;
  /** For tests: every answer is checked against its schema. */
  readonly checkAnswers?: boolean;
}

export interface App {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly db: Database;
  readonly services: Services;
  readonly dump: Dump;
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
  const tokenStore = createTokenStore(db);
  const stored = createServices({ config, db, clock, ids, tokenStore });
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
  const services: Services = { ...stored, clickTracking: await composeClickTracking(db, visits) };
  const authenticator = createAuthenticator({ store: tokenStore, clock, log });
  const { authenticate } = authenticator;
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
  const counted = { links: createLinkCounterStore(db), workspaces: createWorkspaceStore(db) };
  const { list: listLinks } = createLinkDimensionStore(db);
  const events = createEventFlow({ config, db, node, visits, ...counted, listLinks, metrics, clock, log });
  const handler = createHandler({
    config,
    api,
    db,
    metrics,
    isDraining: () => draining,
    health: [visits.health, events.health],
    visit: visits.handle,
  });
  metrics.gauge('linktrail_requests_in_flight', 'API requests under way.', api.inFlight);
  metrics.gauge('linktrail_writes_waiting', 'Writes waiting for the store.', () => db.stats().waitingWrites);
  let listener: Listener | undefined;
  let closing: Promise<void> | undefined;

  async function shutDown(): Promise<void> {
    draining = true;
    await listener?.close(config.drainMs);
    await events.close();
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
    dump: composeDump({ config, db, clock, ids }, services),
    api,
    jobs,
    metrics,
    visits,
    events,
    handler,
    async listen() {
      listener = await openPort(config, handler, metrics, log);
      metrics.gauge('linktrail_connections', 'Open connections.', listener.connections);
      jobs.start();
      events.start();
      return listener;
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

interface ServiceParts {
  config: Config;
  db: Database;
  clock: Clock;
  ids: Ids;
  tokenStore: ReturnType<typeof createTokenStore>;
}

/** Those that work on the stores alone. */
function createServices({
  config,
  db,
  clock,
  ids,
  tokenStore,
}: ServiceParts): Omit<Services, 'clickTracking'> {
  const users = createUsers({ store: createUserStore(db), clock, ids });
  const tokens = createTokens({ db, store: tokenStore, users, clock, ids });
  const workspaces = createWorkspaces({ db, store: createWorkspaceStore(db), users, clock, ids });
  const { publicUrl } = config;
  const files = createFiles({ dataDir: config.dataDir, publicUrl });
  const linkStore = createLinkStore(db);
  const record = createRecordLinks({ db, clock, publicUrl });
  const cascade = createLinkCascade({ store: linkStore, workspaces, record, clock, ids });
  const domains = createDomains({
    db,
    store: createDomainStore(db),
    workspaces,
    links: cascade,
    saveImage: files.saveImage,
    ...domainNames(config),
    clock,
    ids,
  });
  const tags = createTags({ db, store: createTagStore(db), workspaces, links: cascade, clock, ids });
  const folders = createFolders({
    db,
    store: createFolderStore(db),
    workspaces,
    users,
    links: cascade,
    clock,
    ids,
  });
  const rules = { domains, folders, tags };
  const { saveImage } = files;
  const links = createLinks({ db, store: linkStore, ...rules, workspaces, saveImage, record, clock, ids });
  const testEnd = createTestEnd({ db, store: linkStore, record, clock, leadsByUrl: async () => new Map() });
  const linkSearch = createLinkSearchStore(db);
  const linkLists = createLinkLists({ store: createLinkListStore(db, linkStore, linkSearch), ...rules });
  const guardedFetch = createGuardedFetch({ allowPrivate: config.allowPrivate });
  const findLinkByShortUrl = createShortUrlLookup({ store: linkStore, domains, workspaces });
  const qrCodes = createQrCodes({ findLinkByShortUrl, files, fetch: guardedFetch, clock });
  return {
    clock,
    users,
    tokens,
    workspaces,
    files,
    domains,
    tags,
    folders,
    links,
    linkLists,
    linkSearch,
    testEnd,
    qrCodes,
    guardedFetch,
  };
}

/** Pages and apps report clicks; they are counted where visits are. */
async function composeClickTracking(db: Database, visits: Visits): Promise<ClickTracking> {
  const hostnames = createHostnameCache({ load: createWorkspaceStore(db).findAllowedHostnames });
  await db.follow(hostnames.follower);
  const { snapshot, slugOf, clientClicks: clicks, findStoreVisit } = visits;
  return createClickTracking({
    snapshot,
    slugOf,
    clicks,
    findStoreVisit,
    findAllowedHostnames: hostnames.find,
  });
}

function composeDump(parts: Pick<ServiceParts, 'config' | 'db' | 'clock' | 'ids'>, services: Services): Dump {
  return createDump({
    ...parts,
    files: services.files,
    defaultDomain: parts.config.defaultDomain,
    findDomains: services.domains.findServing,
    findPresentNames: services.domains.findPresentNames,
    urlColumns: (url) => toColumns({ url }) as { url_hash: string; url_folded: string | null },
    addTotalLinks: services.workspaces.addTotalLinks,
  });
}

/** Which hosts are the service's own, and how others are found to point to it. */
function domainNames({ publicUrl, defaultDomain, apiHost, appHost, verifyDomains }: Config) {
  const { host, hostname: target } = new URL(publicUrl);
  const ownHosts = [defaultDomain, host, apiHost, appHost].filter((name) => name !== undefined);
  const setup = verifyDomains
    ? dnsSetup({ lookup: createDnsLookup({ timeoutMs: DNS_TIMEOUT_MS }), target })
    : trustingSetup(target);
  return { defaultDomain, ownHosts, setup };
}
