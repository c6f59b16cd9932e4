// The open connections of one port. Keeps them under the caps: a full port gives up an idle connection,
// about the longest idle one, to admit a new one, and refuses the newest only when none is idle.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Connection {
  readonly address: string;
  /** The socket that requests arrive on: the TCP socket, or the TLS socket around it. */
  socket: Socket;
  /** A protocol has been chosen, TLS is done, and the first byte of a request is here. */
  open: boolean;
  /** Of the latest request; answers leave in order, so it is the last to leave. Ask `answerUnderWay`. */
  response: ServerResponse | undefined;
  /** The answer that was given a time-out because it took long. */
  watched: ServerResponse | undefined;
  /** A request came since this connection was last considered for closing. */
  used: boolean;
  /** An error answer is on its way; nothing else will be read or written. */
  failed: boolean;
}

export interface ConnectionCaps {
  maxConnections: number;
  /** 0: no such cap, as behind a proxy, whose address all connections share. */
  maxConnectionsPerAddress: number;
}

export interface ConnectionTable {
  /** Undefined when the connection was refused; it is closed then. */
  admit(socket: Socket): Connection | undefined;
  all(): Iterable<Connection>;
  size(): number;
  /** Resolves when no connection is left. */
  emptied(): Promise<void>;
}

export type CapRefusal = 'too_many_connections' | 'too_many_from_address' | 'evicted';

/** Looking for an idle connection stops here, so that a flood of busy ones makes accepting no slower. */
const MAX_LOOKS = 128;

export function createConnectionTable(
  caps: ConnectionCaps,
  onRefused: (reason: CapRefusal) => void,
): ConnectionTable {
  const connections = new Set<Connection>();
  const perAddress = new Map<string, number>();
  const waiting: (() => void)[] = [];

  const forget = (connection: Connection) => {
    if (!connections.delete(connection)) return;
    const left = (perAddress.get(connection.address) ?? 1) - 1;
    if (left > 0) perAddress.set(connection.address, left);
    else perAddress.delete(connection.address);
    if (connections.size === 0) for (const resolve of waiting.splice(0)) resolve();
  };

  const refusal = (address: string): CapRefusal | undefined => {
    const most = caps.maxConnectionsPerAddress;
    if (most > 0 && (perAddress.get(address) ?? 0) >= most) return 'too_many_from_address';
    if (connections.size < caps.maxConnections) return undefined;
    const idle = takeIdle(connections);
    if (!idle) return 'too_many_connections';
    forget(idle);
    idle.socket.destroy();
    onRefused('evicted');
    return undefined;
  };

  return {
    admit(socket) {
      const address = socket.remoteAddress ?? '';
      const reason = refusal(address);
      if (reason) {
        socket.resetAndDestroy();
        onRefused(reason);
        return undefined;
      }
      const connection = newConnection(socket, address);
      connections.add(connection);
      perAddress.set(address, (perAddress.get(address) ?? 0) + 1);
      socket.once('close', () => forget(connection));
      return connection;
    },
    all: () => connections,
    size: () => connections.size,
    emptied: () =>
      new Promise((resolve) => {
        if (connections.size === 0) resolve();
        else waiting.push(resolve);
      }),
  };
}

/** The answer that a connection still owes; an event for every answer that has left would cost each visit. */
export function answerUnderWay({ response }: Connection): ServerResponse | undefined {
  return response?.writableFinished ? undefined : response;
}

function newConnection(socket: Socket, address: string): Connection {
  return {
    address,
    socket,
    open: false,
    response: undefined,
    watched: undefined,
    used: false,
    failed: false,
  };
}

/**
 * The set is a circle that starts with whoever was considered longest ago. Busy connections, and those
 * that were of use since the last round, go to its end: what stays in front has been idle for a round.
 */
function takeIdle(connections: Set<Connection>): Connection | undefined {
  let looks = Math.min(connections.size, MAX_LOOKS);
  let fallback: Connection | undefined;
  for (const connection of connections) {
    if (looks-- <= 0) break;
    const idle = answerUnderWay(connection) === undefined;
    if (idle && !connection.used) return connection;
    if (idle) fallback ??= connection;
    connection.used = false;
    connections.delete(connection);
    connections.add(connection);
  }
  return fallback;
}
