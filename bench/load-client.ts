// The process behind load.ts: keeps every connection busy with one request at a time, warms up, measures,
// reports once and waits to be ended.
import { connect, type Socket } from 'node:net';
import { createHistogram } from './histogram.ts';
import type { ClientJob, ClientReport, CreateRequests, LoadResult } from './load.ts';
import { type Answer, createResponseParser } from './response-parser.ts';

process.once('message', (job) => {
  void run(job as ClientJob).then(
    (result) => report({ result }),
    (error: Error) => report({ error: error.message }),
  );
});

function report(message: ClientReport): void {
  process.send?.(message);
}

async function run(job: ClientJob): Promise<LoadResult> {
  const { createRequests } = (await import(job.requests)) as { createRequests: CreateRequests };
  const nextRequest = createRequests(job.data);
  const meter = createMeter();
  let index = 0;
  return new Promise((resolve, reject) => {
    const exchange = {
      next: () => nextRequest(index++),
      done(answer: Answer, ms: number) {
        if (!job.expect.includes(answer.status)) reject(unexpected(answer, job.expect));
        meter.add(answer.status, ms);
      },
      fail: reject,
    };
    for (let i = 0; i < job.connections; i++) openConnection(job, exchange);
    setTimeout(() => {
      meter.start();
      setTimeout(() => {
        const result = meter.stop();
        if (result.requests === 0) reject(new Error(`no answer in ${job.measuredMs} ms`));
        resolve(result);
      }, job.measuredMs);
    }, job.warmupMs);
  });
}

interface Exchange {
  next(): string | Buffer;
  done(answer: Answer, ms: number): void;
  fail(error: Error): void;
}

function openConnection(job: ClientJob, exchange: Exchange): void {
  const socket: Socket = connect({ host: job.host, port: job.port, noDelay: true });
  const parse = createResponseParser();
  let sentMs = 0;
  let waiting = false;
  const send = (): void => {
    const request = exchange.next();
    sentMs = performance.now();
    waiting = true;
    socket.write(request);
  };
  socket.once('connect', send);
  socket.on('data', (data) => {
    try {
      const answer = parse(data);
      if (!answer) return;
      waiting = false;
      exchange.done(answer, performance.now() - sentMs);
      if (answer.closes) socket.end();
      else send();
    } catch (error) {
      exchange.fail(error as Error);
    }
  });
  socket.once('error', (error) => exchange.fail(error));
  // A server may end a connection between requests, never during one.
  socket.once('close', () => {
    if (waiting) exchange.fail(new Error('the server closed a connection without an answer'));
    else openConnection(job, exchange);
  });
}

function createMeter() {
  const histogram = createHistogram();
  const statuses: Record<string, number> = {};
  let requests = 0;
  let startedMs: number | undefined;
  return {
    start() {
      startedMs = performance.now();
    },
    add(status: number, ms: number) {
      if (startedMs === undefined) return;
      requests += 1;
      statuses[status] = (statuses[status] ?? 0) + 1;
      histogram.add(ms);
    },
    stop(): LoadResult {
      const seconds = (performance.now() - (startedMs ?? 0)) / 1000;
      const [p50Ms, p99Ms] = [histogram.quantileMs(0.5), histogram.quantileMs(0.99)];
      return { requestsPerSecond: requests / seconds, p50Ms, p99Ms, requests, statuses };
    },
  };
}

function unexpected(answer: Answer, expected: number[]): Error {
  const text = answer.raw.subarray(0, 500).toString();
  return new Error(`an answer has status ${answer.status}, not ${expected.join(' or ')}:\n${text}`);
}
