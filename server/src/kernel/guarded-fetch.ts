// The one way the server makes requests to addresses that a user gave. Every address is judged when the
// connection is made, also behind redirects, so that a name that changes its mind reaches nothing private.
// Time, size and hops are bounded; a failure is a value with a reason, never a throw.
import { lookup as systemLookup } from 'node:dns';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressRule, createAddressRule } from './ip-address.ts';

export type FetchFailure =
  /** Not an http or https address. */
  | 'address'
  /** It leads to a network that is closed to requests of the server. */
  | 'closed_network'
  | 'timeout'
  | 'too_large'
  | 'too_many_redirects'
  /** No such name, no connection, no valid certificate, no valid answer. */
  | 'network';

export type FetchResult =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
      /** The address that answered, after redirects. */
      readonly url: string;
    }
  | { readonly ok: false; readonly reason: FetchFailure; readonly message: string };

export interface FetchRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For everything: names, connections, all hops and the body. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Keep the first `maxBytes` of a larger body instead of failing. */
  readonly truncate?: boolean;
  /** 0, the default: a redirect is an answer like any other. Only GET and HEAD follow. */
  readonly maxRedirects?: number;
}

export type GuardedFetch = (url: string, request: FetchRequest) => Promise<FetchResult>;

export interface GuardedFetchParts {
  /** Addresses and networks that are open although they are private. */
  readonly allowPrivate: readonly string[];
  readonly userAgent?: string;
  /** For the name, the connection and the TLS handshake of one hop. */
  readonly connectTimeoutMs?: number;
  /** How names become addresses; the system's way by default. */
  readonly lookup?: LookupFunction;
  /** For many requests to few receivers: a connection is judged when it is made, and used again for a while. */
  readonly keepAlive?: boolean;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

class Failure extends Error {
  readonly reason: FetchFailure;
  constructor(reason: FetchFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

interface Hop {
  readonly request: FetchRequest;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly connectTimeoutMs: number;
  readonly mayReach: AddressRule;
  readonly lookup: LookupFunction;
  readonly agents: Agents | undefined;
}

interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

const IDLE_CONNECTIONS = { keepAlive: true, maxFreeSockets: 4, timeout: 15_000 };

export function createGuardedFetch(parts: GuardedFetchParts): GuardedFetch {
  const { userAgent = 'Mozilla/5.0 (compatible; Linktrail)', connectTimeoutMs = 3_000 } = parts;
  const mayReach = createAddressRule(parts.allowPrivate);
  const lookup = guardedLookup(parts.lookup ?? (systemLookup as LookupFunction), mayReach);
  const agents = parts.keepAlive
    ? { http: new HttpAgent(IDLE_CONNECTIONS), https: new HttpsAgent(IDLE_CONNECTIONS) }
    : undefined;
  const base = { 'User-Agent': userAgent, Accept: '*/*', 'Accept-Encoding': 'identity' };

  return async (url, request) => {
    const signal = AbortSignal.timeout(request.timeoutMs);
    const headers = { ...base, ...request.headers };
    try {
      const hop = { request, headers, signal, connectTimeoutMs, mayReach, lookup, agents };
      return await follow(url, hop, base);
    } catch (error) {
      return failed(error, signal);
    }
  };
}

async function follow(start: string, hop: Hop, plainHeaders: Hop['headers']): Promise<FetchResult> {
  const { method = 'GET', maxRedirects = 0 } = hop.request;
  const limit = method === 'POST' ? 0 : maxRedirects;
  let url = webAddress(start);
  let headers = hop.headers;
  for (let hops = 0; ; hops += 1) {
    const response = await send(url, { ...hop, headers });
    const next = limit > 0 ? redirectTarget(url, response) : undefined;
    if (!next) return await answerOf(url, response, hop.request);
    response.destroy();
    if (hops >= limit) throw new Failure('too_many_redirects', `More than ${limit} redirects.`);
    // What the caller sent was meant for the first host.
    if (next.origin !== url.origin) headers = plainHeaders;
    url = next;
  }
}

function webAddress(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new Failure('address', 'Only http and https addresses can be requested.');
  }
  return url;
}

function redirectTarget(from: URL, response: IncomingMessage): URL | undefined {
  const { location } = response.headers;
  if (!REDIRECTS.has(response.statusCode ?? 0) || location === undefined) return undefined;
  return webAddress(URL.parse(location, from.href)?.href ?? '');
}

/** Resolves with the head of the answer; the body is still to come. */
function send(url: URL, hop: Hop): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // Numbers never pass through the look-up. The URL parser has already undone hex, octal and short forms.
  if (isIP(host) && !hop.mayReach(host)) throw closed(host);
  const { method = 'GET', body } = hop.request;
  const secure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method,
      headers: { ...hop.headers, ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }) },
      lookup: hop.lookup,
      signal: hop.signal,
      agent: (secure ? hop.agents?.https : hop.agents?.http) ?? false,
    });
    limitConnecting(request, secure, hop.connectTimeoutMs);
    let answered = false;
    request.on('response', (response) => {
      answered = true;
      resolve(response);
    });
    request.on('error', (error) => {
      // The other side may close an idle connection at the moment it is used again: that says nothing of it.
      const stale = request.reusedSocket && !answered && !hop.signal.aborted;
      if (stale) resolve(send(url, { ...hop, agents: undefined }));
      else reject(error);
    });
    request.end(body);
  });
}

