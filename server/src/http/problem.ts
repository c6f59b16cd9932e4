// Failures on the wire: the error envelope, and the mapping from whatever was thrown to one of its codes.
import type { z } from 'zod';
import type { Answer } from '../kernel/answer.ts';
import { AppError, type ErrorCode } from '../kernel/errors.ts';

export interface Problem {
  error: { code: ErrorCode; message: string; doc_url: string };
}

export const ERRORS_PATH = '/api/errors';

export function docUrl(code: ErrorCode, origin: string): string {
  return `${origin}${ERRORS_PATH}#${code.replaceAll('_', '-')}`;
}

/** Messages quote what was sent; an answer must not grow with it. */
const MAX_MESSAGE_LENGTH = 1_000;

export function problem({ code, message }: AppError, origin: string): Problem {
  const text =
    message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…` : message;
  return { error: { code, message: text, doc_url: docUrl(code, origin) } };
}

/** A refusal as the answer that repeats of the request get; faults of ours are no answer. */
export function refusalAnswer(error: unknown, origin: string): Answer | undefined {
  if (!(error instanceof AppError) || error.status >= 500) return undefined;
  return { status: error.status, body: JSON.stringify(problem(error, origin)) };
}

/** The first issue decides: what is absent or of the wrong JSON type is malformed, the rest is invalid. */
export function validationError(error: z.ZodError, received: unknown): AppError {
  const { issue, path } = mostSpecific(error.issues[0] as z.core.$ZodIssue, [], received);
  const code = isMalformed(issue, at(received, path)) ? 'bad_request' : 'unprocessable_entity';
  return new AppError(code, `${issue.code}: ${dotted(path)}: ${issue.message}`);
}

type Path = readonly PropertyKey[];

/** Of a failed union, the branch that the value came closest to: the one whose own type fits. */
function mostSpecific(
  issue: z.core.$ZodIssue,
  prefix: Path,
  received: unknown,
): { issue: z.core.$ZodIssue; path: Path } {
  const path = [...prefix, ...issue.path];
  if (issue.code !== 'invalid_union') return { issue, path };
  for (const branch of issue.errors) {
    const first = branch[0];
    if (first && !(first.path.length === 0 && isMalformed(first, at(received, path)))) {
      return mostSpecific(first, path, received);
    }
  }
  return { issue, path };
}

function isMalformed(issue: z.core.$ZodIssue, received: unknown): boolean {
  if (received === undefined) return true;
  switch (issue.code) {
    case 'invalid_type':
      return !(typeof received === 'number' && (issue.expected === 'int' || issue.expected === 'number'));
    case 'invalid_value':
      return issue.values.every((value) => typeof value !== typeof received);
    case 'invalid_union':
      return issue.errors.length === 0
        ? typeof received !== 'string'
        : issue.errors.every((branch) => branch[0] !== undefined && isMalformed(branch[0], received));
    default:
      return false;
  }
}

function at(value: unknown, path: Path): unknown {
  let here = value;
  for (const step of path) {
    if (here === null || typeof here !== 'object') return undefined;
    here = (here as Record<PropertyKey, unknown>)[step];
  }
  return here;
}

export function dotted(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? String(step) : `.${String(step)}`;
  }
  return text;
}
