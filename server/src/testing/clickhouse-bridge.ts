// A ClickHouse for tests: the engine of the npm package chdb behind as much of ClickHouse's HTTP interface as its
// client uses. A process of its own, since the engine may need another processor than the tests (see .ci/run).
// One statement runs at a time. Arguments: the folder with node_modules/chdb, a folder for data, a port.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface Result {
  readonly bytes: Uint8Array;
}

/** What is used of chdb's native part: parameters go in as they come over HTTP, which its own front escapes anew. */
interface Native {
  QueryAsyncConnection(
    connection: unknown,
    sql: string,
    format: string,
    params?: Readonly<Record<string, string>>,
  ): Promise<Result>;
  InsertRawAsyncConnection(
    connection: unknown,
    prefix: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<unknown>;
}

interface Chdb {
  Session: new (path: string) => { readonly connection: unknown; close(): void };
}

interface Call {
  readonly sql: string;
  readonly database: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** Rows to insert, where they come beside the statement. */
  readonly data: Buffer | undefined;
}

const DATA_NEEDED = /^\s*insert\s[\s\S]*\sformat\s+\w+\s*$/i;
/** Parts of the address that are neither settings nor parameters of the statement. */
const NO_SETTINGS = new Set(['query', 'database', 'query_id', 'session_id', 'role', 'default_format']);
/** What the server part of ClickHouse understands and the engine alone does not. */
const SERVER_ONLY = /^(?:readonly$|cancel_http_|send_progress_in_http|http_|wait_end_of_query|enable_http_)/;

/** Machine code for statements of a few rows takes longer than they do, and threads cost more than they bring. */
const BASE_SETTINGS =
  'max_threads = 1, compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0';

const [enginePath = '', dataPath = '', port = '0'] = process.argv.slice(2);
const require = createRequire(join(enginePath, 'package.json'));
const { Session } = require('chdb') as Chdb;
const native = require('@chdb/lib-linux-x64-gnu') as Native;
const session = new Session(dataPath);
await native.QueryAsyncConnection(session.connection, `set ${BASE_SETTINGS}`, 'TabSeparated');
const run = createRunner();

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => fail(response, error));
});
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`ready ${typeof address === 'object' ? address?.port : ''}\n`);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    session.close();
    process.exit(0);
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.pathname === '/ping') {
    response.end('Ok.\n');
    return;
  }
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) await takeFields(url.searchParams, body, type);
  const call = readCall(url.searchParams, body);
  const bytes = await run(call);
  const queryId = url.searchParams.get('query_id');
  if (queryId) response.setHeader('X-ClickHouse-Query-Id', queryId);
  response.setHeader('X-ClickHouse-Summary', '{}');
  response.end(bytes);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Many parameters come as fields of a form, as if they stood in the address. */
async function takeFields(search: URLSearchParams, body: Buffer, type: string): Promise<void> {
  const form = await new Response(new Uint8Array(body), { headers: { 'Content-Type': type } }).formData();
  for (const [name, value] of form) search.set(name, String(value));
}

/** The statement is in the body or, where that has rows, in the address. */
function readCall(search: URLSearchParams, body: Buffer): Call {
  const settings: Record<string, string> = {};
  const params: Record<string, string> = {};
  for (const [name, value] of search) {
    if (name.startsWith('param_')) params[name.slice('param_'.length)] = value;
    else if (!NO_SETTINGS.has(name) && !SERVER_ONLY.test(name)) settings[name] = value;
  }
  const given = search.get('query');
  const sql = given ?? body.toString('utf8');
  const data = given !== null && DATA_NEEDED.test(sql) ? body : undefined;
  return { sql, database: search.get('database') ?? 'default', settings, params, data };
}

/** One after the other: database and settings belong to the one connection. */
function createRunner(): (call: Call) => Promise<Uint8Array> {
  let last: Promise<unknown> = Promise.resolve();
  let database = '';
  let settings: Readonly<Record<string, string>> = {};

  const query = async (sql: string, params?: Call['params']): Promise<Uint8Array> =>
    (await native.QueryAsyncConnection(session.connection, sql, 'TabSeparated', params)).bytes;

  async function prepare(call: Call): Promise<void> {
    if (call.database !== database) await query(`use ${quoted(call.database, '`')}`);
    database = call.database;
    const unset = Object.keys(settings).filter((name) => !(name in call.settings));
    const changed = Object.entries(call.settings).filter(([name, value]) => settings[name] !== value);
    const changes = [
      ...unset.map((name) => `${quoted(name, '`')} = default`),
      ...changed.map(([name, value]) => `${quoted(name, '`')} = ${quoted(value, "'")}`),
    ];
    if (changes.length > 0) await query(`set ${changes.join(', ')}`);
    settings = call.settings;
  }

  async function execute(call: Call): Promise<Uint8Array> {
    await prepare(call);
    if (!call.data) return query(call.sql, Object.keys(call.params).length > 0 ? call.params : undefined);
    if (call.data.length > 0)
      await native.InsertRawAsyncConnection(session.connection, call.sql, call.data, false);
    return new Uint8Array();
  }

  return (call) => {
    const turn = last.then(() => execute(call));
    last = turn.catch(() => {});
    return turn;
  };
}

function quoted(text: string, quote: string): string {
  return `${quote}${text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)}${quote}`;
}

function fail(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const [, code = '1001'] = /Code: (\d+)/.exec(message) ?? [];
  response.statusCode = code === '60' || code === '81' ? 404 : 500;
  response.setHeader('X-ClickHouse-Exception-Code', code);
  response.end(`${message.slice(Math.max(0, message.indexOf('Code: ')))} (version of chdb)\n`);
}
