// Tells when a client has gone away. A connection may be closed on the client's side alone, by tools that send their
// request and wait for the answer; one that is closed so while the request is under way was given up.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

export type ClientSignals = (request: AbortSignal, incoming: IncomingMessage | undefined) => AbortSignal;

export function createClientSignals(): ClientSignals {
  // One for all requests of a connection, so that they do not pile up on it.
  const closings = new WeakMap<Socket, AbortSignal>();

  function closingOf(socket: Socket): AbortSignal {
    const known = closings.get(socket);
    if (known) return known;
    const closing = new AbortController();
    socket.once('end', () => closing.abort());
    closings.set(socket, closing.signal);
    return closing.signal;
  }

  return (request, incoming) => {
    if (!incoming || incoming.socket.readableEnded) return request;
    return AbortSignal.any([request, closingOf(incoming.socket)]);
  };
}
