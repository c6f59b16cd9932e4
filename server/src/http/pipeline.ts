// The one way every operation runs: authenticate → count → authorise → idempotency → parse → run → answer.
// Knows no framework and no feature; what it is given in `parts` decides who a caller is.
import type { IncomingMessage } from 'node:http';
import type { Answer } from '../kernel/answer.ts';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import type { RunOnce } from './idempotency.ts';
import { assertCleanText, parseInput, parseJson, queryValues, readBody } from './input.ts';
import { type Access, type Actor, type Operation, planIncludes, type RequestFacts } from './operation.ts';
import { rateHeaders, rateWindow, type TakeRequest } from './rate-limit.ts';

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
  body: string;
  headers: [string, string][];
}

/** What the log and the metrics want to know, filled in as it becomes known. */
export interface Trace {
  actor?: Actor;
  replayed?: boolean;
}

export interface PipelineParts {
  readonly authenticate: (key: string) => Promise<Actor>;
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
    const body = operation.body ? await receive(parts, operation, incoming) : undefined;
    const work = () => execute(parts, operation, incoming, body, actor);
    const key = WRITES.has(incoming.method) ? incoming.header('idempotency-key') : undefined;
    if (key === undefined || !actor) return { ...(await work()), headers };
    const answer = await parts.runOnce(slotOf(operation, incoming, body, actor, key), work);
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
  if (operation.access.by === 'nobody') return undefined;
  const actor = await parts.authenticate(bearerKey(incoming.header('authorization')));
  const state = await parts.take(actor.tokenId, rateWindow(actor, operation.rate ?? 'standard'));
  headers.push(...rateHeaders(state));
  if (!state.allowed) {
    const retryAfterSeconds = Math.max(1, Math.ceil((state.resetMs - state.nowMs) / 1000));
    throw new AppError(
      'rate_limit_exceeded',
      `More than ${state.limit} requests in this window. Try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds },
    );
  }
  return actor;
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
  if (access.permission && !actor.permissions.has(access.permission)) {
    throw new AppError(
      'forbidden',
      `This key lacks the permission ${access.permission} in the workspace ${actor.workspaceId}.`,
    );
  }
  if (access.roles && !access.roles.includes(actor.role)) {
    throw new AppError('forbidden', `This needs one of the roles ${access.roles.join(', ')}; yours is ${actor.role}.`);
  }
  if (access.plan && !planIncludes(actor.plan, access.plan)) {
    throw new AppError('forbidden', `This needs the plan ${access.plan} or higher; the workspace has ${actor.plan}.`);
  }
}

function receive(parts: PipelineParts, operation: Operation, incoming: Incoming): Promise<Uint8Array> {
  return readBody(
    incoming.body,
    incoming.header('content-length'),
    operation.bodyLimitBytes ?? parts.bodyLimitBytes,
  );
}

async function execute(
  parts: PipelineParts,
  operation: Operation,
  incoming: Incoming,
  bytes: Uint8Array | undefined,
  actor: Actor | undefined,
): Promise<Answer> {
  // Behind idempotency, so that a repeat is not refused for what its first run used up.
  if (actor) await operation.before?.(actor);
  assertCleanText(incoming.params, [], 0);
  const params = operation.params ? parseInput(operation.params, incoming.params) : undefined;
  const query = operation.query
    ? parseInput(operation.query, queryValues(operation.query, new URLSearchParams(incoming.search)))
    : undefined;
  const body = operation.body && bytes ? parseInput(operation.body, bodyValue(operation, bytes)) : undefined;
  const result = await operation.run({ params, query, body, request: incoming.facts }, actor);
  if (parts.checkAnswers) operation.response.schema.parse(result);
  return { status: operation.response.status, body: JSON.stringify(result) };
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
    Buffer.concat([Buffer.from(`${incoming.method} ${incoming.path}${incoming.search}\n`), body ?? Buffer.alloc(0)]),
  );
  return { scope: actor.workspaceId, key, fingerprint, secret: operation.secret ?? false };
}
