// A receiver of webhooks on a port of its own that behaves as a test tells it: answers, refuses, redirects, hangs
// or cuts the connection. It keeps what it was sent.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as JSON. */
  readonly json: ReturnType<typeof JSON.parse>;
}

/** What becomes of a request: a status, or something of its own. */
export type Behaviour = number | ((response: ServerResponse, received: Received) => void);

export interface WebhookReceiver {
  readonly url: string;
  readonly received: Received[];
  behave(behaviour: Behaviour): void;
  /** Requests under way at the same moment, at most so far. */
  readonly mostAtOnce: number;
  /** Resolves once so many requests have come in. */
  waitFor(count: number): Promise<void>;
  /** Nobody listens any more; the port stays the same. */
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

export async function openWebhookReceiver(): Promise<WebhookReceiver> {
  const received: Received[] = [];
  let behaviour: Behaviour = 200;
  let underWay = 0;
  let mostAtOnce = 0;
  let waiting: { count: number; resolve: () => void }[] = [];
  let server = newServer();
  let port = 0;

  function newServer(): Server {
    return createServer(async (request, response) => {
      underWay += 1;
      mostAtOnce = Math.max(mostAtOnce, underWay);
      response.once('close', () => {
        underWay -= 1;
      });
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const got: Received = {
        path: request.url ?? '',
        headers: request.headers,
        body,
        get json() {
          return JSON.parse(body);
        },
      };
      received.push(got);
      for (const { resolve } of waiting.filter(({ count }) => count <= received.length)) resolve();
      waiting = waiting.filter(({ count }) => count > received.length);
      if (typeof behaviour === 'number') response.writeHead(behaviour).end('answer');
      else behaviour(response, got);
    });
  }

  async function listen(): Promise<void> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }

  async function end(): Promise<void> {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  await listen();
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    behave(next) {
      behaviour = next;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    waitFor: (count) =>
      received.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiting.push({ count, resolve })),
    goDown: end,
    async comeBack() {
      server = newServer();
      await listen();
    },
    close: end,
  };
}
