// Questions to the event store across threads. This side of the pipeline thread answers them as JSON: rows, or the
// failure with the words that the caller may see. The main side asks, and tells when nobody waits any more.
import type { EventSource } from '../analytics/store.ts';
import { AppError, type ErrorCode } from '../kernel/errors.ts';

const QUESTIONS = [
  'list',
  'aggregate',
  'findEnd',
  'follow',
  'listClicks',
  'countClicks',
  'writeParquet',
] as const;
type QuestionName = (typeof QUESTIONS)[number];

interface Asked {
  readonly id: number;
  readonly arguments: readonly unknown[];
}

type Answer = { readonly value: unknown } | { readonly failure: Failure };

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** In the thread of the store. A store that was closed under a question is asked again when it is open again. */
export function createStoreAnswers(store: { get(): Promise<EventSource> }) {
  const asked = new Map<number, AbortController>();

  async function ask(name: QuestionName, values: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const open = await store.get();
    const run = (source: EventSource) =>
      (source[name] as (...values: readonly unknown[]) => Promise<unknown>)(...values, signal);
    try {
      return await run(open);
    } catch (error) {
      if (error instanceof AppError || signal.aborted) throw error;
      const again = await store.get();
      if (again === open) throw error;
      return run(again);
    }
  }

  const answer = (name: QuestionName) => async (question: Asked) => {
    const stopping = new AbortController();
    asked.set(question.id, stopping);
    try {
      const value = (await ask(name, question.arguments, stopping.signal)) ?? null;
      return JSON.stringify({ value } satisfies Answer);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { code, message, retryAfterSeconds } = error;
      return JSON.stringify({ failure: { code, message, retryAfterSeconds } } satisfies Answer);
    } finally {
      asked.delete(question.id);
    }
  };

  return {
    ...(Object.fromEntries(QUESTIONS.map((name) => [name, answer(name)])) as Record<
      QuestionName,
      (question: Asked) => Promise<string>
    >),
    async cancel({ id }: { id: number }) {
      asked.get(id)?.abort();
      return 'null';
    },
  };
}

/** Passes a question on to the thread; the answer is JSON. */
export type PassOn = (name: string, params: object) => Promise<string>;

/** On the main side: the store of the other thread. */
export function createRemoteStore(passOn: PassOn): EventSource {
  let count = 0;

  async function ask<T>(name: QuestionName, values: readonly unknown[], signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    count += 1;
    const id = count;
    const cancel = () => void passOn('cancel', { id }).catch(() => {});
    signal?.addEventListener('abort', cancel);
    try {
      const answer = JSON.parse(await passOn(name, { id, arguments: values })) as Answer;
      if ('value' in answer) return answer.value as T;
      const { code, message, retryAfterSeconds } = answer.failure;
      throw new AppError(code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AppError) throw error;
      throw new AppError('internal_server_error', 'Events cannot be read at the moment. Try again shortly.', {
        cause: error,
      });
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  return {
    list: (query, signal) => ask('list', [query], signal),
    aggregate: (query, signal) => ask('aggregate', [query], signal),
    findEnd: (signal) => ask('findEnd', [], signal),
    follow: (query, signal) => ask('follow', [query], signal),
    listClicks: (request, signal) => ask('listClicks', [request], signal),
    countClicks: (workspaceId, signal) => ask('countClicks', [workspaceId], signal),
    writeParquet: (query, path, signal) => ask('writeParquet', [query, path], signal),
  };
}
