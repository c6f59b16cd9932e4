// The API as a web application: routes of all operations, the error envelope around whatever happens, one
// log line and one measurement per request. Only this file and server.ts know the web framework.
import type { IncomingMessage } from 'node:http';
import { type Context, Hono } from 'hono';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { type ClientSignals, createClientSignals } from './client-signal.ts';
import type { CorsMethod, Operation } from './operation.ts';
import type { Peer } from './peer.ts';
import type { Incoming, Outgoing, RunOperation, Trace } from './pipeline.ts';
import { problem } from './problem.ts';

/** What the network edge knows about a request beside the request itself. */
export interface Edge {
  readonly peer: Peer;
  readonly incoming?: IncomingMessage;
}

type Env = { Bindings: Edge };

export interface ApiParts {
  readonly operations: readonly Operation[];
  readonly run: RunOperation;
  /** Other things under the API's address: documents and pages. */
  readonly documents: readonly Document[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Public text for failures of the stores; undefined for anything unexpected. */
  readonly describeFailure: (error: unknown) => string | undefined;
  readonly observe: (operationId: string, status: number, durationMs: number) => void;
  readonly maxInFlight: number;
  readonly onShed: () => void;
}

export interface Document {
  readonly path: string;
  readonly contentType: string;
  readonly headers?: Record<string, string>;
  readonly body: (origin: string) => string | Uint8Array<ArrayBuffer>;
}

export interface Api {
  /** Answers one request whose path lies under the API's base; plain HTTP that crossed a network is refused unread. */
  fetch(request: Request, edge: Edge): Promise<Response>;
  inFlight(): number;
}

export const API_BASE = '/api';

const PLAIN_HTTP = 'The API is served over HTTPS only. Use https:// with the same address.';
const UNEXPECTED = 'Something went wrong on our side. The request id is in the header X-Request-Id.';

export function createApi(parts: ApiParts): Api {
  const app = new Hono<Env>().basePath(API_BASE);
  const signalOf = createClientSignals();
  let inFlight = 0;
  for (const document of parts.documents)
    app.get(document.path, (context) => serveDocument(parts, document, context));
  const methods = new Map<string, Set<string>>();
  const cors = new Map<string, Set<CorsMethod>>();
  for (const operation of parts.operations) {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const all = [operation.method, ...(operation.aliases ?? [])];
    app.on(all, path, (context) => runRequest(parts, operation, context, signalOf));
    methods.set(path, new Set([...(methods.get(path) ?? []), ...all]));
    if (operation.cors) cors.set(path, new Set([...(cors.get(path) ?? []), operation.cors]));
  }
  for (const document of parts.documents) methods.set(document.path, new Set(['GET']));
  for (const [path, allowed] of methods) {
    app.all(path, (context) => otherMethod(parts, context, allowed, cors.get(path)));
  }
  app.notFound((context) =>
    refuse(parts, context, new AppError('not_found', `There is nothing at ${context.req.path}.`)),
  );
  app.onError((error, context) => refuse(parts, context, error));
  const plain = new Hono<Env>().all('*', (context) =>
    refuse(parts, context, new AppError('forbidden', PLAIN_HTTP)),
  );

  return {
    inFlight: () => inFlight,
    async fetch(request, edge) {
      if (inFlight >= parts.maxInFlight) return shed(parts, edge, corsHeaders(corsAt(cors, request)));
      inFlight += 1;
      try {
        return await (edge.peer.secure ? app.fetch(request, edge) : plain.fetch(request, overHttps(edge)));
      } finally {
        inFlight -= 1;
      }
    },
  };
}

/** The page that explains a refusal is not served over plain HTTP either. */
function overHttps({ peer, ...edge }: Edge): Edge {
  return { ...edge, peer: { ...peer, origin: peer.origin.replace(/^http:/, 'https:') } };
}

function serveDocument(parts: ApiParts, document: Document, context: Context<Env>): Response {
  const requestId = noteRequest(parts, context, 200);
  return new Response(document.body(context.env.peer.origin), {
    headers: { 'Content-Type': document.contentType, 'X-Request-Id': requestId, ...document.headers },
  });
}

async function runRequest(
  parts: ApiParts,
  operation: Operation,
  context: Context<Env>,
  signalOf: ClientSignals,
): Promise<Response> {
  const started = performance.now();
  const headers = corsHeaders(operation.cors && new Set([operation.cors]));
  const trace: Trace = {};
  const incoming = incomingOf(parts, context, signalOf);
  let outgoing: Outgoing;
  try {
    outgoing = await parts.run(operation, incoming, headers, trace);
  } catch (error) {
    const cause = incoming.facts.signal.aborted ? clientGone(error) : error;
    outgoing = failure(parts, cause, incoming.facts.id, context.env.peer.origin, headers);
  }
  const durationMs = performance.now() - started;
  parts.observe(operation.id, outgoing.status, durationMs);
  logRequest(parts, context, outgoing.status, {
    operation: operation.id,
    requestId: incoming.facts.id,
    durationMs,
    trace,
  });
  return answer(outgoing, incoming.facts.id);
}

function incomingOf(parts: ApiParts, context: Context<Env>, signalOf: ClientSignals): Incoming {
  const { peer, incoming } = context.env;
  const mark = context.req.url.indexOf('?');
  const header = (name: string) => context.req.header(name);
  let signal: AbortSignal | undefined;
  return {
    method: context.req.method,
    path: context.req.path,
    search: mark === -1 ? '' : context.req.url.slice(mark),
    params: context.req.param() as Record<string, string>,
    header,
    body: incoming ?? context.req.raw.body,
    facts: {
      id: parts.ids('req_'),
      origin: peer.origin,
      ip: peer.ip,
      header,
      // Only made when somebody asks for it.
      get signal() {
        signal ??= signalOf(context.req.raw.signal, incoming);
        return signal;
      },
    },
  };
}

/** Nobody reads this; it keeps work that was given up from being reported as a fault. */
function clientGone(cause: unknown): AppError {
  return new AppError('bad_request', 'The client went away before the answer was ready.', { cause });
}

/** Turns whatever was thrown into its answer; only what nobody foresaw is logged as an error. */
function failure(
  parts: ApiParts,
  error: unknown,
  requestId: string,
  origin: string,
  headers: [string, string][],
): Outgoing {
  const known = error instanceof AppError ? error : unforeseen(parts, error, requestId);
  if (known.retryAfterSeconds !== undefined) headers.push(['Retry-After', String(known.retryAfterSeconds)]);
  return { status: known.status, body: JSON.stringify(problem(known, origin)), headers };
}

function unforeseen(parts: ApiParts, error: unknown, requestId: string): AppError {
  const described = parts.describeFailure(error);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  parts.log.error({ requestId, error: text }, described ?? 'request failed');
  return new AppError('internal_server_error', described ?? UNEXPECTED, { cause: error });
}

function answer(outgoing: Outgoing, requestId: string): Response {
  const headers = new Headers({
    'Content-Type': 'application/json',
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
  });
  for (const [name, value] of outgoing.headers) headers.set(name, value);
  return new Response(outgoing.body, { status: outgoing.status, headers });
}

function refuse(
  parts: ApiParts,
  context: Context<Env>,
  error: unknown,
  headers: [string, string][] = [],
): Response {
  const requestId = parts.ids('req_');
  const outgoing = failure(parts, error, requestId, context.env.peer.origin, headers);
  noteRequest(parts, context, outgoing.status, requestId);
  return answer(outgoing, requestId);
}

function otherMethod(
  parts: ApiParts,
  context: Context<Env>,
  allowed: Set<string>,
  cors: ReadonlySet<CorsMethod> | undefined,
): Response {
  const methods = new Set([...allowed, ...(allowed.has('GET') ? ['HEAD'] : []), 'OPTIONS']);
  const allow: [string, string][] = [['Allow', [...methods].join(', ')], ...corsHeaders(cors)];
  if (context.req.method === 'OPTIONS') {
    const requestId = noteRequest(parts, context, 204);
    return new Response(null, { status: 204, headers: [...allow, ['X-Request-Id', requestId]] });
  }
  const text = `${context.req.method} is not possible at ${context.req.path}.`;
  return refuse(parts, context, new AppError('not_found', text), allow);
}

function corsHeaders(methods: ReadonlySet<CorsMethod> | undefined): [string, string][] {
  if (!methods) return [];
  return [
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Allow-Methods', [...methods, 'OPTIONS'].join(', ')],
    ['Access-Control-Allow-Headers', 'Content-Type, Authorization'],
  ];
}

/** What the operation at the address of a request says of other sites; it is not looked up otherwise. */
function corsAt(
  cors: ReadonlyMap<string, ReadonlySet<CorsMethod>>,
  { url }: Request,
): ReadonlySet<CorsMethod> | undefined {
  const asked = new URL(url).pathname.slice(API_BASE.length).split('/');
  const matches = (path: string) => {
    const parts = path.split('/');
    return parts.length === asked.length && parts.every((part, i) => part[0] === ':' || part === asked[i]);
  };
  return [...cors].find(([path]) => matches(path))?.[1];
}

/** `headers`: without those of its operation a page could not read why it was refused. */
function shed(parts: ApiParts, edge: Edge, headers: [string, string][]): Response {
  parts.onShed();
  const error = new AppError('rate_limit_exceeded', 'The server is at its limit. Try again in a second.', {
    retryAfterSeconds: 1,
  });
  return answer(failure(parts, error, '', edge.peer.origin, headers), parts.ids('req_'));
}

/** For requests that belong to no operation; returns the id they were logged under. */
function noteRequest(
  parts: ApiParts,
  context: Context<Env>,
  status: number,
  requestId = parts.ids('req_'),
): string {
  parts.observe('none', status, 0);
  logRequest(parts, context, status, { operation: null, requestId, durationMs: 0, trace: {} });
  return requestId;
}

/** The query is left out on purpose: it may hold passwords and personal data. */
function logRequest(
  parts: ApiParts,
  context: Context<Env>,
  status: number,
  facts: { operation: string | null; requestId: string; durationMs: number; trace: Trace },
): void {
  const { actor, replayed } = facts.trace;
  parts.log.info(
    {
      requestId: facts.requestId,
      method: context.req.method,
      path: context.req.path,
      operation: facts.operation,
      status,
      durationMs: Math.round(facts.durationMs * 100) / 100,
      ip: context.env.peer.ip,
      ...(actor && { workspaceId: actor.workspaceId, keyId: actor.tokenId }),
      ...(replayed && { replayed }),
    },
    'request',
  );
}
