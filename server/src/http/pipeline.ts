// The one way every operation runs: authenticate → count → authorise → idempotency → parse → run → answer.
// Knows no framework and no feature; what it is given in `parts` decides who a caller is.
import type { IncomingMessage } from 'node:http';
import type { Answer } from '../kernel/answer.ts';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { clientNetwork } from '../kernel/ip-address.ts';
import type { RunOnce } from './idempotency.ts';
import { assertCleanText, parseInput, parseJson, queryValues, readBody } from './input.ts';
import {
  type Access,
  type Actor,
  type Credential,
  type Operation,
  planIncludes,
  type Reply,
  type RequestFacts,
  type Throttle,
} from './operation.ts';
import { refusalAnswer } from './problem.ts';
import { PAGE_WINDOWS, type RateWindow, rateHeaders, rateWindow, type TakeRequest } from './rate-limit.ts';

export interface Incoming {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly params: Record<string, string>;
  readonly header: (name: string) => string | undefined;
  readonly body: IncomingMessage | ReadableStream<Uint8Array> | null;
  readonly facts: RequestFacts;
}

export interface Outgoing {
  status: number;
  body: Reply['body'] | null;
  headers: [string, string][];
}

/** What the log and the metrics want to know, filled in as it becomes known. */
export interface Trace {
  actor?: Actor;
  replayed?: boolean;
}

export interface PipelineParts {
  readonly authenticate: (key: string, kind: Credential) => Promise<Actor>;
  readonly take: TakeRequest;
  readonly runOnce: RunOnce;
  readonly bodyLimitBytes: number;
  /** Parses every answer by its schema before it leaves, so that tests see answers that drift from the document. */
  readonly checkAnswers: boolean;
}

export type RunOperation = (
  operation: Operation,
  incoming: Incoming,
  headers: [string, string][],
  trace: Trace,
) => Promise<Outgoing>;

const WRITES = new Set(['POST', 'PUT', 'PATCH']);

export function createPipeline(parts: PipelineParts): RunOperation {
  return async (operation, incoming, headers, trace) => {
    const actor = await identify(parts, operation, incoming, headers);
    if (actor) trace.actor = actor;
    authorise(operation.access, actor);
    if (actor) await countOfWorkspace(parts, operation, actor, headers);
    const body = operation.body ? await receive(parts, operation, incoming) : undefined;
    if (operation.response.contentTypes) {
      return replyOf(
        operation,
        incoming,
        headers,
        await execute<Reply>(parts, operation, incoming, body, actor),
      );
    }
    const work = async (): Promise<Answer> => ({
      status: operation.response.status,
      body: JSON.stringify(await execute(parts, operation, incoming, body, actor)),
    });
    const key = WRITES.has(incoming.method) ? incoming.header('idempotency-key') : undefined;
    if (key === undefined || !actor) return { ...(await work()), headers };
    const refusal = (error: unknown) => refusalAnswer(error, incoming.facts.origin);
    const answer = await parts.runOnce(slotOf(operation, incoming, body, actor, key), work, refusal);
    trace.replayed = answer.replayed;
    if (answer.replayed) headers.push(['Idempotency-Replayed', 'true']);
    return { status: answer.status, body: answer.body, headers };
  };
}

async function identify(
  parts: PipelineParts,
  operation: Operation,
  incoming: Incoming,
  headers: [string, string][],
): Promise<Actor | undefined> {
  const { by } = operation.access;
  if (by === 'nobody') {
    const { id, throttle } = operation;
    if (throttle) await count(parts, throttleBucket(throttle, incoming), { ...throttle, name: id }, headers);
    return undefined;
  }
  const actor = await parts.authenticate(bearerKey(incoming.header('authorization')), by);
  const window = by === 'key' ? rateWindow(actor, operation.rate ?? 'standard') : PAGE_WINDOWS[by];
  await count(parts, actor.tokenId, window, headers);
  return actor;
}

async function countOfWorkspace(
  parts: PipelineParts,
  { id, throttle }: Operation,
  actor: Actor,
  headers: [string, string][],
): Promise<void> {
  if (throttle?.by === 'workspace') await count(parts, actor.workspaceId, { ...throttle, name: id }, headers);
}

