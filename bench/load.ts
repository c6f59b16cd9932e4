// Puts closed-loop HTTP load on a port from a process of its own, so that the client's work is not the
// server's. Refuses to give a figure when any answer was not the expected one.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Load {
  port: number;
  host?: string;
  /** A module that exports `createRequests(data): (i) => string | Buffer`, loaded by the client. */
  requests: URL;
  /** Handed to `createRequests`; must survive JSON. */
  data?: unknown;
  /** The status codes that count; 200 unless said otherwise. */
  expect?: number[];
  connections?: number;
  warmupSeconds?: number;
  seconds?: number;
}

export interface LoadResult {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  requests: number;
  statuses: Record<string, number>;
}

/** What a `requests` module exports. */
export type CreateRequests = (data: unknown) => (i: number) => string | Buffer;

export interface ClientJob {
  host: string;
  port: number;
  requests: string;
  data: unknown;
  expect: number[];
  connections: number;
  warmupMs: number;
  measuredMs: number;
}

export type ClientReport = { result: LoadResult } | { error: string };

export async function runLoad(load: Load): Promise<LoadResult> {
  const job: ClientJob = {
    host: load.host ?? '127.0.0.1',
    port: load.port,
    requests: load.requests.href,
    data: load.data,
    expect: load.expect ?? [200],
    connections: load.connections ?? 64,
    warmupMs: (load.warmupSeconds ?? 1) * 1000,
    measuredMs: (load.seconds ?? 3) * 1000,
  };
  const client = fork(fileURLToPath(import.meta.resolve('./load-client.ts')), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  client.send(job);
  const report = await Promise.race([
    once(client, 'message').then(([message]) => message as ClientReport),
    once(client, 'exit').then(([code]): ClientReport => ({ error: `the load client ended early (${code})` })),
  ]);
  client.kill('SIGKILL');
  if ('error' in report) throw new Error(report.error);
  return report.result;
}
