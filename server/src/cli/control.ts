// The way from the command line to the running server: HTTP over a socket that only the server's own user
// can open. One request runs one command; the answer is a line of JSON per row or sign of progress, and at
// last one with the result or the error. A caller that goes away aborts its command.
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { App } from '../app.ts';
import { AppError } from '../kernel/errors.ts';
import type { Command, Context } from './command.ts';
import { COMMANDS } from './commands.ts';
import { controlSocketPath, isPrivateFolder, makePrivateFolder } from './control-socket.ts';

const MAX_INPUT_BYTES = 1_048_576;
const RUN_PATH = '/run';

type Line =
  | { row: object }
  | { progress: object }
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
  try {
    const { command, input } = await readCall(incoming, commands);
    // The input may hold secrets and stays out of the log, and so does the result.
    app.log.info({ command: command.path.join(' ') }, 'command');
    const context: Context = {
      app,
      signal: AbortSignal.any([gone.signal, stopping]),
      row: (row) => send({ row }),
      progress: (progress) => send({ progress }),
    };
    const result = await command.run(context, input);
    await send({ result: result ?? null });
  } catch (error) {
    const isExpected = error instanceof AppError || gone.signal.aborted || stopping.aborted;
    if (!isExpected) app.log.error({ error: String(error) }, 'command failed');
    await send({ error: describeFailure(error) }).catch(() => {});
  }
  response.end();
}

async function readCall(incoming: IncomingMessage, commands: readonly Command[]) {
  if (incoming.method !== 'POST' || incoming.url !== RUN_PATH) {
    throw new AppError('not_found', 'The running server is of another release than this command line.');
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_INPUT_BYTES) throw new AppError('bad_request', 'The input is too long.');
    chunks.push(chunk);
  }
  const { command: name, input } = parseCall(Buffer.concat(chunks).toString('utf8'));
  const command = commands.find(({ path }) => path.join(' ') === name);
  if (!command)
    throw new AppError('not_found', `The running server has no command ${name}: it is of another release.`);
  return { command, input };
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

/** How the caller hears of what a command sends before its result. */
export interface Listeners {
  row(row: object): void | Promise<void>;
  progress(state: object): void;
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
  const body = JSON.stringify({ command: command.path.join(' '), input });
  const outgoing = request({
    socketPath: path,
    path: RUN_PATH,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    ...(listeners.signal && { signal: listeners.signal }),
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  for await (const text of createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = JSON.parse(text) as Line;
    if ('row' in line) await listeners.row(line.row);
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
