// One TCP port that speaks TLS and plain HTTP: the first byte of a connection tells which. Hides sockets,
// caps and time-outs; guarantees that no connection lasts without doing something, that what is not HTTP
// gets an error envelope or is closed, and that nothing a client sends or a handler throws ends the process.
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { ERROR_STATUS } from '../kernel/errors.ts';
import type { Certificate, CertificateSource } from './certificate.ts';
import {
  answerUnderWay,
  type CapRefusal,
  type Connection,
  type ConnectionTable,
  createConnectionTable,
} from './connection-table.ts';
import { namesHost } from './visit-headers.ts';

export interface ListenerLimits {
  maxConnections: number;
  /** 0: no such cap, as behind a proxy, whose address all connections share. */
  maxConnectionsPerAddress: number;
  /** A new connection, and again a new TLS session, that sends nothing is closed after this. */
  firstByteMs: number;
  handshakeMs: number;
  headersMs: number;
  /** The whole request with its body. */
  requestMs: number;
  keepAliveMs: number;
  /** A request under way during which no byte moves in either direction. */
  stalledMs: number;
  maxHeaderBytes: number;
  /** How often new TLS connections make the listener look for a renewed certificate. */
  certificateCheckMs: number;
}

export type RefusalReason = CapRefusal | 'silent' | 'tls' | 'malformed' | 'too_slow';

export interface ListenerOptions {
  host: string;
  port: number;
  /**
   * Called at the first TLS byte, and then every now and then. Returns the same object as long as the
   * certificate is the same; a failure after the first success leaves the earlier certificate in use.
   */
  certificate: CertificateSource;
  handler: (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;
  /** Builds the error envelope for what never reaches the handler, or what the handler threw. */
  errorBody: (code: 'bad_request' | 'internal_server_error', message: string) => string;
  limits?: Partial<ListenerLimits>;
  onRefused?: (reason: RefusalReason) => void;
  /** What a handler threw, a certificate that cannot be used, a failing accept. */
  onError?: (error: unknown) => void;
}

export interface Listener {
  readonly address: { readonly host: string; readonly port: number };
  /** Lets requests under way finish for at most `graceMs`, closes everything else at once. */
  close(graceMs: number): Promise<void>;
  connections(): number;
}

export const DEFAULT_LIMITS: ListenerLimits = {
  maxConnections: 10_000,
  maxConnectionsPerAddress: 0,
  firstByteMs: 10_000,
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 60_000,
  // Longer than the 60 seconds usual for proxies, so that it is the proxy that closes an idle connection.
  keepAliveMs: 65_000,
  stalledMs: 120_000,
  maxHeaderBytes: 16 * 1024,
  certificateCheckMs: 10_000,
};

const TLS_HANDSHAKE_RECORD = 0x16;
/** How long an error answer may take to leave; closing at once could overtake it. */
const LINGER_MS = 1_000;
const MALFORMED = 'The request is not valid HTTP.';
const HEADERS_TOO_LARGE = 'The headers of the request are too large.';
const TOO_SLOW = 'The request took too long.';
const NO_HOST = 'The request has no Host header.';
const FAILED = 'An unexpected error occurred.';

type Options = Required<Omit<ListenerOptions, 'limits'>> & { limits: ListenerLimits };

/** What all parts of one listener share. */
interface Edge {
  options: Options;
  /** By the socket that requests arrive on. */
  bySocket: WeakMap<Socket, Connection>;
  closing: boolean;
}

export async function listen(given: ListenerOptions): Promise<Listener> {
  const options: Options = {
    onRefused: () => {},
    onError: () => {},
    ...given,
    limits: { ...DEFAULT_LIMITS, ...given.limits },
  };
  const edge: Edge = { options, bySocket: new WeakMap(), closing: false };
  const table = createConnectionTable(options.limits, options.onRefused);
  const http = httpServer(edge);
  const startTls = tlsStarter(edge, http);
  const tcp = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = table.admit(socket);
    if (!connection) return;
    // Resets are every day's business; without a listener they would end the process.
    socket.on('error', () => {});
    onFirstByte(socket, options, (byte) => {
      if (byte === TLS_HANDSHAKE_RECORD) startTls(socket, connection);
      else serve(edge, http, connection, socket);
    });
  });
  await bind(tcp, options);
  const stopWatching = watchStalled(table, options.limits.stalledMs);
  const bound = tcp.address() as AddressInfo;
  return {
    address: { host: bound.address, port: bound.port },
    close: closer(edge, tcp, http, table, stopWatching),
    connections: table.size,
  };
}

