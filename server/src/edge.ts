// The HTTP side as app.ts composes it: the API, what answers a request on the service's own paths, and the port.
import { rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { type Database, describeStoreFailure } from './db/database.ts';
import { createAnswerStore } from './db/idempotency.ts';
import { type Api, createApi } from './http/api.ts';
import { fileCertificate, selfSignedCertificate } from './http/certificate.ts';
import { type HealthPart, readiness } from './http/health.ts';
import { createHosts } from './http/host.ts';
import { createIdempotency } from './http/idempotency.ts';
import { type Listener, listen } from './http/listener.ts';
import { createPeers } from './http/peer.ts';
import { createPipeline, type PipelineParts } from './http/pipeline.ts';
import { problem } from './http/problem.ts';
import { createRateLimit, memoryRateCounter } from './http/rate-limit.ts';
import { referenceDocuments } from './http/reference.ts';
import { createRequestHandler, type ShowSystemPage, type SystemPage, type Visit } from './http/server.ts';
import type { Clock } from './kernel/clock.ts';
import { AppError } from './kernel/errors.ts';
import type { Ids } from './kernel/ids.ts';
import type { Log } from './kernel/log.ts';
import type { Metrics } from './kernel/metrics.ts';
import { allOperations, type Services } from './operations.ts';

const IDEMPOTENCY_WAIT_MS = 10_000;
const READY_TIMEOUT_MS = 2_000;

export interface ApiSideParts {
  config: Config;
  clock: Clock;
  log: Log;
  /** Every answer is checked against its schema. */
  checkAnswers: boolean;
  db: Database;
  services: Services;
  ids: Ids;
  metrics: Metrics;
  authenticate: PipelineParts['authenticate'];
}

export function createApiSide(parts: ApiSideParts): Api {
  const { config, clock, log, db, services, ids, metrics, authenticate } = parts;
  const operations = allOperations(services);
  const run = createPipeline({
    authenticate,
    take: createRateLimit({ counter: memoryRateCounter(), clock }),
    runOnce: createIdempotency({ store: createAnswerStore({ db, clock }), waitMs: IDEMPOTENCY_WAIT_MS }),
    bodyLimitBytes: config.bodyLimitBytes,
    checkAnswers: parts.checkAnswers,
  });
  return createApi({
    operations,
    run,
    documents: referenceDocuments(operations),
    clock,
    ids,
    log,
    describeFailure: describeStoreFailure,
    observe: metrics.request,
    maxInFlight: config.maxInFlight,
    onShed: metrics.shed,
  });
}

export interface HandlerParts {
  config: Config;
  api: Api;
  db: Database;
  metrics: Metrics;
  isDraining: () => boolean;
  /** Parts of the health beside the database, the disk and the process. */
  health: readonly HealthPart[];
  /** Pages of the service's own hosts, by path. */
  pages: readonly (readonly [string, ShowSystemPage])[];
  visit: Visit;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export function createHandler({
  config,
  api,
  db,
  metrics,
  isDraining,
  health,
  pages,
  visit,
}: HandlerParts): Handler {
  const parts: HealthPart[] = [
    { name: 'database', check: () => db.ping() },
    { name: 'disk', check: () => checkWritable(config.dataDir) },
    ...health,
    {
      name: 'process',
      check: () => (isDraining() ? Promise.reject(new Error('shutting down')) : Promise.resolve()),
    },
  ];
  const json = (status: number, body: unknown): SystemPage => ({
    status,
    contentType: 'application/json',
    body: JSON.stringify(body),
  });
  const system = new Map<string, ShowSystemPage>([
    ...pages,
    ['/health/live', async () => json(200, { status: 'ok' })],
    [
      '/health/ready',
      async () => {
        const report = await readiness(parts, READY_TIMEOUT_MS);
        return json(report.ready ? 200 : 503, { status: report.status, ...report.parts });
      },
    ],
    ['/metrics', async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() })],
  ]);
  return createRequestHandler({
    api,
    peers: createPeers({ trustedProxies: config.trustedProxies }),
    hosts: createHosts(config),
    visit,
    system,
    publicUrl: config.publicUrl,
  });
}

async function checkWritable(dataDir: string): Promise<void> {
  const probe = join(dataDir, `.probe-${process.pid}`);
  await writeFile(probe, 'ok');
  await rm(probe, { force: true });
}

export function openPort(config: Config, handler: Handler, metrics: Metrics, log: Log): Promise<Listener> {
  const names = [config.defaultDomain, new URL(config.publicUrl).host].map((host) =>
    host.replace(/:\d+$/, ''),
  );
  return listen({
    host: config.host,
    port: config.port,
    certificate:
      config.tlsCert && config.tlsKey
        ? fileCertificate(config.tlsCert, config.tlsKey)
        : selfSignedCertificate(config.dataDir, [...new Set(names)]),
    handler,
    errorBody: (code, message) => JSON.stringify(problem(new AppError(code, message), config.publicUrl)),
    limits: { maxConnections: config.maxConnections },
    onRefused: metrics.refusedConnection,
    onError: (error) => log.error({ error: String(error) }, 'network'),
  });
}