async function count(
  parts: PipelineParts,
  bucket: string,
  window: RateWindow,
  headers: [string, string][],
): Promise<void> {
  const state = await parts.take(bucket, window);
  headers.push(...rateHeaders(state));
  if (!state.allowed) {
    const retryAfterSeconds = Math.max(1, Math.ceil((state.resetMs - state.nowMs) / 1000));
    throw new AppError(
      'rate_limit_exceeded',
      `More than ${state.limit} requests in this window. Try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds },
    );
  }
}

/** Paths that differ only in how they are written are one. */
function throttleBucket({ by }: Throttle, { facts, params }: Incoming): string {
  const network = clientNetwork(facts.ip);
  return by === 'ip-and-path' ? `${network} ${JSON.stringify(params).toLowerCase()}` : network;
}

function bearerKey(header: string | undefined): string {
  if (header === undefined) {
    throw new AppError('unauthorized', 'Send your API key in the header "Authorization: Bearer <key>".');
  }
  const match = /^Bearer +([^\s]+)$/i.exec(header.trim());
  if (!match) throw new AppError('unauthorized', 'The Authorization header must be "Bearer <key>".');
  return match[1] as string;
}

export function authorise(access: Access, actor: Actor | undefined): void {
  if (access.by === 'nobody' || !actor) return;
  if (access.by === 'key') authoriseKey(access, actor);
  if (access.plan && !planIncludes(actor.plan, access.plan)) {
    throw new AppError(
      'forbidden',
      `This needs the plan ${access.plan} or higher; the workspace has ${actor.plan}.`,
    );
  }
}

function authoriseKey(access: Extract<Access, { by: 'key' }>, actor: Actor): void {
  if (access.permission && !actor.permissions.has(access.permission)) {
    throw new AppError(
      'forbidden',
      `This key lacks the permission ${access.permission} in the workspace ${actor.workspaceId}.`,
    );
  }
  if (access.roles && !access.roles.includes(actor.role)) {
    throw new AppError(
      'forbidden',
      `This needs one of the roles ${access.roles.join(', ')}; yours is ${actor.role}.`,
    );
  }
}

function receive(parts: PipelineParts, operation: Operation, incoming: Incoming): Promise<Uint8Array> {
  return readBody(
    incoming.body,
    incoming.header('content-length'),
    operation.bodyLimitBytes ?? parts.bodyLimitBytes,
  );
}

async function execute<R>(
  parts: PipelineParts,
  operation: Operation,
  incoming: Incoming,
  bytes: Uint8Array | undefined,
  actor: Actor | undefined,
): Promise<R> {
  // Behind idempotency, so that a repeat is not refused for what its first run used up.
  if (actor) await operation.before?.(actor);
  assertCleanText(incoming.params, [], 0);
  const params = operation.params ? parseInput(operation.params, incoming.params) : undefined;
  const query = operation.query
    ? parseInput(operation.query, queryValues(operation.query, new URLSearchParams(incoming.search)))
    : undefined;
  const body = operation.body && bytes ? parseInput(operation.body, bodyValue(operation, bytes)) : undefined;
  const result = await operation.run({ params, query, body, bytes, request: incoming.facts }, actor);
  if (parts.checkAnswers) operation.response.schema.parse(result);
  return result as R;
}

/** A body that nobody will read is closed, so that what it holds open is let go. */
async function replyOf(
  operation: Operation,
  incoming: Incoming,
  headers: [string, string][],
  { contentType, body, headers: more = {} }: Reply,
): Promise<Outgoing> {
  headers.push(['Content-Type', contentType], ['X-Content-Type-Options', 'nosniff'], ...Object.entries(more));
  const stream = body instanceof ReadableStream ? body : undefined;
  if (!stream) headers.push(['Content-Length', String(Buffer.byteLength(body as string | Uint8Array))]);
  const unchanged = isKnown(incoming.header('if-none-match'), more.ETag);
  if (!unchanged && incoming.method !== 'HEAD') return { status: operation.response.status, body, headers };
  await stream?.cancel();
  return { status: unchanged ? 304 : operation.response.status, body: null, headers };
}

function isKnown(ifNoneMatch: string | undefined, etag: string | undefined): boolean {
  if (ifNoneMatch === undefined || etag === undefined) return false;
  const strong = (tag: string) => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => strong(tag) === strong(etag));
}

function bodyValue(operation: Operation, bytes: Uint8Array): unknown {
  return operation.bodyOptional && bytes.length === 0 ? {} : parseJson(bytes);
}

function slotOf(
  operation: Operation,
  incoming: Incoming,
  body: Uint8Array | undefined,
  actor: Actor,
  key: string,
) {
  const fingerprint = sha256Hex(
    Buffer.concat([
      Buffer.from(`${incoming.method} ${incoming.path}${incoming.search}\n`),
      body ?? Buffer.alloc(0),
    ]),
  );
  // Partners of a program share its workspace, and must not get each other's answers.
  const { workspaceId, tokenId } = actor;
  const scope = operation.access.by === 'embed_token' ? `${workspaceId} ${tokenId}` : workspaceId;
  return { scope, key, fingerprint, secret: operation.secret ?? false };
}