function bind(tcp: TcpServer, { host, port, onError }: Options): Promise<void> {
  return new Promise((resolve, reject) => {
    tcp.once('error', reject);
    tcp.listen({ host, port, backlog: 1024 }, () => {
      tcp.off('error', reject);
      tcp.on('error', onError);
      resolve();
    });
  });
}

/** Looks at the first byte and puts it back; the socket is left paused. */
function onFirstByte(socket: Socket, { limits, onRefused }: Options, then: (byte: number) => void): void {
  const onSilent = () => {
    onRefused('silent');
    socket.destroy();
  };
  const onData = (chunk: Buffer) => {
    socket.setTimeout(0, onSilent);
    socket.off('end', onEnd);
    socket.pause();
    socket.unshift(chunk);
    then(chunk[0] as number);
  };
  // Half-open sockets are allowed for requests under way; one that ended before its first byte has none.
  const onEnd = () => socket.destroy();
  socket.setTimeout(limits.firstByteMs, onSilent);
  socket.once('end', onEnd);
  socket.once('data', onData);
}

function serve(edge: Edge, http: Server, connection: Connection, socket: Socket): void {
  connection.socket = socket;
  connection.open = true;
  edge.bySocket.set(socket, connection);
  http.emit('connection', socket);
  socket.resume();
}

function httpServer(edge: Edge): Server {
  const { limits, onRefused } = edge.options;
  const http = createHttpServer({
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.maxHeaderBytes,
    connectionsCheckingInterval: Math.max(20, Math.min(1_000, limits.headersMs / 4, limits.requestMs / 4)),
    // Checked below instead, so that the refusal carries the error envelope.
    requireHostHeader: false,
    // A request without a body is one already: no events for it, a tenth of the work of a visit.
    optimizeEmptyRequests: true,
  });
  // A client that sends its request and closes its side still gets the answer.
  Object.assign(http, { httpAllowHalfOpen: true });
  const onRequest = requestListener(edge);
  http.on('request', onRequest);
  // An expectation we do not know is no reason to refuse.
  http.on('checkExpectation', onRequest);
  http.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = edge.bySocket.get(socket as Socket);
    const { reason, message } = clientFault(error.code ?? '');
    if (connection?.failed) return;
    if (!connection || !reason) {
      socket.destroy();
      return;
    }
    connection.failed = true;
    onRefused(reason);
    refuse(edge, connection, message);
  });
  // This server never listens itself, but only one that does enforces its time-outs.
  http.emit('listening');
  return http;
}

