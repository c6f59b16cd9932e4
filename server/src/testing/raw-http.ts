// One connection to a local port, byte by byte: for requests that no HTTP client would send.
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface RawReply {
  /** Everything that was received before the connection ended. */
  readonly text: string;
  /** Of the first answer; 0 when there was none. */
  readonly status: number;
  /** What follows the first headers. */
  readonly body: string;
}

/** Sends the parts and reads until the other side ends; with `end` it ends its own side first. */
export async function connectRaw(
  port: number,
  parts: readonly (string | Uint8Array)[],
  options: { tls?: boolean; end?: boolean } = {},
): Promise<RawReply> {
  const target = { host: '127.0.0.1', port, allowHalfOpen: true };
  const socket = options.tls ? connectTls({ ...target, rejectUnauthorized: false }) : connectTcp(target);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  // Half-open sockets stay until both sides are done.
  socket.on('end', () => socket.end());
  for (const part of parts) socket.write(part);
  if (options.end) socket.end();
  await closed;
  const text = Buffer.concat(chunks).toString('utf8');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0);
  const end = text.indexOf('\r\n\r\n');
  return { text, status, body: end === -1 ? '' : text.slice(end + 4) };
}
