// Sends each request to its room: health and metrics, the API, or a visit to a short link. Visits over plain
// HTTP that crossed a network are sent to HTTPS; the API refuses such requests itself.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import { AppError } from '../kernel/errors.ts';
import { API_BASE, type Api } from './api.ts';
import type { Hosts } from './host.ts';
import type { Peer, PeerRequest } from './peer.ts';
import { problem } from './problem.ts';
import { readVisitHeaders, type VisitHeaders } from './visit-headers.ts';

export type Visit = (
  request: IncomingMessage,
  response: ServerResponse,
  peer: Peer,
  headers: VisitHeaders,
) => void;

export interface SystemPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ShowSystemPage = (request: IncomingMessage) => Promise<SystemPage>;

export interface ServerParts {
  readonly api: Api;
  readonly peers: (request: PeerRequest) => Peer;
  readonly hosts: Hosts;
  readonly visit: Visit;
  /** Pages of the service's own hosts that need no encryption, by path. */
  readonly system: ReadonlyMap<string, ShowSystemPage>;
  /** Stands in for the origin of a request that names no host. */
  readonly publicUrl: string;
}

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export function createRequestHandler(parts: ServerParts): Respond {
  const peerOf = new WeakMap<IncomingMessage, Peer>();
  const api = getRequestListener(
    (request, env) => {
      const { incoming } = env as { incoming: IncomingMessage };
      return parts.api.fetch(request, { peer: peerOf.get(incoming) as Peer, incoming });
    },
    { overrideGlobalObjects: false },
  );
  return (request, response) => {
    const headers = readVisitHeaders(request.rawHeaders);
    const peer = peerFrom(parts, request, headers);
    const path = normalise(request);
    const kind = parts.hosts.classify(peer.host);
    const system = kind === 'domain' ? undefined : parts.system.get(path);
    if (system) return sendSystem(system, request, response, peer);
    if (kind === 'domain' || (kind !== 'api' && !isApiPath(path)))
      return visit(parts, request, response, peer, headers);
    request.url = apiTarget(path, request.url as string);
    // The framework builds an address from the Host header and trips over one that is not a host.
    request.headers.host = peer.host || 'localhost';
    peerOf.set(request, peer);
    void api(request, response);
  };
}

function peerFrom(parts: ServerParts, request: IncomingMessage, headers: VisitHeaders): Peer {
  const peer = parts.peers({
    remoteAddress: request.socket.remoteAddress,
    encrypted: (request.socket as TLSSocket).encrypted === true,
    headers,
  });
  return peer.origin ? peer : { ...peer, origin: parts.publicUrl };
}

/** Brings the request target into the form /path?query and returns its path. */
function normalise(request: IncomingMessage): string {
  const target = request.url ?? '/';
  if (!target.startsWith('/')) {
    const url = URL.canParse(target) ? new URL(target) : undefined;
    request.url = url ? `${url.pathname}${url.search}` : '/';
  }
  const url = request.url as string;
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
}

function isApiPath(path: string): boolean {
  return path === API_BASE || path.startsWith(`${API_BASE}/`);
}

/** On its own host the API stands at the root; the root itself is the API's base, without a slash at the end. */
function apiTarget(path: string, url: string): string {
  if (path === '/' || path === `${API_BASE}/`) return `${API_BASE}${url.slice(path.length)}`;
  return isApiPath(path) ? url : `${API_BASE}${url}`;
}

function visit(
  parts: ServerParts,
  request: IncomingMessage,
  response: ServerResponse,
  peer: Peer,
  headers: VisitHeaders,
): void {
  if (peer.secure) {
    parts.visit(request, response, peer, headers);
    return;
  }
  // Without a host the path would be read as one.
  const host = peer.host || new URL(parts.publicUrl).host;
  response.writeHead(308, { Location: `https://${host}${request.url}` }).end();
}

function sendProblem(response: ServerResponse, error: AppError, peer: Peer): void {
  send(response, error.status, 'application/json', JSON.stringify(problem(error, peer.origin)));
}

function sendSystem(
  page: ShowSystemPage,
  request: IncomingMessage,
  response: ServerResponse,
  peer: Peer,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    sendProblem(response, new AppError('not_found', `${request.method} is not possible here.`), peer);
    return;
  }
  page(request).then(
    ({ status, contentType, body, headers }) => send(response, status, contentType, body, headers),
    () => send(response, 500, 'text/plain', 'unavailable'),
  );
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: SystemPage['headers'] = {},
): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': length, ...headers }).end(body);
}