/** No reason: the client went away, and nobody is left to answer. */
function clientFault(code: string): { reason?: RefusalReason; message: string } {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { reason: 'too_slow', message: TOO_SLOW };
  if (code === 'HPE_HEADER_OVERFLOW') return { reason: 'malformed', message: HEADERS_TOO_LARGE };
  if (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')
    return { reason: 'malformed', message: MALFORMED };
  return { message: '' };
}

function requestListener(edge: Edge): (req: IncomingMessage, res: ServerResponse) => void {
  const { handler } = edge.options;
  return (req, res) => {
    const connection = edge.bySocket.get(req.socket);
    if (connection) {
      connection.used = true;
      connection.response = res;
    }
    if (edge.closing) res.shouldKeepAlive = false;
    if (req.httpVersionMinor === 1 && !namesHost(req.rawHeaders)) {
      answerError(edge, res, 'bad_request', NO_HOST);
      return;
    }
    try {
      const done = handler(req, res);
      if (done) done.catch((error: unknown) => onHandlerFailure(edge, res, error));
    } catch (error) {
      onHandlerFailure(edge, res, error);
    }
  };
}

function onHandlerFailure(edge: Edge, res: ServerResponse, error: unknown): void {
  // The client went away in the middle of its request: no failure of ours, and nobody to answer.
  if (error === res.req.errored) return;
  edge.options.onError(error);
  if (res.writableEnded) return;
  if (res.headersSent) res.destroy();
  else answerError(edge, res, 'internal_server_error', FAILED);
}

type EdgeError = 'bad_request' | 'internal_server_error';

function answerError(edge: Edge, res: ServerResponse, code: EdgeError, message: string): void {
  const body = edge.options.errorBody(code, message);
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  res.shouldKeepAlive = false;
  res.writeHead(ERROR_STATUS[code], {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  res.end(body);
}

/**
 * Gives a socket its time-out only once an answer is seen to take long: setting one for every request would cost
 * more than answering most of them. Lets go of answers that have left.
 */
function watchStalled(table: ConnectionTable, stalledMs: number): () => void {
  const look = () => {
    for (const connection of table.all()) {
      const response = answerUnderWay(connection);
      connection.response = response;
      if (connection.watched === response) continue;
      connection.watched = response;
      if (response) connection.socket.setTimeout(stalledMs);
    }
  };
  const timer = setInterval(look, Math.max(20, stalledMs / 4)).unref();
  return () => clearInterval(timer);
}

/** Answers what is no request, after the answers to the good requests before it, and closes. */
function refuse(edge: Edge, connection: Connection, message: string): void {
  const { socket } = connection;
  const response = answerUnderWay(connection);
  if (response?.req.complete) {
    response.once('finish', () => writeRefusal(edge, socket, message));
    return;
  }
  if (response?.headersSent) socket.destroy();
  else writeRefusal(edge, socket, message);
}

function writeRefusal(edge: Edge, socket: Socket, message: string): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  if (!socket.writable) return;
  const body = edge.options.errorBody('bad_request', message);
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ].join('\r\n');
  socket.end(`${head}\r\n\r\n${body}`);
}

/** The TLS server knows nothing of HTTP and hands the socket on when the handshake is done. */
function tlsStarter(edge: Edge, http: Server): (socket: Socket, connection: Connection) => void {
  const { limits, onRefused } = edge.options;
  const handshakes = new Map<string, Connection>();
  const tls = createTlsServer({ ALPNProtocols: ['http/1.1'], handshakeTimeout: limits.handshakeMs });
  const ready = certificateKeeper(tls, edge.options);
  tls.on('secureConnection', (socket: TLSSocket) => {
    const connection = handshakes.get(pathOf(socket));
    handshakes.delete(pathOf(socket));
    if (!connection) {
      socket.destroy();
      return;
    }
    connection.socket = socket;
    socket.on('error', () => {});
    onFirstByte(socket, edge.options, () => serve(edge, http, connection, socket));
  });
  tls.on('tlsClientError', (_error, socket) => {
    onRefused('tls');
    socket.destroy();
  });
  return (socket, connection) => {
    const path = pathOf(socket);
    handshakes.set(path, connection);
    socket.once('close', () => {
      if (handshakes.get(path) === connection) handshakes.delete(path);
    });
    ready(
      () => socket.destroyed || tls.emit('connection', socket),
      () => {
        onRefused('tls');
        socket.destroy();
      },
    );
  };
}

/** Names a connection of this port; the TLS socket and the TCP socket beneath it have it in common. */
function pathOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}

/**
 * Only the first connections wait for the certificate. Later ones start with the one in use while the
 * source is asked, at most once per interval, whether there is a newer one.
 */
function certificateKeeper(tls: TlsServer, options: Options) {
  let current: Certificate | undefined;
  let loading: Promise<void> | undefined;
  let due = true;
  const load = async () => {
    const pair = await options.certificate();
    if (pair !== current) tls.setSecureContext({ key: pair.key, cert: pair.cert, minVersion: 'TLSv1.2' });
    current = pair;
  };
  const check = () => {
    due = false;
    loading ??= load()
      .catch(options.onError)
      .finally(() => {
        loading = undefined;
        setTimeout(() => {
          due = true;
        }, options.limits.certificateCheckMs).unref();
      });
    return loading;
  };
  return (start: () => void, fail: () => void) => {
    if (current) {
      if (due) check();
      start();
    } else {
      check().then(() => (current ? start() : fail()));
    }
  };
}

function closer(edge: Edge, tcp: TcpServer, http: Server, table: ConnectionTable, stopWatching: () => void) {
  let closed: Promise<void> | undefined;
  const close = async (graceMs: number) => {
    edge.closing = true;
    const stopped = new Promise((resolve) => tcp.close(resolve));
    for (const connection of table.all()) endAfterAnswer(connection);
    // Closes kept-alive connections between requests, and stops the timer behind the time-outs.
    http.close();
    const timer = setTimeout(() => {
      for (const connection of table.all()) connection.socket.destroy();
    }, graceMs);
    await Promise.all([stopped, table.emptied()]);
    clearTimeout(timer);
    stopWatching();
  };
  return (graceMs: number): Promise<void> => {
    closed ??= close(graceMs);
    return closed;
  };
}

function endAfterAnswer(connection: Connection): void {
  const { open, socket } = connection;
  const response = answerUnderWay(connection);
  if (!open) socket.destroy();
  else if (response?.headersSent) response.once('finish', () => socket.destroySoon());
  else if (response) response.shouldKeepAlive = false;
}
