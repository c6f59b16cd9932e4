// Reads what a client sent into plain values: query text by the types of its schema, bodies within their
// limit, as well-formed JSON without anything that a store or a log could trip over.
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { AppError } from '../kernel/errors.ts';
import { dotted, validationError } from './problem.ts';

const MAX_DEPTH = 64;

export function parseInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw validationError(result.error, value);
  return result.data;
}

/** Text to the types the schema names; what does not fit stays text, so that the schema refuses it. */
export function queryValues(schema: z.ZodObject, search: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const given = search.getAll(name);
    if (given.length === 0) continue;
    const kind = baseKind(field as z.ZodType);
    const last = given[given.length - 1] as string;
    if (kind === 'array')
      values[name] = given.flatMap((text) => text.split(',')).filter((text) => text !== '');
    else if (kind === 'number') values[name] = asNumber(last);
    else if (kind === 'boolean') values[name] = asBoolean(last);
    else values[name] = last;
    assertCleanText(values[name], [name], 0);
  }
  return values;
}

/** The type under defaults, optionals, refinements and the like. */
function baseKind(schema: z.ZodType): string {
  let inner: unknown = schema;
  for (;;) {
    const def = (inner as z.ZodType).def as { type: string; innerType?: unknown; in?: unknown };
    const next = def.innerType ?? def.in;
    if (next === undefined) return def.type;
    inner = next;
  }
}

function asNumber(text: string): unknown {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : text;
}

function asBoolean(text: string): unknown {
  const folded = text.toLowerCase();
  return folded === 'true' ? true : folded === 'false' ? false : text;
}

export function parseJson(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const text = bytes.length === 0 ? 'the body is empty' : 'the body is not valid JSON in UTF-8';
    throw new AppError('bad_request', `invalid_type: body: ${text}`, { cause });
  }
  assertCleanText(value, [], 0);
  return value;
}

/**
 * Refuses what no field may hold: NUL, half surrogate pairs, `__proto__`, nesting without end. The path is one
 * array for the whole walk: a body may have a million values, and a copy for each would hold up everybody.
 */
export function assertCleanText(value: unknown, path: PropertyKey[], depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw refused(path, 'must not contain a NUL character');
    if (!value.isWellFormed()) throw refused(path, 'must be well-formed Unicode text');
    return;
  }
  if (value === null || typeof value !== 'object') return;
  if (depth >= MAX_DEPTH)
    throw refused(path.slice(0, 3), `must not be nested deeper than ${MAX_DEPTH} levels`);
  const step = (name: PropertyKey, inner: unknown) => {
    if (typeof inner !== 'string' && typeof inner !== 'object') return;
    path.push(name);
    assertCleanText(inner, path, depth + 1);
    path.pop();
  };
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) step(i, value[i]);
    return;
  }
  for (const name of Object.keys(value)) {
    if (name === '__proto__') throw refused([...path, name], 'is not an accepted name');
    assertCleanText(name, path, depth);
    step(name, (value as Record<string, unknown>)[name]);
  }
}

function refused(path: PropertyKey[], text: string): AppError {
  return new AppError('unprocessable_entity', `custom: ${dotted(path)}: ${text}`);
}

export function tooLarge(limitBytes: number): AppError {
  return new AppError('unprocessable_entity', `too_big: body: at most ${limitBytes} bytes are accepted`);
}

/** The body as bytes, never holding more than the limit. */
export function readBody(
  source: IncomingMessage | ReadableStream<Uint8Array> | null,
  declaredLength: string | undefined,
  limitBytes: number,
): Promise<Uint8Array> {
  if (declaredLength !== undefined && Number(declaredLength) > limitBytes) throw tooLarge(limitBytes);
  if (source === null) return Promise.resolve(new Uint8Array());
  return 'getReader' in source ? readWebStream(source, limitBytes) : readRequest(source, limitBytes);
}

async function readWebStream(source: ReadableStream<Uint8Array>, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Leaving an async loop over a request would destroy its socket before the refusal is sent, hence by events.
 * A client may be gone before anybody listens, and then no event comes any more.
 */
function readRequest(source: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const endedEarly = () =>
      reject(new AppError('bad_request', 'invalid_type: body: the body ended too early'));
    // A request that announced no body has none, and sends no event for it.
    if (source.readableEnded) return resolve(new Uint8Array());
    if (source.destroyed) return endedEarly();
    source.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else reject(tooLarge(limitBytes));
    });
    source.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)));
    source.on('error', endedEarly);
    source.on('close', endedEarly);
  });
}
