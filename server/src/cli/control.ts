// The way from the command line to the running server: HTTP over a socket that only the server's own user
// can open. One request runs one command: its first line names it, what follows is the input that the command
// reads. The answer is a line of JSON per row, piece of data or sign of progress, and at last one with the
// result or the error. A caller that goes away aborts its command.
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { App } from '../app.ts';
import { AppError } from '../kernel/errors.ts';
import type { Command, Context, ProgressState } from './command.ts';
import { COMMANDS } from './commands.ts';
import { controlSocketPath, isPrivateFolder, makePrivateFolder } from './control-socket.ts';

const MAX_INPUT_BYTES = 1_048_576;
const RUN_PATH = '/run';

type Line =
  | { row: object }
  | { progress: ProgressState }
  | { data: string }
  | { result: unknown }
  | { error: { code: string; message: string } };

/** Starts to take commands. The caller holds the lock on the data directory. */
export async function serveControl(
  app: App,
  commands: readonly Command[] = COMMANDS,
): Promise<{ close(): Promise<void> }> {
  const { path, folder } = await controlSocketPath(app.config.dataDir);
  if (folder) await makePrivateFolder(folder);
  // Left over from a server that was killed: the lock says that nobody else is behind it.
  await rm(path, { force: true });
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  const server = createServer((incoming, response) => {
    const work = answer({ app, commands, incoming, response, stopping: stopping.signal });
    running.add(work);
    void work.finally(() => running.delete(work));
  });
  // An upload takes as long as it takes, and nobody else can open the socket.
  server.requestTimeout = 0;
  await listenPrivately(server, path);
  return {
    async close() {
      server.close();
      stopping.abort();
      await withinMs(Promise.allSettled(running), app.config.drainMs);
      server.closeAllConnections();
      await rm(path, { force: true });
    },
  };
}

async function listenPrivately(server: Server, path: string): Promise<void> {
  // The socket is made inside listen(): with this mask nobody else can open it, not even for a moment.
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await once(server, 'listening');
  await chmod(path, 0o600);
}

async function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

interface Exchange {
  app: App;
  commands: readonly Command[];
  incoming: IncomingMessage;
  response: ServerResponse;
  stopping: AbortSignal;
}

async function answer({ app, commands, incoming, response, stopping }: Exchange): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const send = (line: Line) => writeLine(response, line, gone.signal);
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', Connection: 'close' });
  const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    const { command, input, rest } = await readCall(incoming, chunks, commands);
    // The input may hold secrets and stays out of the log, and so does the result.
    app.log.info({ command: command.path.join(' ') }, 'command');
    const context: Context = {
      app,
      signal: AbortSignal.any([gone.signal, stopping]),
      row: (row) => send({ row }),
      progress: (progress) => send({ progress }),
      input: uploaded(rest, chunks),
      data: (data) => send({ data }),
    };
    const result = await command.run(context, input);
    await send({ result: result ?? null });
  } catch (error) {
    const isExpected = error instanceof AppError || gone.signal.aborted || stopping.aborted;
    if (!isExpected) app.log.error({ error: String(error) }, 'command failed');
    await send({ error: describeFailure(error) }).catch(() => {});
    // Closing on a caller that still uploads would take the answer away from it.
    await drain(chunks);
  }
  response.end();
}

async function readCall(
  incoming: IncomingMessage,
  chunks: AsyncIterator<Buffer>,
  commands: readonly Command[],
) {
  if (incoming.method !== 'POST' || incoming.url !== RUN_PATH) {
    throw new AppError('not_found', 'The running server is of another release than this command line.');
  }
  const { head, rest } = await readHead(chunks);
  const { command: name, input } = parseCall(head.toString('utf8'));
  const command = commands.find(({ path }) => path.join(' ') === name);
  if (!command)
    throw new AppError('not_found', `The running server has no command ${name}: it is of another release.`);
  return { command, input, rest };
}

/** The first line, and what came with it. */
async function readHead(chunks: AsyncIterator<Buffer>): Promise<{ head: Buffer; rest: Buffer }> {
  const parts: Buffer[] = [];
  let size = 0;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    const end = next.value.indexOf('\n');
    parts.push(end < 0 ? next.value : next.value.subarray(0, end));
    size += parts.at(-1)?.length ?? 0;
    if (size > MAX_INPUT_BYTES) throw new AppError('bad_request', 'The input is too long.');
    if (end >= 0) return { head: Buffer.concat(parts), rest: next.value.subarray(end + 1) };
  }
  return { head: Buffer.concat(parts), rest: Buffer.alloc(0) };
}

