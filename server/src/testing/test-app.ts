// The whole application in process, on real stores in a folder of its own, for tests that need no socket.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, openApp } from '../app.ts';
import { readConfig } from '../config.ts';
import type { Actor, Plan, Role } from '../http/operation.ts';
import { type ManualClock, manualClock } from '../kernel/clock.ts';
import { type Log, silentLog } from '../kernel/log.ts';

export interface TestReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** The body as JSON; throws when it is none. */
  readonly json: ReturnType<typeof JSON.parse>;
}

export interface TestRequest {
  readonly key?: string | undefined;
  /** Sent as JSON; text and bytes are sent as they are. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** The address the request comes from; one of its own by default, so that no window per address is full. */
  readonly ip?: string;
}

/** A workspace of its own, so that tests do not see each other. */
export interface TestWorkspace {
  readonly id: string;
  readonly slug: string;
  readonly ownerId: string;
  /** The owner's key without scopes. */
  readonly key: string;
  /** The owner, for tests that call a service. */
  readonly actor: Actor;
  newKey(options?: {
    role?: Role;
    scopes?: string[];
    expiresAt?: number;
    isMachine?: boolean;
  }): Promise<string>;
}

export interface TestApp {
  readonly app: App;
  readonly clock: ManualClock;
  request(method: string, path: string, options?: TestRequest): Promise<TestReply>;
  workspace(plan?: Plan): Promise<TestWorkspace>;
  close(): Promise<void>;
}

const START_MS = Date.UTC(2027, 0, 15, 10);

export async function openTestApp(
  options: {
    databaseUrl?: string;
    env?: Record<string, string>;
    log?: Log;
    stripeUrl?: string;
    /** Events are stored and can be asked for, as when the port is open. */
    events?: boolean;
  } = {},
): Promise<TestApp> {
  const dataDir = await mkdtemp(join(tmpdir(), 'linktrail-'));
  const clock = manualClock(START_MS);
  const env = { LINKTRAIL_DATA_DIR: dataDir, LINKTRAIL_SQLITE_SYNC: 'normal', ...options.env };
  const config = readConfig(
    options.databaseUrl?.startsWith('postgres') ? { ...env, DATABASE_URL: options.databaseUrl } : env,
  );
  const { log = silentLog, stripeUrl } = options;
  const app = await openApp({ config, clock, log, checkAnswers: true, ...(stripeUrl && { stripeUrl }) });
  if (options.events) app.events.start();
  let count = 0;
  return {
    app,
    clock,
    request: (method, path, request = {}) => send(app, method, path, request),
    async workspace(plan = 'enterprise') {
      count += 1;
      return makeWorkspace(app, `Test workspace ${count}`, plan);
    },
    async close() {
      await app.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Refused with this status, for the reason that the message has to give. */
export function assertRefused(reply: TestReply, status: number, text: RegExp): void {
  assert.equal(reply.status, status, reply.text);
  assert.match(reply.json.error.message, text);
}

let addresses = 0;

function nextAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

async function send(
  app: App,
  method: string,
  path: string,
  { key, body, headers = {}, ip = nextAddress() }: TestRequest,
): Promise<TestReply> {
  const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const request = new Request(`http://localhost:3000/api${path}`, {
    method,
    headers: { ...(key !== undefined && { Authorization: `Bearer ${key}` }), ...headers },
    ...(body !== undefined && { body: raw ? (body as string) : JSON.stringify(body) }),
  });
  const peer = { ip, secure: true, host: 'localhost:3000', origin: 'http://localhost:3000' };
  const response = await app.api.fetch(request, { peer });
  const bytes = await bodyOf(response);
  const text = bytes.toString();
  return {
    status: response.status,
    headers: response.headers,
    text,
    bytes,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** A stream that does not end by itself is let go. */
async function bodyOf(response: Response): Promise<Buffer> {
  if (response.headers.get('content-type') !== 'text/event-stream')
    return Buffer.from(await response.arrayBuffer());
  await response.body?.cancel();
  return Buffer.alloc(0);
}

async function makeWorkspace({ services, db }: App, name: string, plan: Plan): Promise<TestWorkspace> {
  const { workspaces, tokens, users } = services;
  const { workspace, ownerId } = await workspaces.create({ name, plan });
  const newKey: TestWorkspace['newKey'] = ({
    role = 'owner',
    scopes = [],
    expiresAt,
    isMachine = false,
  } = {}) =>
    db.write(async () => {
      const userId = role === 'owner' ? ownerId : await users.addMember(workspace.id, { name: role, role });
      const request = { name: `${role} key`, scopes, isMachine, expiresAt: expiresAt ?? null };
      return (await tokens.create({ userId, role, workspaceId: workspace.id }, request)).key;
    });
  const actor: Actor = {
    tokenId: 'token',
    userId: ownerId,
    role: 'owner',
    permissions: new Set(),
    workspaceId: workspace.id,
    plan,
    limits: {},
  };
  return { id: workspace.id, slug: workspace.slug, ownerId, actor, key: await newKey(), newKey };
}
