// Visits to a running app, as a browser would make them, and the clicks that they left in its journal.
import { request } from 'node:http';
import type { App } from '../app.ts';
import type { Click } from '../events/event.ts';
import { readRecentClicks } from '../events/recent-clicks.ts';

export const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';

export interface VisitRequest {
  readonly host?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface VisitReply {
  readonly status: number;
  readonly location: string | undefined;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly cookies: readonly string[];
  readonly body: string;
}

export function visit(port: number, path: string, options: VisitRequest = {}): Promise<VisitReply> {
  const { host = 'localhost', method = 'GET', headers = {}, body } = options;
  const { promise, resolve, reject } = Promise.withResolvers<VisitReply>();
  const all = { host, 'user-agent': BROWSER, ...headers };
  const call = request({ host: '127.0.0.1', port, path, method, headers: all, agent: false }, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('error', reject);
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        location: response.headers.location,
        headers: response.headers,
        cookies: response.headers['set-cookie'] ?? [],
        body: Buffer.concat(parts).toString('utf8'),
      }),
    );
  });
  call.on('error', reject);
  call.end(body);
  return promise;
}

/** Everything that the journal holds, oldest first. */
export async function recordedClicks({ visits }: App): Promise<Click[]> {
  const clicks: Click[] = [];
  const all = readRecentClicks(visits.journalPath, new Map(), Number.POSITIVE_INFINITY);
  for await (const click of all) clicks.push(click);
  return clicks;
}