/** Leaves the request open when its reader stops early: the answer has still to be sent. */
async function* uploaded(rest: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Uint8Array> {
  if (rest.length > 0) yield rest;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}

async function drain(chunks: AsyncIterator<Buffer>): Promise<void> {
  try {
    while (!(await chunks.next()).done);
  } catch {
    // The caller is gone, and with it what it had to send.
  }
}

function parseCall(text: string): { command: string; input: unknown } {
  try {
    const { command, input } = JSON.parse(text) as { command?: unknown; input?: unknown };
    return { command: String(command), input };
  } catch (error) {
    throw new AppError('bad_request', 'The request is not JSON.', { cause: error });
  }
}

async function writeLine(response: ServerResponse, line: Line, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!response.write(`${JSON.stringify(line)}\n`)) await once(response, 'drain', { signal });
}

/** A failure in one line. The reader runs the server: nothing has to be hidden from it. */
export function describeFailure(error: unknown): { code: string; message: string } {
  const message = error instanceof Error ? error.message || error.name : String(error);
  const code =
    error instanceof AppError || error instanceof RemoteError ? error.code : 'internal_server_error';
  return { code, message };
}

/** How the caller hears of what a command sends before its result, and what it sends itself. */
export interface Listeners {
  row(row: object): void | Promise<void>;
  progress(state: ProgressState): void;
  data?(text: string): Promise<void>;
  upload?: AsyncIterable<Uint8Array> | undefined;
  signal?: AbortSignal;
}

export interface Control {
  run(command: Command, input: unknown, listeners: Listeners): Promise<unknown>;
}

/** The running server of the data directory; undefined when there is none. */
export async function connectControl(dataDir: string): Promise<Control | undefined> {
  const path = await findSocket(dataDir);
  if (path === undefined || !(await isListening(path))) return undefined;
  return { run: (command, input, listeners) => call(path, command, input, listeners) };
}

async function findSocket(dataDir: string): Promise<string | undefined> {
  try {
    const { path, folder } = await controlSocketPath(dataDir);
    if (folder && !(await isPrivateFolder(folder))) return undefined;
    return path;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

async function isListening(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ECONNREFUSED', 'ENOTSOCK'].includes(code)) return false;
    if (code === 'EACCES') {
      throw new AppError(
        'forbidden',
        'The server runs as another user: only that user can give it commands.',
        { cause: error },
      );
    }
    throw error;
  } finally {
    socket.destroy();
  }
}

async function call(path: string, command: Command, input: unknown, listeners: Listeners): Promise<unknown> {
  const { upload } = listeners;
  const head = JSON.stringify({ command: command.path.join(' '), input });
  const outgoing = request({
    socketPath: path,
    path: RUN_PATH,
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(!upload && { 'Content-Length': Buffer.byteLength(head) }),
    },
    ...(listeners.signal && { signal: listeners.signal }),
  });
  if (upload) send(outgoing, head, upload);
  else outgoing.end(head);
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return await readAnswer(response, listeners);
  } finally {
    // After an error there may be more to upload, which nobody wants any more.
    if (!outgoing.writableFinished) outgoing.destroy();
  }
}

/** The answer says what went wrong, unless it was the reading of the upload itself. */
function send(outgoing: ClientRequest, head: string, upload: AsyncIterable<Uint8Array>): void {
  outgoing.write(`${head}\n`);
  pipeline(Readable.from(upload, { objectMode: false }), outgoing).catch((error: unknown) =>
    outgoing.destroy(error as Error),
  );
}

async function readAnswer(response: IncomingMessage, listeners: Listeners): Promise<unknown> {
  for await (const text of createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = JSON.parse(text) as Line;
    if ('row' in line) await listeners.row(line.row);
    else if ('data' in line) await listeners.data?.(line.data);
    else if ('progress' in line) listeners.progress(line.progress);
    else if ('result' in line) return line.result;
    else throw new RemoteError(line.error);
  }
  throw new Error('The server stopped before the command was finished.');
}

/** A failure that the server reported. */
export class RemoteError extends Error {
  override name = 'RemoteError';
  readonly code: string;

  constructor({ code, message }: { code: string; message: string }) {
    super(message);
    this.code = code;
  }
}