function limitConnecting(request: ClientRequest, secure: boolean, timeoutMs: number): void {
  const timer = setTimeout(
    () => request.destroy(new Failure('timeout', `No connection within ${timeoutMs} ms.`)),
    timeoutMs,
  );
  const stop = () => clearTimeout(timer);
  request.on('socket', (socket) => {
    if (request.reusedSocket) stop();
    else socket.once(secure ? 'secureConnect' : 'connect', stop);
  });
  request.on('close', stop);
}

/** Judges what a name resolves to and hands exactly that to the connection: there is no second look-up. */
function guardedLookup(lookup: LookupFunction, mayReach: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = Array.isArray(found) ? found : [];
      const refused = addresses.find(({ address }) => !mayReach(address));
      const first = addresses[0];
      if (!first) return callback(new Failure('network', `${hostname} has no address.`), []);
      if (refused) return callback(closed(hostname), []);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Why requests to an address would be refused as things are; undefined when they would be made. */
export type AddressCheck = (url: string) => Promise<string | undefined>;

/**
 * Tells a user early. A name that has no address yet, or takes too long to look up, passes: what counts is
 * judged again when a connection is made.
 */
export function createAddressCheck(
  parts: Pick<GuardedFetchParts, 'allowPrivate' | 'lookup'> & { readonly timeoutMs?: number },
): AddressCheck {
  const mayReach = createAddressRule(parts.allowPrivate);
  const lookup = guardedLookup(parts.lookup ?? (systemLookup as LookupFunction), mayReach);
  return async (url) => {
    const parsed = URL.parse(url);
    if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') {
      return 'Only http and https addresses can be requested.';
    }
    const host = parsed.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host)) return mayReach(host) ? undefined : closed(host).message;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), parts.timeoutMs ?? 1_000);
      lookup(host, { all: true }, (error) => {
        clearTimeout(timer);
        const refused = error instanceof Failure && error.reason === 'closed_network';
        resolve(refused ? error.message : undefined);
      });
    });
  };
}

function closed(host: string): Failure {
  return new Failure('closed_network', `${host} is not an address on the public Internet.`);
}

async function answerOf(url: URL, response: IncomingMessage, request: FetchRequest): Promise<FetchResult> {
  const body = await readBounded(response, request);
  return { ok: true, status: response.statusCode ?? 0, headers: response.headers, body, url: url.href };
}

async function readBounded(response: IncomingMessage, { maxBytes, truncate }: FetchRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the response, and with it the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxBytes) continue;
    if (!truncate) throw new Failure('too_large', `The answer is larger than ${maxBytes} bytes.`);
    break;
  }
  return Buffer.concat(chunks, Math.min(size, maxBytes));
}

function failed(error: unknown, signal: AbortSignal): FetchResult {
  if (error instanceof Failure) return { ok: false, reason: error.reason, message: error.message };
  if (signal.aborted) return { ok: false, reason: 'timeout', message: 'The answer took too long.' };
  if (!(error instanceof Error)) throw error;
  // Happy eyeballs reports one error per address tried.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return { ok: false, reason: 'network', message: first instanceof Error ? first.message : String(first) };
}
